// SPDX-License-Identifier: Apache-2.0
// Rack, switch, node, GPU: every thing a square in its place, so that what they have in common is seen.
import { type FleetTime } from './api';
import { colour, forced, hatch } from './classes';
import { canvas, h } from './dom';
import * as fmt from './fmt';
import { t } from './i18n';
import { axisY, font, marks, type Box } from './plot';

/** A square: of a rack (group), a switch (sub) and a node (unit). heat: 0 to 1; gone: nothing was heard. */
export interface Place {
	group: string;
	sub: number;
	unit: string;
	label: string;
	heat: number;
	gone: boolean;
	words: string;
	rank?: number;
}

const CELL = 10, GAP = 2, HEAD = 16, PAD = 12, SWITCH = 5; // between the nodes of one switch and the next's

interface Spot {
	x: number;
	y: number;
	p: Place;
}

/** Racks beside each other, a node a row in them; where nodes are single squares, eight to a row. */
function lay(list: Place[], width: number): { spots: Spot[]; heads: { x: number; y: number; text: string }[]; height: number } {
	const racks = new Map<string, Map<string, Place[]>>();
	for (const p of [...list].sort((a, b) => a.group.localeCompare(b.group) || a.sub - b.sub || a.unit.localeCompare(b.unit))) {
		const rack = racks.get(p.group) ?? new Map<string, Place[]>();
		racks.set(p.group, rack);
		rack.set(p.unit, [...(rack.get(p.unit) ?? []), p]);
	}
	const spots: Spot[] = [], heads: { x: number; y: number; text: string }[] = [];
	let x = 0, y = 0, low = 0;
	for (const [rack, nodes] of racks) {
		const rows: Place[][] = [];
		for (const cells of nodes.values()) {
			const last = rows[rows.length - 1], single = cells.length === 1 && last?.[0]?.sub === cells[0]!.sub;
			if (single && last && last.length < 8 && last.every((c) => nodes.get(c.unit)!.length === 1)) last.push(...cells);
			else rows.push([...cells]);
		}
		const w = Math.max(4, ...rows.map((r) => r.length)) * CELL;
		if (x && x + w > width) {
			x = 0;
			y = low + PAD;
		}
		heads.push({ x, y, text: rack });
		let down = y + HEAD;
		rows.forEach((r, j) => {
			if (j && rows[j - 1]![0]!.sub !== r[0]!.sub) down += SWITCH;
			r.forEach((p, i) => spots.push({ x: x + i * CELL, y: down, p }));
			down += CELL;
		});
		low = Math.max(low, down);
		x += w + PAD;
	}
	return { spots, heads, height: low + 2 };
}

export function places(list: Place[], alt: string, say: (s: string) => void, pick: (p: Place) => void): HTMLElement {
	let at = Math.max(0, list.findIndex((p) => p.gone)), spots: Spot[] = [];
	const c = canvas((g, w) => {
		const l = lay(list, w);
		spots = l.spots;
		if (c.el.style.height !== `${l.height}px`) c.el.style.height = `${l.height}px`;
		font(g);
		g.textBaseline = 'top';
		g.textAlign = 'left';
		g.fillStyle = colour('dim');
		for (const head of l.heads) g.fillText(head.text, head.x, head.y);
		for (const s of spots) {
			g.fillStyle = s.p.gone ? hatch(g) : colour('raised');
			g.fillRect(s.x, s.y, CELL - GAP, CELL - GAP);
			g.strokeStyle = colour(s.p.gone || forced ? 'text' : 'line');
			g.strokeRect(s.x + 0.5, s.y + 0.5, CELL - GAP - 1, CELL - GAP - 1);
			if (s.p.gone || !(s.p.heat > 0)) continue;
			g.globalAlpha = Math.min(1, s.p.heat);
			g.fillStyle = colour('heat');
			g.fillRect(s.x, s.y, CELL - GAP, CELL - GAP);
			g.globalAlpha = 1;
		}
		const mine = spots[at];
		if (mine && document.activeElement === c.el) {
			g.strokeStyle = colour('mark');
			g.lineWidth = 2;
			g.strokeRect(mine.x - 1, mine.y - 1, CELL, CELL);
			g.lineWidth = 1;
		}
	}, { class: 'heat', role: 'img', tabindex: 0, 'aria-label': alt, style: { height: '120px' } });
	const hit = (e: MouseEvent) => {
		const box = c.el.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
		return spots.findIndex((s) => x >= s.x && x < s.x + CELL && y >= s.y && y < s.y + CELL);
	};
	c.el.addEventListener('mousemove', (e) => {
		c.el.title = spots[hit(e)]?.p.words ?? '';
	});
	c.el.addEventListener('click', (e) => {
		const i = hit(e);
		if (i < 0) return;
		at = i;
		say(spots[i]!.p.words);
		pick(spots[i]!.p);
	});
	for (const type of ['focus', 'blur']) c.el.addEventListener(type, c.redraw);
	c.el.addEventListener('keydown', (e) => {
		const mine = spots[at];
		if (e.key === 'Enter' && mine) {
			e.preventDefault();
			return pick(mine.p);
		}
		const by = e.key === 'ArrowRight' || e.key === 'ArrowDown' ? 1 : e.key === 'ArrowLeft' || e.key === 'ArrowUp' ? -1 : 0;
		if (!by) return;
		at = Math.min(spots.length - 1, Math.max(0, at + by));
		e.preventDefault();
		e.stopPropagation();
		say(spots[at]?.p.words ?? '');
		c.redraw();
	});
	window.addEventListener('aon-theme', c.redraw);
	return c.el;
}

/** How long a step took, hour by hour: the same job then and now. */
export function barsOfHours(hours: { t_s: number; time: FleetTime }[], marked: number | null, pick: (t_s: number) => void): HTMLElement {
	const of = (x: { time: FleetTime }) => (x.time.steps ? (x.time.step_s * 1e9) / x.time.steps : 0);
	const max = Math.max(...hours.map(of), 1) * 1.05;
	const when = (x: { t_s: number } | undefined) => (x ? new Date(x.t_s * 1e3).toISOString().slice(5, 16).replace('T', ' ') : '');
	let box: Box = { x: 0, y: 0, w: 1, h: 1 };
	const c = canvas((g, w, hh) => {
		const b = (box = axisY(g, w, hh, max, fmt.time)), each = b.w / hours.length, at = hours.findIndex((x) => x.t_s === marked);
		hours.forEach((x, i) => {
			const tall = (of(x) / max) * b.h, waits = x.time.step_s > 0 ? tall * (x.time.lost_s / x.time.step_s) : 0;
			g.fillStyle = colour('host');
			g.fillRect(b.x + i * each, b.y + b.h - tall, Math.max(1, each - 2), tall);
			g.fillStyle = colour('heat');
			g.fillRect(b.x + i * each, b.y + b.h - tall, Math.max(1, each - 2), waits);
		});
		font(g);
		g.fillStyle = colour('dim');
		g.textBaseline = 'bottom';
		g.textAlign = 'left';
		g.fillText(when(hours[0]), b.x, hh);
		g.textAlign = 'right';
		g.fillText(`${when(hours[hours.length - 1])} UTC`, b.x + b.w, hh);
		if (at > 0) marks(g, b, [{ part: at / hours.length, label: when(hours[at]) }]);
	}, { class: 'plot pick', role: 'img', style: { height: '140px' }, 'aria-label': t('fleet.hours.alt', { n: hours.length, first: fmt.time(of(hours[0]!)), last: fmt.time(of(hours[hours.length - 1]!)) }) });
	c.el.addEventListener('click', (e) => {
		const x = hours[Math.floor(((e.offsetX - box.x) / box.w) * hours.length)];
		if (x && x !== hours[0]) pick(x.t_s);
	});
	window.addEventListener('aon-theme', c.redraw);
	const choice = h('select', { 'aria-label': t('fleet.hours.pick'), on: { change: () => { if (choice.value) pick(Number(choice.value)); } } }, h('option', { value: '' }, t('fleet.hours.pick')),
		hours.slice(1).map((x) => h('option', { value: x.t_s, selected: x.t_s === marked }, when(x))));
	return h('div', null, c.el, h('p', { class: 'note' }, t('fleet.hours.what')), choice);
}
