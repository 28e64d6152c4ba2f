// SPDX-License-Identifier: Apache-2.0
// Is it one rank, one moment, or everybody? Ranks x steps as a heat map; of one rank, steps x phases.
import { get, runPath, type Memory, type Run, type Step, type Steps } from '../api';
import { colour } from '../classes';
import { button, canvas, fill, h } from '../dom';
import * as fmt from '../fmt';
import { drawer, ribbon, say } from '../frame';
import { t, type Key } from '../i18n';
import { axisY, font } from '../plot';
import { go, state } from '../state';
import { table, type Column } from '../table';
import { empty, loader, type Shown, type View } from '../view';

type Measure = 'compute' | 'dur' | 'comm' | 'idle';
const MEASURES: Record<Measure, (s: Step) => number> = {
	// Waiting is removed, so that the cause lights up and not its victims.
	compute: (s) => s.compute_ns,
	dur: (s) => s.dur_ns,
	comm: (s) => s.exposed_comm_ns,
	idle: (s) => s.idle_ns,
};
interface Phase {
	id: string;
	label: Key;
	of(s: Step): number;
}
const PHASES: Phase[] = [
	{ id: 'compute', label: 'phase.compute', of: (s) => s.compute_ns },
	{ id: 'comm', label: 'phase.comm', of: (s) => s.exposed_comm_ns },
	{ id: 'copy', label: 'phase.copy', of: (s) => Math.max(0, s.busy_ns - s.compute_ns - s.exposed_comm_ns) },
	{ id: 'idle', label: 'phase.idle', of: (s) => s.idle_ns },
];

interface Grid {
	ranks: (number | null)[];
	steps: number[];
	at(rank: number | null, step: number): Step | undefined;
}

function grid(all: Step[]): Grid {
	const by = new Map<string, Step>();
	for (const s of all) by.set(`${s.rank}/${s.step}`, s);
	return {
		ranks: [...new Set(all.map((s) => s.rank))].sort((a, b) => (a ?? -1) - (b ?? -1)),
		steps: [...new Set(all.map((s) => s.step))].sort((a, b) => a - b),
		at: (r, s) => by.get(`${r}/${s}`),
	};
}

function median(xs: number[]): number {
	const s = [...xs].sort((a, b) => a - b);
	return s.length ? s[s.length >> 1]! : 0;
}

/** How much above the median of its step, as a share; with one rank, above the median of all steps. */
function excess(g: Grid, of: (s: Step) => number): (number | null)[][] {
	const whole = median(g.ranks.flatMap((r) => g.steps.map((n) => g.at(r, n)).filter((s) => s !== undefined).map(of)));
	const mid = g.steps.map((n) => median(g.ranks.map((r) => g.at(r, n)).filter((s) => s !== undefined).map(of)));
	return g.ranks.map((r) => g.steps.map((n, i) => {
		const s = g.at(r, n), base = g.ranks.length > 1 ? mid[i]! : whole;
		return s && base ? of(s) / base - 1 : null;
	}));
}

const LEFT = 64, CELL = 16;
const WIDEST = 72; // px: a few steps do not fill the screen

function heat(g: Grid, of: (s: Step) => number, open: (s: Step) => void): HTMLElement {
	const x = excess(g, of);
	const rowH = g.ranks.length > 40 ? 6 : g.ranks.length === 1 ? 28 : CELL;
	const height = g.ranks.length * rowH + 22;
	const c = canvas((q, w) => {
		const cw = Math.min(WIDEST, (w - LEFT - 4) / g.steps.length);
		font(q);
		q.textBaseline = 'middle';
		g.ranks.forEach((r, j) => {
			if (rowH >= 12 || j % 8 === 0) {
				q.fillStyle = colour('dim');
				q.textAlign = 'right';
				q.fillText(t('rank', { n: r ?? '-' }), LEFT - 6, j * rowH + rowH / 2);
			}
			// A cell of many steps shows its worst.
			const cells = Math.min(g.steps.length, Math.floor(w - LEFT - 4));
			for (let i = 0; i < cells; i++) {
				const a = Math.floor((i * g.steps.length) / cells), b = Math.max(a + 1, Math.floor(((i + 1) * g.steps.length) / cells));
				let worst: number | null = null;
				for (let k = a; k < b; k++) {
					const v = x[j]![k]!;
					if (v !== null && (worst === null || v > worst)) worst = v;
				}
				const px = LEFT + a * cw, pw = Math.max(1, (b - a) * cw - (cw > 6 ? 1 : 0));
				if (worst === null) {
					q.strokeStyle = colour('line');
					q.strokeRect(px + 0.5, j * rowH + 0.5, Math.max(0, pw - 1), rowH - 2);
					continue;
				}
				q.fillStyle = colour('raised');
				q.fillRect(px, j * rowH, pw, rowH - 1);
				q.globalAlpha = Math.min(1, Math.max(0, worst / 0.2));
				q.fillStyle = colour('heat');
				q.fillRect(px, j * rowH, pw, rowH - 1);
				q.globalAlpha = 1;
			}
		});
		q.fillStyle = colour('dim');
		q.textBaseline = 'bottom';
		q.textAlign = 'left';
		q.fillText(t('overview.stepno', { n: fmt.count(g.steps[0]) }), LEFT, height - 4);
		q.textAlign = 'right';
		q.fillText(fmt.count(g.steps[g.steps.length - 1]), LEFT + cw * g.steps.length, height - 4);
	}, { class: 'heat', role: 'img', 'aria-label': describe(g, of), style: { height: `${height}px` } });
	const hit = (e: MouseEvent) => {
		const box = c.el.getBoundingClientRect();
		const j = Math.floor((e.clientY - box.top) / rowH), i = Math.floor((e.clientX - box.left - LEFT) / Math.min(WIDEST, (box.width - LEFT - 4) / g.steps.length));
		return i >= 0 && i < g.steps.length && j >= 0 && j < g.ranks.length ? g.at(g.ranks[j]!, g.steps[i]!) : undefined;
	};
	c.el.addEventListener('click', (e) => {
		const s = hit(e);
		if (s) open(s);
	});
	c.el.addEventListener('mousemove', (e) => {
		const s = hit(e);
		c.el.title = s ? t('steps.cell', { rank: s.rank ?? '-', step: fmt.count(s.step), v: fmt.time(of(s)), dur: fmt.time(s.dur_ns) }) : '';
	});
	window.addEventListener('aon-theme', c.redraw);
	return c.el;
}

/** The picture in a sentence, for who cannot see it. */
function describe(g: Grid, of: (s: Step) => number): string {
	const x = excess(g, of);
	const mean = g.ranks.map((r, j) => ({ r, v: x[j]!.reduce((s: number, v) => s + (v ?? 0), 0) / g.steps.length }));
	const worst = mean.sort((a, b) => b.v - a.v)[0];
	return t('steps.alt', { ranks: g.ranks.length, steps: g.steps.length, rank: worst?.r ?? '-', over: fmt.percent(worst?.v ?? 0) });
}

/** Of each step, what it spent its time on, stacked. */
function phases(steps: Step[], open: (s: Step) => void): HTMLElement {
	const max = Math.max(...steps.map((s) => s.dur_ns), 1);
	let left = 40;
	const c = canvas((g, w, hh) => {
		const b = axisY(g, w, hh, max * 1.02, fmt.time);
		left = b.x;
		const cw = Math.min(WIDEST, b.w / steps.length);
		steps.forEach((s, i) => {
			let y = b.y + b.h;
			for (const p of PHASES) {
				const ph = (p.of(s) / (max * 1.02)) * b.h;
				g.fillStyle = p.id === 'idle' ? colour('idle') : colour(p.id);
				g.globalAlpha = p.id === 'idle' ? 0.5 : 1;
				g.fillRect(b.x + i * cw, y - ph, Math.max(1, cw - (cw > 4 ? 1 : 0)), ph);
				g.globalAlpha = 1;
				y -= ph;
			}
		});
		font(g);
		g.fillStyle = colour('dim');
		g.textBaseline = 'bottom';
		g.textAlign = 'left';
		g.fillText(t('overview.stepno', { n: fmt.count(steps[0]?.step) }), b.x, hh);
		g.textAlign = 'right';
		g.fillText(fmt.count(steps[steps.length - 1]?.step), b.x + cw * steps.length, hh);
	}, { class: 'plot', role: 'img', 'aria-label': t('steps.phases.alt', { n: steps.length, p50: fmt.time(median(steps.map((s) => s.dur_ns))) }), style: { height: '180px' } });
	c.el.addEventListener('click', (e) => {
		const i = Math.floor((e.offsetX - left) / Math.min(WIDEST, (c.el.clientWidth - left - 4) / steps.length));
		if (steps[i]) open(steps[i]);
	});
	window.addEventListener('aon-theme', c.redraw);
	return h('div', { class: 'block' }, h('h3', null, t('steps.phases')), c.el,
		h('div', { class: 'keyed' }, PHASES.map((p) => h('span', null, h('span', { class: p.id === 'idle' ? 'swatch idle' : 'swatch', style: p.id === 'idle' ? {} : { background: `var(--${p.id})` } }), t(p.label)))));
}

function stepDetails(s: Step): void {
	const f = (k: string, v: string) => [h('dt', null, k), h('dd', null, v)];
	go({ sel: `s:${s.rank ?? ''}/${s.step}` }, false);
	drawer(h('div', null, h('dl', { class: 'facts' }, f(t('steps.rank'), String(s.rank ?? '-')), f(t('steps.long'), fmt.time(s.dur_ns)), f(t('steps.at'), fmt.time(s.start_ns)),
		PHASES.map((p) => f(t(p.label), fmt.time(p.of(s)))), f(t('steps.hidden'), fmt.time(Math.max(0, s.comm_ns - s.exposed_comm_ns)))),
		ribbon(PHASES.map((p) => ({ id: p.id, share: p.of(s) / Math.max(1, s.dur_ns), label: t(p.label) }))),
		h('section', { class: 'row' },
			button(t('do.seetimeline'), () => go({ view: 'timeline', w: [s.start_ns, s.start_ns + s.dur_ns] })),
			button(t('steps.range'), () => go({ t: [s.start_ns, s.start_ns + s.dur_ns] })))), t('overview.stepno', { n: fmt.count(s.step) }));
	say(t('steps.cell', { rank: s.rank ?? '-', step: fmt.count(s.step), v: fmt.time(s.compute_ns), dur: fmt.time(s.dur_ns) }));
}

const COLUMNS: Column<Step>[] = [
	{ id: 'step', head: 'steps.step', sort: (s) => s.step, cell: (s) => fmt.count(s.step) },
	{ id: 'rank', head: 'steps.rank', sort: (s) => s.rank, cell: (s) => String(s.rank ?? '-') },
	{ id: 'dur', head: 'steps.long', sort: (s) => s.dur_ns, cell: (s) => fmt.time(s.dur_ns) },
	{ id: 'at', head: 'steps.at', opt: true, sort: (s) => s.start_ns, cell: (s) => fmt.time(s.start_ns) },
	{ id: 'compute', head: 'phase.compute', sort: (s) => s.compute_ns, cell: (s) => fmt.time(s.compute_ns) },
	{ id: 'comm', head: 'phase.comm', opt: true, sort: (s) => s.exposed_comm_ns, cell: (s) => fmt.time(s.exposed_comm_ns) },
	{ id: 'copy', head: 'phase.copy', opt: true, sort: (s) => PHASES[2]!.of(s), cell: (s) => fmt.time(PHASES[2]!.of(s)) },
	{ id: 'idle', head: 'phase.idle', sort: (s) => s.idle_ns, cell: (s) => fmt.time(s.idle_ns) },
	{ id: 'ribbon', head: 'steps.goes', left: true, grow: true, cell: (s) => ribbon(PHASES.map((p) => ({ id: p.id, share: p.of(s) / Math.max(1, s.dur_ns), label: t(p.label) })), true) },
];

function memory(m: Memory): HTMLElement | null {
	if (!m.memory.length) return null;
	return h('div', { class: 'block' }, h('h3', null, t('steps.memory')),
		h('div', { class: 'cols' }, m.memory.map((x) => {
			const low = x.low_bytes ?? [];
			const c = canvas((g, w, hh) => {
				const b = axisY(g, w, hh, Math.max(1, x.peak_bytes) * 1.05, fmt.bytes, 4);
				g.fillStyle = colour('host');
				low.forEach((v, i) => {
					const y = (v / (x.peak_bytes * 1.05)) * b.h;
					g.fillRect(b.x + (i / low.length) * b.w, b.y + b.h - y, b.w / low.length - 1, y);
				});
			}, { class: 'plot', role: 'img', style: { height: '84px' }, 'aria-label': t('steps.memory.alt', { name: x.name, peak: fmt.bytes(x.peak_bytes) }) });
			window.addEventListener('aon-theme', c.redraw);
			return h('div', null, h('span', null, x.rank !== null ? `${t('rank', { n: x.rank })} · ` : '', x.name, ' ', h('span', { class: 'dim' }, t('steps.peak', { peak: fmt.bytes(x.peak_bytes) }))), low.length ? c.el : null);
		})));
}

async function all(run: Run): Promise<Step[]> {
	const out: Step[] = [];
	let cursor: string | null | undefined;
	do {
		const r: Steps = await get<Steps>(runPath(run.id, 'steps'), { t0: state.t?.[0], t1: state.t?.[1], ranks: state.ranks?.join(','), limit: 5000, cursor });
		out.push(...r.steps);
		cursor = r.next;
	} while (cursor && out.length < 200000);
	return out;
}

export const steps: View = {
	id: 'steps',
	title: 'view.steps',
	question: 'view.steps.q',
	open(host, run): Shown {
		let measure: Measure = 'compute', text = () => '';
		let last: { s: Step[]; m: Memory | null } | null = null;
		const draw = ({ s, m }: { s: Step[]; m: Memory | null }) => {
			last = { s, m };
			if (!s.length) {
				empty(host, 'steps.empty', 'steps.empty.what', 'aon run -- python train.py');
				const mem = m && memory(m);
				if (mem) host.append(mem);
				return;
			}
			const g = grid(s), gpu = s.some((x) => x.busy_ns > 0);
			if (!gpu) measure = 'dur';
			const choice = h('select', { 'aria-label': t('steps.measure'), on: { change: () => { measure = choice.value as Measure; draw(last!); } } },
				(Object.keys(MEASURES) as Measure[]).filter((k) => gpu || k === 'dur').map((k) => h('option', { value: k, selected: k === measure }, t(`measure.${k}`))));
			const one = [...s].filter((x) => x.rank === (state.ranks?.[0] ?? g.ranks[0])).sort((a, b) => a.step - b.step);
			const tb = table({ columns: COLUMNS.filter((c) => (g.ranks.length > 1 || c.id !== 'rank') && (gpu || ['step', 'rank', 'dur', 'at'].includes(c.id))), rows: s.slice(0, 2000), label: t('view.steps'), sort: s.length <= 60 ? '' : 'dur', pick: stepDetails, selected: (x) => state.sel === `s:${x.rank ?? ''}/${x.step}` });
			text = tb.text;
			fill(host, h('div', { class: 'controls' }, h('label', null, t('steps.colour'), choice),
				h('span', { class: 'dim' }, g.ranks.length > 1 ? t('steps.scale') : t('steps.scale.one'))),
				heat(g, MEASURES[measure], stepDetails), gpu ? phases(one, stepDetails) : null, m ? memory(m) : null,
				h('div', { class: 'block' }, tb.el));
		};
		const load = loader(host, async () => ({ s: await all(run), m: await get<Memory>(runPath(run.id, 'memory'), { t0: state.t?.[0], t1: state.t?.[1] }).catch(() => null) }), draw);
		return {
			update: (now, was) => { if (now.t !== was.t || now.ranks !== was.ranks) void load(); },
			tick: () => void load(),
			text: () => text(),
		};
	},
};
