// SPDX-License-Identifier: Apache-2.0
// The timeline as a picture: rows, window, tiles; where things are on it, and how it moves.
// views/timeline.ts adds what people do with it.
import type { Run, Step } from '../api';
import { colour } from '../classes';
import { canvas, fill, h } from '../dom';
import * as fmt from '../fmt';
import { say } from '../frame';
import { t } from '../i18n';
import { go, state, type Range } from '../state';
import { paint, type Flow, type Scene } from './paint';
import { layout, DEPTH_H, type Folds, type Row } from './rows';
import { TileStore, type Track } from './store';
import { paintStrip } from './strip';
import { before, busy, type Tile } from './tile';

const TOP = 22, SNAP = 6;
const LEAST = 20; // ns: no deeper

export type Hit = { track: Track; start: number; dur: number; id: number; name: number } | { track: Track; merged: true; start: number; dur: number; name: number; n: number };

export abstract class Stage {
	protected store: TileStore;
	protected tracks: Track[] = [];
	protected rows: Row[] = [];
	protected folds: Folds = { closed: new Set(), open: new Set(), pinned: new Set(), alike: true, only: null };
	protected win: Range;
	target: Range;
	protected steps: Step[] = []; // of the first rank
	protected stepsOf: Scene['steps'] = new Map();
	protected sel: Scene['sel'] = null;
	protected area: Range | null = null;
	protected flows: Flow[] = [];
	protected marks: number[] = [];
	protected hits: number[] = []; // of a search
	protected hover: { x: number; y: number } | null = null;
	protected current: string | null = null; // key of the row that arrows move from
	protected slow: number[] = []; // ranks that lag: shown even where others are folded
	protected depths = new Map<number, number>();
	protected closed = false;
	protected placed = false; // at the step it opens at
	protected save = 0;
	protected late = 0;
	private calm = false;
	protected readonly gutterEl = h('div', { class: 'tl-gutter', role: 'tree', 'aria-label': t('timeline.tracks') });
	protected readonly scroller = h('div', { class: 'tl-scroll' }, this.gutterEl);
	protected readonly note = h('span', { class: 'dim' });
	protected readonly body: ReturnType<typeof canvas>;
	protected readonly strip: ReturnType<typeof canvas>;
	frames: number[] = []; // ms that each drawing took, for the benchmark
	firstPaint = 0;
	protected begun = () => {};
	readonly drawn = new Promise<void>((ok) => { this.begun = ok; });
	protected progress = 0; // how much of the run the server has read, while that is not all

	constructor(protected host: HTMLElement, protected run: Run) {
		this.store = new TileStore(run.id, () => this.draw());
		this.win = this.target = state.w ?? state.t ?? [0, Math.max(run.t1_rel, 1000)];
		this.body = canvas((g, w, hh) => this.paint(g, w, hh), { role: 'img', tabindex: 0, 'aria-label': t('timeline.alt') });
		this.strip = canvas((g, w, hh) => paintStrip(g, w, hh, this.end(), this.win, this.steps, this.tracks), { class: 'tl-strip', role: 'img', 'aria-label': t('timeline.strip') });
	}

	/** Is all that is in view drawn, and what is said beside it up to date? */
	quiet(): boolean {
		return this.calm && this.win === this.target && !this.store.busyLoading() && !this.store.partial;
	}

	/** Nothing has moved for a while. */
	protected abstract settled(): void;

	protected setTracks(tracks: Track[]): void {
		this.tracks = tracks.filter((x) => x.n);
		for (const x of this.tracks) this.store.tracks.set(x.id, x);
	}

	gutter(): number {
		return innerWidth < 760 ? 96 : 210;
	}

	// ---- layout

	protected place(): void {
		this.rows = layout(this.tracks, this.folds, state.ranks, this.slow, (tr) => this.depths.get(tr.id) ?? 0);
		const last = this.rows[this.rows.length - 1];
		this.gutterEl.style.height = `${last ? last.y + last.h + 12 : 0}px`;
		fill(this.gutterEl, this.rows.map((r) => {
			const b = h('button', {
				type: 'button', role: 'treeitem', tabindex: r.key === (this.current ?? this.rows[0]?.key) ? 0 : -1, class: r.track ? '' : 'group', data: { key: r.key },
				'aria-expanded': r.group ? String(!r.folded) : null, 'aria-selected': String(r.key === this.current), 'aria-level': r.indent + 1, title: r.label, translate: 'no',
				style: { top: `${r.y}px`, 'padding-left': `${8 + r.indent * 12}px` },
				on: { click: () => { this.current = r.key; if (r.group) this.fold(r); else this.place(); } },
			}, r.group ? (r.folded ? '▸ ' : '▾ ') : '', this.folds.pinned.has(r.track?.id ?? -1) ? '• ' : '', r.label);
			return b;
		}));
		this.draw();
	}

	protected fold(r: Row): void {
		if (r.group === 'alike') this.folds.alike = false;
		else if (r.group) {
			(r.folded ? this.folds.closed : this.folds.open).delete(r.group);
			(r.folded ? this.folds.open : this.folds.closed).add(r.group);
		}
		this.place();
	}

	// ---- drawing

	draw(): void {
		this.body.redraw();
		this.strip.redraw();
	}

	protected end(): number {
		return Math.max(this.run.t1_rel, ...this.tracks.map((x) => x.last), 1000);
	}

	protected paint(g: CanvasRenderingContext2D, w: number, hh: number): void {
		const at = performance.now();
		this.animate();
		const q = state.q.toLowerCase(), cls = state.classes;
		const scene: Scene = {
			store: this.store, win: { t0: this.win[0], t1: this.win[1] }, rows: this.rows, scroll: this.scroller.scrollTop, gutter: this.gutter(), top: TOP,
			match: q ? (n) => !!this.store.names.get(n)?.name.toLowerCase().includes(q) : null,
			long: q ? state.d : null, hits: this.hits,
			shown: cls ? (c) => cls.includes(c) : null,
			sel: this.sel, area: this.area, flows: this.flows, marks: this.marks, steps: this.stepsOf, cursor: this.hover?.x ?? null, t1: this.end(),
		};
		paint(g, w, hh, scene);
		this.measure(g, w);
		this.fetch(w, hh);
		this.frames.push(performance.now() - at);
		if (this.frames.length > 4000) this.frames.shift();
		if (!this.firstPaint && this.store.loads) {
			this.firstPaint = performance.now();
			this.host.dataset.painted = String(Math.round(this.firstPaint));
		}
		if (this.firstPaint && !this.host.dataset.whole && !this.store.partial && !this.store.busyLoading()) {
			this.host.dataset.whole = String(Math.round(performance.now()));
			this.begun();
		}
		this.calm = false;
		clearTimeout(this.late);
		this.late = window.setTimeout(() => this.settle(), 250);
	}

	/** Towards where it is going: 120 ms, so that the eye keeps the place. */
	protected animate(): void {
		const [a, b] = this.target, still = matchMedia('(prefers-reduced-motion: reduce)').matches;
		const da = a - this.win[0], db = b - this.win[1], px = (this.win[1] - this.win[0]) / 2000;
		if (still || (Math.abs(da) < px && Math.abs(db) < px)) {
			this.win = this.target;
			return;
		}
		this.win = [this.win[0] + da * 0.35, this.win[1] + db * 0.35];
		requestAnimationFrame(() => this.draw());
	}

	/** How long the pointer's selection is. */
	protected measure(g: CanvasRenderingContext2D, w: number): void {
		if (!this.area) return;
		const x = this.gutter() + (((this.area[0] + this.area[1]) / 2 - this.win[0]) / (this.win[1] - this.win[0])) * (w - this.gutter());
		const text = fmt.time(this.area[1] - this.area[0]);
		g.font = '12px ui-monospace, monospace';
		g.textAlign = 'center';
		g.textBaseline = 'middle';
		const tw = g.measureText(text).width + 10;
		g.fillStyle = colour('raised');
		g.fillRect(x - tw / 2, TOP + 4, tw, 18);
		g.fillStyle = colour('text');
		g.fillText(text, x, TOP + 13);
	}

	protected visible(hh: number): Row[] {
		const y = this.scroller.scrollTop;
		return this.rows.filter((r) => r.track && r.y + r.h > y && r.y < y + hh - TOP);
	}

	protected fetch(w: number, hh: number): void {
		const [a, b] = this.target;
		const now: { track: number; L: number; i: number }[] = [], soon: typeof now = [];
		const seen = this.visible(hh).map((r) => r.track!);
		for (const tr of new Set([...seen, ...seen.map((x) => this.store.stepsOf(x)).filter((x) => x !== null)])) {
			const L = this.store.level(b - a, w - this.gutter(), tr), width = 2 ** (L + 9);
			const from = Math.max(0, Math.floor(Math.max(a, tr.first) / width)), to = Math.floor(Math.min(b, tr.last) / width);
			for (let i = from; i <= to && i - from < 16; i++) now.push({ track: tr.id, L, i });
			if (from > 0 && from * width > tr.first) soon.push({ track: tr.id, L, i: from - 1 });
			if ((to + 1) * width < tr.last) soon.push({ track: tr.id, L, i: to + 1 });
		}
		const missing = now.filter((x) => !this.store.has(x.track, x.L, x.i));
		if (missing.length) this.store.need(missing);
		else if (!this.store.busyLoading()) this.store.need(soon);
	}

	/** When nothing has moved for a while: the address, the figures beside the picture, its table. */
	protected settle(): void {
		if (this.closed || !this.body.el.isConnected) return;
		this.saveWindow();
		this.annotate();
		this.settled();
		this.calm = true;
		this.unfoldDepths();
	}

	protected annotate(): void {
		const s = this.store;
		this.note.textContent = s.failed ? t('timeline.failed', { why: s.failed }) : s.partial ? t('timeline.reading', { share: fmt.percent(this.progress) }) : this.inView();
		this.note.className = s.failed ? 'warn' : 'dim';
	}

	/** Ranges within ranges get rows of their own where they can be distinguished. */
	protected unfoldDepths(): void {
		let changed = false;
		for (const r of this.rows) {
			if (r.track?.kind !== 'thread') continue;
			let deep = 0;
			for (const k of [0.01, 0.5, 0.99]) deep = Math.max(deep, 1 + (this.tileAt(r.track, Math.max(0, this.win[0] + (this.win[1] - this.win[0]) * k))?.exact?.deepest ?? -1));
			if (deep !== (this.depths.get(r.track.id) ?? 0)) {
				this.depths.set(r.track.id, deep);
				changed = true;
			}
		}
		if (changed) this.place();
	}

	protected saveWindow(): void {
		const [a, b] = this.target, whole = a <= 0 && b >= this.end();
		if (state.view === 'timeline' && state.run === this.run.id) go({ w: whole ? null : [Math.round(Math.max(0, a)), Math.round(b)] }, false);
	}

	/** Busy time of a track in the window, by class, from whatever was drawn. */
	protected busyOf(tr: Track): Float64Array {
		const sum = new Float64Array(8), [a, b] = this.win;
		const L = this.store.level(b - a, this.body.el.clientWidth - this.gutter(), tr), width = 2 ** (L + 9);
		for (let i = Math.max(0, Math.floor(a / width)); i <= Math.floor(Math.min(b, tr.last) / width); i++) {
			const tile = this.store.get(tr.id, L, i);
			if (tile) busy(tile, Math.max(a, i * width), Math.min(b, (i + 1) * width), (n) => this.store.classIndex(n), sum);
		}
		return sum;
	}

	/** How long, in a stretch, nothing was recorded of a track's process. */
	protected unrecordedOf(tr: Track, from: number, to: number): number {
		const steps = this.store.stepsOf(tr);
		if (!steps || to <= from) return 0;
		const L = this.store.level(this.win[1] - this.win[0], this.body.el.clientWidth - this.gutter(), steps), width = 2 ** (L + 9);
		let sum = 0;
		for (let i = Math.max(0, Math.floor(from / width)); i <= Math.floor(to / width); i++)
			for (const [a, b, share] of this.store.unrecorded(steps, L, i)) sum += Math.max(0, Math.min(b, to, (i + 1) * width) - Math.max(a, from, i * width)) * share;
		return Math.min(sum, to - from);
	}

	protected inView(): string {
		const gpus = this.rows.filter((r) => r.track?.kind === 'gpu');
		if (!gpus.length) return '';
		let unseen = 0;
		const parts = gpus.slice(0, 4).map((r) => {
			const tr = r.track!, from = Math.max(this.win[0], tr.first), to = Math.min(this.win[1], tr.last);
			const b = this.busyOf(tr).reduce((x, y) => x + y, 0), left = to > from ? this.unrecordedOf(tr, from, to) : 0;
			unseen = Math.max(unseen, left / Math.max(1, to - from));
			return to - from > left ? `${tr.label} ${fmt.percent(Math.min(1, b / (to - from - left)))}` : '';
		}).filter(Boolean);
		const busy = parts.length ? t('timeline.busy', { list: parts.join(', ') }) : '';
		return unseen > 0.001 ? [busy, t('timeline.unrecordedshare', { share: fmt.percent(unseen) })].filter(Boolean).join('; ') : busy;
	}

	// ---- where things are

	time(x: number): number {
		return this.win[0] + ((x - this.gutter()) / Math.max(1, this.body.el.clientWidth - this.gutter())) * (this.win[1] - this.win[0]);
	}

	protected rowAt(y: number): Row | undefined {
		const yy = y - TOP + this.scroller.scrollTop;
		return this.rows.find((r) => yy >= r.y && yy < r.y + r.h);
	}

	protected tileAt(tr: Track, ns: number): Tile | null {
		const L = this.store.level(this.win[1] - this.win[0], this.body.el.clientWidth - this.gutter(), tr);
		return this.store.best(tr, L, Math.floor(ns / 2 ** (L + 9)));
	}

	protected hit(x: number, y: number): Hit | null {
		const r = this.rowAt(y), ns = this.time(x);
		if (!r?.track || x < this.gutter()) return null;
		const tile = this.tileAt(r.track, ns), px = (this.win[1] - this.win[0]) / Math.max(1, this.body.el.clientWidth - this.gutter());
		if (tile?.exact) {
			const e = tile.exact, depth = r.depths ? Math.floor((y - TOP + this.scroller.scrollTop - r.y) / DEPTH_H) : -1;
			for (let i = before(e, ns + px); i >= 0 && e.start[i]! >= ns - e.longest - px; i--) {
				if (e.start[i]! + e.dur[i]! < ns - px) continue;
				if (depth >= 0 && Math.min(e.depth[i]!, r.depths - 1) !== depth) continue;
				return { track: r.track, start: e.start[i]!, dur: e.dur[i]!, id: e.id[i]!, name: e.name[i]! };
			}
			return null;
		}
		if (tile?.cells) {
			const width = 2 ** tile.L, i = Math.floor((ns - tile.t0) / width);
			if (i >= 0 && i < 512 && tile.cells.used[i]) return { track: r.track, merged: true, start: tile.t0 + i * width, dur: width, name: tile.cells.name[i]!, n: tile.cells.starts[i]! };
		}
		return null;
	}

	/** The nearest edge of an event of this row, if it is near. */
	snap(x: number, y: number): number {
		const ns = this.time(x), r = this.rowAt(y), px = (this.win[1] - this.win[0]) / Math.max(1, this.body.el.clientWidth - this.gutter());
		const e = r?.track ? this.tileAt(r.track, ns)?.exact : null;
		let best = ns, near = SNAP * px;
		if (e) {
			const i = before(e, ns);
			for (const k of [i - 1, i, i + 1]) {
				if (k < 0 || k >= e.n) continue;
				for (const edge of [e.start[k]!, e.start[k]! + e.dur[k]!])
					if (Math.abs(edge - ns) < near) {
						near = Math.abs(edge - ns);
						best = edge;
					}
			}
		}
		return best;
	}

	// ---- moving

	jump(r: Range, push = true): void {
		const end = this.end(), long = Math.min(Math.max(r[1] - r[0], LEAST), end * 1.05);
		let a = (r[0] + r[1]) / 2 - long / 2;
		a = Math.max(-long * 0.02, Math.min(a, end * 1.02 - long * 0.5));
		this.target = [a, a + long];
		this.save = Date.now();
		if (push) go({ w: [Math.round(Math.max(0, a)), Math.round(a + long)] });
		this.draw();
	}

	protected move(r: Range): void {
		this.jump(r, false);
	}

	zoom(k: number, at?: number): void {
		const [a, b] = this.target, mid = at ?? (this.hover && this.hover.x > this.gutter() ? this.time(this.hover.x) : (a + b) / 2);
		this.move([mid - (mid - a) * k, mid + (b - mid) * k]);
	}

	pan(k: number): void {
		const [a, b] = this.target, d = (b - a) * k;
		this.move([a + d, b + d]);
	}

	protected step(by: number): void {
		if (!this.steps.length) return;
		const mid = (this.target[0] + this.target[1]) / 2;
		let i = this.steps.findIndex((s) => s.start_ns + s.dur_ns > mid);
		if (i < 0) i = this.steps.length - 1;
		const s = this.steps[Math.max(0, Math.min(this.steps.length - 1, i + by))]!;
		this.jump([s.start_ns - s.dur_ns * 0.05, s.start_ns + s.dur_ns * 1.05]);
		say(t('timeline.atstep', { n: fmt.count(s.step), long: fmt.time(s.dur_ns) }));
	}

	protected fit(): void {
		const s = this.area ?? (this.sel ? ([this.sel.start, this.sel.start + this.sel.dur] as Range) : null);
		if (!s) return;
		const long = Math.max(s[1] - s[0], LEAST);
		const near: Range = [s[0] - long * 0.05, s[1] + long * 0.05];
		const there = Math.abs(this.target[0] - near[0]) < long * 0.01 && Math.abs(this.target[1] - near[1]) < long * 0.01;
		this.jump(there ? [s[0] - long, s[1] + long] : near);
	}
}
