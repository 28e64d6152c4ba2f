// SPDX-License-Identifier: Apache-2.0
// Calls of a kernel by duration, each bar twice as long as the one before. A brush over it chooses
// calls: by the pointer, or by arrow keys (with Shift it grows).
import type { Row } from './api';
import { classOf, colour, texture } from './classes';
import { canvas, h } from './dom';
import * as fmt from './fmt';
import { t } from './i18n';
import { font } from './plot';
import type { Range } from './state';

const FOOT = 14;

/** Durations of bar i: from 2^(i+5) ns on, the first from 0. */
export const edge = (i: number) => (i <= 0 ? 0 : 2 ** (i + 5));

export function callsWithin(hist: number[], r: Range): number {
	return hist.reduce((n, x, i) => (edge(i) >= r[0] && edge(i + 1) <= r[1] ? n + x : n), 0);
}

export function histogram(k: Row, at: Range | null, brush: (r: Range | null) => void): HTMLElement | null {
	const hist = k.hist;
	if (!hist?.some((n) => n > 0)) return null;
	const first = Math.max(0, hist.findIndex((n) => n > 0) - 1), last = Math.min(hist.length - 1, hist.length - [...hist].reverse().findIndex((n) => n > 0));
	const cells = hist.slice(first, last + 1), max = Math.max(...cells);
	const chosen = (): [number, number] | null => {
		const a = cells.findIndex((_, i) => at && edge(first + i) >= at[0] && edge(first + i + 1) <= at[1]);
		let b = a;
		while (at && b >= 0 && b + 1 < cells.length && edge(first + b + 2) <= at[1]) b++;
		return a < 0 ? null : [a, b];
	};
	let now = chosen();
	const put = (a: number, b: number, done: boolean) => {
		now = [Math.max(0, Math.min(a, b)), Math.min(cells.length - 1, Math.max(a, b))];
		c.redraw();
		if (done) brush([edge(first + now[0]), edge(first + now[1] + 1)]);
	};
	const c = canvas((g, w, hh) => {
		const bw = w / cells.length;
		cells.forEach((n, i) => {
			const y = n ? Math.max(2, (n / max) * (hh - FOOT - 2)) : 0;
			g.globalAlpha = now && (i < now[0] || i > now[1]) ? 0.3 : 1;
			g.fillStyle = texture(g, classOf(k.class));
			g.fillRect(i * bw + 1, hh - FOOT - y, bw - 2, y);
		});
		g.globalAlpha = 1;
		if (now) {
			g.strokeStyle = colour('mark');
			g.strokeRect(now[0] * bw + 0.5, 0.5, (now[1] - now[0] + 1) * bw - 1, hh - FOOT - 1);
		}
		g.fillStyle = colour('dim');
		font(g);
		g.textBaseline = 'bottom';
		g.textAlign = 'left';
		g.fillText(fmt.time(edge(first)), 0, hh);
		g.textAlign = 'right';
		g.fillText(fmt.time(edge(last + 1)), w, hh);
	}, { class: 'plot brush', role: 'slider', tabindex: 0, 'aria-label': t('kernels.hist'), 'aria-valuemin': 0, 'aria-valuemax': cells.length - 1, 'aria-valuenow': now?.[0] ?? 0,
		'aria-valuetext': at ? t('kernels.within', { lo: fmt.time(at[0]), hi: fmt.time(at[1]) }) : t('kernels.hist.alt', { lo: fmt.time(k.min), hi: fmt.time(k.max) }), style: { height: '92px' } });
	let from = -1;
	const cell = (e: PointerEvent) => Math.max(0, Math.min(cells.length - 1, Math.floor((e.offsetX / Math.max(1, c.el.clientWidth)) * cells.length)));
	c.el.addEventListener('pointerdown', (e) => {
		from = cell(e);
		c.el.setPointerCapture(e.pointerId);
		put(from, from, false);
	});
	c.el.addEventListener('pointermove', (e) => { if (from >= 0) put(from, cell(e), false); });
	c.el.addEventListener('pointerup', (e) => {
		if (from >= 0) put(from, cell(e), true);
		from = -1;
	});
	c.el.addEventListener('keydown', (e) => {
		const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0, [a, b] = now ?? [by > 0 ? -1 : cells.length, by > 0 ? -1 : cells.length];
		if (e.key === 'Escape' && now) brush(null);
		else if (by && e.shiftKey && now) put(a, Math.max(a, b + by), true);
		else if (by) put(a + by, now ? b + by : a + by, true);
		else return;
		e.preventDefault();
		e.stopPropagation();
	});
	window.addEventListener('aon-theme', c.redraw);
	return h('section', null, h('h2', { class: 'dim' }, t('kernels.hist')), c.el, h('p', { class: 'note' }, t('kernels.brush')));
}
