// SPDX-License-Identifier: Apache-2.0
// Series of telemetry: their data from the server, and the display of their values.
import type { Reply } from '../api';
import * as fmt from '../fmt';
import { t, type Key } from '../i18n';

export interface SeriesName {
	id: number;
	metric: string;
	device: string;
	labels: string;
	gpu: number | null;
	unit: string;
	how: 'value' | 'rate' | 'mask';
	name: string | null;
	usual: boolean;
	help?: string;
}
/** Cells that differ from the one before: [cell, least, mean, most], or [cell] where nothing was measured. */
export interface Series extends SeriesName {
	points: number[][];
}
export interface Telemetry extends Reply {
	from_ns: number;
	width_ns: number;
	cells: number;
	left: number;
	series: Series[];
	events: { at_ns: number; what: string; text: string }[];
}

/** Why clocks are low, by bit (NVML); `own`: the GPU has nothing to do, nobody is to blame. */
const REASONS: { bit: number; word: Key; own?: boolean }[] = [
	{ bit: 0x1, word: 'tele.idle', own: true }, { bit: 0x2, word: 'tele.setting', own: true }, { bit: 0x4, word: 'tele.powercap' }, { bit: 0x8, word: 'tele.hwslow' },
	{ bit: 0x10, word: 'tele.sync', own: true }, { bit: 0x20, word: 'tele.thermal' }, { bit: 0x40, word: 'tele.hwthermal' }, { bit: 0x80, word: 'tele.brake' },
	{ bit: 0x100, word: 'tele.display', own: true },
];

export function reasons(mask: number): string {
	const list = REASONS.filter((r) => mask & r.bit).map((r) => t(r.word));
	return list.join(', ') || (mask ? `0x${mask.toString(16)}` : t('tele.nothing'));
}

/** Clocks are lower than they could be, and not because nothing is asked of the GPU. */
export function held(mask: number): boolean {
	return (mask & ~REASONS.filter((r) => r.own).reduce((m, r) => m | r.bit, 0)) !== 0;
}

/** How a second of a counter is called: seconds a second are a share, joules are watts. */
function scaled(s: SeriesName): [number, string] {
	if (s.how === 'rate') {
		if (s.unit === 's') return [100, '%'];
		if (s.unit === 'ns') return [1e-7, '%'];
		if (s.unit === 'J') return [1, 'W'];
		if (s.unit === 'mJ') return [1e-3, 'W'];
		if (s.unit === 'KiB') return [1024, 'B/s'];
		return [1, `${s.unit}/s`];
	}
	if (s.unit === '1') return [100, '%'];
	if (s.unit === 'C') return [1, '°C'];
	if (s.unit === 'KB/s') return [1000, 'B/s'];
	if (s.unit === 'MiB') return [1048576, 'B'];
	return [1, s.unit];
}

export function shown(s: SeriesName, v: number): string {
	if (s.how === 'mask') return s.metric === 'DCGM_FI_DEV_CLOCKS_EVENT_REASONS' ? reasons(v) : `0x${v.toString(16)}`;
	const [k, unit] = scaled(s), x = v * k;
	if (unit === 'B') return fmt.bytes(x);
	if (unit === 'B/s' || unit === 'Hz') return fmt.rate(x, unit);
	return `${fmt.digits(x)}${unit ? ` ${unit}` : ''}`;
}

export function label(s: SeriesName): string {
	const more = s.labels.replace(/\b(gpu|UUID|modelName|DCGM_FI_DRIVER_VERSION|pci_bus_id)="[^"]*",?/g, '').replace(/,$/, '').replace(/="([^"]*)"/g, ' $1');
	const who = s.gpu !== null ? `GPU ${s.gpu}` : s.device;
	return [who, s.name ?? s.metric, s.name ? '' : more].filter(Boolean).join(' ');
}

/** The cell that holds at `cell`: the last point at or before it. Null: nothing was measured. */
export function pointAt(s: Series, cell: number): number[] | null {
	let lo = 0, hi = s.points.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (s.points[mid]![0]! <= cell) lo = mid + 1;
		else hi = mid;
	}
	const p = s.points[lo - 1];
	return p && p.length > 1 ? p : null;
}

export interface Figures {
	lo: number;
	mean: number;
	hi: number;
	bits: number; // of a mask
}

/** Least, mean and most between two cells; null: nothing was measured there. */
export function figures(s: Series, from: number, to: number, cells: number): Figures | null {
	let lo = Infinity, hi = -Infinity, sum = 0, n = 0, bits = 0;
	for (const [i, p] of s.points.entries()) {
		const a = Math.max(p[0]!, from), b = Math.min(s.points[i + 1]?.[0] ?? cells, to);
		if (b <= a || p.length < 2) continue;
		lo = Math.min(lo, p[1]!);
		hi = Math.max(hi, p[3]!);
		sum += p[2]! * (b - a);
		n += b - a;
		bits |= p[3]!;
	}
	return n > 0 ? { lo, mean: sum / n, hi, bits } : null;
}
