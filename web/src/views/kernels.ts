// SPDX-License-Identifier: Apache-2.0
// Which kernels cost most, and how far from the limit are they?
import { get, runPath, search, source, type Diff, type DiffRow, type Row, type Rows, type Run } from '../api';
import { classOf } from '../classes';
import { button, fill, h, name } from '../dom';
import * as fmt from '../fmt';
import { drawer, say } from '../frame';
import { callsWithin, histogram } from '../hist';
import { t } from '../i18n';
import { go, state, type Range } from '../state';
import { table, type Column } from '../table';
import { empty, loader, type Shown, type View } from '../view';
import { partName } from './overview';

export function dot(cls: string): HTMLElement {
	const id = cls === 'host' ? 'host' : classOf(cls);
	return h('span', { class: 'swatch', style: { background: `var(--${id})` }, title: id === 'host' ? t('class.host') : partName(cls) });
}

/** Time in each sixteenth of the range, against the most of them. */
function spark(k: Row): HTMLElement {
	const max = Math.max(...k.trend, 1);
	return h('span', { class: 'spark', role: 'img', 'aria-label': t('kernels.trend.alt', { first: fmt.time(k.trend[0]), last: fmt.time(k.trend[k.trend.length - 1]) }) },
		k.trend.map((ns) => h('i', { style: { height: `${Math.ceil((ns / max) * 14)}px`, background: `var(--${classOf(k.class)})` } })));
}

/** The first of the calls that the brush chose; each leads to its place on the timeline. */
function calls(run: Run, k: Row, at: Range): HTMLElement {
	const body = h('div', { class: 'calls' });
	const load = loader(body, (signal) => search(run.id, k.name, 20, { signal, long: at }), (r) => {
		const own = r.results.filter((x) => x.name === k.name);
		fill(body, h('table', null, h('thead', null, h('tr', null, h('th', { class: 'l' }, t('steps.at')), h('th', null, t('steps.long')))),
			h('tbody', null, own.map((x) => h('tr', null,
				h('td', { class: 'l' }, h('button', { type: 'button', class: 'bare link', on: { click: () => go({ view: 'timeline', sel: `e:${x.id}`, w: null, q: k.name, d: at }) } }, fmt.time(x.start))),
				h('td', null, fmt.time(x.dur)))))), own.length ? null : h('p', { class: 'note' }, t('kernels.nocalls')));
	});
	stopCalls = load.stop;
	return body;
}
let stopCalls = () => {};

function details(run: Run, k: Row): void {
	const f = (key: string, v: string) => [h('dt', null, key), h('dd', null, v)];
	const at = state.d;
	stopCalls();
	drawer(h('div', null, h('div', { class: 'full', translate: 'no' }, k.name),
		h('dl', { class: 'facts' },
			f(t('col.class'), k.class), f(t('col.total'), fmt.time(k.ns)), f(t('col.share'), fmt.percent(k.share)), f(t('col.calls'), fmt.count(k.calls)),
			f(t('col.avg'), fmt.time(k.calls ? k.ns / k.calls : null)), f(t('col.min'), fmt.time(k.min)), f(t('col.p50'), fmt.time(k.p50)), f(t('col.p99'), fmt.time(k.p99)), f(t('col.max'), fmt.time(k.max)),
			k.bytes ? f(t('col.bytes'), fmt.bytes(k.bytes)) : [], k.bytes && k.ns ? f(t('col.rate'), fmt.rate(k.bytes / (k.ns / 1e9), 'B/s')) : [],
			k.bound ? f(t('col.bound'), k.bound) : [], fmt.known(k.limit) ? f(t('col.limit'), fmt.percent(k.limit)) : []),
		source.saved ? null : h('section', { class: 'row' }, button(at ? t('kernels.these') : t('kernels.events'), () => go({ view: 'timeline', q: k.name, sel: null })),
			button(t('kernels.launches'), () => go({ view: 'flame', q: k.short || k.name, sel: null })), button(t('kernels.roof'), () => go({ view: 'roofline', sel: `k:${k.id}` }))),
		histogram(k, at, (r) => { go({ d: r }, false); }),
		at && k.hist ? h('section', null, h('h2', { class: 'chosen' }, t('kernels.chosen', { n: callsWithin(k.hist, at), m: fmt.count(k.calls), lo: fmt.time(at[0]), hi: fmt.time(at[1]) }), ' ',
			button('×', () => go({ d: null }, false), { class: 'bare', 'aria-label': t('range.drop') })), source.saved ? null : calls(run, k, at)) : null), t('kernels.one'));
}

// Whether enough is known of what limits them to begin with what is wasted.
function wastes(rows: Row[]): boolean {
	const sum = (r: Row[]) => r.reduce((s, x) => s + x.ns, 0);
	return sum(rows.filter((r) => fmt.known(r.wasted))) > 0.75 * sum(rows);
}

function columns(rows: Row[]): Column<Row>[] {
	const { div, unit } = fmt.unitFor(rows[0]?.ns ?? 1);
	const limit = rows.some((r) => fmt.known(r.limit));
	return [
		{ id: 'class', head: 'col.class', quiet: true, left: true, cell: (k) => dot(k.class) },
		{ id: 'name', head: 'col.kernel', left: true, grow: true, sort: (k) => k.short.toLowerCase(), cell: (k) => h('bdi', { class: 'name', translate: 'no', dir: 'ltr', title: k.name }, k.short || k.name) },
		{ id: 'cls', head: 'col.class', left: true, opt: true, wide: true, sort: (k) => k.class, cell: (k) => k.class },
		{ id: 'ns', head: 'col.total', unit, sort: (k) => k.ns, cell: (k) => fmt.inUnit(k.ns, div) },
		{ id: 'share', head: 'col.share', sort: (k) => k.share, cell: (k) => fmt.percent(k.share) },
		{ id: 'bar', head: 'col.share', quiet: true, opt: true, wide: true, left: true, cell: (k) => h('i', { class: 'swatch', style: { width: `${Math.max(1, Math.round(k.share * 120))}px`, background: `var(--${classOf(k.class)})` } }) },
		{ id: 'trend', head: 'col.trend', opt: true, left: true, tip: 'col.trend.tip', cell: spark },
		{ id: 'calls', head: 'col.calls', sort: (k) => k.calls, cell: (k) => fmt.count(k.calls) },
		{ id: 'avg', head: 'col.avg', unit: 'µs', sort: (k) => k.ns / Math.max(1, k.calls), cell: (k) => fmt.inUnit(k.ns / Math.max(1, k.calls), 1e3) },
		{ id: 'p50', head: 'col.p50', unit: 'µs', opt: true, wide: true, sort: (k) => k.p50, cell: (k) => fmt.inUnit(k.p50, 1e3) },
		{ id: 'p99', head: 'col.p99', unit: 'µs', opt: true, sort: (k) => k.p99, cell: (k) => fmt.inUnit(k.p99, 1e3) },
		{ id: 'spread', head: 'col.spread', opt: true, tip: 'col.spread.tip', sort: (k) => (k.p50 ? k.p99 / k.p50 : null), cell: (k) => (k.p50 ? (k.p99 / k.p50).toFixed(1) : '-') },
		...(limit ? [
			{ id: 'bound', head: 'col.bound', left: true, opt: true, cell: (k: Row) => k.bound ?? '-' },
			{ id: 'limit', head: 'col.limit', opt: true, sort: (k: Row) => k.limit ?? null, cell: (k: Row) => fmt.percent(k.limit) },
			{ id: 'wasted', head: 'col.wasted', unit, opt: true, sort: (k: Row) => k.wasted ?? null, cell: (k: Row) => fmt.inUnit(k.wasted, div) },
		] as Column<Row>[] : []),
	];
}

function diffColumns(rows: DiffRow[]): Column<DiffRow>[] {
	const { div, unit } = fmt.unitFor(Math.max(1, ...rows.map((r) => Math.max(r.a_ns, r.b_ns))));
	const d = (r: DiffRow) => r.b_ns - r.a_ns;
	return [
		{ id: 'class', head: 'col.class', quiet: true, left: true, cell: (r) => dot(r.class ?? 'other') },
		{ id: 'name', head: 'col.kernel', left: true, grow: true, sort: (r) => r.name, cell: (r) => name(r.name) },
		{ id: 'a', head: 'col.a', unit, sort: (r) => r.a_ns, cell: (r) => fmt.inUnit(r.a_ns, div) },
		{ id: 'b', head: 'col.b', unit, sort: (r) => r.b_ns, cell: (r) => fmt.inUnit(r.b_ns, div) },
		{ id: 'delta', head: 'col.delta', unit, sort: (r) => Math.abs(d(r)), cell: (r) => h('span', { style: { color: d(r) > 0 ? 'var(--more)' : 'var(--less)' } }, (d(r) > 0 ? '+' : '−') + fmt.inUnit(Math.abs(d(r)), div)) },
		{ id: 'an', head: 'col.acalls', opt: true, sort: (r) => r.a_count, cell: (r) => String(Math.round(r.a_count * 10) / 10) },
		{ id: 'bn', head: 'col.bcalls', opt: true, sort: (r) => r.b_count, cell: (r) => String(Math.round(r.b_count * 10) / 10) },
	];
}

export const kernels: View = {
	id: 'kernels',
	title: 'view.kernels',
	question: 'view.kernels.q',
	flush: true,
	open(host, run: Run): Shown {
		let what = 'kernel', text = () => '', again = () => {};
		let shown: { paint(): void } | null = null;
		const place = h('div', { class: 'fillrest' });
		const note = h('span', { class: 'dim' });
		const choice = (id: string, label: string) => button(label, () => { what = id; void load(); }, { data: { what: id } });
		const field = h('input', { type: 'search', placeholder: t('kernels.search'), 'aria-label': t('kernels.search'), value: state.q, on: { input: () => go({ q: field.value }, false) } });
		const kinds = h('div', { class: 'controls', role: 'group', 'aria-label': t('kernels.by') }, choice('kernel', t('kernels.by.kernel')), choice('op', t('kernels.by.op')), choice('module', t('kernels.by.module')), field, note);
		fill(host, h('div', { class: 'pad' }, kinds), place);
		const ask = async (signal: AbortSignal): Promise<{ rows: Rows | null; diff: Diff | null }> => {
			for (const b of kinds.querySelectorAll('button')) b.setAttribute('aria-pressed', String(b.dataset.what === what));
			if (state.vs) return { rows: null, diff: await get<Diff>(runPath(run.id, 'diff'), { vs: state.vs }, { signal }) };
			const p = { t0: state.t?.[0], t1: state.t?.[1], ranks: state.ranks?.join(','), limit: 5000 };
			return { diff: null, rows: await get<Rows>(runPath(run.id, what === 'kernel' ? 'kernels' : 'ops'), { ...p, group: what === 'kernel' ? 'name' : what }, { signal }) };
		};
		const keep = (r: { class?: string; name: string }) =>
			(!state.classes || state.classes.includes(classOf(r.class))) && (!state.q || r.name.toLowerCase().includes(state.q.toLowerCase()));
		const draw = ({ rows, diff }: { rows: Rows | null; diff: Diff | null }) => {
			if (diff) {
				const list = (what === 'op' ? diff.ops : what === 'module' ? diff.modules : diff.kernels) ?? [];
				note.textContent = diff.comparable ? t('kernels.diff') : (diff.why_not ?? t('diff.cannot'));
				const tb = table({ columns: diffColumns(list), rows: list.filter(keep), label: t('view.kernels'), sort: 'delta', height: true });
				text = tb.text;
				fill(place, tb.el);
				return;
			}
			const all = rows!.rows, list = all.filter(keep);
			if (!all.length) return empty(place, 'kernels.empty', what === 'kernel' ? 'kernels.empty.what' : 'kernels.empty.ops', what === 'kernel' ? 'aon doctor' : undefined);
			const of = list.reduce((s, r) => s + r.ns, 0);
			note.textContent = t('kernels.sum', { n: fmt.count(list.length), total: fmt.time(of), of: fmt.time(rows!.total_ns) });
			const tb = table({ columns: columns(all), rows: list, label: t('view.kernels'), sort: wastes(all) ? 'wasted' : 'ns', height: true,
				selected: (k) => state.sel === `k:${k.id}`,
				pick: (k) => {
					go({ sel: `k:${k.id}`, d: null }, false);
					details(run, k);
					say(t('kernels.said', { name: k.short, total: fmt.time(k.ns), share: fmt.percent(k.share) }));
					tb.paint();
				} });
			text = tb.text;
			shown = tb;
			fill(place, tb.el);
			const sel = all.find((k) => state.sel === `k:${k.id}`);
			if (sel) details(run, sel);
			again = () => {
				const k = all.find((x) => state.sel === `k:${x.id}`); if (!k) return;
				const held = document.activeElement?.classList.contains('brush');
				details(run, k);
				if (held) document.querySelector<HTMLElement>('.drawer .brush')?.focus();
			};
		};
		const load = loader(place, ask, draw);
		return {
			update: (now, was) => {
				if (now.t !== was.t || now.ranks !== was.ranks || now.vs !== was.vs || now.classes !== was.classes || now.q !== was.q) void load();
				else if (now.sel !== was.sel) shown?.paint();
				if (now.q !== was.q && document.activeElement !== field) field.value = now.q;
				if (now.d !== was.d && now.view === was.view) again();
			},
			tick: () => void load(true),
			close: () => { load.stop(); stopCalls(); },
			text: () => text(),
		};
	},
};
