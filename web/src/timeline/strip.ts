// SPDX-License-Identifier: Apache-2.0
// The whole run in a line: a bar for each step, as high as it is long, and where the window is.
import type { Step } from '../api';
import { colour } from '../classes';
import type { Range } from '../state';
import type { Track } from './store';

export function paintStrip(g: CanvasRenderingContext2D, w: number, hh: number, end: number, win: Range, steps: Step[], tracks: Track[]): void {
	const X = (ns: number) => (ns / end) * w;
	const shown = steps.filter((s) => s.dur_ns > 0);
	if (shown.length) paintBars(g, w, hh, X, shown);
	else {
		const gpu = tracks.find((x) => x.kind === 'gpu') ?? tracks[0];
		if (gpu) {
			g.fillStyle = colour('host');
			g.fillRect(X(gpu.first), hh - 12, Math.max(1, X(gpu.last) - X(gpu.first)), 8);
		}
	}
	const x0 = X(win[0]), x1 = Math.max(x0 + 3, X(win[1]));
	g.fillStyle = colour('accent');
	g.globalAlpha = 0.22;
	g.fillRect(x0, 0, x1 - x0, hh);
	g.globalAlpha = 1;
	g.fillRect(x0, 0, 1, hh);
	g.fillRect(x1, 0, 1, hh);
}

/** Where many steps are one pixel, the worst is kept. */
function paintBars(g: CanvasRenderingContext2D, w: number, hh: number, X: (ns: number) => number, steps: Step[]): void {
	const worst = new Float64Array(Math.ceil(w) + 1), max = Math.max(...steps.map((s) => s.dur_ns));
	for (const s of steps) {
		const from = Math.floor(X(s.start_ns)), to = Math.max(from, Math.floor(X(s.start_ns + s.dur_ns)) - 1);
		for (let x = from; x <= Math.min(w, to); x++) worst[x] = Math.max(worst[x]!, s.dur_ns);
	}
	g.fillStyle = colour('host');
	worst.forEach((v, x) => { if (v) g.fillRect(x, hh - 2 - (v / max) * (hh - 6), 1, (v / max) * (hh - 6)); });
}
