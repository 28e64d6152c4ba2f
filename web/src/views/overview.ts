// SPDX-License-Identifier: Apache-2.0
// Is this run healthy, and if not, what first? The first screen is a sentence.
import { address, get, runPath, source, type Accounting, type Captures, type Diff, type Overview, type Processes, type Reply, type Run, type Windows } from '../api';
import { CLASSES, classOf, colour, texture } from '../classes';
import { add, button, canvas, fill, h, name } from '../dom';
import * as fmt from '../fmt';
import { costOpen, nameLink, ownCost, ribbon } from '../frame';
import { t, word } from '../i18n';
import { axisY, band, font, marks } from '../plot';
import { go, state } from '../state';
import { table } from '../table';
import type { Track } from '../timeline/store';
import { CELLS, decode, KINDS } from '../timeline/tile';
import { decisions, stateOf, type Decisions } from '../triage';
import { empty, loader, type Shown, type View } from '../view';
import { CaptureForm } from './capture';

const FINE = 60; // columns: of fewer windows of a second, tiles say more
type Stack = { t0: number; t1: number; width: number; colours: string[]; shares: number[][]; busy: number }; // shares: by column, then by colour
type Answers = { o: Overview; w: Stack | null; d: Diff | null; p: Processes | null; ds: Decisions; c: Captures | null; a: Accounting | null };
type Part = { id: string; ns: number; share: number; why: { text: string; ns: number }[] };

/** The fine classes of the server as the seven of the page, and idle. */
export function parts(split: Overview['split']): Part[] {
	const out = new Map<string, Part>();
	for (const s of split) {
		const id = s.class === 'idle' ? 'idle' : classOf(s.class);
		const p = out.get(id) ?? { id, ns: 0, share: 0, why: [] };
		p.ns += s.ns;
		p.share += s.share;
		p.why.push(...s.why);
		out.set(id, p);
	}
	const order = [...CLASSES.map((c) => c.id as string), 'idle'];
	return [...out.values()].sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
}

export function partName(id: string): string {
	return id === 'idle' ? t('class.idle') : t(`class.${classOf(id)}`);
}

function change(c: Overview['step']['changes'][number]): string {
	return t('overview.change', { before: fmt.time(c.before_ns), after: fmt.time(c.after_ns) });
}

/** The same in words, for who does not see the plot. */
function changes(o: Overview): HTMLElement | null {
	const list = o.step.changes.slice(0, 8).map((c) => t('overview.changed', { n: fmt.count(c.step), change: change(c) })).join('; ');
	return list ? h('p', { class: 'note changes' }, list, o.step.changes.length > 8 ? '…' : '') : null;
}

function stepPlot(o: Overview): HTMLElement {
	const s = o.series, max = Math.max(...s.max, 1) * 1.05;
	const c = canvas((g, w, hh) => {
		const b = axisY(g, w, hh, max, fmt.time);
		band(g, b, max, s.p50, s.min, s.max);
		font(g);
		marks(g, b, o.step.changes.map((x) => ({ part: (x.step - s.step0) / Math.max(1, s.width * (s.p50.length - 1)), label: change(x) })).filter((m) => m.part >= 0 && m.part <= 1));
		g.fillStyle = colour('dim');
		g.textBaseline = 'bottom';
		g.textAlign = 'left';
		g.fillText(t('overview.stepno', { n: fmt.count(s.step0) }), b.x, hh);
		g.textAlign = 'right';
		g.fillText(fmt.count(s.step0 + s.p50.length * Math.max(1, s.width) - 1), b.x + b.w, hh);
	}, { class: 'plot', role: 'img', 'aria-label': t('overview.steps.alt', { n: fmt.count(o.step.n), p50: fmt.time(o.step.p50), max: fmt.time(Math.max(...s.max)) }) });
	window.addEventListener('aon-theme', c.redraw);
	c.el.addEventListener('click', () => go({ view: 'steps' }));
	return c.el;
}

/** Of a recorded run, from its rollups: they are there for as long as the run. */
function fromWindows(w: Windows, gpus: number): Stack | null {
	const ws = w.windows, full = w.width_ns * Math.max(1, gpus);
	if (ws.length < 3 || !full) return null;
	// Work that overlaps is in a window twice: what is above it all is not drawn.
	const shares = ws.map((x) => {
		let left = 1;
		return [x.compute_ns, x.comm_ns, x.memory_ns].map((ns) => {
			const share = Math.min(left, ns / full);
			left -= share;
			return share;
		});
	});
	return { t0: ws[0]!.t, t1: ws[ws.length - 1]!.t + w.width_ns, width: w.width_ns, colours: ['compute', 'comm', 'copy'], shares,
		busy: shares.flat().reduce((x, y) => x + y, 0) * full };
}

/** Of any run, from the tiles of its GPUs: busy time by class, exact to a cell's 255th. */
async function fromTiles(run: Run, o: Overview): Promise<Stack | null> {
	const { tracks } = await get<Reply & { tracks: Track[] }>(runPath(run.id, 'tracks'));
	const gpus = tracks.filter((x) => x.kind === 'gpu').slice(0, 64), { t0, t1 } = o.range;
	if (!gpus.length || t1 <= t0) return null;
	const L = Math.max(Math.ceil(Math.log2((t1 - t0) / CELLS) / 2) * 2, ...gpus.map((x) => x.base_level)), width = 2 ** L;
	const first = Math.floor(t0 / width), n = Math.ceil(t1 / width) - first;
	if (n < 8) return null;
	const shares = Array.from({ length: n }, () => CLASSES.map(() => 0));
	const i = `${Math.floor(first / CELLS)}-${Math.floor((first + n - 1) / CELLS)}`;
	let busy = 0;
	for (let from: string | null = '0'; from !== null; ) {
		const part = await source.bytes(address(runPath(run.id, 'tiles'), { L, i, tracks: gpus.map((x) => x.id).join(','), from: from === '0' ? null : from }));
		for (const { index, cells } of decode(part.buf))
			for (let c = 0; cells && c < CELLS; c++) {
				const column = shares[index * CELLS + c - first];
				for (let k = 0; column && cells.used[c] && k < CLASSES.length; k++) {
					const share = cells.share[c * KINDS + k]! / 255;
					column[k] = column[k]! + share / gpus.length;
					busy += share * width;
				}
			}
		from = part.next;
	}
	return { t0: first * width, t1: (first + n) * width, width, colours: CLASSES.map((c) => c.id), shares, busy };
}

/** What the GPUs did over time; what is left of a column, they were idle. */
function busyPlot(s: Stack): HTMLElement {
	const c = canvas((g, w, hh) => {
		const b = axisY(g, w, hh, 1, (v) => fmt.percent(v)), each = b.w / s.shares.length;
		s.shares.forEach((column, i) => {
			let y = b.y + b.h;
			column.forEach((share, k) => {
				g.fillStyle = texture(g, s.colours[k]!);
				g.fillRect(b.x + i * each, y - share * b.h, Math.max(1, each - (each > 4 ? 0.5 : 0)), share * b.h);
				y -= share * b.h;
			});
		});
		font(g);
		g.fillStyle = colour('dim');
		g.textBaseline = 'bottom';
		g.textAlign = 'left';
		g.fillText(fmt.time(s.t0), b.x, hh);
		g.textAlign = 'right';
		g.fillText(fmt.time(s.t1), b.x + b.w, hh);
	}, { class: 'plot busy', role: 'img', 'aria-label': t('overview.busy.alt'), 'data-busy-ns': String(Math.round(s.busy)) });
	window.addEventListener('aon-theme', c.redraw);
	return h('div', { class: 'block' }, h('h2', null, t('overview.busy')), c.el);
}

function figures(o: Overview): HTMLElement {
	const one = (k: string, v: string) => h('div', null, h('span', { class: 'dim' }, k), h('b', { class: 'num' }, v));
	const own = ownCost(o.cost);
	const lost = o.busy !== null ? (1 - o.busy) * (o.range.t1 - o.range.t0) * Math.max(1, o.run.gpus) : null;
	return h('div', { class: 'figures' },
		o.step.n ? one(t('overview.step'), fmt.time(o.step.p50)) : null,
		o.step.n ? one(t('col.p95'), fmt.time(o.step.p95)) : null,
		o.busy === null ? null : one(t('overview.busyshare'), fmt.percent(o.busy)),
		o.step.n ? one(t('runs.steps'), fmt.count(o.step.n)) : null,
		o.step.p50 ? one(t('overview.persecond'), fmt.digits(1e9 / o.step.p50)) : null,
		o.step.n ? one(t('overview.drift'), o.step.drift === null || Math.abs(o.step.drift) < 0.01 ? t('overview.none') : `${o.step.drift > 0 ? '+' : '−'}${fmt.percent(Math.abs(o.step.drift))}`) : null,
		lost === null ? null : one(t('overview.lostgpu'), fmt.time(lost)),
		own === null ? null : one(t('overview.own'), t('overview.lostrecords', { own, n: fmt.count(o.lost) })));
}

function split(o: Overview): HTMLElement {
	const ps = parts(o.split);
	const see = (id: string) => go({ view: 'timeline', classes: id === 'idle' ? null : [id] });
	const idle = ps.find((p) => p.id === 'idle');
	return h('div', { class: 'block' }, h('h2', null, o.step.n ? t('overview.split.step') : t('overview.split.span')),
		ribbon(ps.map((p) => ({ ...p, label: partName(p.id) })), false, see),
		h('div', { class: 'keyed' }, ps.filter((p) => p.share >= 0.001).map((p) => h('span', null,
			h('span', { class: p.id === 'idle' ? 'swatch idle' : 'swatch', style: p.id === 'idle' ? {} : { background: `var(--${p.id})` } }),
			partName(p.id), h('span', { class: 'num' }, fmt.time(p.ns)), h('span', { class: 'dim' }, fmt.percent(p.share))))),
		idle?.why.length ? h('p', { class: 'note' }, t('overview.why', { list: idle.why.filter((w) => w.ns > 0).map((w) => `${w.text} ${fmt.time(w.ns)}`).join(', ') })) : null);
}

/** Of a program without a GPU: its parts are not classes of kernels, and have no colours. */
function hostSplit(o: Overview): HTMLElement | null {
	const ps = o.split.filter((p) => p.share >= 0.001).sort((a, b) => b.ns - a.ns);
	return !ps.length ? null : h('div', { class: 'block' }, h('h2', null, t(o.step.n ? 'overview.split.host' : 'overview.split.all')),
		h('div', { class: 'keyed' }, ps.map((p) => h('span', null, p.class, ' ', h('span', { class: 'num' }, fmt.time(p.ns)), ' ', h('span', { class: 'dim' }, fmt.percent(p.share))))));
}

function ranks(o: Overview): HTMLElement | null {
	if (o.ranks.length < 2) return null;
	const max = Math.max(...o.ranks.map((r) => r.compute_ns), 1);
	const by = [...o.ranks].sort((a, b) => Number(!!b.flag) - Number(!!a.flag) || b.compute_ns - a.compute_ns);
	const shown = by.slice(0, 8), rest = by.slice(8);
	return h('div', null, h('h2', { class: 'dim' }, t('overview.ranks', { n: o.ranks.length })),
		h('div', { class: 'bars' }, shown.flatMap((r) => [
			h('button', { type: 'button', class: 'bare', on: { click: () => go({ ranks: r.rank === null ? null : [r.rank], view: 'timeline' }) } }, t('rank', { n: r.rank ?? '-' })),
			h('i', { class: r.flag ? 'hot' : '', style: { width: `${(r.compute_ns / max) * 100}%` } }),
			h('span', { class: 'num' }, fmt.time(r.compute_ns), r.flag ? ` ${r.flag}` : ''),
		])),
		rest.length ? h('p', { class: 'note' }, t('overview.alike', { n: rest.length, lo: fmt.time(rest[rest.length - 1]!.compute_ns), hi: fmt.time(rest[0]!.compute_ns) })) : null);
}

function lists(o: Overview, ds: Decisions): HTMLElement {
	return h('div', { class: 'cols' },
		h('div', null, h('h2', { class: 'dim' }, t('overview.findings', { n: o.findings.length })),
			o.findings.length ? h('table', null, h('tbody', null, o.findings.map((f) => h('tr', null,
				h('td', { class: 'l wrap words' }, h('button', { type: 'button', class: 'bare', on: { click: () => go({ view: 'findings', sel: `f:${f.id}` }) } }, f.title)),
				h('td', null, fmt.time(f.cost_ns)), h('td', null, fmt.percent(f.share)), h('td', { class: 'l words dim' }, stateOf(ds, f) === 'new' ? f.confidence : t(`triage.${stateOf(ds, f)}`))))))
				: h('p', { class: 'note' }, t('overview.nofindings'))),
		ranks(o),
		h('div', null, h('h2', { class: 'dim' }, t('overview.kernels')),
			h('table', null, h('tbody', null, o.kernels.map((k) => h('tr', null,
				h('td', { class: 'l' }, h('span', { class: 'swatch', style: { background: `var(--${classOf(k.class)})` }, title: partName(k.class) })),
				h('td', { class: 'l fit' }, nameLink(k.short || k.name, () => go({ view: 'kernels', sel: `k:${k.id}` }))),
				h('td', null, fmt.time(k.ns)), h('td', null, fmt.percent(k.share))))))));
}

function versus(d: Diff): HTMLElement {
	const sure = d.delta_lo_ns !== undefined && d.delta_lo_ns !== null && d.delta_hi_ns !== null && d.delta_hi_ns !== undefined;
	const sign = (x: number) => `${x > 0 ? '+' : '−'}${fmt.time(Math.abs(x))}`;
	return h('div', { class: 'block' }, h('h2', { class: 'big' }, d.comparable
		? t('diff.title', { delta: sign(d.delta_ns ?? 0), a: fmt.time(d.a.step_ns), b: fmt.time(d.b.step_ns) }) : t('diff.cannot')),
		d.why_not ? h('p', { class: 'note' }, d.why_not) : null,
		sure && d.comparable ? h('p', { class: 'note' }, t('diff.sure', { lo: sign(d.delta_lo_ns!), hi: sign(d.delta_hi_ns!) })) : null,
		h('table', { class: 'narrow' }, h('thead', null, h('tr', null, h('th', { class: 'l' }, t('diff.part')), h('th', null, t('col.a')), h('th', null, t('col.b')), h('th', null, t('col.delta')))),
			h('tbody', null, d.parts.filter((p) => p.a_ns || p.b_ns).sort((x, y) => Math.abs(y.b_ns - y.a_ns) - Math.abs(x.b_ns - x.a_ns)).map((p) => h('tr', null,
				h('td', { class: 'l words' }, word('part', p.part)), h('td', null, fmt.time(p.a_ns)), h('td', null, fmt.time(p.b_ns)),
				h('td', { style: { color: p.b_ns > p.a_ns ? colour('more') : colour('less') } }, sign(p.b_ns - p.a_ns)))))));
}

/** Who was recorded; a run of one process that has ended says nothing more here. */
function processes(p: Processes | null): HTMLElement | null {
	const list = p?.processes ?? [];
	if (!list.some((x) => x.comm) || (list.length < 2 && !list.some((x) => x.connected))) return null; // of a trace, nobody is known by name
	return h('div', { class: 'block' }, h('h2', null, t('overview.processes', { n: list.length })), table<Processes['processes'][number]>({ label: t('overview.processes', { n: list.length }), rows: list.slice(0, 64), columns: [
		{ id: 'comm', head: 'proc.name', left: true, cell: (x) => name(x.comm) },
		{ id: 'pid', head: 'proc.pid', sort: (x) => x.pid, cell: (x) => String(x.pid) },
		{ id: 'rank', head: 'steps.rank', sort: (x) => x.rank, cell: (x) => String(x.rank ?? '-') },
		{ id: 'state', head: 'proc.state', left: true, cell: (x) => (x.connected ? t('proc.here') : t('proc.left')) },
		{ id: 'tier', head: 'proc.tier', left: true, opt: true, cell: (x) => x.tier },
		{ id: 'records', head: 'proc.records', sort: (x) => x.accounting?.emitted ?? null, cell: (x) => fmt.count(x.accounting?.emitted) },
		{ id: 'lost', head: 'runs.lost', sort: (x) => x.accounting?.lost ?? null, cell: (x) => fmt.count(x.accounting?.lost) }] }).el);
}

/** What was captured of it, and when. The traces are where who asked for them keeps them; the same stretch can be had from here. */
function captures(o: Overview, c: Captures | null): HTMLElement | null {
	const list = c?.captures ?? [];
	if (!list.length) return null;
	const until = (x: Captures['captures'][number]) => x.at_ns + Number(/(\d+) ms/.exec(x.text)?.[1] ?? 5000) * 1e6;
	return h('div', { class: 'block captures' }, h('h2', null, t('captures.title', { n: list.length })), table<Captures['captures'][number]>({ label: t('captures.title', { n: list.length }), rows: list.slice(-64).reverse(), columns: [
		{ id: 'at', head: 'captures.at', sort: (x) => x.at_ns, cell: (x) => h('button', { type: 'button', class: 'bare link', on: { click: () => go({ view: 'timeline', w: [x.at_ns, until(x)], sel: null }) } }, fmt.time(x.at_ns)) },
		{ id: 'pid', head: 'proc.pid', sort: (x) => x.pid, cell: (x) => String(x.pid) },
		{ id: 'text', head: 'captures.what', left: true, grow: true, cell: (x) => x.text },
		{ id: 'get', head: 'captures.same', left: true, cell: (x) => source.saved ? null : h('a', { href: `api/v1/${address(runPath(o.run.id, 'download'), { format: 'perfetto', t0: x.at_ns, t1: until(x) })}`, download: '' }, t('open.perfetto.file')) }] }).el,
		h('p', { class: 'note' }, t('captures.where')));
}

/** What aon itself takes of the run, as far as that is known, and what it lost. */
function costs(o: Overview, a: Accounting | null): HTMLElement | null {
	const c = o.cost, own = ownCost(c), n = a?.accounting, fact = (k: string, v: string | null) => (v === null ? [] : [h('dt', null, k), h('dd', null, v)]);
	if (!n) return null;
	const by = Object.entries(n.lost_by ?? {}).filter(([, x]) => x > 0).map(([k, x]) => `${k.replace(/_/g, ' ')} ${fmt.count(x)}`).join(', ');
	const lost = by ? `${fmt.count(n.lost)} (${by})` : fmt.count(n.lost);
	return h('div', { class: 'block costs' }, h('h2', null, t(n.rows === undefined ? 'cost.title' : 'cost.title.import')), h('dl', { class: 'facts narrow' },
		n.rows !== undefined ? [fact(t('cost.rows'), fmt.count(n.rows)), fact(t('cost.left'), fmt.count(n.left)), fact(t('runs.lost'), lost)] : [
			fact(t('cost.slower'), costOpen(c) ? t('cost.open', { lo: c.lo!.toFixed(0), hi: c.hi!.toFixed(0), n: fmt.count(c.pairs) }) : fmt.known(c.pct) ? t('cost.measured', { pct: pct(c.pct), lo: pct(c.lo), hi: pct(c.hi), n: fmt.count(c.pairs) }) : t('cost.unmeasured')),
			fact(t('cost.accounted'), fmt.known(c.accounted) ? t('cost.pct', { n: pct(c.accounted) }) : null),
			fact(t('cost.aond'), own), fact(t('cost.records'), fmt.count(n.emitted)), fact(t('runs.lost'), lost)]));
}

const pct = (x: number | null) => (fmt.known(x) ? (Math.abs(x) < 0.095 ? x.toFixed(2) : x.toFixed(1)) : '-');

function draw(host: HTMLElement, { o, w: wins, d: diff, p, ds, c, a }: Answers, form: HTMLElement): void {
	const more = [processes(p), form, captures(o, c), costs(o, a)];
	if (!o.kernels.length && !o.step.n) {
		empty(host, 'overview.empty', 'overview.empty.what', 'aon doctor');
		return add(host, more);
	}
	const top = o.findings[0];
	const head = o.verdict ?? top?.title ?? (o.kernels[0] ? t('overview.fine', { name: o.kernels[0].short, share: fmt.percent(o.kernels[0].share) }) : t('overview.nofindings'));
	fill(host, h('h2', { class: 'verdict' }, head),
		top ? h('div', { class: 'row' },
			button(t('do.see'), () => seeFinding(top)), button(t('do.fix'), () => go({ view: 'findings', sel: `f:${top.id}` })),
			h('span', { class: 'dim' }, top.action)) : null,
		figures(o), diff ? versus(diff) : null,
		o.partial && !o.range.whole ? h('p', { class: 'note warn' }, t('state.partial', { from: fmt.time(o.range.t0), to: fmt.time(o.range.t1) })) : null,
		o.busy === null ? hostSplit(o) : split(o),
		o.series.p50.length > 2 ? h('div', { class: 'block' }, h('h2', null, t('overview.steps')), stepPlot(o), changes(o)) : null,
		wins && o.busy !== null ? busyPlot(wins) : null, o.busy === null ? null : lists(o, ds), more);
}

/** The events a finding speaks of, on the timeline, with some of what is around them. */
export function seeFinding(f: Overview['findings'][number]): void {
	const e = [...f.events].sort((a, b) => b.dur_ns - a.dur_ns)[0];
	if (!e) return go({ view: 'timeline' });
	const around = Math.max(e.dur_ns * 8, f.per === 'step' ? f.cost_ns * 2.5 : 0, 1000);
	const mid = e.start_ns + e.dur_ns / 2;
	go({ view: 'timeline', sel: `t:${Math.round(e.start_ns)}+${Math.round(e.dur_ns)}`, w: [Math.max(0, Math.round(mid - around)), Math.round(mid + around)], q: '' });
}

export const overview: View = {
	id: 'overview',
	title: 'view.overview',
	question: 'view.overview.q',
	open(host, run: Run): Shown {
		let last: Overview | null = null;
		const form = new CaptureForm(run);
		const ask = async (signal: AbortSignal): Promise<Answers> => {
			const r = state.t ? { t0: state.t[0], t1: state.t[1] } : {};
			const [o, w, d, p, ds, c, a] = await Promise.all([
				get<Overview>(runPath(run.id, 'overview'), r, { signal }),
				get<Windows>(runPath(run.id, 'windows'), { ...r, n: 240 }, { signal }).catch(() => null),
				state.vs ? get<Diff>(runPath(run.id, 'diff'), { vs: state.vs }, { signal }) : null,
				get<Processes>(runPath(run.id, 'processes'), {}, { signal }).catch(() => null),
				decisions(run, signal),
				get<Captures>(runPath(run.id, 'captures'), {}, { signal }).catch(() => null),
				get<Accounting>(runPath(run.id, 'accounting'), {}, { signal }).catch(() => null),
			]);
			const coarse = w && fromWindows(w, o.run.gpus);
			const stack = o.busy === null || (coarse && coarse.shares.length >= FINE) ? coarse : ((await fromTiles(run, o).catch(() => null)) ?? coarse);
			return { o, w: stack, d, p, ds, c, a };
		};
		const load = loader(host, ask, (a) => {
			const at = document.activeElement;
			last = a.o;
			draw(host, a, form.el);
			if (at instanceof HTMLElement && form.el.contains(at)) at.focus({ preventScroll: true }); // it was asked for before the form was
		});
		return {
			update: (now, was) => { if (now.t !== was.t || now.vs !== was.vs) void load(); },
			tick: () => { if (!form.el.contains(document.activeElement)) void load(true); }, // not while it is filled in
			close: () => { form.close(); load.stop(); },
			text: () => (last ? [last.verdict ?? '', ...last.findings.map((f) => `${f.title}\t${fmt.time(f.cost_ns)}\t${fmt.percent(f.share)}`)].join('\n') : ''),
		};
	},
};
