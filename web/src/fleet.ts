// SPDX-License-Identifier: Apache-2.0
// A cluster: where are GPU hours lost? And of one of its jobs: which rank, which node, since when?
import { get, type Fleet, type FleetChange, type FleetJob, type FleetNode, type FleetReport, type Reply } from './api';
import { fill, h, name } from './dom';
import { drawJob } from './fleetjob';
import { goes, hours, HOUR, lost, PARTS, share, SHOWN, since, spanChoice } from './fleetparts';
import * as fmt from './fmt';
import { t } from './i18n';
import { place as placed } from './rankmap';
import { go, state, type State } from './state';
import { table, type Column } from './table';
import { places, type Place } from './topology';
import { empty, loader, type Shown } from './view';

const NODES_SHOWN = 50;

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
		words: n.silent ? t('fleet.node.silent', { host: placed(n), ago: fmt.ago((f.span.to_s - n.seen_s) * 1e3) }) : t('fleet.node', { host: placed(n), waited: hours(n.waited_s) }) }));
}

function drawFleet(host: HTMLElement, f: Fleet, runs: number, say: (s: string) => void): () => string {
	const jobs = table({ columns: JOBS, rows: f.jobs.slice(0, SHOWN), label: t('fleet.jobs'), pick: (j) => openJob(j.job) });
	const silent = f.nodes.filter((n) => n.silent);
	fill(host, h('div', { class: 'controls' }, spanChoice(), h('span', { class: 'dim' }, t('fleet.head', { gpus: fmt.count(f.gpus), jobs: fmt.count(f.jobs.length), nodes: fmt.count(f.nodes.length) })),
		runs ? h('a', { href: '#/runs' }, t('runs.title')) : null),
		h('h2', { class: 'verdict' }, f.jobs.length ? t('fleet.verdict', { pct: fmt.percent(share(f.time.busy_s, f.time.held_s)), lost: fmt.digits(lost(f.time) / HOUR) }) : t('fleet.none')),
		silent.length ? h('p', { class: 'note warn' }, t('fleet.silents', { n: silent.length, all: f.nodes.length }), ' ', silent.slice(0, 20).map((n, i) => [i ? ', ' : '', name(n.host), ` (${fmt.ago((f.span.to_s - n.seen_s) * 1e3)})`]), silent.length > 20 ? ' …' : '') : null,
		f.dropped_rows ? h('p', { class: 'note warn' }, t('fleet.dropped', { n: fmt.count(f.dropped_rows) })) : null,
		f.jobs.length ? goes(f.time, f.time.held_s, PARTS) : null,
		h('div', { class: 'block' }, h('h2', null, t('fleet.jobs.head')), jobs.el, f.jobs.length > SHOWN ? h('p', { class: 'note' }, t('fleet.first', { n: SHOWN, all: fmt.count(f.jobs.length) })) : null));
	if (f.nodes.length) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.topology')), places(nodePlaces(f), t('fleet.topology.alt', { racks: new Set(f.nodes.map((n) => n.rack)).size, nodes: f.nodes.length, silent: f.silent_nodes }), say, (p) => openJob(f.nodes.find((n) => n.host === p.unit)?.job ?? null)),
		h('p', { class: 'note' }, t('fleet.topology.what'))));
	const look = f.nodes.filter((n) => n.silent || n.waited_s > 0); // the others are as they should be
	if (look.length) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.nodes')), table({ columns: NODES, rows: look.slice(0, NODES_SHOWN), label: t('fleet.nodes') }).el,
		h('p', { class: 'note' }, look.length > NODES_SHOWN ? `${t('fleet.first', { n: NODES_SHOWN, all: fmt.count(look.length) })} ` : '', t('fleet.nodes.rest', { n: fmt.count(f.nodes.length - look.length) }))));
	const rest = h('div', { class: 'block' });
	host.append(rest);
	get<Reply & { changes: FleetChange[] }>('fleet/versions', { since: since() }).then((v) => {
		if (v.changes.length) fill(rest, h('h2', null, t('fleet.versions')), table({ columns: CHANGES, rows: v.changes, label: t('fleet.versions') }).el, h('p', { class: 'note' }, t('fleet.versions.what')));
	}, () => undefined); // the rest stands without it
	return () => jobs.text();
}

export function fleetPage(main: HTMLElement, runs: number, say: (s: string) => void): Shown {
	const host = h('div', { class: 'view', data: { view: 'fleet' } });
	const job = state.job;
	let text = () => '', follow: (now: State, was: State) => void = () => undefined;
	fill(main, h('h1', { class: 'hidden' }, t(job ? 'fleet.job.q' : 'fleet.q')), host);
	main.scrollTop = 0;
	const load = job
		? loader(host, (signal) => get<FleetReport>('fleet/job', { job, since: since() }, { signal }), (r) => { ({ text, follow } = drawJob(host, r, say)); })
		: loader(host, (signal) => get<Fleet>('fleet', { since: since() }, { signal, fresh: true }), (f) => {
			if (!f.jobs.length && !f.nodes.length) return empty(host, 'fleet.none', 'fleet.none.what', 'aon ship');
			text = drawFleet(host, f, runs, say);
		});
	return { close: () => load.stop(), text: () => text(), update: (now, was) => follow(now, was) };
}
