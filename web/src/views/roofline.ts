// SPDX-License-Identifier: Apache-2.0
// Limited by memory, by math, or by neither? Kernels against the roofline bounds of their device,
// log-log.
import { get, runPath, type Roofline } from '../api';
import { classOf, colour } from '../classes';
import { canvas, fill, h } from '../dom';
import * as fmt from '../fmt';
import { t } from '../i18n';
import { font } from '../plot';
import { go, state } from '../state';
import { table, type Column } from '../table';
import { empty, loader, type Shown, type View } from '../view';

type Point = Roofline['points'][number];
const drawn = (p: Point) => p.flop > 0 && p.byte > 0 && p.ns > 0;
const intensity = (p: Point) => (drawn(p) ? p.flop / p.byte : null);
const speed = (p: Point) => (p.flop > 0 ? p.flop / (p.ns / 1e9) : null);
const rate = (p: Point) => (p.byte > 0 ? p.byte / (p.ns / 1e9) : null);

// "aten::mm" and "[788,768]t15 [768,768]t15 > ..." as "mm 788x768 768x768"; what has no operator by its name.
function called(p: Point): string {
	if (!p.op) return p.short ?? p.name ?? p.kid ?? '?';
	const sizes = (p.shape ?? '').split('>')[0]!.replace(/\]t\d+/g, '').replace(/\[/g, '').replace(/,/g, '×').trim();
	return `${p.op.replace(/^.*::/, '')} ${sizes}`;
}

const COLUMNS: Column<Point>[] = [
	{ id: 'name', head: 'col.kernel', left: true, grow: true, sort: (p) => called(p), cell: (p) => h('bdi', { class: 'name', translate: 'no', dir: 'ltr', title: p.name ?? '' }, called(p)) },
	{ id: 'ns', head: 'col.total', sort: (p) => p.ns, cell: (p) => fmt.time(p.ns) },
	{ id: 'i', head: 'roof.intensity', opt: true, sort: intensity, cell: (p) => intensity(p)?.toFixed(1) ?? '-' },
	{ id: 's', head: 'roof.speed', sort: speed, cell: (p) => (speed(p) === null ? '-' : fmt.rate(speed(p)!, 'FLOPS')) },
	{ id: 'b', head: 'col.rate', opt: true, sort: rate, cell: (p) => (rate(p) === null ? '-' : fmt.rate(rate(p)!, 'B/s')) },
	{ id: 'limit', head: 'col.bound', left: true, sort: (p) => p.limit ?? '', cell: (p) => (p.limit === 'unknown' ? '-' : p.limit ?? '-') },
	{ id: 'fraction', head: 'roof.fraction', tip: 'roof.fraction.tip', sort: (p) => p.fraction ?? null, cell: (p) => fmt.percent(p.fraction) },
	{ id: 'model', head: 'roof.model', tip: 'roof.model.tip', opt: true, sort: (p) => p.of_model ?? null, cell: (p) => fmt.percent(p.of_model) },
	{ id: 'waves', head: 'roof.waves', tip: 'roof.waves.tip', opt: true, sort: (p) => p.waves ?? null, cell: (p) => p.waves?.toFixed(1) ?? '-' },
	{ id: 'how', head: 'roof.how', left: true, cell: (p) => p.how },
];

// Of all, longest first, those that cover a share of the time.
function covering(points: Point[], share: number): Point[] {
	const all = points.reduce((s, p) => s + p.ns, 0);
	let sum = 0;
	return points.filter((p) => {
		const is = sum < share * all;
		sum += p.ns;
		return is;
	});
}

interface Box { x: number; y: number; w: number; h: number }

function plot(r: Roofline, points: () => Point[]) {
	const pts = r.points.filter(drawn);
	const top = Math.max(...r.peaks.map((p) => p.flops), ...pts.map((p) => speed(p)!), 1e9);
	const low = Math.min(...pts.map((p) => speed(p)!), top / 1e4);
	const lx = [-2, 4], ly = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(top))];
	let box: Box = { x: 0, y: 0, w: 1, h: 1 };
	const X = (v: number) => box.x + ((Math.log10(v) - lx[0]!) / (lx[1]! - lx[0]!)) * box.w;
	const Y = (v: number) => box.y + box.h - ((Math.log10(v) - ly[0]!) / (ly[1]! - ly[0]!)) * box.h;
	const all = pts.reduce((s, p) => s + p.ns, 0);
	const size = (p: Point) => 3 + 18 * Math.sqrt(p.ns / all);

	function axes(g: CanvasRenderingContext2D) {
		g.strokeStyle = colour('line');
		g.fillStyle = colour('dim');
		g.textAlign = 'right';
		g.textBaseline = 'middle';
		for (let e = ly[0]!; e <= ly[1]!; e++) {
			g.beginPath();
			g.moveTo(box.x, Y(10 ** e));
			g.lineTo(box.x + box.w, Y(10 ** e));
			g.stroke();
			g.fillText(fmt.rate(10 ** e, 'FLOPS'), box.x - 6, Y(10 ** e));
		}
		g.textAlign = 'center';
		g.textBaseline = 'top';
		for (let e = lx[0]!; e <= lx[1]!; e++) g.fillText(String(10 ** e), X(10 ** e), box.y + box.h + 4);
		g.fillText(t('roof.x'), box.x + box.w / 2, box.y + box.h + 18);
	}

	function roofs(g: CanvasRenderingContext2D) {
		const most = Math.max(...r.peaks.map((p) => p.flops), 0);
		g.strokeStyle = colour('text');
		g.fillStyle = colour('dim');
		for (const b of r.bw) { // each rate up to the highest peak
			const knee = most / b.Bps;
			g.setLineDash(b.name === 'memory' ? [] : [4, 4]);
			g.beginPath();
			g.moveTo(X(10 ** lx[0]!), Y(b.Bps * 10 ** lx[0]!));
			g.lineTo(X(knee), Y(most));
			g.stroke();
			g.setLineDash([]);
			const at = 10 ** ly[0]! * 4 / b.Bps;
			g.save();
			g.translate(X(Math.max(at, 2 * 10 ** lx[0]!)), Y(Math.max(at, 2 * 10 ** lx[0]!) * b.Bps));
			g.rotate(-Math.atan2(box.h / (ly[1]! - ly[0]!), box.w / (lx[1]! - lx[0]!)));
			g.textAlign = 'left';
			g.textBaseline = 'bottom';
			g.fillText(`${b.name} ${fmt.rate(b.Bps, 'B/s')}`, 0, -3);
			g.restore();
		}
		const slope = Math.max(...r.bw.map((b) => b.Bps), 0);
		for (const p of r.peaks) {
			g.beginPath();
			g.moveTo(X(Math.max(slope ? p.flops / slope : 0, 10 ** lx[0]!)), Y(p.flops));
			g.lineTo(box.x + box.w, Y(p.flops));
			g.stroke();
			g.textAlign = 'right';
			g.textBaseline = 'bottom';
			g.fillText(`${p.name} ${fmt.rate(p.flops, 'FLOPS')}`, box.x + box.w, Y(p.flops) - 2);
		}
		if (!most || !slope) return;
		g.textAlign = 'right';
		g.textBaseline = 'bottom';
		g.fillText(t('roof.neither'), box.x + box.w - 4, box.y + box.h - 4, box.w - 8);
	}

	const c = canvas((g, w, hh) => {
		box = { x: 84, y: 14, w: w - 106, h: hh - 46 };
		font(g);
		axes(g);
		g.save();
		g.beginPath();
		g.rect(box.x, box.y - 14, box.w, box.h + 14);
		g.clip();
		roofs(g);
		for (const p of points().filter(drawn)) {
			const on = state.sel === `k:${p.kid}`;
			g.beginPath();
			g.arc(X(intensity(p)!), Y(speed(p)!), size(p), 0, 7);
			g.fillStyle = g.strokeStyle = colour(classOf(p.class));
			g.lineWidth = on ? 3 : 1;
			g.globalAlpha = on ? 1 : 0.75;
			if (p.how === 'counter') g.fill();
			else g.stroke();
			g.globalAlpha = g.lineWidth = 1;
		}
		g.restore();
	}, { class: 'roof', role: 'img', 'aria-label': t('roof.alt', { n: pts.length, device: r.device ?? t('roof.unknown') }) });
	const at = (e: MouseEvent): Point | undefined => {
		const b = c.el.getBoundingClientRect();
		const far = (p: Point) => Math.hypot(X(intensity(p)!) - (e.clientX - b.left), Y(speed(p)!) - (e.clientY - b.top)) - size(p);
		return points().filter(drawn).filter((p) => far(p) < 4).sort((p, q) => p.ns - q.ns)[0];
	};
	c.el.addEventListener('mousemove', (e) => {
		const p = at(e);
		c.el.style.cursor = p ? 'pointer' : '';
		c.el.title = p ? `${called(p)}: ${fmt.rate(speed(p)!, 'FLOPS')}, ${p.limit === 'unknown' ? '' : p.limit} ${fmt.percent(p.fraction)}` : '';
	});
	c.el.addEventListener('click', (e) => {
		const p = at(e);
		if (p?.kid) go({ sel: `k:${p.kid}` }, false);
	});
	window.addEventListener('aon-theme', c.redraw);
	return c;
}

function notes(r: Roofline): (HTMLElement | null)[] {
	const note = (text: string) => h('p', { class: 'note' }, text);
	const known = r.points.reduce((s, p) => s + p.ns, 0), unknown = r.unknown_ns ?? 0;
	return [
		r.points.every((p) => p.how !== 'counter') ? note(t('roof.modelled')) : null,
		r.peaks.length ? null : note(t('roof.noceiling')),
		unknown > 0.05 * (known + unknown) ? note(t('roof.part', { share: fmt.percent(unknown / (known + unknown)) })) : null,
	];
}

export const roofline: View = {
	id: 'roofline',
	title: 'view.roofline',
	question: 'view.roofline.q',
	open(host, run): Shown {
		let text = () => '', redraw = () => {};
		const load = loader(host, () => get<Roofline>(runPath(run.id, 'roofline'), { t0: state.t?.[0], t1: state.t?.[1] }), (r) => {
			if (!r.points.length) return empty(host, 'roof.empty', 'roof.empty.what');
			let share = 0.95;
			const few = () => covering(r.points, share);
			const p = plot(r, few), tb = h('div');
			const rows = () => {
				const x = table({ columns: COLUMNS, rows: few(), label: t('view.roofline'), sort: 'ns', pick: (k) => go({ sel: `k:${k.kid ?? ''}` }, false), selected: (k) => state.sel === `k:${k.kid}` });
				text = x.text;
				fill(tb, x.el);
			};
			const range = h('input', { type: 'range', id: 'roof-share', min: 50, max: 100, step: 1, value: 95 });
			const said = h('output', { for: 'roof-share' }, '95 %');
			range.addEventListener('input', () => {
				share = Number(range.value) / 100;
				said.textContent = `${range.value} %`;
				p.redraw();
				rows();
			});
			redraw = () => { p.redraw(); rows(); };
			rows();
			fill(host, h('h2', null, r.device ?? t('roof.unknown')), ...notes(r), p.el, h('p', { class: 'row' }, h('label', { for: 'roof-share' }, t('roof.share')), range, said), tb);
		});
		return { update: (now, was) => { if (now.t !== was.t) void load(); else if (now.sel !== was.sel) redraw(); }, text: () => text() };
	},
};
