// SPDX-License-Identifier: Apache-2.0
// Seven classes of GPU work and their colours: the only meaning that colour has on this page.

export interface Class {
	id: ClassId;
	glyph: string;
	words: string[]; // of src/insight/class.tbl.h
}
export type ClassId = 'matmul' | 'attention' | 'pointwise' | 'comm' | 'copy' | 'optimizer' | 'other';

/** The order is that of the bits of a tile's mask (src/tile). */
export const CLASSES: Class[] = [
	{ id: 'matmul', glyph: 'M', words: ['gemm', 'convolution', 'matmul', 'fft'] },
	{ id: 'attention', glyph: 'A', words: ['attention'] },
	{
		id: 'pointwise',
		glyph: 'P',
		words: ['pointwise', 'elementwise', 'normalisation', 'softmax', 'reduction', 'pooling', 'embedding',
			'index', 'layout', 'random', 'quantisation'],
	},
	{ id: 'comm', glyph: 'C', words: ['communication', 'comm', 'comm_exposed'] },
	{ id: 'copy', glyph: 'Y', words: ['copy', 'memset', 'memory', 'copy_exposed'] },
	{ id: 'optimizer', glyph: 'O', words: ['optimizer'] },
	{ id: 'other', glyph: '-', words: ['other'] },
];

const byWord = new Map<string, ClassId>();
for (const c of CLASSES) {
	byWord.set(c.id, c.id);
	for (const w of c.words) byWord.set(w, c.id);
}

export function classOf(word: string | null | undefined): ClassId {
	return byWord.get(word ?? '') ?? 'other';
}

let colours = new Map<string, string>();

/** The theme's colours, read from the sheet: it is the only place that has them. */
export function readTheme(): void {
	const css = getComputedStyle(document.documentElement);
	colours = new Map();
	for (const k of [...CLASSES.map((c) => c.id as string), 'idle', 'surface', 'raised', 'line', 'text', 'dim',
		'accent', 'host', 'compute', 'heat', 'more', 'less', 'mark', 'warn'])
		colours.set(k, css.getPropertyValue(`--${k}`).trim());
}

export function colour(id: string): string {
	return colours.get(id) ?? colours.get('other') ?? '#888';
}

let hatchTile: CanvasPattern | null = null;
let hatchOf = '';

/** Idle is hatched, so that it is told from "nothing known" without colour. */
export function hatch(g: CanvasRenderingContext2D): CanvasPattern {
	const c = colour('idle');
	if (hatchTile && hatchOf === c) return hatchTile;
	const t = document.createElement('canvas');
	t.width = t.height = 6;
	const x = t.getContext('2d')!;
	x.strokeStyle = c;
	x.lineWidth = 1;
	x.beginPath();
	for (const d of [-6, 0, 6]) {
		x.moveTo(d, 6);
		x.lineTo(d + 6, 0);
	}
	x.stroke();
	hatchOf = c;
	hatchTile = g.createPattern(t, 'repeat')!;
	return hatchTile;
}
