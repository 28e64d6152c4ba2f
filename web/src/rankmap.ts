// SPDX-License-Identifier: Apache-2.0
// Ranks x steps of a job of thousands of ranks. A cell is the worst of its ranks and steps, and says which that is: a bitmap
// with a pixel a cell, drawn once and stretched, so that moving over it costs nothing.
import { get, type FleetHeat, type FleetPlace } from './api';
import { colour } from './classes';
import { button, canvas, fill, h } from './dom';
import * as fmt from './fmt';
import { t } from './i18n';
import { font } from './plot';
import { go, state } from './state';
import { loader } from './view';
import { over } from './views/steps';

const MEASURES = ['own', 'dur', 'comm', 'idle'] as const;
const ORDERS = ['rank', 'host', 'leaf', 'slow'] as const;
const LEFT = 96, FOOT = 18, LABEL = 13; // px
const FULL = 200; // thousandths above the median that have the full colour
const ROWS_MOST = 192, COLUMNS_MOST = 480;

const rowHeight = (rows: number) => (rows <= 24 ? 18 : rows <= 64 ? 8 : rows <= 128 ? 4 : 3);
const one = <T extends string>(all: readonly T[], v: string | null): T => all.find((x) => x === v) ?? all[0]!;
export const place = (p: { host: string | null; rack: string | null; leaf: number }) => [p.host ?? '-', p.rack ? t('fleet.in.rack', { rack: p.rack }) : '', p.leaf ? t('fleet.in.leaf', { leaf: p.leaf }) : ''].filter(Boolean).join(', ');

/** A pixel a cell: the heat's colour, as opaque as the cell is above the median; nothing where nothing was. */
function bitmap(m: FleetHeat): HTMLCanvasElement {
	const el = document.createElement('canvas'), w = (el.width = m.steps.length), hh = (el.height = m.rows.length), g = el.getContext('2d')!;
	const rgb = (id: string) => {
		g.fillStyle = colour(id);
		g.fillRect(0, 0, 1, 1);
		return g.getImageData(0, 0, 1, 1).data;
	};
	const cold = rgb('raised'), hot = rgb('heat'), img = g.createImageData(w, hh);
	for (let j = 0, p = 0; j < hh; j++)
		for (let i = 0; i < w; i++, p += 4) {
			const v = m.worst[j]![i] ?? null, a = Math.min(1, Math.max(0, (v ?? 0) / FULL));
			for (let c = 0; c < 3; c++) img.data[p + c] = cold[c]! + (hot[c]! - cold[c]!) * a;
			img.data[p + 3] = v === null ? 0 : 255;
		}
	g.putImageData(img, 0, 0);
	return el;
}

/** What stands beside a row: its rank, or where it is; "" where it is as the row above. */
function label(m: FleetHeat, order: string, j: number): string {
	const of = (p: FleetPlace | undefined) => (!p ? '' : order === 'host' ? (p.host ?? '-') : order === 'leaf' ? `${p.rack ?? '-'} · ${p.leaf}` : t('rank', { n: p.rank }));
	const mine = of(m.rows[j]);
	return j && of(m.rows[j - 1]) === mine ? '' : mine;
}

/** The cell in words: who it is about, where that is, and by how much. */
function words(m: FleetHeat, where: Map<number, FleetPlace>, j: number, i: number): string {
	const rank = m.who[j]?.[i] ?? null;
	if (rank === null) return t('fleet.cell.none', { step: fmt.count(m.steps[i]) });
	const p = where.get(rank) ?? m.rows[j]!, many = m.rows[j]!.ranks > 1 || m.steps_n > m.steps.length;
	return t(many ? 'fleet.cell.worst' : 'fleet.cell', { rank, place: place(p), step: fmt.count(m.when[j]![i]!), v: fmt.time(m.us[j]![i]! * 1e3), over: over(m.worst[j]![i]!), mean: over(m.mean[j]![i]!), ranks: m.rows[j]!.ranks });
}

interface Does {
	pick(rank: number, step: number): void;
	zoom(first: number, last: number): void;
	say(s: string): void;
}

function map(m: FleetHeat, order: string, where: Map<number, FleetPlace>, does: Does): HTMLElement {
	const rows = m.rows.length, cols = m.steps.length, rowH = rowHeight(rows), height = rows * rowH + FOOT;
	const readout = h('p', { class: 'note readout', 'aria-hidden': 'true' }, t('fleet.hint'));
	let at: [number, number] = [0, 0], from: number | null = null, to = 0, bits: HTMLCanvasElement | null = null;
	const width = (w: number) => Math.min(cols * 24, w - LEFT - 4);
	const c = canvas((g, w) => {
		const wide = width(w), cw = wide / cols;
		bits ??= bitmap(m);
		g.imageSmoothingEnabled = false;
		g.drawImage(bits, LEFT, 0, wide, rows * rowH);
		font(g);
		g.fillStyle = colour('dim');
		g.textBaseline = 'middle';
		g.textAlign = 'right';
		for (let j = 0, low = -LABEL; j < rows; j++) {
			const s = label(m, order, j), y = j * rowH + rowH / 2;
			if (!s || y - low < LABEL) continue;
			low = Math.max(LABEL / 2, y);
			g.fillText(s, LEFT - 6, low, LEFT - 8);
		}
		g.textBaseline = 'bottom';
		g.textAlign = 'left';
		g.fillText(t('overview.stepno', { n: fmt.count(m.steps[0]) }), LEFT, height - 2);
		g.textAlign = 'right';
		if (wide > 120) g.fillText(fmt.count(m.last_step), LEFT + wide, height - 2);
		g.strokeStyle = colour('mark');
		g.lineWidth = 2;
		if (from !== null && Math.abs(to - from) > 0) g.strokeRect(LEFT + Math.min(from, to) * cw, 1, (Math.abs(to - from) + 1) * cw, rows * rowH - 2);
		else if (document.activeElement === c.el) g.strokeRect(LEFT + at[1] * cw - 1, at[0] * rowH - 1, Math.max(4, cw) + 2, Math.max(4, rowH) + 2);
	}, { class: 'heat', role: 'img', tabindex: 0, 'aria-label': alt(m), style: { height: `${height}px` } });
	const column = (e: MouseEvent) => Math.floor((e.clientX - c.el.getBoundingClientRect().left - LEFT) / (width(c.el.clientWidth) / cols));
	const hit = (e: MouseEvent): [number, number] | null => {
		const j = Math.floor((e.clientY - c.el.getBoundingClientRect().top) / rowH), i = column(e);
		return i >= 0 && i < cols && j >= 0 && j < rows ? [j, i] : null;
	};
	const tell = (p: [number, number]) => { readout.textContent = words(m, where, ...p); };
	const open = ([j, i]: [number, number]) => { if (fmt.known(m.who[j]![i])) does.pick(m.who[j]![i]!, m.when[j]![i]!); };
	const closer = (a: number, b: number) => does.zoom(m.steps[a]!, (m.steps[b + 1] ?? m.last_step + 1) - 1);
	c.el.addEventListener('pointermove', (e) => {
		const p = hit(e);
		if (p) tell(p);
		if (from === null) return;
		to = Math.min(cols - 1, Math.max(0, column(e)));
		c.redraw();
	});
	c.el.addEventListener('pointerdown', (e) => { if (hit(e)) from = to = column(e); });
	c.el.addEventListener('pointerup', (e) => {
		const p = hit(e), a = from;
		from = null;
		if (a !== null && to !== a) return closer(Math.min(a, to), Math.max(a, to));
		if (p) open((at = p));
	});
	for (const type of ['focus', 'blur']) c.el.addEventListener(type, c.redraw);
	c.el.addEventListener('keydown', (e) => {
		const step: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -cols], End: [0, cols] };
		const d = step[e.key];
		if (e.key === 'Enter') open(at);
		else if (e.key === 'z' || e.key === 'Z') closer(Math.max(0, at[1] - (cols >> 3)), Math.min(cols - 1, at[1] + (cols >> 3)));
		else if (d) at = [Math.min(rows - 1, Math.max(0, at[0] + d[0])), Math.min(cols - 1, Math.max(0, at[1] + d[1]))];
		else return;
		e.preventDefault();
		e.stopPropagation();
		tell(at);
		does.say(readout.textContent ?? '');
		c.redraw();
	});
	window.addEventListener('aon-theme', () => { bits = null; c.redraw(); });
	return h('div', null, readout, c.el);
}

function alt(m: FleetHeat): string {
	const worst = m.slowest[0];
	return worst ? t('steps.alt', { ranks: m.ranks_n, steps: m.steps_n, rank: worst.rank, over: over(worst.over) }) : t('steps.alt.one', { steps: m.steps_n });
}

/** The map of a job with its choices. `where`: which node each rank is on. */
export function rankMap(job: string, where: Map<number, FleetPlace>, say: (s: string) => void): HTMLElement {
	const box = h('div', { class: 'block' });
	let range: [number, number] | null = null, all = false;
	const measure = () => one(MEASURES, state.m), order = () => one(ORDERS, state.by);
	const load = loader(box, (signal) => get<FleetHeat>('fleet/heat', { job, measure: measure(), order: order(), newest: all ? 0 : 1, h: ROWS_MOST, s0: range?.[0], s1: range?.[1],
		w: Math.min(COLUMNS_MOST, Math.max(100, Math.floor(((box.clientWidth || 1200) - LEFT) / 2))) }, { signal }), (m) => {
		if (!m.steps_n) return fill(box, h('p', { class: 'note' }, t('fleet.nosteps')));
		const select = <T extends string>(of: readonly T[], now: T, words: (k: T) => string, name: string, set: (v: string) => void) => {
			const s = h('select', { 'aria-label': name, on: { change: () => { set(s.value); void load(); } } }, of.map((k) => h('option', { value: k, selected: k === now }, words(k))));
			return s;
		};
		const slow = m.slowest.filter((s) => s.over >= 20), again = (change: () => void) => () => { change(); void load(); };
		fill(box, h('h2', null, t('fleet.heat', { ranks: fmt.count(m.ranks_n), steps: fmt.count(m.steps_n) })),
			h('div', { class: 'controls' }, h('label', null, t('steps.colour'), ' ', select(MEASURES, measure(), (k) => t(`fleet.measure.${k}`), t('steps.measure'), (v) => go({ m: v }, false))),
				h('label', null, t('fleet.order'), ' ', select(ORDERS, order(), (k) => t(`fleet.order.${k}`), t('fleet.order'), (v) => go({ by: v }, false))),
				h('span', { class: 'scale', 'aria-hidden': 'true' }, '0 %', h('i'), '+20 %'), h('span', { class: 'dim' }, t('steps.scale')),
				range ? button(t('fleet.allsteps'), again(() => { range = null; })) : null,
				m.steps_n < m.steps_all ? button(t('fleet.some'), again(() => { all = true; })) : all && m.every > 1 ? button(t('fleet.newest'), again(() => { all = false; })) : null),
			m.every > 1 ? h('p', { class: 'note' }, t('fleet.every', { n: fmt.count(m.every) })) : m.steps_n < m.steps_all ? h('p', { class: 'note' }, t('fleet.newest.what', { n: fmt.count(m.steps_n), all: fmt.count(m.steps_all) })) : null,
			h('p', { class: 'note' }, slow.length ? [t('steps.slow'), ' ', slow.map((s, i) => [i ? ', ' : '', button(`${t('rank', { n: s.rank })} ${over(s.over)}`, () => go({ ranks: [s.rank] }), { class: 'bare link', title: place(s) })])] : t('fleet.even')),
			map(m, order(), where, { say, pick: (rank) => go({ ranks: [rank] }), zoom: (a, b) => { range = [a, b]; void load(); } }));
	});
	return box;
}
