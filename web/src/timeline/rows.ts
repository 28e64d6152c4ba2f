// SPDX-License-Identifier: Apache-2.0
// The layout of tracks. Similar ranks are folded into one line: 8 or 8,000 start as a few.
import { t } from '../i18n';
import type { Track } from './store';

export const ROW_H = 20;
export const DEPTH_H = 15;
const DEPTHS = 8; // of an open thread, at most: ranges within ranges

export interface Row {
	y: number;
	h: number;
	label: string;
	indent: number;
	track: Track | null; // null: a line of text
	group: string | null; // what folding it means; null: nothing to fold
	folded: boolean;
	depths: number; // 0: one, the innermost on top
	key: string;
}

export interface Folds {
	closed: Set<string>;
	open: Set<string>;
	pinned: Set<number>;
	alike: boolean; // ranks that behave alike are one line
	only: ((t: Track) => boolean) | null;
}

function rankKey(tr: Track): string {
	return tr.rank !== null && tr.rank >= 0 ? `r${tr.rank}` : `p${tr.pid ?? 0}`;
}

const ORDER: Track['kind'][] = ['step', 'gpu', 'why', 'comm', 'stream', 'thread', 'counter'];

/**
 * `show`: ranks that are to be seen one by one even when the others are folded. `deep`: how many ranges
 * within ranges a thread has in view, 0 where they are merged.
 */
export function layout(tracks: Track[], f: Folds, ranks: number[] | null, show: number[], deep: (t: Track) => number): Row[] {
	const rows: Row[] = [];
	let y = 0;
	const push = (r: Omit<Row, 'y' | 'h'> & { h?: number }) => {
		const h = r.h ?? (r.depths ? r.depths * DEPTH_H + 4 : ROW_H);
		rows.push({ ...r, y, h });
		y += h;
	};
	const kids = new Map<number, Track[]>();
	for (const tr of tracks) if (tr.parent) kids.set(tr.parent, [...(kids.get(tr.parent) ?? []), tr]);
	const busiest = new Map<string, Track>();
	for (const tr of tracks)
		if (tr.kind === 'thread' && tr.n > (busiest.get(rankKey(tr))?.n ?? 0)) busiest.set(rankKey(tr), tr);

	const put = (tr: Track, indent: number) => {
		if (f.only && !f.only(tr)) return (kids.get(tr.id) ?? []).forEach((k) => put(k, indent));
		const mine = kids.get(tr.id) ?? [];
		const key = `t${tr.id}`, thread = tr.kind === 'thread';
		const open = f.open.has(key) || (!f.closed.has(key) && (thread ? tr.n * 10 >= (busiest.get(rankKey(tr))?.n ?? 0) : true));
		push({ label: tr.kind === 'counter' && tr.gpu !== null ? `${tr.label} · GPU ${tr.gpu}` : tr.label, indent, track: tr, group: mine.length || thread ? key : null, folded: !open, depths: thread && open ? Math.min(DEPTHS, deep(tr)) : 0, key,
			h: tr.kind === 'counter' ? 30 : undefined });
		if (open) for (const k of sorted(mine)) put(k, indent + 1);
	};

	const groups = new Map<string, Track[]>();
	for (const tr of tracks) {
		if (ranks && tr.rank !== null && tr.rank >= 0 && !ranks.includes(tr.rank)) continue;
		const k = rankKey(tr);
		groups.set(k, [...(groups.get(k) ?? []), tr]);
	}
	const keys = [...groups.keys()].sort((a, b) => first(groups, a) - first(groups, b));
	const many = keys.length > 3 && f.alike && !f.only;
	const hide: string[] = [];
	for (const [n, k] of keys.entries()) {
		const list = groups.get(k)!, rank = list[0]!.rank;
		if (many && n > 0 && !(rank !== null && show.includes(rank)) && !list.some((x) => f.pinned.has(x.id))) {
			hide.push(rank !== null && rank >= 0 ? String(rank) : String(list[0]!.pid));
			continue;
		}
		if (keys.length > 1) {
			const key = `g${k}`, folded = f.closed.has(key);
			push({ label: rank !== null && rank >= 0 ? t('rank', { n: rank }) : t('timeline.pid', { pid: list[0]!.pid ?? '-' }), indent: 0, track: null, group: key, folded, depths: 0, key });
			if (folded) continue;
		}
		for (const tr of sorted(list.filter((x) => !x.parent))) put(tr, keys.length > 1 ? 1 : 0);
	}
	if (hide.length) push({ label: t('timeline.folded', { list: spans(hide), n: hide.length }), indent: 0, track: null, group: 'alike', folded: true, depths: 0, key: 'alike' });
	return rows;
}

function first(groups: Map<string, Track[]>, k: string): number {
	const tr = groups.get(k)![0]!;
	return tr.rank !== null && tr.rank >= 0 ? tr.rank : 1e6 + (tr.pid ?? 0);
}

function sorted(list: Track[]): Track[] {
	return [...list].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || b.n - a.n);
}

/** 1-4, 6-7 */
export function spans(list: string[]): string {
	const n = list.map(Number).sort((a, b) => a - b);
	const out: string[] = [];
	for (let i = 0; i < n.length; ) {
		let j = i;
		while (j + 1 < n.length && n[j + 1] === n[j]! + 1) j++;
		out.push(i === j ? String(n[i]) : `${n[i]}-${n[j]}`);
		i = j + 1;
	}
	return out.join(', ');
}
