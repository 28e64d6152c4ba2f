// SPDX-License-Identifier: Apache-2.0
// Shared by the pages of a cluster: where GPU time goes, and the time range.
import { type FleetTime } from './api';
import { h } from './dom';
import * as fmt from './fmt';
import { ribbon } from './frame';
import { t, type Key } from './i18n';
import { go, state } from './state';

export const HOUR = 3600, DAY = 24 * HOUR;
const SPANS: [number, Key][] = [[HOUR, 'fleet.hour'], [DAY, 'fleet.day'], [7 * DAY, 'fleet.week'], [30 * DAY, 'fleet.month']];
export const SHOWN = 500; // rows of a table: of thousands those that matter come first
/** How far back, for all that is asked. */
export const since = () => state.since ?? DAY;

export const hours = (s: number) => `${fmt.digits(s / HOUR)} h`;
export const lost = (x: FleetTime) => x.lost_s + x.idle_s + x.outside_s;
export const share = (part: number, all: number) => (all > 0 ? part / all : 0);

export interface Part {
	id: string;
	label: Key;
	of(x: FleetTime): number;
}
export const PARTS: Part[] = [
	{ id: 'compute', label: 'fleet.busy', of: (x) => x.busy_s },
	{ id: 'comm', label: 'fleet.comm', of: (x) => Math.max(0, x.exposed_s - x.lost_s) },
	{ id: 'warn', label: 'fleet.waiting', of: (x) => x.lost_s },
	{ id: 'host', label: 'fleet.idle', of: (x) => x.idle_s },
	{ id: 'idle', label: 'fleet.outside', of: (x) => x.outside_s },
];

export function goes(x: FleetTime, all: number, parts: Part[]): HTMLElement {
	return h('div', { class: 'block' }, ribbon(parts.map((p) => ({ id: p.id, share: share(p.of(x), all), label: t(p.label) }))),
		h('div', { class: 'keyed' }, parts.map((p) => h('span', null, h('span', { class: p.id === 'idle' ? 'swatch idle' : 'swatch', style: p.id === 'idle' ? {} : { background: `var(--${p.id})` } }),
			`${t(p.label)} ${fmt.percent(share(p.of(x), all))}`))));
}

export function spanChoice(): HTMLElement {
	const s = h('select', { 'aria-label': t('fleet.span'), on: { change: () => go({ since: Number(s.value) === DAY ? null : Number(s.value) }) } },
		SPANS.map(([n, k]) => h('option', { value: n, selected: n === since() }, t(k))));
	return h('label', null, t('fleet.span'), ' ', s);
}
