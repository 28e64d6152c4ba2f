// SPDX-License-Identifier: Apache-2.0
// The picture as a table, for people who cannot see it: the visible events, the longest first.
import { CLASSES } from '../classes';
import { name } from '../dom';
import * as fmt from '../fmt';
import { t } from '../i18n';
import { table } from '../table';
import { partName } from '../views/overview';
import type { TileStore, Track } from './store';
import { before, type Tile } from './tile';

const MOST = 200;
export interface TwinRow {
	track: string;
	name: string;
	cls: string;
	ns: number;
	start: number | null; // null: merged, a class's time in view
	id: number | null;
}

export function twinRows(store: TileStore, tracks: Track[], a: number, b: number, tileAt: (t: Track) => Tile | null, busyOf: (t: Track) => Float64Array): TwinRow[] {
	const out: TwinRow[] = [];
	for (const tr of tracks) {
		const e = tileAt(tr)?.exact;
		if (!e) {
			busyOf(tr).forEach((ns, k) => {
				const cls: string = CLASSES[k]?.id ?? 'host';
				if (ns > 0) out.push({ track: tr.label, name: tr.kind === 'step' && cls === 'other' ? t('timeline.unrecorded') : cls === 'host' ? t('class.host') : partName(cls), cls, ns, start: null, id: null });
			});
			continue;
		}
		for (let i = Math.max(0, before(e, a - e.longest)); i < e.n && e.start[i]! < b; i++) {
			if (e.start[i]! + e.dur[i]! <= a) continue;
			const n = store.names.get(e.name[i]!);
			out.push({ track: tr.label, name: n?.name ?? '?', cls: n?.class ?? 'other', ns: e.dur[i]!, start: e.start[i]!, id: e.id[i]! });
		}
	}
	return out.sort((x, y) => y.ns - x.ns).slice(0, MOST);
}

export function twinTable(rows: TwinRow[], pick: (id: number) => void): HTMLElement {
	return table<TwinRow>({ label: t('timeline.alt'), rows, columns: [
		{ id: 'track', head: 'timeline.track', left: true, cell: (x) => name(x.track) },
		{ id: 'name', head: 'col.name', left: true, grow: true, cell: (x) => name(x.name) },
		{ id: 'cls', head: 'col.class', left: true, opt: true, cell: (x) => x.cls },
		{ id: 'start', head: 'steps.at', cell: (x) => (x.start === null ? '-' : fmt.time(x.start)) },
		{ id: 'ns', head: 'steps.long', cell: (x) => fmt.time(x.ns) }],
		pick: (x) => { if (x.id !== null) pick(x.id); } }).el;
}
