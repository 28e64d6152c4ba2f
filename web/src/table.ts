// SPDX-License-Identifier: Apache-2.0
// A table whose rows are sorted by a click, walked by arrows and chosen by Enter. Only the rows in
// sight are elements: ten thousand kernels scroll as ten do.
import { fill, h } from './dom';
import { t, type Key } from './i18n';

type Cell = Node | string | null;
export interface Column<R> {
	id: string;
	head: Key;
	unit?: string;
	cell(r: R): Cell | Cell[];
	sort?(r: R): number | string | null;
	left?: boolean;
	grow?: boolean; // takes what is left, cuts what is too long
	opt?: boolean; // not on a phone
	wide?: boolean; // only where there is much room
	tip?: Key;
	quiet?: boolean; // its heading is heard, not seen
}
interface Options<R> {
	columns: Column<R>[];
	rows: R[];
	label: string;
	sort?: string;
	pick?: (r: R) => void;
	selected?: (r: R) => boolean;
	height?: boolean; // scrolls by itself and makes rows as they come into sight
}
const ROW = 20, MORE = 20;

export function table<R>(o: Options<R>) {
	let by = o.sort ?? '', up = false, rows = o.rows, at = -1, first = 0;
	const body = h('tbody');
	const heads = h('tr');
	const el = h('div', { class: 'scroll' + (o.height ? ' tall' : '') },
		h('table', { 'aria-label': o.label, 'aria-rowcount': String(rows.length) }, h('thead', null, heads), body));

	const cls = (c: Column<R>) => [c.left ? 'l' : '', c.opt ? 'opt' : '', c.wide ? 'roomy' : '', c.grow ? 'fit' : ''].filter(Boolean).join(' ') || null;
	function order(): void {
		const c = o.columns.find((x) => x.id === by);
		if (c?.sort) {
			const key = c.sort.bind(c);
			// What is not known comes last, whichever way.
			rows = [...rows].sort((a, b) => {
				const x = key(a), y = key(b);
				if (x === null || y === null) return Number(x === null) - Number(y === null);
				return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
			});
		}
	}
	function paintHead(): void {
		fill(heads, o.columns.map((c) => h('th', { scope: 'col', class: cls(c), title: c.tip ? t(c.tip) : null, 'aria-sort': c.id === by ? (up ? 'ascending' : 'descending') : null },
			c.sort ? h('button', { type: 'button', on: { click: () => { up = by === c.id ? !up : typeof c.sort!(rows[0]!) === 'string'; by = c.id; order(); paint(); } } },
				t(c.head), c.unit ? ` ${c.unit}` : '', c.id === by ? (up ? ' ▴' : ' ▾') : '') : c.quiet ? h('span', { class: 'hidden' }, t(c.head)) : t(c.head))));
	}
	function row(r: R, i: number): HTMLElement {
		return h('tr', { tabindex: i === Math.max(0, at) ? 0 : -1, 'aria-rowindex': i + 1, 'aria-selected': o.pick ? String(!!o.selected?.(r)) : null,
			role: o.pick ? 'row' : null, data: { i: String(i) },
			on: o.pick ? { click: () => { at = i; o.pick!(r); } } : {} },
			o.columns.map((c) => h('td', { class: cls(c) }, c.cell(r))));
	}
	const gap = (n: number) => h('tr', { 'aria-hidden': 'true', style: { height: `${n * ROW}px` } });
	function paint(): void {
		paintHead();
		const seen = o.height ? Math.ceil((el.clientHeight || 900) / ROW) + 2 * MORE : rows.length;
		first = o.height ? Math.max(0, Math.floor(el.scrollTop / ROW) - MORE) : 0;
		const end = Math.min(rows.length, first + seen);
		fill(body, first > 0 ? gap(first) : null, rows.slice(first, end).map((r, i) => row(r, first + i)), end < rows.length ? gap(rows.length - end) : null);
	}
	el.addEventListener('scroll', () => {
		if (o.height && Math.abs(Math.floor(el.scrollTop / ROW) - MORE - first) > MORE / 2) paint();
	});
	el.addEventListener('keydown', (e) => {
		const tr = (e.target as HTMLElement).closest('tr[data-i]') as HTMLElement | null;
		if (!tr) return;
		const i = Number(tr.dataset.i);
		const to = e.key === 'ArrowDown' ? i + 1 : e.key === 'ArrowUp' ? i - 1 : e.key === 'Home' ? 0 : e.key === 'End' ? rows.length - 1 : -1;
		if (e.key === 'Enter' && e.target === tr && o.pick) o.pick(rows[i]!);
		else if (to >= 0 && to < rows.length) {
			at = to;
			if (o.height && (to < first || to >= first + body.children.length - 2)) el.scrollTop = to * ROW - 200;
			paint();
			(body.querySelector(`tr[data-i="${to}"]`) as HTMLElement | null)?.focus();
		} else return;
		e.preventDefault();
	});
	order();
	paint();
	if (o.height) requestAnimationFrame(paint);
	return {
		el,
		paint,
		rows: () => rows,
		set(next: R[]): void {
			rows = next;
			order();
			paint();
		},
		/** The table as text: a line a row, tabs between. */
		text: () => [o.columns.map((c) => t(c.head)).join('\t'), ...rows.map((r) => o.columns.map((c) => cellText(c.cell(r))).join('\t'))].join('\n'),
	};
}

function cellText(c: Cell | Cell[]): string {
	if (Array.isArray(c)) return c.map(cellText).join('');
	return c === null ? '' : typeof c === 'string' ? c : (c.textContent ?? '');
}
