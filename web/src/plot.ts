// SPDX-License-Identifier: Apache-2.0
// The few plots of the page: a line with its band, and axes that end on round numbers.
import { colour } from './classes';

/** Round steps between lo and hi: 1, 2 or 5 times a power of ten. */
export function ticks(lo: number, hi: number, most: number): number[] {
	const raw = (hi - lo) / Math.max(1, most);
	if (!(raw > 0)) return [lo];
	const p = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((m) => m * p).find((s) => s >= raw) ?? raw;
	const out: number[] = [];
	for (let x = Math.ceil(lo / step) * step; x <= hi + step * 1e-6; x += step) out.push(x);
	return out;
}

export function font(g: CanvasRenderingContext2D, px = 11, mono = false): void {
	g.font = `${px}px ${mono ? 'ui-monospace, Menlo, Consolas, "Liberation Mono", monospace' : 'system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif'}`;
}

export interface Box {
	x: number;
	y: number;
	w: number;
	h: number;
}

/** The left axis and its hairlines; gives the box that is left for the plot. */
export function axisY(g: CanvasRenderingContext2D, w: number, h: number, max: number, label: (v: number) => string, foot = 16): Box {
	font(g);
	const marks = ticks(0, max, Math.max(2, Math.floor(h / 40)));
	const left = Math.ceil(Math.max(...marks.map((m) => g.measureText(label(m)).width))) + 8;
	const box = { x: left, y: 8, w: w - left - 4, h: h - foot - 8 };
	g.strokeStyle = colour('line');
	g.fillStyle = colour('dim');
	g.textAlign = 'right';
	g.textBaseline = 'middle';
	g.lineWidth = 1;
	for (const m of marks) {
		const y = Math.round(box.y + box.h * (1 - m / max)) + 0.5;
		g.beginPath();
		g.moveTo(box.x, y);
		g.lineTo(box.x + box.w, y);
		g.stroke();
		g.fillText(label(m), left - 6, y);
	}
	return box;
}

/** Where something changed: a dashed line through the plot, with words if they fit between it and the next. */
export function marks(g: CanvasRenderingContext2D, b: Box, at: { part: number; label: string }[]): void {
	g.strokeStyle = g.fillStyle = colour('heat');
	g.lineWidth = 1;
	g.textAlign = 'left';
	g.textBaseline = 'top';
	g.setLineDash([3, 3]);
	at.forEach((m, i) => {
		const x = Math.round(b.x + m.part * b.w) + 0.5, end = i + 1 < at.length ? b.x + at[i + 1]!.part * b.w : b.x + b.w;
		g.beginPath();
		g.moveTo(x, b.y);
		g.lineTo(x, b.y + b.h);
		g.stroke();
		if (g.measureText(m.label).width + 8 < end - x) g.fillText(m.label, x + 4, b.y + b.h - 15);
	});
	g.setLineDash([]);
}

/** Median line, min-max band, and the worst of each column as a dot where it stands out. */
export function band(g: CanvasRenderingContext2D, b: Box, max: number, p50: number[], lo: number[], hi: number[]): void {
	const n = p50.length;
	const x = (i: number) => b.x + (n > 1 ? (i / (n - 1)) * b.w : b.w / 2);
	const y = (v: number) => b.y + b.h * (1 - Math.min(v, max) / max);
	g.fillStyle = colour('host');
	g.globalAlpha = 0.35;
	g.beginPath();
	hi.forEach((v, i) => (i ? g.lineTo(x(i), y(v)) : g.moveTo(x(i), y(v))));
	for (let i = n - 1; i >= 0; i--) g.lineTo(x(i), y(lo[i]!));
	g.fill();
	g.globalAlpha = 1;
	g.strokeStyle = colour('text');
	g.lineWidth = 1.5;
	g.beginPath();
	p50.forEach((v, i) => (i ? g.lineTo(x(i), y(v)) : g.moveTo(x(i), y(v))));
	g.stroke();
	g.fillStyle = colour('heat');
	const typical = [...p50].sort((a, c) => a - c)[n >> 1] ?? 0;
	hi.forEach((v, i) => {
		if (v > typical * 1.25) {
			g.beginPath();
			g.arc(x(i), y(v), 2.5, 0, 7);
			g.fill();
		}
	});
	if (n === 1) {
		g.beginPath();
		g.arc(x(0), y(p50[0]!), 3, 0, 7);
		g.fill();
	}
}
