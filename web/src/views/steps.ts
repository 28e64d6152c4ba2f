// SPDX-License-Identifier: Apache-2.0
// Is it one rank, one moment, or everybody? Ranks x steps as a heat map; of one rank, steps x phases.
import { get, runPath, source, type Heat, type Memory, type Run, type Step, type Steps } from '../api';
import { colour, hatch, texture } from '../classes';
import { button, canvas, fill, h } from '../dom';
import * as fmt from '../fmt';
import { drawer, ribbon, say, toast } from '../frame';
import { t, type Key } from '../i18n';
import { axisY, font } from '../plot';
import { go, state } from '../state';
import { table, type Column } from '../table';
import { empty, loader, type Shown, type View } from '../view';

/** Own compute first: waiting is removed, so that the cause lights up and not its victims. */
const MEASURES = ['compute', 'dur', 'comm', 'idle'] as const;
type Measure = (typeof MEASURES)[number];
const measured: Record<Measure, (s: Step) => number> = {
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

function median(xs: number[]): number {
	const s = [...xs].sort((a, b) => a - b);
	return s.length ? s[s.length >> 1]! : 0;
}

const LEFT = 64;
const WIDEST = 72; // px: a few steps do not fill the screen
const FULL = 200; // thousandths above the median that have the full colour
const ROWS = 5000, SHOWN = 2000; // steps that are asked for, and that the table has
const LARGE = 600000; // events: more are not looked at in a moment
const COLUMNS_MOST = 600, ROWS_MOST = 96; // the server takes ranks and steps together to fit

const heatRow = (rows: number) => (rows === 1 ? 28 : rows > 40 ? 8 : 16);
export const over = (thousandths: number) => `${thousandths < 0 ? '−' : '+'}${fmt.percent(Math.abs(thousandths) / 1000)}`;

/** Where a cell begins and ends, in the words of the axes. */
function cellName(m: Heat, row: number, col: number): string {
	const rank = m.ranks[row] ?? '-', step = m.steps[col]!, last = (m.steps[col + 1] ?? m.last_step + 1) - 1;
	const to = m.ranks_n > m.ranks.length ? (m.ranks[row + 1] ?? m.ranks_n) : null;
	return t('steps.where', { rank: to !== null && to - 1 > Number(rank) ? `${rank}–${to - 1}` : String(rank), step: m.steps_n > m.steps.length && last > step ? `${fmt.count(step)}–${fmt.count(last)}` : fmt.count(step) });
}

export function heat(m: Heat, open: (row: number, col: number) => void): HTMLElement {
	const rows = m.ranks.length, cols = m.steps.length, rowH = heatRow(rows), height = rows * rowH + 22;
	const each = (w: number) => Math.min(WIDEST, (w - LEFT - 4) / cols);
	let at = [0, 0];
	const c = canvas((q, w) => {
		const cw = each(w);
		font(q);
		q.textBaseline = 'middle';
		for (let j = 0; j < rows; j++) {
			if (rowH >= 12 || j % 2 === 0) {
				q.fillStyle = colour('dim');
				q.textAlign = 'right';
				q.fillText(t('rank', { n: m.ranks[j] ?? '-' }), LEFT - 6, j * rowH + rowH / 2);
			}
			for (let i = 0; i < cols; i++) {
				const v = m.worst[j]![i] ?? null, x = LEFT + i * cw, cellW = Math.max(1, cw - (cw > 6 ? 1 : 0));
				if (v === null) {
					q.strokeStyle = colour('line');
					q.strokeRect(x + 0.5, j * rowH + 0.5, Math.max(0, cellW - 1), rowH - 2);
					continue;
				}
				q.fillStyle = colour('raised');
				q.fillRect(x, j * rowH, cellW, rowH - 1);
				q.globalAlpha = Math.min(1, Math.max(0, v / FULL));
				q.fillStyle = colour('heat');
				q.fillRect(x, j * rowH, cellW, rowH - 1);
				q.globalAlpha = 1;
			}
		}
		if (document.activeElement === c.el) {
			q.strokeStyle = colour('mark');
			q.lineWidth = 2;
			q.strokeRect(LEFT + at[1]! * cw, at[0]! * rowH, Math.max(3, cw), rowH);
		}
		q.fillStyle = colour('dim');
		q.textBaseline = 'bottom';
		q.textAlign = 'left';
		q.fillText(t('overview.stepno', { n: fmt.count(m.steps[0]) }), LEFT, height - 4);
		q.textAlign = 'right';
		if (cw * cols > 120) q.fillText(fmt.count(m.last_step), LEFT + cw * cols, height - 4);
	}, { class: 'heat', role: 'img', tabindex: 0, 'aria-label': describe(m), style: { height: `${height}px` } });
	const hit = (e: MouseEvent): [number, number] | null => {
		const box = c.el.getBoundingClientRect();
		const j = Math.floor((e.clientY - box.top) / rowH), i = Math.floor((e.clientX - box.left - LEFT) / each(box.width));
		return i >= 0 && i < cols && j >= 0 && j < rows ? [j, i] : null;
	};
	const words = ([j, i]: [number, number]) => `${cellName(m, j, i)}: ${fmt.known(m.worst[j]![i]) ? t('steps.over', { worst: over(m.worst[j]![i]!), mean: over(m.mean[j]![i]!) }) : t('steps.nothing')}`;
	c.el.addEventListener('click', (e) => {
		const p = hit(e);
		if (p) open(...p);
	});
	c.el.addEventListener('mousemove', (e) => {
		const p = hit(e);
		c.el.title = p ? words(p) : '';
	});
	for (const type of ['focus', 'blur']) c.el.addEventListener(type, c.redraw);
	c.el.addEventListener('keydown', (e) => {
		const step: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
		const d = step[e.key];
		if (e.key === 'Enter') open(at[0]!, at[1]!);
		else if (d) at = [Math.min(rows - 1, Math.max(0, at[0]! + d[0])), Math.min(cols - 1, Math.max(0, at[1]! + d[1]))];
		else return;
		e.preventDefault();
		e.stopPropagation();
		say(words(at as [number, number]));
		c.redraw();
	});
	window.addEventListener('aon-theme', c.redraw);
	return c.el;
}

/** The picture in a sentence, for who cannot see it. */
function describe(m: Heat): string {
	const worst = m.slowest[0];
	return worst ? t('steps.alt', { ranks: m.ranks_n, steps: m.steps_n, rank: worst.rank ?? '-', over: over(worst.over) }) : t('steps.alt.one', { steps: m.steps_n });
}

/** Who is above the others all the time: a straggler has a row of its own. */
function stragglers(m: Heat, measure: Measure): HTMLElement | null {
	const slow = m.slowest.filter((s) => s.over >= 20);
	if (m.ranks_n < 2) return null;
	return h('p', { class: 'note' }, slow.length ? [t('steps.slow'), ' ', slow.map((s, i) => [i ? ', ' : '',
		h('button', { type: 'button', class: 'bare link', on: { click: () => go({ ranks: s.rank === null ? null : [s.rank] }) } }, `${t('rank', { n: s.rank ?? '-' })} ${over(s.over)}`)])] : t(measure === 'dur' ? 'steps.even.dur' : 'steps.even'));
}

/** Of each step, what it spent its time on, stacked. */
export function phases(steps: Step[], open: (s: Step) => void, title = t('steps.phases')): HTMLElement {
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
				g.fillStyle = p.id === 'idle' ? hatch(g) : texture(g, p.id);
				g.fillRect(b.x + i * cw, y - ph, Math.max(1, cw - (cw > 4 ? 1 : 0)), ph);
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
	return h('div', { class: 'block' }, h('h2', null, title), c.el,
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
	return h('div', { class: 'block' }, h('h2', null, t('steps.memory')),
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

/** The worst step of a cell, of those that the server lists for its ranks. */
async function worstOf(run: Run, m: Heat, measure: Measure, row: number, col: number): Promise<Step | null> {
	const rank = m.ranks[row] ?? null, end = m.steps[col + 1] ?? m.last_step + 1, after = m.ranks[row + 1] ?? m.ranks_n;
	const several = m.ranks_n > m.ranks.length && rank !== null && after !== null && after - 1 > rank;
	const mine = (s: Step) => (several ? s.rank !== null && s.rank >= rank && s.rank < after : s.rank === rank);
	const list = await get<Steps>(runPath(run.id, 'steps'), { ...span(), ranks: rank === null || m.ranks_n * m.steps_n <= ROWS ? state.ranks?.join(',') : several ? `${rank}-${after - 1}` : rank, limit: ROWS });
	return list.steps.filter((s) => mine(s) && s.step >= m.steps[col]! && s.step < end).sort((x, y) => measured[measure](y) - measured[measure](x))[0] ?? null;
}

function span(): { t0: number | undefined; t1: number | undefined } {
	return { t0: state.t?.[0], t1: state.t?.[1] };
}

export const steps: View = {
	id: 'steps',
	title: 'view.steps',
	question: 'view.steps.q',
	open(host, run): Shown {
		// How long steps took is known of any run at once; what they did, of a large one only after a while.
		let measure: Measure = run.gpus && run.events < LARGE ? 'compute' : 'dur', text = () => '', chosen = !run.gpus || measure === 'compute';
		const map = h('div'), list = h('div');
		fill(host, map, list);
		const ranks = () => state.ranks?.join(',');
		const load = loader(map, (signal) => {
			const w = Math.min(COLUMNS_MOST, Math.max(100, Math.floor(host.clientWidth / 2)));
			return get<Heat>(runPath(run.id, 'heat'), source.saved ? { measure } : { ...span(), ranks: ranks(), measure, w, h: ROWS_MOST }, { signal });
		}, (m) => {
			if (!m.steps_n) return empty(map, 'steps.empty', 'steps.empty.what', 'aon run -- python train.py');
			const choice = h('select', { 'aria-label': t('steps.measure'), on: { change: () => { measure = choice.value as Measure; chosen = true; void load(); } } },
				MEASURES.filter((k) => run.gpus || k === 'dur').map((k) => h('option', { value: k, selected: k === measure }, t(`measure.${k}`))));
			const open = (row: number, col: number) => void worstOf(run, m, measure, row, col).then((x) => { if (x) stepDetails(x); }, (e: unknown) => toast(e instanceof Error ? e.message : String(e)));
			fill(map, h('div', { class: 'controls' }, h('label', null, t('steps.colour'), choice),
				h('span', { class: 'scale', 'aria-hidden': 'true' }, '0 %', h('i'), '+20 %'),
				h('span', { class: 'dim' }, m.ranks_n > 1 ? t('steps.scale') : t('steps.scale.one'))),
				m.partial && !m.range.whole ? h('p', { class: 'note warn' }, t('state.partial', { from: fmt.time(m.range.t0), to: fmt.time(m.range.t1) })) : null,
				stragglers(m, measure), heat(m, open));
		});
		const rest = loader(list, async (signal) => {
			const [rows, mem] = await Promise.all([get<Steps>(runPath(run.id, 'steps'), { ...span(), ranks: ranks(), limit: ROWS }, { signal }),
				get<Memory>(runPath(run.id, 'memory'), span(), { signal }).catch(() => null)]);
			return { rows, mem };
		}, ({ rows, mem }) => {
			const s = rows.steps, gpu = s.some((x) => x.busy_ns > 0), first = state.ranks?.[0] ?? (s.find((x) => x.compute_ns > 0) ?? s[0])?.rank ?? null, many = new Set(s.map((x) => x.rank)).size > 1;
			const one = s.filter((x) => x.rank === first).sort((x, y) => x.step - y.step);
			const tb = table({ columns: COLUMNS.filter((c) => (many || c.id !== 'rank') && (gpu || ['step', 'rank', 'dur', 'at'].includes(c.id))), rows: s.slice(0, SHOWN), label: t('view.steps'), sort: s.length <= 60 ? '' : 'dur', pick: stepDetails, selected: (x) => state.sel === `s:${x.rank ?? ''}/${x.step}` });
			text = tb.text;
			if (!chosen && gpu) { // what they did is known now: who lags is seen there
				chosen = true;
				measure = 'compute';
				void load();
			}
			fill(list, gpu ? phases(one.slice(0, SHOWN), stepDetails, first === null ? t('steps.phases') : t('steps.phases.rank', { rank: t('rank', { n: first }) })) : null, mem ? memory(mem) : null,
				rows.next || s.length > SHOWN ? h('p', { class: 'note' }, t('steps.first', { n: fmt.count(Math.min(SHOWN, s.length)), all: fmt.count(run.steps) })) : null,
				s.length ? h('div', { class: 'block' }, tb.el) : null);
		});
		return {
			update: (now, was) => {
				if (now.t === was.t && now.ranks === was.ranks) return;
				void load();
				void rest();
			},
			tick: () => { void load(true); void rest(true); },
			close: () => { load.stop(); rest.stop(); },
			text: () => text(),
		};
	},
};
