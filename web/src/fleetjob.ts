// SPDX-License-Identifier: Apache-2.0
// A job of a cluster: which rank, which node, since when? And against another job, or itself before a moment.
import { get, type Fleet, type FleetDiff, type FleetKernel, type FleetRank, type FleetReport, type Reply, type Step } from './api';
import { button, fill, h, name } from './dom';
import { goes, PARTS, share, SHOWN, since, spanChoice } from './fleetparts';
import * as fmt from './fmt';
import { t } from './i18n';
import { place, rankMap } from './rankmap';
import { go, state, type State } from './state';
import { table, type Column } from './table';
import { barsOfHours, places, type Place } from './topology';
import { loader } from './view';
import { over, phases } from './views/steps';

const KERNELS_SHOWN = 20;

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

/** Since which hour a step takes another time, and the way to what changed. */
function sinceWhen(s: NonNullable<FleetReport['since']>): HTMLElement {
	return h('p', null, h('span', { class: 'warn' }, t(s.after_ns > s.before_ns ? 'fleet.since.longer' : 'fleet.since.shorter', { at: moment(s.t_s), b: fmt.time(s.after_ns), a: fmt.time(s.before_ns), pct: fmt.percent(Math.abs(s.after_ns / s.before_ns - 1)) })), ' ',
		button(t('fleet.since.what'), () => go({ at: Math.round(s.t_s), vs: null })));
}

function rankPlaces(r: FleetReport): Place[] {
	return r.ranks.map((x) => ({ group: x.rack ?? '-', sub: x.leaf, unit: x.host ?? '-', label: t('rank', { n: x.rank ?? '-' }), heat: x.over / 0.2, gone: false, rank: x.rank ?? undefined,
		words: t('fleet.rank', { rank: x.rank ?? '-', host: place(x), over: over(Math.round(x.over * 1000)), waits: fmt.time(x.waits_ns) }) }));
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

/** A moment as the page says it, and as it is asked for: UTC. */
const moment = (s: number) => new Date(s * 1e3).toISOString().slice(0, 16).replace('T', ' ');

/** Two jobs, or with `at` one before and after that moment. */
function diffBlock(job: string, vs: string | null, at: number | null): HTMLElement {
	const box = h('div', { class: 'block' });
	loader(box, (signal) => get<FleetDiff>('fleet/diff', { job, vs, at, since: since() }, { signal }), (d) => {
		const title = vs ? t('fleet.compare', { a: vs, b: job }) : t('fleet.compare.at', { at: moment(at!) });
		const rows: Change[] = [
			{ name: t('fleet.busy'), a: d.a.busy_ns, b: d.b.busy_ns }, { name: t('fleet.comm'), a: d.a.exposed_ns - d.a.waits_ns, b: d.b.exposed_ns - d.b.waits_ns },
			{ name: t('fleet.waiting'), a: d.a.waits_ns, b: d.b.waits_ns }, { name: t('fleet.idle'), a: d.a.idle_ns, b: d.b.idle_ns }, { name: t('fleet.step'), a: d.a.step_ns, b: d.b.step_ns }];
		fill(box, h('h2', null, title, ' ', button(t('fleet.compare.end'), () => go({ vs: null, at: null }))),
			d.a.step_ns && d.b.step_ns ? h('p', { class: 'big' }, t(Math.abs(share(d.b.step_ns, d.a.step_ns) - 1) < 0.005 ? 'fleet.same' : d.b.step_ns > d.a.step_ns ? 'fleet.longer' : 'fleet.shorter', { b: fmt.time(d.b.step_ns), a: fmt.time(d.a.step_ns), pct: fmt.percent(Math.abs(share(d.b.step_ns, d.a.step_ns) - 1)) })) : h('p', { class: 'note warn' }, t('fleet.compare.none')),
			h('p', { class: 'note' }, name([d.a.framework, d.a.driver].filter(Boolean).join(', ') || '-'), ' → ', name([d.b.framework, d.b.driver].filter(Boolean).join(', ') || '-')),
			table({ columns: DIFFS, rows, label: title }).el,
			d.kernels.length ? table({ columns: DIFFS, rows: d.kernels.slice(0, KERNELS_SHOWN).map((k) => ({ name: fmt.short(k.name), a: k.a_ns, b: k.b_ns })), label: t('fleet.kernels') }).el : null);
	});
	return box;
}

function compareChoice(job: string): HTMLElement {
	const box = h('span');
	get<Fleet>('fleet', { since: since() }).then((f) => {
		const s = h('select', { 'aria-label': t('compare.pick'), on: { change: () => go({ vs: s.value || null }) } }, h('option', { value: '' }, t('compare.pick')),
			f.jobs.filter((j) => j.job && j.job !== job && j.time.steps).map((j) => h('option', { value: j.job, selected: j.job === state.vs, translate: 'no' }, j.job)));
		fill(box, s);
	}, () => undefined);
	return box;
}

/** One rank: where it is, how it stands against the others, and its newest steps by phase. */
function rankBlock(job: string, r: FleetReport, rank: number, box: HTMLElement): void {
	const x = r.ranks.find((y) => y.rank === rank);
	const plot = h('div');
	const fact = (k: string, v: string) => [h('dt', null, k), h('dd', null, v)];
	fill(box, h('div', { class: 'block' }, h('h2', null, t('fleet.one', { rank }), ' ', button(t('fleet.one.end'), () => go({ ranks: null }))),
		x ? h('p', { class: 'big' }, t('fleet.one.says', { rank, place: place(x), own: fmt.time(x.own_ns), over: over(Math.round(x.over * 1000)), waits: fmt.time(x.waits_ns) })) : h('p', { class: 'note' }, t('fleet.one.none', { rank })),
		x ? h('dl', { class: 'facts narrow' }, fact(t('fleet.step'), fmt.time(x.step_ns)), fact(t('phase.compute'), fmt.time(x.compute_ns)), fact(t('phase.comm'), fmt.time(x.exposed_ns)), fact(t('phase.idle'), fmt.time(x.idle_ns))) : null,
		plot, h('p', { class: 'note' }, t('fleet.one.more'), ' ', h('code', { translate: 'no' }, `aon report --cluster … --job ${job} --rank ${rank}`))));
	get<Reply & { steps: Step[] }>('fleet/rank', { job, rank }).then((s) => {
		if (s.steps.length) fill(plot, phases(s.steps, () => undefined, t('fleet.one.steps', { n: s.steps.length })));
	}, () => undefined); // the rest stands without it
	box.scrollIntoView({ block: 'nearest' });
}

export function drawJob(host: HTMLElement, r: FleetReport, say: (s: string) => void): { text: () => string; follow: (now: State, was: State) => void } {
	const job = state.job!, rank = h('div', { 'aria-live': 'polite' });
	const where = new Map(r.ranks.filter((x) => x.rank !== null).map((x) => [x.rank!, { ...x, rank: x.rank! }]));
	const showRank = () => (state.ranks?.length ? rankBlock(job, r, state.ranks[0]!, rank) : fill(rank));
	const ranks = table({ columns: RANKS, rows: [...r.ranks].sort((a, b) => b.over - a.over).slice(0, SHOWN), label: t('fleet.ranks'), sort: 'over', pick: (x) => { if (x.rank !== null) go({ ranks: [x.rank] }); } });
	fill(host, h('div', { class: 'controls' }, h('a', { href: '#/fleet' }, t('fleet.title')), h('span', { class: 'sep', 'aria-hidden': 'true' }, '›'), name(job), spanChoice(), compareChoice(job)),
		h('h2', { class: 'verdict' }, name(r.verdict, '')),
		h('p', { class: 'note' }, t('fleet.jobhead', { ranks: fmt.count(r.ranks.length), hosts: fmt.count(r.hosts), steps: fmt.count(r.steps), p50: fmt.time(r.step_p50_ns), p99: fmt.time(r.step_p99_ns) }), ' ', name([r.gpu_model, r.framework, r.driver].filter(Boolean).join(', '))),
		r.findings.length ? h('ul', { class: 'plain' }, r.findings.slice(0, 5).map((x) => h('li', null, name(x.text, ''), ' ', h('span', { class: 'dim' }, t('fleet.gain', { pct: fmt.percent(x.gain), source: x.source }))))) : null,
		r.since ? sinceWhen(r.since) : null,
		r.time.steps ? goes(r.time, r.time.step_s, PARTS.slice(0, 4)) : null,
		state.vs || state.at ? diffBlock(job, state.vs, state.at) : null,
		rankMap(job, where, say), rank);
	showRank();
	if (r.ranks.length > 1) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.where')), places(rankPlaces(r), t('fleet.where.alt', { ranks: r.ranks.length, hosts: r.hosts }), say, (p) => go({ ranks: [p.rank!] })), h('p', { class: 'note' }, t('fleet.where.what'))));
	if (r.hours.length > 1) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.hours')), barsOfHours(r.hours, state.at, (at) => go({ at, vs: null }))));
	host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.ranks')), ranks.el, r.ranks.length > SHOWN ? h('p', { class: 'note' }, t('fleet.first', { n: SHOWN, all: fmt.count(r.ranks.length) })) : null));
	if (r.kernels.length) host.append(h('div', { class: 'block' }, h('h2', null, t('fleet.kernels')), table({ columns: KERNELS, rows: r.kernels, label: t('fleet.kernels') }).el));
	return { text: () => ranks.text(), follow: (now, was) => { if (now.ranks !== was.ranks) showRank(); } };
}
