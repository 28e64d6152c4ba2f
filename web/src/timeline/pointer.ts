// SPDX-License-Identifier: Apache-2.0
// Mouse and touch on the timeline: drag selects, Shift+drag and a finger pan, wheel scrolls, Ctrl+wheel and two fingers zoom.
import type { Range } from '../state';

export interface Steered {
	target: Range;
	gutter(): number;
	time(x: number): number;
	snap(x: number, y: number): number;
	point(at: { x: number; y: number } | null): void;
	tip(x: number, y: number): void;
	click(x: number, y: number): void;
	fitAt(x: number, y: number): void;
	show(r: Range): void; // at once, while the finger is down
	jump(r: Range): void;
	select(r: Range, done: boolean): void;
	zoom(k: number, at: number): void;
	pan(k: number): void;
	scroll(px: number): void;
}
interface Place {
	x: number;
	y: number;
}

export function steer(el: HTMLCanvasElement, s: Steered): void {
	const touches = new Map<number, Place>();
	let down: (Place & { pan: boolean; from: number; to: number; win: Range; moved: boolean }) | null = null;

	const pinch = (e: PointerEvent) => {
		const other = [...touches.entries()].find(([id]) => id !== e.pointerId)?.[1], was = touches.get(e.pointerId);
		if (!other || !was) return;
		const k = Math.max(8, Math.abs(was.x - other.x)) / Math.max(8, Math.abs(e.offsetX - other.x)), at = s.time((e.offsetX + other.x) / 2);
		s.show([at - (at - s.target[0]) * k, at + (s.target[1] - at) * k]);
	};
	const drag = (e: PointerEvent) => {
		if (!down) return;
		if (Math.abs(e.offsetX - down.x) + Math.abs(e.offsetY - down.y) > 4) down.moved = true;
		if (!down.moved) return;
		if (down.pan) {
			const d = ((down.x - e.offsetX) / (el.clientWidth - s.gutter())) * (down.win[1] - down.win[0]);
			s.show([down.win[0] + d, down.win[1] + d]);
			if (e.pointerType === 'touch') s.scroll((touches.get(e.pointerId)?.y ?? e.offsetY) - e.offsetY);
		} else {
			down.to = s.snap(e.offsetX, e.offsetY);
			s.select([Math.min(down.from, down.to), Math.max(down.from, down.to)], false);
		}
	};
	el.addEventListener('pointerdown', (e) => {
		el.setPointerCapture(e.pointerId);
		touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
		if (e.button !== 0) return;
		const from = s.snap(e.offsetX, e.offsetY);
		down = { x: e.offsetX, y: e.offsetY, pan: e.shiftKey || e.pointerType === 'touch', from, to: from, win: s.target, moved: false };
	});
	el.addEventListener('pointermove', (e) => {
		s.point({ x: e.offsetX, y: e.offsetY });
		if (touches.size === 2 && touches.has(e.pointerId)) pinch(e);
		else if (down) drag(e);
		else s.tip(e.offsetX, e.offsetY);
		if (touches.has(e.pointerId)) touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
	});
	el.addEventListener('pointerup', (e) => {
		touches.delete(e.pointerId);
		const d = down;
		down = null;
		if (!d) return;
		if (!d.moved) s.click(e.offsetX, e.offsetY);
		else if (d.pan) s.jump(s.target);
		else if (d.to !== d.from) s.select([Math.min(d.from, d.to), Math.max(d.from, d.to)], true);
	});
	el.addEventListener('pointercancel', (e) => {
		touches.delete(e.pointerId);
		down = null;
	});
	el.addEventListener('pointerleave', () => s.point(null));
	el.addEventListener('dblclick', (e) => s.fitAt(e.offsetX, e.offsetY));
	el.addEventListener('wheel', (e) => {
		e.preventDefault();
		if (e.ctrlKey || e.metaKey) s.zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 180), s.time(e.offsetX));
		else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) s.pan((e.deltaX || e.deltaY) / 1200);
		else s.scroll(e.deltaY);
	}, { passive: false });
}
