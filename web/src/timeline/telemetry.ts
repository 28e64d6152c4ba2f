// SPDX-License-Identifier: Apache-2.0
// Telemetry under the timeline, on the same axis: a strip for each series, from its min to its max,
// with its mean.
import { get, runPath, source, type Reply, type Run } from '../api';
import { colour, hatch } from '../classes';
import { button, canvas, fill, h, name } from '../dom';
import * as fmt from '../fmt';
import { drawer } from '../frame';
import { t } from '../i18n';
import { font } from '../plot';
import { go, state, type Range } from '../state';
import { table } from '../table';
import { figures, held, label, pointAt, reasons, shown, type Series, type SeriesName, type Telemetry } from './measures';

const SERIES_H = 30, EVENTS = 20, LISTED = 150;

/** Where the timeline is: what it shows, how wide its names are, where the pointer is. */
export interface Axis {
	window(): Range;
	gutter(): number;
	pointer(): number | null; // x
}

export class TelemetryPlot {
	data: Telemetry | null = null;
	private names: SeriesName[] | null = null;
	private failed = '';
	private asked = '';
	private timer = 0;
	private readonly gutterEl = h('div', { class: 'tl-gutter', role: 'list', 'aria-label': t('tele.title') });
	private readonly scroller = h('div', { class: 'tl-scroll', tabindex: 0, role: 'group', 'aria-label': t('tele.title') }, this.gutterEl);
	private readonly head = h('div', { class: 'tele-bar' });
	private readonly note = h('div', { class: 'tele-note' });
	readonly picture = canvas((g, w, hh) => this.paint(g, w, hh), { role: 'img', 'aria-label': t('tele.title') });
	private readonly box = h('div', { class: 'tele-body' }, this.picture.el, this.scroller);
	readonly el = h('section', { class: 'tele', 'aria-label': t('tele.title'), hidden: true }, this.head, this.note, this.box);

	constructor(private run: Run, private axis: Axis) {
		this.scroller.addEventListener('scroll', () => this.picture.redraw());
	}

	/** Shown where there is something, unless it was put away; where there is nothing, when it is asked for. */
	open(): boolean {
		return state.tele !== 'off' && (state.tele !== null || !!this.data?.series.length);
	}

	toggle(): void {
		go({ tele: this.open() ? 'off' : this.data?.series.length ? null : 'on' }, false); // update() asks anew
		this.place();
	}

	async look(): Promise<void> {
		const saved = source.saved, ids = state.tele && /^\d/.test(state.tele) ? state.tele : null;
		const [a, b] = this.axis.window(), half = (b - a) / 2, px = Math.max(100, this.picture.el.clientWidth - this.axis.gutter());
		const t0 = Math.max(0, Math.floor(a - half)), t1 = Math.max(t0 + 1, Math.ceil(b + half));
		const ask = saved ? {} : { t0, t1, n: Math.min(2000, Math.round(px)), series: ids };
		this.asked = JSON.stringify([ids, t0, t1]);
		try {
			this.data = await get<Telemetry>(runPath(this.run.id, 'telemetry'), ask, { fresh: !saved });
			this.failed = '';
		} catch (e) {
			if (!saved) this.failed = e instanceof Error ? e.message : String(e);
		}
		this.place();
	}

	/** The window stands still: what was asked for may be too coarse, or end within it. */
	settle(): void {
		if (source.saved || !this.data || !this.open()) return;
		const [a, b] = this.axis.window(), d = this.data, end = d.from_ns + d.cells * d.width_ns, long = b - a;
		const covered = (a >= d.from_ns || d.from_ns === 0) && (b <= end || end >= this.run.t1_rel);
		const coarse = d.width_ns > (4 * long) / Math.max(100, this.picture.el.clientWidth - this.axis.gutter()) && d.width_ns > 1e6;
		if (covered && !coarse) return;
		clearTimeout(this.timer);
		this.timer = window.setTimeout(() => void this.look(), 60);
	}

	update(was: string | null): void {
		if (was !== state.tele) void this.look();
	}

	quiet(): boolean {
		return this.asked === '' || this.data !== null || this.failed !== '';
	}

	close(): void {
		clearTimeout(this.timer);
	}

	private listed(): Series[] {
		return this.data?.series ?? [];
	}

	private top(): number {
		return this.data?.events.length ? EVENTS : 0;
	}

	place(): void {
		this.el.hidden = !this.open();
		const n = this.listed().length, none = !n;
		fill(this.head, h('h2', null, t('tele.title')), h('span', { class: 'dim' }, none ? '' : t('tele.series', { n })), this.data?.left ? h('span', { class: 'warn' }, t('tele.left', { n: this.data.left })) : null,
			h('span', { class: 'grow' }), source.saved || (none && !this.names?.length && !state.tele) ? null : button(t('tele.choose'), () => void this.choose()),
			state.tele && /^\d/.test(state.tele) ? button(t('tele.usual'), () => go({ tele: null }, false)) : null, button('×', () => this.toggle(), { class: 'bare', 'aria-label': t('do.close') }));
		fill(this.note, this.failed ? h('p', { class: 'warn' }, t('tele.failed', { why: this.failed })) : none ? h('p', null, t('tele.none'), ' ', h('code', null, 'systemctl enable --now aon-collect')) : null);
		this.box.hidden = none;
		this.box.style.height = `${Math.min(this.top() + n * SERIES_H + 2, 8 * SERIES_H)}px`;
		this.gutterEl.style.height = `${this.top() + n * SERIES_H}px`;
		let y = 0;
		const row = (text: string, tall: number) => {
			const el = h('div', { role: 'listitem', class: 'series', title: text, translate: 'no', style: { top: `${y}px`, height: `${tall}px`, 'line-height': `${tall - 2}px` } }, text);
			y += tall;
			return el;
		};
		fill(this.gutterEl, this.top() ? row(t('tele.events'), EVENTS) : null, this.listed().map((s) => row(label(s), SERIES_H)));
		this.picture.redraw();
	}

	// ---- drawing

	private paint(g: CanvasRenderingContext2D, w: number, hh: number): void {
		const d = this.data, [a, b] = this.axis.window(), left = this.axis.gutter();
		if (!d) return;
		const X = (ns: number) => left + ((ns - a) / (b - a)) * (w - left), scroll = this.scroller.scrollTop;
		const cell = (ns: number) => (ns - d.from_ns) / d.width_ns;
		this.picture.el.setAttribute('aria-label', t('tele.alt', { n: d.series.length, from: fmt.time(Math.max(0, a)), to: fmt.time(b) }));
		g.save();
		g.beginPath();
		g.rect(left, 0, w - left, hh);
		g.clip();
		d.series.forEach((s, i) => {
			const y = this.top() + i * SERIES_H - scroll;
			if (y + SERIES_H >= 0 && y <= hh) this.drawSeries(g, s, y, w, X, cell, a, b);
		});
		for (const e of d.events) {
			const x = Math.round(X(e.at_ns));
			g.fillStyle = colour('heat');
			g.fillRect(x, 0, 1, hh);
			g.beginPath();
			g.moveTo(x - 5, 3 - scroll);
			g.lineTo(x + 6, 3 - scroll);
			g.lineTo(x + 0.5, 14 - scroll);
			g.fill();
		}
		const at = this.axis.pointer();
		if (at !== null && at > left) {
			g.fillStyle = colour('line');
			g.fillRect(Math.round(at), 0, 1, hh);
			this.values(g, at, w, hh, cell(a + ((at - left) / (w - left)) * (b - a)));
		}
		g.restore();
	}

	private drawSeries(g: CanvasRenderingContext2D, s: Series, y: number, w: number, X: (ns: number) => number, cell: (ns: number) => number, a: number, b: number): void {
		const d = this.data!, f = figures(s, cell(a), cell(b), d.cells), left = this.axis.gutter();
		g.fillStyle = colour('line');
		g.fillRect(left, y + SERIES_H - 1, w - left, 1);
		if (!f) return;
		const [lo, hi] = scale(s, f.lo, f.hi), Y = (v: number) => y + 3 + (SERIES_H - 7) * (1 - (v - lo) / (hi - lo));
		let lastY = NaN;
		for (const [i, p] of s.points.entries()) {
			const x0 = X(d.from_ns + p[0]! * d.width_ns), x1 = X(d.from_ns + (s.points[i + 1]?.[0] ?? d.cells) * d.width_ns);
			if (x1 < left || x0 > w || p.length < 2) {
				lastY = NaN;
				continue;
			}
			if (s.how === 'mask') {
				this.reason(g, p[3]!, Math.max(x0, left), Math.min(x1, w), y);
				continue;
			}
			const top = Y(p[3]!), low = Y(p[1]!), mid = Y(p[2]!);
			g.globalAlpha = 0.4;
			g.fillStyle = colour('host');
			if (low > top) g.fillRect(x0, top, Math.max(1, x1 - x0), low - top);
			g.globalAlpha = 1;
			g.fillStyle = colour('text');
			g.fillRect(x0, mid - 0.75, Math.max(1, x1 - x0), 1.5);
			if (!Number.isNaN(lastY) && Math.abs(lastY - mid) > 1.5) g.fillRect(x0 - 0.5, Math.min(lastY, mid), 1, Math.abs(lastY - mid));
			lastY = mid;
		}
		if (s.how !== 'mask') this.ends(g, s, f.lo, f.hi, y, left);
	}

	/** The range of the series, at its left. */
	private ends(g: CanvasRenderingContext2D, s: Series, lo: number, hi: number, y: number, left: number): void {
		font(g, 10);
		g.textAlign = 'left';
		g.textBaseline = 'middle';
		const put = (v: number, at: number) => {
			const text = shown(s, v), wide = g.measureText(text).width;
			g.globalAlpha = 0.82;
			g.fillStyle = colour('surface');
			g.fillRect(left + 2, at - 6, wide + 4, 12);
			g.globalAlpha = 1;
			g.fillStyle = colour('dim');
			g.fillText(text, left + 4, at);
		};
		put(hi, y + 8);
		if (hi > lo) put(lo, y + SERIES_H - 8);
	}

	private reason(g: CanvasRenderingContext2D, mask: number, x0: number, x1: number, y: number): void {
		if (!mask || x1 <= x0) return;
		g.fillStyle = held(mask) ? colour('heat') : hatch(g);
		g.fillRect(x0, y + 7, Math.max(1, x1 - x0), SERIES_H - 14);
		const text = reasons(mask);
		font(g, 11);
		if (!held(mask) || g.measureText(text).width + 10 > x1 - x0) return;
		g.fillStyle = colour('surface');
		g.textAlign = 'left';
		g.textBaseline = 'middle';
		g.fillText(text, x0 + 5, y + SERIES_H / 2);
	}

	/** What each was where the pointer is. */
	private values(g: CanvasRenderingContext2D, at: number, w: number, hh: number, cell: number): void {
		font(g, 11, true);
		g.textBaseline = 'middle';
		this.listed().forEach((s, i) => {
			const y = this.top() + i * SERIES_H - this.scroller.scrollTop, p = pointAt(s, Math.floor(cell));
			if (!p || y + SERIES_H < 0 || y > hh || cell >= this.data!.cells) return;
			const text = s.how === 'mask' ? shown(s, p[3]!) : shown(s, p[2]!), wide = g.measureText(text).width, right = at + wide + 12 < w;
			g.textAlign = right ? 'left' : 'right';
			g.fillStyle = colour('raised');
			g.fillRect(right ? at + 3 : at - wide - 9, y + 7, wide + 6, 16);
			g.fillStyle = colour('text');
			g.fillText(text, right ? at + 6 : at - 6, y + 15);
		});
	}

	tip(x: number): void {
		const d = this.data, [a, b] = this.axis.window(), px = (b - a) / Math.max(1, this.picture.el.clientWidth - this.axis.gutter());
		const ns = a + (x - this.axis.gutter()) * px;
		this.picture.el.title = d?.events.filter((e) => Math.abs(e.at_ns - ns) < 6 * px).map((e) => `${e.what}: ${e.text}`).join('\n') ?? '';
	}

	scroll(px: number): void {
		this.scroller.scrollTop += px;
		this.picture.redraw();
	}

	// ---- the same as a table

	twin(): HTMLElement | null {
		const d = this.data, [a, b] = this.axis.window();
		if (!d?.series.length || !this.open()) return null;
		const cell = (ns: number) => (ns - d.from_ns) / d.width_ns;
		const rows = d.series.map((s) => ({ s, f: figures(s, cell(a), cell(b), d.cells) }));
		const put = (s: Series, v: number | undefined) => (v === undefined ? '-' : s.how === 'mask' ? '-' : shown(s, v));
		return h('div', null, table<(typeof rows)[number]>({ label: t('tele.title'), rows, columns: [
			{ id: 'series', head: 'tele.one', left: true, grow: true, cell: (x) => name(label(x.s)) },
			{ id: 'lo', head: 'tele.least', cell: (x) => put(x.s, x.f?.lo) },
			{ id: 'mean', head: 'tele.mean', cell: (x) => (x.s.how === 'mask' ? (x.f ? reasons(x.f.bits) : '-') : put(x.s, x.f?.mean)) },
			{ id: 'hi', head: 'tele.most', cell: (x) => put(x.s, x.f?.hi) }] }).el,
		d.events.length ? table<(typeof d.events)[number]>({ label: t('tele.events'), rows: d.events, columns: [
			{ id: 'at', head: 'steps.at', cell: (x) => fmt.time(x.at_ns) }, { id: 'what', head: 'tele.what', left: true, cell: (x) => name(x.what) },
			{ id: 'text', head: 'tele.events', left: true, grow: true, cell: (x) => name(x.text) }] }).el : null);
	}

	// ---- others

	private async choose(): Promise<void> {
		const list = h('div', { class: 'tele-pick' }), box = h('input', { type: 'search', placeholder: t('tele.filter'), 'aria-label': t('tele.filter') });
		drawer(h('div', null, box, list), t('tele.choose'));
		box.focus();
		try {
			this.names = (await get<Reply & { series: SeriesName[] }>(runPath(this.run.id, 'series'), {}, { fresh: true })).series;
		} catch (e) {
			return fill(list, h('p', { class: 'warn' }, e instanceof Error ? e.message : String(e)));
		}
		const on = new Set(this.listed().map((s) => s.id));
		const paint = () => {
			const q = box.value.toLowerCase().split(/\s+/).filter(Boolean);
			const hit = this.names!.filter((s) => q.every((x) => `${s.metric} ${s.device} ${s.labels} ${s.help ?? ''} ${label(s)}`.toLowerCase().includes(x)));
			const first = [...hit.filter((s) => on.has(s.id)), ...hit.filter((s) => !on.has(s.id))].slice(0, LISTED);
			fill(list, first.map((s) => h('label', { title: s.help ?? '' }, h('input', { type: 'checkbox', checked: on.has(s.id), on: { change: (e) => {
				if ((e.target as HTMLInputElement).checked) on.add(s.id);
				else on.delete(s.id);
				go({ tele: on.size ? [...on].slice(0, 128).join(',') : 'on' }, false);
			} } }), name(`${label(s)}${s.name ? ` · ${s.metric}` : ''}`))), hit.length > LISTED ? h('p', { class: 'dim' }, t('tele.more', { n: hit.length - LISTED })) : null,
				hit.length ? null : h('p', { class: 'dim' }, t('tele.nosuch')));
		};
		box.addEventListener('input', paint);
		paint();
	}
}

/** From 0 where that is the least there can be; otherwise as close as it is interesting. */
function scale(s: SeriesName, lo: number, hi: number): [number, number] {
	if (s.how === 'rate' || s.unit === '%' || s.unit === '1') return [0, hi > 0 ? hi : 1];
	const pad = Math.max((hi - lo) * 0.1, Math.abs(hi) * 0.02, 1e-9);
	return [lo - pad, hi + pad];
}
