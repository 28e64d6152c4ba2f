// SPDX-License-Identifier: Apache-2.0
// A tile: 512 cells of 2^L ns of one track, or the events themselves where they are few (src/tile).
// Cells keep busy time by class, so that no zoom level lies; they are rastered once, stacked by share.
import { CLASSES, colour, forced, inked } from '../classes';

export const CELLS = 512;
export const TILE_H = 18;
const HEAD = 36;
export const KINDS = 8; // classes in a cell's mask; the last one is work of the host

export interface Tile {
	track: number;
	L: number;
	index: number;
	t0: number;
	live: boolean;
	lost: number;
	events: number;
	epoch: number;
	bytes: number;
	cells: Cells | null;
	exact: Exact | null;
	counter: Counter | null;
	used: number; // when it was last drawn, for the cache
}
export interface Cells {
	share: Uint8Array; // CELLS x KINDS, of 255
	starts: Uint32Array;
	name: Uint32Array; // of the longest piece
	used: Uint8Array;
	picture: HTMLCanvasElement | null;
	drawn: number; // generation of the colours it was drawn with
}
export interface Exact {
	n: number;
	start: Float64Array;
	dur: Float64Array;
	name: Uint32Array;
	id: Float64Array;
	depth: Uint8Array;
	deepest: number;
	longest: number; // so that a search knows how far back to look
}
export interface Counter {
	used: Uint8Array;
	min: Float64Array;
	max: Float64Array;
	mean: Float64Array;
}

class Reader {
	at: number;
	constructor(private b: Uint8Array, private v: DataView, at: number, private end: number) {
		this.at = at;
	}
	u8(): number {
		if (this.at >= this.end) throw new Error('tile ends early');
		return this.b[this.at++]!;
	}
	f32(): number {
		if (this.at + 4 > this.end) throw new Error('tile ends early');
		const x = this.v.getFloat32(this.at, true);
		this.at += 4;
		return x;
	}
	more(): boolean {
		return this.at < this.end;
	}
	varint(): number {
		let x = 0, k = 1;
		for (let i = 0; i < 10; i++) {
			const c = this.u8();
			x += (c & 127) * k;
			if (c < 128) return x;
			k *= 128;
		}
		throw new Error('number too long');
	}
	zigzag(): number {
		const x = this.varint();
		return x % 2 ? -(x + 1) / 2 : x / 2;
	}
}

/** All tiles of an answer. One that is damaged ends it: the rest is asked for again. */
export function decode(buf: ArrayBuffer): Tile[] {
	const v = new DataView(buf), b = new Uint8Array(buf);
	const out: Tile[] = [];
	let at = 0;
	while (at + HEAD <= buf.byteLength) {
		const len = v.getUint32(at, true), end = Math.min(buf.byteLength, at + len);
		if (v.getUint32(at + 4, true) !== 0x544e4f41 || len < HEAD) break; // 'AONT'
		const kind = b[at + 9]!, L = b[at + 10]!, flags = b[at + 11]!;
		const t0 = Number(v.getBigUint64(at + 16, true));
		const tile: Tile = {
			track: v.getUint32(at + 12, true), L, t0, index: Math.round(t0 / 2 ** (L + 9)),
			live: !!(flags & 1), events: v.getUint32(at + 24, true), lost: v.getUint32(at + 28, true), epoch: v.getUint32(at + 32, true),
			bytes: end - at, cells: null, exact: null, counter: null, used: 0,
		};
		const r = new Reader(b, v, at + HEAD, end);
		if (kind === 1) tile.exact = exact(r, t0);
		else if (kind === 2) tile.cells = cells(r);
		else if (kind === 3) tile.counter = counter(r);
		out.push(tile);
		at = end;
	}
	return out;
}

function bitmap(r: Reader): Uint8Array {
	const used = new Uint8Array(CELLS);
	for (let i = 0; i < CELLS / 8; i++) {
		const c = r.u8();
		for (let k = 0; k < 8; k++) used[i * 8 + k] = (c >> k) & 1;
	}
	return used;
}

function cells(r: Reader): Cells {
	const c: Cells = { share: new Uint8Array(CELLS * KINDS), starts: new Uint32Array(CELLS), name: new Uint32Array(CELLS), used: bitmap(r), picture: null, drawn: -1 };
	for (let i = 0; i < CELLS; i++) {
		if (!c.used[i]) continue;
		const mask = r.u8();
		for (let k = 0; k < KINDS; k++) if (mask & (1 << k)) c.share[i * KINDS + k] = r.u8();
		c.starts[i] = r.varint();
		c.name[i] = r.varint();
	}
	return c;
}

function counter(r: Reader): Counter {
	const c: Counter = { used: bitmap(r), min: new Float64Array(CELLS), max: new Float64Array(CELLS), mean: new Float64Array(CELLS) };
	for (let i = 0; i < CELLS; i++) {
		if (!c.used[i]) continue;
		c.min[i] = r.f32();
		c.max[i] = r.f32();
		c.mean[i] = r.f32();
	}
	return c;
}

function exact(r: Reader, t0: number): Exact {
	const start: number[] = [], dur: number[] = [], name: number[] = [], id: number[] = [], depth: number[] = [];
	const open: number[] = []; // by row, where its last event ends
	let end = t0, last = 0, deepest = 0, longest = 0;
	while (r.more()) {
		const s = end + r.zigzag(), d = r.varint();
		end = s + d;
		start.push(s);
		dur.push(d);
		name.push(r.varint());
		last += r.zigzag();
		id.push(last);
		// The first row that is free: below what encloses it, beside what only overlaps.
		let row = open.findIndex((e) => e <= s);
		if (row < 0) row = open.length;
		open[row] = end;
		depth.push(Math.min(255, row));
		deepest = Math.max(deepest, row);
		longest = Math.max(longest, d);
	}
	return { n: start.length, start: Float64Array.from(start), dur: Float64Array.from(dur), name: Uint32Array.from(name),
		id: Float64Array.from(id), depth: Uint8Array.from(depth), deepest, longest };
}

let generation = 0;
let palette: Uint32Array | null = null;
let off: boolean[] = [];

/** The colours changed: of the theme, or which classes are shown. */
export function recolour(shown: string[] | null): void {
	generation++;
	palette = null;
	off = [...CLASSES.map((c) => !!shown && !shown.includes(c.id)), false];
}

const KIND_IDS: string[] = [...CLASSES.map((c) => c.id), 'host'];

function colours(): Uint32Array {
	if (palette) return palette;
	const pick = KIND_IDS.map(colour);
	palette = Uint32Array.from(pick, (hex, i) => {
		const m = /^#(..)(..)(..)/.exec(hex) ?? ['', '88', '88', '88'];
		const [r, g, b] = [1, 2, 3].map((k) => parseInt(m[k]!, 16)) as [number, number, number];
		return ((off[i] ? 50 : 255) << 24) | (b << 16) | (g << 8) | r;
	});
	return palette;
}

/** 512 x 18 pixels, stretched when drawn. */
export function picture(c: Cells): HTMLCanvasElement {
	if (c.picture && c.drawn === generation) return c.picture;
	const el = c.picture ?? document.createElement('canvas');
	el.width = CELLS;
	el.height = TILE_H;
	const g = el.getContext('2d')!;
	const img = g.createImageData(CELLS, TILE_H);
	const px = new Uint32Array(img.data.buffer), pal = colours();
	for (let i = 0; i < CELLS; i++) {
		if (!c.used[i]) continue;
		let sum = 0, y = TILE_H;
		for (let k = 0; k < KINDS; k++) {
			const s = c.share[i * KINDS + k]!;
			if (!s) continue;
			sum += s;
			// What is there is seen: the least share has a pixel, unless the column is full.
			const to = Math.max(0, Math.min(y - (y > 0 && sum < 255 ? 1 : 0), TILE_H - Math.round((Math.min(sum, 255) / 255) * TILE_H)));
			for (let p = to; p < y; p++) if (!forced || inked(KIND_IDS[k]!, i, p)) px[p * CELLS + i] = pal[k]!;
			y = to;
		}
	}
	g.putImageData(img, 0, 0);
	c.picture = el;
	c.drawn = generation;
	return el;
}

/** Busy ns of a tile within [a, b), by class: of cells by their shares, of events exactly. */
export function busy(tile: Tile, a: number, b: number, classOfName: (name: number) => number, into: Float64Array): void {
	const c = tile.cells, e = tile.exact, width = 2 ** tile.L;
	for (let i = 0, at = a; e && i < e.n && e.start[i]! < b; i++) {
		const s = Math.max(at, e.start[i]!), end = Math.min(b, e.start[i]! + e.dur[i]!), k = classOfName(e.name[i]!);
		if (end <= s) continue;
		into[k] = into[k]! + end - s;
		at = end;
	}
	if (!c) return;
	const from = Math.max(0, Math.floor((a - tile.t0) / width)), to = Math.min(CELLS, Math.ceil((b - tile.t0) / width));
	for (let i = from; i < to; i++) {
		if (!c.used[i]) continue;
		const t = tile.t0 + i * width, part = Math.min(1, (Math.min(b, t + width) - Math.max(a, t)) / width);
		for (let k = 0; k < KINDS; k++) into[k] = into[k]! + (c.share[i * KINDS + k]! / 255) * width * part;
	}
}

/** The index of the last event that began at or before t; -1: none. */
export function before(e: Exact, t: number): number {
	let lo = 0, hi = e.n;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (e.start[mid]! <= t) lo = mid + 1;
		else hi = mid;
	}
	return lo - 1;
}
