// SPDX-License-Identifier: Apache-2.0
// Words on a class's colour: dark on bright ones, light on dark ones, on a plate where it is a pattern.
import { colour, forced } from './classes';

export function ink(cls: string): string {
	const m = /^#(..)(..)(..)/.exec(colour(cls));
	const l = m ? [1, 2, 3].map((i) => parseInt(m[i]!, 16) / 255).reduce((s, v, i) => s + v ** 2.2 * [0.2126, 0.7152, 0.0722][i]!, 0) : 0;
	return l > 0.2 ? '#101214' : '#ffffff';
}

/** Never wider than its room, whatever font there is. */
export function words(g: CanvasRenderingContext2D, text: string, x: number, y: number, room: number, fill: string): void {
	if (!text || room <= 0) return;
	if (forced) {
		g.fillStyle = colour('surface');
		g.fillRect(x - 2, y - 7, Math.min(room, g.measureText(text).width) + 4, 14);
	}
	g.fillStyle = forced ? colour('text') : fill;
	g.fillText(text, x, y, room);
}
