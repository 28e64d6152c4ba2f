// SPDX-License-Identifier: Apache-2.0
// Limited by memory, by math, or by neither? Kernels against the roofs of their device, log-log.
import { get, runPath, type Roofline } from '../api';
import { classOf, colour } from '../classes';
import { canvas, fill, h, name } from '../dom';
import * as fmt from '../fmt';
import { t } from '../i18n';
import { font } from '../plot';
import { go, state } from '../state';
import { table, type Column } from '../table';
import { empty, loader, type Shown, type View } from '../view';

type Point = Roofline['points'][number];
const intensity = (p: Point) => p.flop / p.byte;
const speed = (p: Point) => p.flop / (p.ns / 1e9);

const COLUMNS: Column<Point>[] = [
	{ id: 'name', head: 'col.kernel', left: true, grow: true, sort: (p) => label(p), cell: (p) => name(label(p)) },
	{ id: 'ns', head: 'col.total', sort: (p) => p.ns, cell: (p) => fmt.time(p.ns) },
	{ id: 'i', head: 'roof.intensity', sort: intensity, cell: (p) => intensity(p).toFixed(1) },
	{ id: 's', head: 'roof.speed', sort: speed, cell: (p) => fmt.rate(speed(p), 'FLOPS') },
	{ id: 'how', head: 'roof.how', left: true, cell: (p) => p.how },
];

function label(p: Point): string {
	return p.short ?? p.name ?? p.kid ?? '?';
}

function plot(r: Roofline): HTMLElement {
	const pts = r.points.filter((p) => p.flop > 0 && p.byte > 0 && p.ns > 0);
	const top = Math.max(...r.peaks.map((p) => p.flops), ...pts.map(speed), 1e9);
	const bw = Math.max(...r.bw.map((b) => b.Bps), 0);
	const lx = [-2, 4], ly = [Math.floor(Math.log10(top)) - 5, Math.ceil(Math.log10(top))];
	const c = canvas((g, w, hh) => {
		const b = { x: 70, y: 8, w: w - 82, h: hh - 40 };
		const X = (v: number) => b.x + ((Math.log10(v) - lx[0]!) / (lx[1]! - lx[0]!)) * b.w;
		const Y = (v: number) => b.y + b.h - ((Math.log10(v) - ly[0]!) / (ly[1]! - ly[0]!)) * b.h;
		font(g);
		g.strokeStyle = colour('line');
		g.fillStyle = colour('dim');
		for (let e = ly[0]!; e <= ly[1]!; e++) {
			g.beginPath();
			g.moveTo(b.x, Y(10 ** e));
			g.lineTo(b.x + b.w, Y(10 ** e));
			g.stroke();
			g.textAlign = 'right';
			g.textBaseline = 'middle';
			g.fillText(fmt.rate(10 ** e, 'FLOPS'), b.x - 6, Y(10 ** e));
		}
		g.textAlign = 'center';
		g.textBaseline = 'top';
		for (let e = lx[0]!; e <= lx[1]!; e++) g.fillText(String(10 ** e), X(10 ** e), b.y + b.h + 4);
		g.fillText(t('roof.x'), b.x + b.w / 2, b.y + b.h + 18);
		g.strokeStyle = colour('text');
		for (const p of r.peaks) {
			const knee = bw ? p.flops / bw : 10 ** lx[0]!;
			g.beginPath();
			if (bw) g.moveTo(X(10 ** lx[0]!), Y(bw * 10 ** lx[0]!));
			g.lineTo(X(Math.max(knee, 10 ** lx[0]!)), Y(p.flops));
			g.lineTo(b.x + b.w, Y(p.flops));
			g.stroke();
			g.textAlign = 'right';
			g.textBaseline = 'bottom';
			g.fillStyle = colour('dim');
			g.fillText(`${p.name} ${fmt.rate(p.flops, 'FLOPS')}`, b.x + b.w, Y(p.flops) - 2);
		}
		const all = pts.reduce((s, p) => s + p.ns, 0);
		for (const p of pts) {
			g.beginPath();
			g.arc(X(intensity(p)), Y(speed(p)), 3 + 18 * Math.sqrt(p.ns / all), 0, 7);
			g.fillStyle = g.strokeStyle = colour(classOf(p.class));
			g.globalAlpha = 0.75;
			if (p.how === 'counter') g.fill();
			else g.stroke();
			g.globalAlpha = 1;
		}
	}, { class: 'roof', role: 'img', 'aria-label': t('roof.alt', { n: pts.length, device: r.device ?? t('roof.unknown') }) });
	window.addEventListener('aon-theme', c.redraw);
	return c.el;
}

export const roofline: View = {
	id: 'roofline',
	title: 'view.roofline',
	question: 'view.roofline.q',
	open(host, run): Shown {
		let text = () => '';
		const load = loader(host, () => get<Roofline>(runPath(run.id, 'roofline'), { t0: state.t?.[0], t1: state.t?.[1] }), (r) => {
			if (!r.points.length) return empty(host, 'roof.empty', 'roof.empty.what');
			const tb = table({ columns: COLUMNS, rows: r.points, label: t('view.roofline'), sort: 'ns', pick: (p) => go({ sel: `k:${p.kid ?? ''}` }, false), selected: (p) => state.sel === `k:${p.kid}` });
			text = tb.text;
			fill(host, h('h2', null, r.device ?? t('roof.unknown')), r.points.every((p) => p.how !== 'counter') ? h('p', { class: 'note' }, t('roof.modelled')) : null,
				r.peaks.length ? null : h('p', { class: 'note' }, t('roof.noceiling')), plot(r), tb.el);
		});
		return { update: (now, was) => { if (now.t !== was.t) void load(); }, text: () => text() };
	},
};
