// SPDX-License-Identifier: Apache-2.0
// A cluster: where are GPU hours lost? And of one of its jobs: which rank, which node, since when?
import { get, type Fleet, type FleetChange, type FleetDiff, type FleetHeat, type FleetJob, type FleetKernel, type FleetNode, type FleetRank, type FleetReport, type FleetTime, type Reply } from './api';
import { fill, h, name } from './dom';
import * as fmt from './fmt';
import { ribbon } from './frame';
import { t, type Key } from './i18n';
import { go, state } from './state';
import { table, type Column } from './table';
import { barsOfHours, places, type Place } from './topology';
import { empty, loader, type Shown } from './view';
import { heat, over } from './views/steps';

const HOUR = 3600, DAY = 24 * HOUR;
const SPANS: [number, Key][] = [[HOUR, 'fleet.hour'], [DAY, 'fleet.day'], [7 * DAY, 'fleet.week'], [30 * DAY, 'fleet.month']];
const MEASURES = ['own', 'dur', 'comm', 'idle'] as const;
const NODES_SHOWN = 50, KERNELS_SHOWN = 20;
const SHOWN = 500; // rows of a table: of thousands those that matter come first
let since = DAY; // how far back, for all that is asked

const hours = (s: number) => `${fmt.digits(s / HOUR)} h`;
const lost = (x: FleetTime) => x.lost_s + x.idle_s + x.outside_s;
const share = (part: number, all: number) => (all > 0 ? part / all : 0);

interface Part {
	id: string;
	label: Key;
	of(x: FleetTime): number;
}
const PARTS: Part[] = [
	{ id: 'compute', label: 'fleet.busy', of: (x) => x.busy_s },
	{ id: 'comm', label: 'fleet.comm', of: (x) => Math.max(0, x.exposed_s - x.lost_s) },
	{ id: 'heat', label: 'fleet.waiting', of: (x) => x.lost_s },
	{ id: 'host', label: 'fleet.idle', of: (x) => x.idle_s },
	{ id: 'idle', label: 'fleet.outside', of: (x) => x.outside_s },
];

function goes(x: FleetTime, all: number, parts: Part[]): HTMLElement {
	return h('div', { class: 'block' }, ribbon(parts.map((p) => ({ id: p.id, share: share(p.of(x), all), label: t(p.label) }))),
		h('div', { class: 'keyed' }, parts.map((p) => h('span', null, h('span', { class: p.id === 'idle' ? 'swatch idle' : 'swatch', style: p.id === 'idle' ? {} : { background: `var(--${p.id})` } }),
			`${t(p.label)} ${fmt.percent(share(p.of(x), all))}`))));
}

function spanChoice(again: () => void): HTMLElement {
	const s = h('select', { 'aria-label': t('fleet.span'), on: { change: () => { since = Number(s.value); again(); } } },
		SPANS.map(([n, k]) => h('option', { value: n, selected: n === since }, t(k))));
	return h('label', null, t('fleet.span'), ' ', s);
}

// --- the whole ---

function jobNote(j: FleetJob): Node | string {
	if (j.withheld) return t('fleet.withheld');
	if (j.finding) return name(j.finding);
	if (j.time.outside_s > 0.5 * j.time.held_s) return t('fleet.held', { pct: fmt.percent(share(j.time.outside_s, j.time.held_s)) });
	return j.slow && j.time.lost_s > 0.02 * j.time.step_s ? h('span', null, t('fleet.slow', { rank: j.slow.rank }), ' ', name(j.slow.host ?? '-')) : '';
}

function openJob(job: string | null): void {
	if (job) go({ view: 'fleet', job, vs: null });
}

const JOBS: Column<FleetJob>[] = [
	{ id: 'job', head: 'fleet.job', left: true, sort: (j) => j.job ?? '', cell: (j) => (j.job ? h('a', { href: `#/fleet?job=${encodeURIComponent(j.job)}`, on: { click: (e) => { e.preventDefault(); openJob(j.job); } } }, name(j.job)) : h('span', { class: 'dim' }, j.withheld ? t('fleet.other') : t('fleet.nojob'))) },
	{ id: 'user', head: 'fleet.user', left: true, opt: true, sort: (j) => j.user ?? '', cell: (j) => (j.user ? name(j.user) : '-') },
	{ id: 'state', head: 'runs.state', left: true, opt: true, cell: (j) => t(j.live ? 'foot.live' : 'foot.ended') },
	{ id: 'gpus', head: 'runs.gpus', sort: (j) => j.gpus, cell: (j) => fmt.count(j.gpus) },
	{ id: 'step', head: 'steps.long', opt: true, sort: (j) => j.step_ns || null, cell: (j) => (j.step_ns ? fmt.time(j.step_ns) : '-') },
	{ id: 'busy', head: 'fleet.busyshare', sort: (j) => share(j.time.busy_s, j.time.held_s), cell: (j) => fmt.percent(share(j.time.busy_s, j.time.held_s)) },
	{ id: 'held', head: 'fleet.gpuh', opt: true, sort: (j) => j.time.held_s, cell: (j) => hours(j.time.held_s) },
	{ id: 'lost', head: 'fleet.lost', sort: (j) => lost(j.time), cell: (j) => hours(lost(j.time)) },
	{ id: 'what', head: 'fleet.what', left: true, grow: true, cell: jobNote },
];

const NODES: Column<FleetNode>[] = [
	{ id: 'host', head: 'runs.host', left: true, sort: (n) => n.host, cell: (n) => name(n.host) },
	{ id: 'rack', head: 'fleet.rack', left: true, sort: (n) => n.rack ?? '', cell: (n) => (n.rack ? name(n.rack) : '-') },
	{ id: 'state', head: 'runs.state', left: true, sort: (n) => (n.silent ? 1 : 0), cell: (n) => (n.silent ? h('span', { class: 'warn' }, t('fleet.silent')) : t('foot.live')) },
	{ id: 'waited', head: 'fleet.waited', sort: (n) => n.waited_s, cell: (n) => (n.waited_s ? hours(n.waited_s) : '-') },
	{ id: 'job', head: 'fleet.job', left: true, grow: true, cell: (n) => (n.job ? name(n.job) : '-') },
	{ id: 'clock', head: 'fleet.clock', opt: true, sort: (n) => n.clock_off_us, cell: (n) => (n.clock_off_us === null ? '-' : fmt.time(n.clock_off_us * 1000)) },
	{ id: 'version', head: 'fleet.version', left: true, opt: true, cell: (n) => n.version ?? '-' },
];

const CHANGES: Column<FleetChange>[] = [
	{ id: 'kernel', head: 'fleet.kernel', left: true, grow: true, cell: (c) => name(fmt.short(c.kernel)) },
	{ id: 'with', head: 'fleet.with', left: true, cell: (c) => h('span', null, t(c.what === 'driver' ? 'fleet.driver' : 'fleet.framework'), ' ', name(`${c.before} → ${c.after}`)) },
	{ id: 'before', head: 'fleet.before', sort: (c) => c.before_ns, cell: (c) => fmt.time(c.before_ns) },
	{ id: 'after', head: 'fleet.after', sort: (c) => c.after_ns, cell: (c) => fmt.time(c.after_ns) },
	{ id: 'more', head: 'fleet.more', sort: (c) => c.after_ns / c.before_ns, cell: (c) => `+${fmt.percent(c.after_ns / c.before_ns - 1)}` },
	{ id: 'jobs', head: 'fleet.jobs', opt: true, cell: (c) => `${c.before_jobs}, ${c.after_jobs}` },
	{ id: 'cost', head: 'fleet.lost', sort: (c) => c.cost_s, cell: (c) => hours(c.cost_s) },
];

function nodePlaces(f: Fleet): Place[] {
	const most = Math.max(...f.nodes.map((n) => n.waited_s), 1e-9);
	return f.nodes.map((n) => ({ group: n.rack ?? '-', sub: n.leaf, unit: n.host, label: n.host, heat: n.waited_s / most, gone: n.silent,
		words: n.silent ? t('fleet.node.silent', { host: n.host, ago: fmt.ago((f.span.to_s - n.seen_s) * 1e3) }) : t('fleet.node', { host: n.host, waited: hours(n.waited_s) }) }));
}

function drawFleet(host: HTMLElement, f: Fleet, again: () => void, runs: number, say: (s: string) => void): () => string {
	const jobs = table({ columns: JOBS, rows: f.jobs.slice(0, SHOWN), label: t('fleet.jobs'), pick: (j) => openJob(j.job) });
	const silent = f.nodes.filter((n) => n.silent);
	fill(host, h('div', { class: 'controls' }, spanChoice(again), h('span', { class: 'dim' }, t('fleet.head', { gpus: fmt.count(f.gpus), jobs: fmt.count(f.jobs.length), nodes: fmt.count(f.nodes.length) })),
		runs ? h('a', { href: '#/runs' }, t('runs.title')) : null),
		h('h2', { class: 'verdict' }, f.jobs.length ? t('fleet.verdict', { pct: fmt.percent(share(f.time.busy_s, f.time.held_s)), lost: fmt.digits(lost(f.time) / HOUR) }) : t('fleet.none')),
		silent.length ? h('p', { class: 'note warn' }, t('fleet.silents', { n: silent.length, all: f.nodes.length }), ' ', silent.slice(0, 20).map((n, i) => [i ? ', ' : '', name(n.host), ` (${fmt.ago((f.span.to_s - n.seen_s) * 1e3)})`]), silent.length > 20 ? ' …' : '') : null,
		f.dropped_rows ? h('p', { class: 'note warn' }, t('fleet.dropped', { n: fmt.count(f.dropped_rows) })) : null,
		f.jobs.length ? goes(f.time, f.time.held_s, PARTS) : null,
		h('div', { class: 'block' }, h('h2', null, t('fleet.jobs.head')), jobs.el, f.jobs.length > SHOWN ? h('p', { class: 'note' }, t('fleet.first', { n: SHOWN, all: fmt.count(f.jobs.length) })) : null));
	if (f.nodes.length) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.topology')), places(nodePlaces(f), t('fleet.topology.alt', { racks: new Set(f.nodes.map((n) => n.rack)).size, nodes: f.nodes.length, silent: f.silent_nodes }), say, () => undefined),
		h('p', { class: 'note' }, t('fleet.topology.what'))),
		h('div', { class: 'block' }, h('h2', null, t('fleet.nodes')), table({ columns: NODES, rows: f.nodes.slice(0, NODES_SHOWN), label: t('fleet.nodes') }).el,
			f.nodes.length > NODES_SHOWN ? h('p', { class: 'note' }, t('fleet.first', { n: NODES_SHOWN, all: fmt.count(f.nodes.length) })) : null));
	const rest = h('div', { class: 'block' });
	host.append(rest);
	get<Reply & { changes: FleetChange[] }>('fleet/versions', { since }).then((v) => {
		if (v.changes.length) fill(rest, h('h2', null, t('fleet.versions')), table({ columns: CHANGES, rows: v.changes, label: t('fleet.versions') }).el, h('p', { class: 'note' }, t('fleet.versions.what')));
	}, () => undefined); // the rest stands without it
	return () => jobs.text();
}

// --- a job ---

const RANKS: Column<FleetRank>[] = [
	{ id: 'rank', head: 'steps.rank', sort: (r) => r.rank, cell: (r) => String(r.rank ?? '-') },
	{ id: 'host', head: 'runs.host', left: true, grow: true, sort: (r) => r.host ?? '', cell: (r) => name(r.host ?? '-') },
	{ id: 'rack', head: 'fleet.rack', left: true, opt: true, sort: (r) => r.rack ?? '', cell: (r) => name(r.rack ?? '-') },
	{ id: 'own', head: 'fleet.own', sort: (r) => r.own_ns, cell: (r) => fmt.time(r.own_ns) },
	{ id: 'over', head: 'fleet.over', sort: (r) => r.over, cell: (r) => over(Math.round(r.over * 1000)) },
	{ id: 'exposed', head: 'phase.comm', opt: true, sort: (r) => r.exposed_ns, cell: (r) => fmt.time(r.exposed_ns) },
	{ id: 'waits', head: 'fleet.waits', sort: (r) => r.waits_ns, cell: (r) => fmt.time(r.waits_ns) },
	{ id: 'idle', head: 'phase.idle', opt: true, sort: (r) => r.idle_ns, cell: (r) => fmt.time(r.idle_ns) },
	{ id: 'steps', head: 'runs.steps', opt: true, sort: (r) => r.steps, cell: (r) => fmt.count(r.steps) },
];

const KERNELS: Column<FleetKernel>[] = [
	{ id: 'name', head: 'fleet.kernel', left: true, grow: true, cell: (k) => name(fmt.short(k.name)) },
	{ id: 'count', head: 'fleet.count', opt: true, sort: (k) => k.count, cell: (k) => fmt.count(k.count) },
	{ id: 'total', head: 'fleet.total', sort: (k) => k.total_ns, cell: (k) => fmt.time(k.total_ns) },
	{ id: 'avg', head: 'fleet.avg', sort: (k) => k.avg_ns, cell: (k) => fmt.time(k.avg_ns) },
	{ id: 'limit', head: 'fleet.limit', opt: true, sort: (k) => (k.floor_ns === null ? null : k.floor_ns / k.total_ns), cell: (k) => (k.floor_ns === null ? '-' : fmt.percent(k.floor_ns / k.total_ns)) },
];

function rankPlaces(r: FleetReport): Place[] {
	return r.ranks.map((x) => ({ group: x.rack ?? '-', sub: x.leaf, unit: x.host ?? '-', label: t('rank', { n: x.rank ?? '-' }), heat: x.over / 0.2, gone: false,
		words: t('fleet.rank', { rank: x.rank ?? '-', host: x.host ?? '-', over: over(Math.round(x.over * 1000)), waits: fmt.time(x.waits_ns) }) }));
}

function heatBlock(job: string): HTMLElement {
	const box = h('div', { class: 'block' });
	let measure: (typeof MEASURES)[number] = 'own', range: [number, number] | null = null;
	const load = loader(box, (signal) => get<FleetHeat>('fleet/heat', { job, measure, w: Math.min(600, Math.max(100, Math.floor((box.clientWidth || 1200) / 2))), h: 96, s0: range?.[0], s1: range?.[1] }, { signal }), (m) => {
		if (!m.steps_n) return fill(box, h('p', { class: 'note' }, t('fleet.nosteps')));
		const choice = h('select', { 'aria-label': t('steps.measure'), on: { change: () => { measure = choice.value as typeof measure; void load(); } } },
			MEASURES.map((k) => h('option', { value: k, selected: k === measure }, t(`fleet.measure.${k}`))));
		const zoom = (_row: number, col: number) => { // into the steps of a column, and out again from a single one
			const from = m.steps[col]!, to = (m.steps[col + 1] ?? m.last_step + 1) - 1;
			range = to > from ? [Math.max(0, from - 4 * (to - from)), to + 4 * (to - from)] : null;
			void load();
		};
		const slow = m.slowest.filter((s) => s.over >= 20);
		fill(box, h('h2', null, t('fleet.heat', { ranks: fmt.count(m.ranks_n), steps: fmt.count(m.steps_n) })),
			h('div', { class: 'controls' }, h('label', null, t('steps.colour'), ' ', choice), h('span', { class: 'scale', 'aria-hidden': 'true' }, '0 %', h('i'), '+20 %'), h('span', { class: 'dim' }, t('steps.scale')),
				range ? h('button', { type: 'button', on: { click: () => { range = null; void load(); } } }, t('fleet.allsteps')) : null),
			m.every > 1 ? h('p', { class: 'note' }, t('fleet.every', { n: fmt.count(m.every) })) : null,
			h('p', { class: 'note' }, slow.length ? `${t('steps.slow')} ${slow.map((s) => `${t('rank', { n: s.rank ?? '-' })} ${over(s.over)}`).join(', ')}` : t('fleet.even')),
			heat(m, zoom));
	});
	return box;
}

interface Change {
	name: string;
	a: number;
	b: number;
}
const DIFFS: Column<Change>[] = [
	{ id: 'name', head: 'fleet.ofstep', left: true, grow: true, cell: (x) => name(x.name) },
	{ id: 'a', head: 'fleet.a', sort: (x) => x.a, cell: (x) => fmt.time(x.a) },
	{ id: 'b', head: 'fleet.b', sort: (x) => x.b, cell: (x) => fmt.time(x.b) },
	{ id: 'd', head: 'fleet.d', sort: (x) => Math.abs(x.b - x.a), cell: (x) => `${x.b < x.a ? '−' : '+'}${fmt.time(Math.abs(x.b - x.a))}` },
];

function diffBlock(job: string, vs: string): HTMLElement {
	const box = h('div', { class: 'block' });
	loader(box, (signal) => get<FleetDiff>('fleet/diff', { job, vs, since }, { signal }), (d) => {
		const rows: Change[] = [
			{ name: t('fleet.busy'), a: d.a.busy_ns, b: d.b.busy_ns }, { name: t('fleet.comm'), a: d.a.exposed_ns - d.a.waits_ns, b: d.b.exposed_ns - d.b.waits_ns },
			{ name: t('fleet.waiting'), a: d.a.waits_ns, b: d.b.waits_ns }, { name: t('fleet.idle'), a: d.a.idle_ns, b: d.b.idle_ns }, { name: t('fleet.step'), a: d.a.step_ns, b: d.b.step_ns }];
		fill(box, h('h2', null, t('fleet.compare', { a: vs, b: job })),
			h('p', null, t(d.b.step_ns > d.a.step_ns ? 'fleet.longer' : 'fleet.shorter', { b: fmt.time(d.b.step_ns), a: fmt.time(d.a.step_ns), pct: fmt.percent(Math.abs(share(d.b.step_ns, d.a.step_ns) - 1)) })),
			h('p', { class: 'note' }, name([d.a.framework, d.a.driver].filter(Boolean).join(', ') || '-'), ' → ', name([d.b.framework, d.b.driver].filter(Boolean).join(', ') || '-')),
			table({ columns: DIFFS, rows, label: t('fleet.compare', { a: vs, b: job }) }).el,
			table({ columns: DIFFS, rows: d.kernels.slice(0, KERNELS_SHOWN).map((k) => ({ name: fmt.short(k.name), a: k.a_ns, b: k.b_ns })), label: t('fleet.kernels') }).el);
	});
	return box;
}

function compareChoice(job: string): HTMLElement {
	const box = h('span');
	get<Fleet>('fleet', { since }).then((f) => {
		const s = h('select', { 'aria-label': t('compare.pick'), on: { change: () => go({ vs: s.value || null }) } }, h('option', { value: '' }, t('compare.pick')),
			f.jobs.filter((j) => j.job && j.job !== job && j.time.steps).map((j) => h('option', { value: j.job, selected: j.job === state.vs, translate: 'no' }, j.job)));
		fill(box, s);
	}, () => undefined);
	return box;
}

function drawJob(host: HTMLElement, r: FleetReport, again: () => void, say: (s: string) => void): () => string {
	const job = state.job!;
	const ranks = table({ columns: RANKS, rows: [...r.ranks].sort((a, b) => b.over - a.over).slice(0, SHOWN), label: t('fleet.ranks'), sort: 'over' });
	fill(host, h('div', { class: 'controls' }, h('a', { href: '#/fleet' }, t('fleet.title')), h('span', { class: 'sep', 'aria-hidden': 'true' }, '›'), name(job), spanChoice(again), compareChoice(job)),
		h('h2', { class: 'verdict' }, name(r.verdict, '')),
		h('p', { class: 'note' }, t('fleet.jobhead', { ranks: fmt.count(r.ranks.length), hosts: fmt.count(r.hosts), steps: fmt.count(r.steps), p50: fmt.time(r.step_p50_ns), p99: fmt.time(r.step_p99_ns) }), ' ', name([r.gpu_model, r.framework, r.driver].filter(Boolean).join(', '))),
		r.findings.length ? h('ul', { class: 'plain' }, r.findings.slice(0, 5).map((x) => h('li', null, name(x.text, ''), ' ', h('span', { class: 'dim' }, t('fleet.gain', { pct: fmt.percent(x.gain), source: x.source }))))) : null,
		r.time.steps ? goes(r.time, r.time.step_s, PARTS.slice(0, 4)) : null,
		state.vs ? diffBlock(job, state.vs) : null,
		heatBlock(job));
	if (r.ranks.length > 1) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.where')), places(rankPlaces(r), t('fleet.where.alt', { ranks: r.ranks.length, hosts: r.hosts }), say, () => undefined), h('p', { class: 'note' }, t('fleet.where.what'))));
	if (r.hours.length > 1) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.hours')), barsOfHours(r.hours)));
	host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.ranks')), ranks.el, r.ranks.length > SHOWN ? h('p', { class: 'note' }, t('fleet.first', { n: SHOWN, all: fmt.count(r.ranks.length) })) : null));
	if (r.kernels.length) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.kernels')), table({ columns: KERNELS, rows: r.kernels, label: t('fleet.kernels') }).el));
	return () => ranks.text();
}

export function fleetPage(main: HTMLElement, runs: number, say: (s: string) => void): Shown {
	const host = h('div', { class: 'view', data: { view: 'fleet' } });
	const job = state.job;
	let text = () => '';
	fill(main, h('h1', { class: 'hidden' }, t(job ? 'fleet.job.q' : 'fleet.q')), host);
	main.scrollTop = 0;
	const load = job
		? loader(host, (signal) => get<FleetReport>('fleet/job', { job, since }, { signal }), (r) => { text = drawJob(host, r, () => void load(), say); })
		: loader(host, (signal) => get<Fleet>('fleet', { since }, { signal, fresh: true }), (f) => {
			if (!f.jobs.length && !f.nodes.length) return empty(host, 'fleet.none', 'fleet.none.what', 'aon ship');
			text = drawFleet(host, f, () => void load(), runs, say);
		});
	return { close: () => load.stop(), text: () => text() };
}
