// SPDX-License-Identifier: Apache-2.0
// Seven classes of GPU work and their colours: the only meaning that colour has on this page.

export interface Class {
	id: ClassId;
	glyph: string;
	words: string[]; // of src/analysis/names/class.tbl.h
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
			'index', 'layout', 'random', 'quantisation', 'moe'],
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
/** Who chose the system's few colours (forced-colors) tells classes by their patterns. */
export let forced = false;
const SYSTEM: Record<string, string> = {
	surface: 'Canvas', raised: 'Canvas', select: 'Canvas', accent: 'Highlight', mark: 'Highlight', heat: 'Highlight', more: 'Highlight',
	idle: 'GrayText', line: 'GrayText', host: 'GrayText', back: 'Canvas',
};

function resolve(css: string): string {
	const probe = document.createElement('i');
	probe.style.color = css;
	document.body.append(probe);
	const rgb = getComputedStyle(probe).color.match(/\d+/g) ?? ['136', '136', '136'];
	probe.remove();
	return `#${rgb.slice(0, 3).map((v) => Number(v).toString(16).padStart(2, '0')).join('')}`;
}

/** The theme's colours, read from the sheet: it is the only place that has them. */
export function readTheme(): void {
	const css = getComputedStyle(document.documentElement);
	forced = matchMedia('(forced-colors: active)').matches;
	colours = new Map();
	textures.clear();
	for (const k of [...CLASSES.map((c) => c.id as string), 'idle', 'surface', 'raised', 'line', 'text', 'dim',
		'accent', 'host', 'compute', 'heat', 'more', 'less', 'mark', 'warn'])
		colours.set(k, forced ? resolve(SYSTEM[k] ?? 'CanvasText') : css.getPropertyValue(`--${k}`).trim());
}

export function colour(id: string): string {
	return colours.get(id) ?? colours.get('other') ?? '#888';
}

/** Which pixels of a pattern have ink: lines, dots and hatches that are told apart without colour. */
const PATTERNS: Record<string, (x: number, y: number) => boolean> = {
	matmul: () => true,
	compute: () => true,
	attention: (x) => x % 4 === 0,
	pointwise: (x, y) => x % 4 < 2 && y % 4 < 2,
	comm: (x, y) => (x + y) % 4 === 0,
	copy: (_, y) => y % 3 === 0,
	optimizer: (x, y) => x % 6 === 0 || y % 6 === 0,
	other: (x, y) => (x + y) % 2 === 0,
	host: (x, y) => x % 4 === 0 && y % 4 === 0,
};

export function inked(cls: string, x: number, y: number): boolean {
	return (PATTERNS[cls] ?? PATTERNS.other!)(x, y);
}

const PERIOD = 12;
const textures = new Map<string, CanvasPattern>();

/** What a class is filled with: its colour, or its pattern. */
export function texture(g: CanvasRenderingContext2D, cls: string): string | CanvasPattern {
	if (!forced || !(cls in PATTERNS)) return colour(cls);
	const had = textures.get(cls);
	if (had) return had;
	const made = tile(g, PERIOD, (x) => {
		x.fillStyle = colour('surface');
		x.fillRect(0, 0, PERIOD, PERIOD);
		x.fillStyle = colour('text');
		for (let i = 0; i < PERIOD * PERIOD; i++) if (inked(cls, i % PERIOD, Math.floor(i / PERIOD))) x.fillRect(i % PERIOD, Math.floor(i / PERIOD), 1, 1);
	});
	textures.set(cls, made);
	return made;
}

function tile(g: CanvasRenderingContext2D, size: number, draw: (x: CanvasRenderingContext2D) => void): CanvasPattern {
	const t = document.createElement('canvas');
	t.width = t.height = size;
	draw(t.getContext('2d')!);
	return g.createPattern(t, 'repeat')!;
}

/** What nobody recorded: crossed lines, so that it is told from idle without colour. */
export function blank(g: CanvasRenderingContext2D): CanvasPattern {
	const had = textures.get('blank');
	if (had) return had;
	const made = tile(g, 8, (x) => {
		x.fillStyle = colour('raised');
		x.fillRect(0, 0, 8, 8);
		x.strokeStyle = colour('idle');
		x.lineWidth = 1;
		x.beginPath();
		for (const d of [-8, 0, 8]) {
			x.moveTo(d, 0);
			x.lineTo(d + 8, 8);
			x.moveTo(d, 8);
			x.lineTo(d + 8, 0);
		}
		x.stroke();
	});
	textures.set('blank', made);
	return made;
}

/** Idle is hatched, so that it is told from "nothing known" without colour. */
export function hatch(g: CanvasRenderingContext2D): CanvasPattern {
	const had = textures.get('idle');
	if (had) return had;
	const made = tile(g, 6, (x) => {
		x.strokeStyle = colour('idle');
		x.lineWidth = 1;
		x.beginPath();
		for (const d of [-6, 0, 6]) {
			x.moveTo(d, 6);
			x.lineTo(d + 6, 0);
		}
		x.stroke();
	});
	textures.set('idle', made);
	return made;
}
