// SPDX-License-Identifier: Apache-2.0
// The drawer's text for an event, and for a stretch of time.
import type { EventInfo, Selected } from '../api';
import { h, name } from '../dom';
import * as fmt from '../fmt';
import { t } from '../i18n';
import { dot } from '../views/kernels';
import { partName } from '../views/overview';
import type { Track } from './store';

const SHOWN = new Set(['v', 'asof', 'lost', 'partial', 'id', 'track', 'name', 'short', 'class', 'start', 'dur', 'rank', 'label']);

function value(key: string, v: unknown): string {
	if (typeof v === 'number') {
		if (/_ns$/.test(key)) return fmt.time(v);
		if (/bytes/.test(key)) return fmt.bytes(v);
		return /^(pid|stream|thread|correlation|gpu)$/.test(key) ? String(v) : fmt.count(v);
	}
	if (Array.isArray(v)) return v.map((x) => (typeof x === 'object' ? JSON.stringify(x) : String(x))).join(' x ');
	return typeof v === 'object' ? JSON.stringify(v) : String(v);
}

export function eventPanel(e: EventInfo, tr: Track | undefined, ...actions: Node[]): HTMLElement {
	const f = (k: string, v: string) => [h('dt', null, k), h('dd', null, v)];
	return h('div', null, h('div', { class: 'full', translate: 'no' }, e.name),
		h('dl', { class: 'facts' }, e.class ? f(t('col.class'), e.class) : [], f(t('steps.long'), fmt.time(e.dur)), f(t('steps.at'), fmt.moment(e.start).replace(/s$/, ' s')),
			tr ? f(t('timeline.track'), tr.label) : [], tr && tr.rank !== null && tr.rank >= 0 ? f(t('steps.rank'), String(tr.rank)) : [],
			Object.entries(e).filter(([k, v]) => !SHOWN.has(k) && v !== null && v !== undefined && v !== '').map(([k, v]) => f(k.replace(/_ns$/, '').replace(/_/g, ' '), value(k, v)))),
		h('section', { class: 'row' }, actions));
}

/** Sum, average, p50, p99 and most of what is selected, at once. */
export function areaPanel(s: Selected, ...actions: Node[]): HTMLElement {
	const figures = ['n', 'sum', 'avg', 'p50', 'p99', 'max'];
	return h('div', null,
		h('p', { class: 'dim' }, t('timeline.areasaid', { long: fmt.time(s.t1 - s.t0), n: fmt.count(s.n) })),
		h('table', null, h('thead', null, h('tr', null, h('th', { class: 'l', colspan: 2 }, t('col.class')), h('th', null, t('col.total')), h('th', null, t('col.calls')))),
			h('tbody', null, s.classes.filter((c) => c.n || c.ns).sort((x, y) => y.ns - x.ns).map((c) => h('tr', null, h('td', { class: 'l' }, dot(c.class)),
				h('td', { class: 'l words fit' }, c.class === 'host' ? t('class.host') : partName(c.class)), h('td', null, fmt.time(c.ns)), h('td', null, fmt.count(c.n)))))),
		h('section', { class: 'row' }, actions),
		h('section', { class: 'scroll' }, h('table', null,
			h('thead', null, h('tr', null, h('th', { class: 'l' }, t('col.name')), figures.map((k) => h('th', null, k)))),
			h('tbody', null, s.rows.slice(0, 60).map((r) => h('tr', null, h('td', { class: 'l' }, name(fmt.middle(r.short || fmt.short(r.name), 26))), h('td', null, fmt.count(r.n)),
				[r.ns, r.avg, r.p50, r.p99, r.max].map((v) => h('td', null, fmt.time(v)))))))));
}
