// SPDX-License-Identifier: Apache-2.0
// Which runs there are: jobs and traces, now and before. Shown when none is chosen.
import type { Run } from './api';
import { fill, h, name } from './dom';
import * as fmt from './fmt';
import { t } from './i18n';
import { go } from './state';
import { table, type Column } from './table';
import { empty } from './view';

const COLUMNS: Column<Run>[] = [
	{ id: 'name', head: 'runs.name', left: true, grow: true, sort: (r) => r.name, cell: (r) => [
		h('a', { href: `#/run/${encodeURIComponent(r.id)}/overview`, on: { click: (e) => { e.preventDefault(); openRun(r); } } }, name(r.name)),
		r.cmd && r.cmd !== r.name ? h('span', { class: 'dim' }, ' ', name(r.cmd)) : null] },
	{ id: 'state', head: 'runs.state', left: true, cell: (r) => (r.state === 'live' ? t('foot.live') : t('foot.ended')) },
	{ id: 'host', head: 'runs.host', left: true, opt: true, cell: (r) => r.host ?? '-' },
	{ id: 'job', head: 'runs.job', left: true, opt: true, cell: (r) => r.job ?? '-' },
	{ id: 'gpus', head: 'runs.gpus', sort: (r) => r.gpus, cell: (r) => fmt.count(r.gpus) },
	{ id: 'ranks', head: 'runs.ranks', opt: true, sort: (r) => r.ranks, cell: (r) => fmt.count(r.ranks) },
	{ id: 'steps', head: 'runs.steps', sort: (r) => r.steps, cell: (r) => fmt.count(r.steps) },
	{ id: 'long', head: 'runs.long', sort: (r) => r.t1_rel, cell: (r) => fmt.time(r.t1_rel) },
	{ id: 'events', head: 'runs.events', opt: true, sort: (r) => r.events, cell: (r) => fmt.count(r.events) },
	{ id: 'lost', head: 'runs.lost', opt: true, sort: (r) => r.lost, cell: (r) => fmt.count(r.lost) },
];

function openRun(r: Run): void {
	go({ run: r.id, view: 'overview' });
}

export function runsPage(host: HTMLElement, runs: Run[], fleet = false): void {
	if (!runs.length) return empty(host, 'runs.none', 'runs.none.what', 'aon run -- python train.py');
	const told = COLUMNS.filter((c) => !['host', 'job'].includes(c.id) || runs.some((r) => (c.id === 'host' ? r.host : r.job)));
	fill(host, h('div', { class: 'view' }, h('h1', null, t('runs.title')), fleet ? h('p', null, h('a', { href: '#/fleet' }, t('fleet.title'))) : null,
		table({ columns: told, rows: runs, label: t('runs.title'), pick: openRun }).el));
}
