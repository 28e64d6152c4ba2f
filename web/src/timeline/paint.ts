// SPDX-License-Identifier: Apache-2.0
// Rows of the timeline onto a canvas: pictures of tiles, or rectangles where events are exact.
import type { Step } from '../api';
import { blank, classOf, colour, hatch, texture } from '../classes';
import { t as say } from '../i18n';
import * as fmt from '../fmt';
import { font, ticks } from '../plot';
import { ink, words } from '../ink';
import { DEPTH_H, type Row } from './rows';
import type { TileStore, Track } from './store';
import { before, CELLS, picture, type Counter, type Exact, type Tile } from './tile';

export interface Window {
	t0: number;
	t1: number;
}
export interface Scene {
	store: TileStore;
	win: Window;
	rows: Row[];
	scroll: number;
	gutter: number;
	top: number;
	match: ((name: number) => boolean) | null; // of a search: others are dimmed
	long: [number, number] | null; // of a search: how long it takes
	hits: number[]; // where what was searched for begins
	shown: ((cls: string) => boolean) | null;
	sel: { track: number | null; start: number; dur: number } | null;
	area: [number, number] | null;
	flows: Flow[];
	marks: number[];
	steps: Map<number | null, Step[]>; // by rank
	cursor: number | null;
	t1: number; // end of the run
}
export interface Flow {
	from: { track: number; t: number };
	to: { track: number; t: number };
}

export function paint(g: CanvasRenderingContext2D, w: number, h: number, s: Scene): void {
	const span = s.win.t1 - s.win.t0, plotW = w - s.gutter;
	const X = (t: number) => s.gutter + ((t - s.win.t0) / span) * plotW;
	g.save();
	g.beginPath();
	g.rect(s.gutter, s.top, plotW, h - s.top);
	g.clip();
	g.imageSmoothingEnabled = false;
	for (const r of s.rows) {
		const y = s.top + r.y - s.scroll;
		if (y + r.h < s.top || y > h) continue;
		if (r.track) paintRow(g, r, r.track, y, X, s, plotW);
		else {
			g.fillStyle = colour('raised');
			g.fillRect(s.gutter, y, plotW, r.h);
		}
	}
	overlays(g, X, w, h, s);
	g.restore();
	axis(g, w, s, X);
}

const COVERED = new Set<Track['kind']>(['step', 'gpu', 'why', 'comm', 'stream']);

/** Steps that were left out: as much of the row's height as of the time. Ranges of threads are recorded in them, too. */
function paintUnrecorded(g: CanvasRenderingContext2D, r: Row, steps: Track | null, y: number, X: (t: number) => number, s: Scene, px: number): void {
	if (!steps) return;
	const L = s.store.level(s.win.t1 - s.win.t0, px, steps), width = 2 ** (L + 9);
	const put = (a: number, b: number, share: number) => {
		const x0 = Math.max(X(a), s.gutter), x1 = X(b), hh = (r.h - 2) * share;
		if (x1 <= x0) return;
		g.fillStyle = blank(g);
		g.fillRect(x0, y + r.h - 1 - hh, x1 - x0, hh);
		if (share < 1 || x1 - x0 < 90) return;
		font(g);
		g.textAlign = 'left';
		g.textBaseline = 'middle';
		words(g, say('timeline.unrecorded'), x0 + 6, y + r.h / 2, x1 - x0 - 8, colour('dim'));
	};
	for (let i = Math.max(0, Math.floor(s.win.t0 / width)); i <= Math.floor(Math.min(s.win.t1, steps.last) / width); i++)
		for (const [a, b, share] of s.store.unrecorded(steps, L, i)) if (b > s.win.t0 && a < s.win.t1) put(a, b, share);
}

function paintRow(g: CanvasRenderingContext2D, r: Row, tr: Track, y: number, X: (t: number) => number, s: Scene, px: number): void {
	const pad = 1, hh = r.h - 2 * pad;
	if (tr.kind === 'gpu' || tr.kind === 'stream') {
		// Between the first and the last event, what is not drawn was idle.
		const a = Math.max(X(tr.first), s.gutter), b = Math.min(X(tr.last), g.canvas.width);
		if (b > a && tr.kind === 'gpu') {
			g.fillStyle = hatch(g);
			g.fillRect(a, y + pad, b - a, hh);
		}
	}
	// Under what is drawn: work that was launched in a recorded step may run in the next ones.
	if (COVERED.has(tr.kind)) paintUnrecorded(g, r, s.store.stepsOf(tr), y, X, s, px);
	const steps = tr.kind === 'step' ? s.steps.get(tr.rank) : undefined;
	if (steps) return paintSteps(g, steps, y, r.h, X, s);
	const L = s.store.level(s.win.t1 - s.win.t0, px, tr), width = 2 ** (L + 9);
	const from = Math.max(0, Math.floor(s.win.t0 / width)), to = Math.floor(Math.min(s.win.t1, Math.max(s.t1, 1)) / width);
	const done = new Set<Tile>();
	for (let i = from; i <= to; i++) {
		const tile = s.store.best(tr, L, i);
		if (!tile || done.has(tile)) continue;
		const own = tile.L === L;
		if (own) done.add(tile);
		if (tile.exact) {
			if (!own) {
				if (done.has(tile)) continue;
				done.add(tile);
			}
			paintExact(g, tile.exact, r, y + pad, hh, X, s);
		} else if (tile.cells) {
			paintCells(g, tile, i * width, own ? width : Math.min(width, 2 ** (tile.L + 9)), y + pad, hh, X);
			if (own) nameCells(g, tile, y + pad, hh, X, s);
		}
		if (tile.counter) {
			if (done.has(tile) && !own) continue;
			done.add(tile);
			paintCounter(g, tile, s.store.get(tr.id, tile.L, tile.index - 1)?.counter ?? null, s.store.top(tr.id), y + 2, r.h - 4, (t) => X(Math.min(t, tr.last)));
		}
		if (tile.lost) paintLost(g, tile, y, r.h, X);
	}
}

/** The part of a tile's picture that covers [t, t + width). */
function paintCells(g: CanvasRenderingContext2D, tile: Tile, t: number, width: number, y: number, h: number, X: (t: number) => number): void {
	const cell = 2 ** tile.L;
	const from = Math.max(0, (t - tile.t0) / cell), n = Math.min(CELLS - from, width / cell);
	const x = X(tile.t0 + from * cell), x1 = X(tile.t0 + (from + n) * cell);
	if (n <= 0 || x1 <= x) return;
	g.drawImage(picture(tile.cells!), from, 0, n, 18, x, y, x1 - x, h);
}

/** A cell in which nothing begins goes on with what began before: so long events have names, merged or not. */
function nameCells(g: CanvasRenderingContext2D, tile: Tile, y: number, h: number, X: (t: number) => number, s: Scene): void {
	const c = tile.cells!, cell = 2 ** tile.L, px = X(cell) - X(0);
	const a = Math.max(0, Math.floor((s.win.t0 - tile.t0) / cell)), b = Math.min(CELLS, Math.ceil((s.win.t1 - tile.t0) / cell));
	font(g, 11, true);
	g.textBaseline = 'middle';
	g.textAlign = 'left';
	for (let i = a; i < b; i++) {
		let n = 1;
		if (!c.used[i]) continue;
		while (i + n < b && c.used[i + n] && !c.starts[i + n] && c.name[i + n] === c.name[i]) n++;
		if (n * px >= 60) {
			const name = s.store.names.get(c.name[i]!), x = Math.max(X(tile.t0 + i * cell), s.gutter) + px + 4;
			const room = Math.floor((X(tile.t0 + (i + n - 1) * cell) - x - 4) / 6.7);
			if (name && room > 4) words(g, fmt.label(name.name, room), x, y + h / 2 + 0.5, room * 6.7, ink(name.class === 'host' ? 'host' : classOf(name.class)));
		}
		i += n - 1;
	}
}

function nameColour(g: CanvasRenderingContext2D, s: Scene, name: number, track: Track | null): { fill: string | CanvasPattern; cls: string; dim: boolean } {
	const n = s.store.names.get(name);
	const host = track?.kind === 'thread' || n?.class === 'host' || n?.class === null;
	const cls = host ? 'host' : classOf(n?.class);
	const dim = (s.match !== null && !s.match(name)) || (!host && s.shown !== null && !s.shown(cls));
	return { fill: texture(g, cls), cls, dim };
}

function paintExact(g: CanvasRenderingContext2D, e: Exact, r: Row, y: number, h: number, X: (t: number) => number, s: Scene): void {
	let i = Math.max(0, before(e, s.win.t0 - e.longest));
	font(g, 11, true);
	g.textBaseline = 'middle';
	g.textAlign = 'left';
	let lastX = -1, lastFill: string | CanvasPattern = '', lastDepth = -1;
	for (; i < e.n; i++) {
		const start = e.start[i]!, end = start + e.dur[i]!;
		if (start > s.win.t1) break;
		if (end < s.win.t0) continue;
		const depth = r.depths ? Math.min(e.depth[i]!, r.depths - 1) : 0;
		const x0 = Math.max(X(start), s.gutter - 2), x1 = Math.min(X(end), s.gutter + 100000), w = Math.max(x1 - x0, 0.6);
		const { fill, cls, dim: other } = nameColour(g, s, e.name[i]!, r.track), dim = other || (s.long !== null && (e.dur[i]! < s.long[0] || e.dur[i]! >= s.long[1]));
		// Thousands within one pixel are one rectangle.
		if (w < 1 && Math.floor(x0) === lastX && fill === lastFill && depth === lastDepth) continue;
		lastX = Math.floor(x0);
		lastFill = fill;
		lastDepth = depth;
		const yy = r.depths ? y + depth * DEPTH_H : y, hh = r.depths ? DEPTH_H - 1 : h;
		g.globalAlpha = dim ? 0.22 : 1;
		g.fillStyle = fill;
		g.fillRect(x0, yy, w > 3 ? w - 1 : w, hh);
		if (w >= 40 && (r.depths || r.track?.kind !== 'thread')) {
			const n = s.store.names.get(e.name[i]!);
			// Of streams together, the next one may lie over the end of this one: words end where it begins.
			const until = !r.depths && i + 1 < e.n ? Math.min(x1, X(e.start[i + 1]!)) : x1;
			const from = Math.max(x0, s.gutter) + 4, room = Math.floor((Math.min(until, 1e5) - from - 3) / 6.7);
			if (n && room > 2) words(g, fmt.label(n.name, room), from, yy + hh / 2 + 0.5, room * 6.7, ink(cls));
		}
	}
	g.globalAlpha = 1;
}

/** Steps by their number, of the list that the API has: a line where each begins, and how long it is. */
function paintSteps(g: CanvasRenderingContext2D, steps: Step[], y: number, h: number, X: (t: number) => number, s: Scene): void {
	font(g);
	g.textBaseline = 'middle';
	g.textAlign = 'left';
	let drawn = -1e9;
	for (const st of steps) {
		const x0 = X(st.start_ns), x1 = X(st.start_ns + st.dur_ns);
		if (x1 < s.gutter || st.start_ns > s.win.t1) continue;
		g.fillStyle = colour('raised');
		g.fillRect(x0, y + 1, Math.max(1, x1 - x0), h - 2);
		if (x0 - drawn >= 3) {
			g.fillStyle = colour('dim');
			g.fillRect(x0, y + 1, 1, h - 2);
			drawn = x0;
		}
		const from = Math.max(x0, s.gutter) + 5, room = Math.floor((x1 - from - 4) / 6.2);
		if (room < 4) continue;
		const n = fmt.count(st.step), long = `${n}  ${fmt.time(st.dur_ns)}`;
		g.fillStyle = colour('dim');
		if (n.length <= room) g.fillText(long.length <= room ? long : n, from, y + h / 2);
	}
}

/** A counter keeps its value until the next one is said. */
function paintCounter(g: CanvasRenderingContext2D, tile: Tile, before: Counter | null, top: number, y: number, h: number, X: (t: number) => number): void {
	const c = tile.counter!, cell = 2 ** tile.L, was = before ? before.used.lastIndexOf(1) : -1;
	let held = was >= 0 ? before!.mean[was]! : NaN;
	if (!(top > 0)) return;
	for (let i = 0; i < CELLS; i++) {
		if (!c.used[i] && Number.isNaN(held)) continue;
		let n = 1;
		const hi = c.used[i] ? c.max[i]! : held, mean = c.used[i] ? c.mean[i]! : held;
		if (!c.used[i]) while (i + n < CELLS && !c.used[i + n]) n++;
		const x = X(tile.t0 + i * cell), w = X(tile.t0 + (i + n) * cell) - x;
		if (w <= 0) break;
		g.globalAlpha = 0.45;
		g.fillStyle = colour('host');
		g.fillRect(x, y + h - (hi / top) * h, w, (hi / top) * h);
		g.globalAlpha = 1;
		g.fillStyle = colour('dim');
		g.fillRect(x, y + h - (mean / top) * h, w, 1);
		held = mean;
		i += n - 1;
	}
}

function paintLost(g: CanvasRenderingContext2D, tile: Tile, y: number, h: number, X: (t: number) => number): void {
	const a = X(tile.t0), b = X(tile.t0 + 2 ** (tile.L + 9));
	g.fillStyle = colour('warn');
	g.fillRect(a, y + h - 2, b - a, 1);
}

function rowOf(s: Scene, track: number): Row | undefined {
	return s.rows.find((r) => r.track?.id === track);
}

function overlays(g: CanvasRenderingContext2D, X: (t: number) => number, w: number, h: number, s: Scene): void {
	if (s.area) {
		g.fillStyle = colour('accent');
		g.globalAlpha = 0.16;
		g.fillRect(X(s.area[0]), s.top, X(s.area[1]) - X(s.area[0]), h);
		g.globalAlpha = 1;
		g.strokeStyle = colour('accent');
		g.lineWidth = 1;
		g.strokeRect(X(s.area[0]) + 0.5, s.top - 1, X(s.area[1]) - X(s.area[0]), h + 2);
	}
	if (s.sel) {
		const r = s.sel.track !== null ? rowOf(s, s.sel.track) : undefined;
		const x0 = X(s.sel.start), x1 = X(s.sel.start + s.sel.dur);
		g.strokeStyle = colour('mark');
		g.lineWidth = 2;
		if (r) g.strokeRect(x0 - 1, s.top + r.y - s.scroll, Math.max(3, x1 - x0 + 1), r.depths ? r.h - 1 : r.h - 1);
		else {
			g.fillStyle = colour('mark');
			g.globalAlpha = 0.12;
			g.fillRect(x0, s.top, Math.max(2, x1 - x0), h);
			g.globalAlpha = 1;
		}
	}
	g.lineWidth = 1.5;
	for (const f of s.flows) {
		const a = rowOf(s, f.from.track), b = rowOf(s, f.to.track);
		if (!a || !b) continue;
		const x0 = X(f.from.t), x1 = X(f.to.t), y0 = s.top + a.y - s.scroll + a.h / 2, y1 = s.top + b.y - s.scroll + b.h / 2;
		g.strokeStyle = colour('mark');
		g.beginPath();
		g.moveTo(x0, y0);
		g.bezierCurveTo(x0 + 40, y0, x1 - 40, y1, x1, y1);
		g.stroke();
		g.fillStyle = colour('mark');
		g.beginPath();
		g.arc(x1, y1, 3, 0, 7);
		g.fill();
	}
	g.lineWidth = 1;
	for (const m of s.marks) line(g, X(m), s.top, h, colour('warn'));
	if (s.cursor !== null) line(g, s.cursor, s.top, h, colour('line'));
	void w;
}

function line(g: CanvasRenderingContext2D, x: number, y: number, h: number, c: string): void {
	g.fillStyle = c;
	g.fillRect(Math.round(x), y, 1, h);
}

/** Moments with just as many digits as the zoom needs. */
function axis(g: CanvasRenderingContext2D, w: number, s: Scene, X: (t: number) => number): void {
	const span = s.win.t1 - s.win.t0;
	g.fillStyle = colour('surface');
	g.fillRect(0, 0, w, s.top);
	font(g);
	g.textBaseline = 'middle';
	g.textAlign = 'left';
	const marks = ticks(s.win.t0, s.win.t1, Math.max(2, Math.floor((w - s.gutter) / 130)));
	const step = (marks[1] ?? marks[0]! + span) - marks[0]!;
	for (const m of marks) {
		const x = Math.round(X(m));
		if (x < s.gutter) continue;
		g.fillStyle = colour('line');
		g.fillRect(x, s.top - 6, 1, 6);
		g.fillStyle = colour('dim');
		g.fillText(tick(m, step), x + 4, s.top / 2);
	}
	hits(g, s, X);
	g.fillStyle = colour('line');
	g.fillRect(0, s.top - 1, w, 1);
	g.fillStyle = colour('dim');
	g.fillText(fmt.time(span), 8, s.top / 2);
}

/** Of a search: a mark where each begins, whether or not it is wide enough to be seen below. */
function hits(g: CanvasRenderingContext2D, s: Scene, X: (t: number) => number): void {
	let last = -9;
	g.fillStyle = colour('mark');
	for (const t of s.hits) {
		const x = Math.round(X(t));
		if (t < s.win.t0 || t > s.win.t1 || x - last < 2) continue;
		g.fillRect(x, s.top - 5, 1, 5);
		last = x;
	}
}

function tick(t: number, step: number): string {
	const [div, unit] = step >= 1e8 || t >= 1e10 ? [1e9, 's'] : step >= 1e5 ? [1e6, 'ms'] : step >= 1e2 && t < 1e9 ? [1e3, 'µs'] : [1e9, 's'];
	const digits = Math.max(0, Math.ceil(Math.log10(div / step) - 1e-9));
	return `${(t / div).toFixed(Math.min(9, digits))} ${unit}`;
}
