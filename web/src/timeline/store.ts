// SPDX-License-Identifier: Apache-2.0
// Tiles that are loaded, and those on their way. Visible tiles are requested first; while a tile is
// missing, the coarser one that covers it is drawn instead, as maps do.
import { address, get, runPath, source, type Bytes, type Reply } from '../api';
import { CLASSES, classOf } from '../classes';
import { CELLS, decode, KINDS, type Tile } from './tile';

export interface Track {
	id: number;
	kind: 'step' | 'gpu' | 'stream' | 'thread' | 'comm' | 'counter' | 'why';
	parent: number | null;
	label: string;
	pid: number | null;
	rank: number | null;
	gpu: number | null;
	first: number;
	last: number;
	n: number;
	base_level: number;
}
export interface Name {
	id: number;
	name: string;
	short: string;
	class: string | null;
}
const LEFT_OUT = CLASSES.findIndex((c) => c.id === 'other'); // in cells of steps
const UNRECORDED = 'not recorded'; // their name (src/query/tile/name.c)
const KEEP = 32 << 20; // bytes of tiles
const TRIES = 4;
const FEW = 400, FEW_TILES = 8;

export class TileStore {
	readonly names = new Map<number, Name>();
	readonly tracks = new Map<number, Track>();
	private tiles = new Map<string, Tile>();
	private asked = new Map<string, number>(); // how often, so that what fails does not go on for ever
	private flying = new Set<string>();
	private stale = new Set<string>(); // of a live run's end: there is more by now
	private stop: AbortController | null = null;
	private floor = new Map<number, number>(); // of tracks that are too dense to be told exactly below their base
	private tops = new Map<number, number>();
	private epoch = 0;
	private bytes = 0;
	private clock = 0;
	failed: string | null = null;
	loads = 0;
	partial = false; // the server still reads the run: no tile is final

	constructor(private run: string, private news: () => void) {}

	/** The level for a zoom: a cell is one to four pixels wide, and no finer than the events need. */
	level(span: number, px: number, track: Track): number {
		const L = Math.ceil(Math.log2(Math.max(span / Math.max(1, px), 1)) / 2) * 2;
		const exact = Math.max(8, this.floor.get(track.id) ?? track.base_level - 2);
		// A few events in view are told one by one, however small they are.
		const long = Math.max(1, track.last - track.first), seen = track.n * Math.min(1, span / long);
		if (seen < FEW && track.kind !== 'counter' && span / 2 ** (exact + 9) <= FEW_TILES && !this.floor.has(track.id)) return exact;
		return Math.min(54, Math.max(L, exact));
	}

	/** The greatest value of a counter, of the tiles that are here: one scale for the row. */
	top(track: number): number {
		return this.tops.get(track) ?? 0;
	}

	/** A saved page has its tiles in one piece, as fine as there was room for. */
	async loadSaved(): Promise<void> {
		if (!source.saved) return;
		for (const t of decode((await source.bytes(runPath(this.run, 'tiles'))).buf)) this.put(t);
		this.loads++;
	}

	async loadNames(): Promise<void> {
		const r = await get<Reply & { epoch: number; names: Name[] }>(runPath(this.run, 'names'), { from: this.epoch || undefined, soon: 1 }, { fresh: true });
		for (const n of r.names) this.names.set(n.id, n);
		this.epoch = r.epoch;
	}

	/** The bit of a name's class in a cell's mask. */
	/** The steps of a track's process; null: it has none. */
	stepsOf(tr: Track): Track | null {
		for (const x of this.tracks.values()) if (x.kind === 'step' && x.pid === tr.pid && x.rank === tr.rank) return x;
		return null;
	}

	/** Of a track of steps, a tile's stretches of which nothing was recorded: from, to, how much of it. */
	unrecorded(tr: Track, L: number, i: number): [number, number, number][] {
		const tile = this.best(tr, L, i), out: [number, number, number][] = [];
		const left = tile?.exact ? (k: number) => this.names.get(tile.exact!.name[k]!)?.name === UNRECORDED : null;
		for (let k = 0; left && k < tile!.exact!.n; k++) if (left(k)) out.push([tile!.exact!.start[k]!, tile!.exact!.start[k]! + tile!.exact!.dur[k]!, 1]);
		const width = tile ? 2 ** tile.L : 0;
		for (let k = 0; tile?.cells && k < CELLS; k++) {
			const share = tile.cells.used[k] ? tile.cells.share[k * KINDS + LEFT_OUT]! / 255 : 0;
			if (share > 0) out.push([tile.t0 + k * width, tile.t0 + (k + 1) * width, share]);
		}
		// Steps next to each other are one stretch.
		return out.reduce<[number, number, number][]>((all, x) => {
			const last = all[all.length - 1];
			if (last && last[2] === x[2] && x[0] - last[1] <= (last[1] - last[0]) * 0.02) last[1] = x[1];
			else all.push(x);
			return all;
		}, []);
	}

	classIndex(name: number): number {
		const c = this.names.get(name)?.class;
		return c === 'host' ? 7 : CLASSES.findIndex((x) => x.id === classOf(c));
	}

	get(track: number, L: number, i: number): Tile | null {
		const t = this.tiles.get(`${track}/${L}/${i}`);
		if (t) t.used = ++this.clock;
		return t ?? null;
	}

	/** The tile, or the finest coarser one that covers its place. */
	best(track: Track, L: number, i: number): Tile | null {
		for (let k = 0; L + k <= 54; k += 2) {
			const t = this.get(track.id, L + k, Math.floor(i / 2 ** k));
			if (t) return t;
		}
		return null;
	}

	has(track: number, L: number, i: number): boolean {
		const k = `${track}/${L}/${i}`;
		return this.tiles.has(k) && !this.stale.has(k);
	}

	/** Asks for what is missing, `want` in order of urgency. What is no longer wanted is let go. */
	need(want: { track: number; L: number; i: number }[]): void {
		if (source.saved) return;
		const missing = want.filter((w) => {
			const k = `${w.track}/${w.L}/${w.i}`;
			return (!this.tiles.has(k) || this.stale.has(k)) && (this.asked.get(k) ?? 0) < TRIES;
		});
		if (!missing.length || missing.every((w) => this.flying.has(`${w.track}/${w.L}/${w.i}`))) return;
		this.stop?.abort();
		this.stop = new AbortController();
		this.flying = new Set(missing.map((w) => `${w.track}/${w.L}/${w.i}`));
		const groups = new Map<number, { lo: number; hi: number; tracks: Set<number> }>();
		for (const w of missing) {
			const g = groups.get(w.L) ?? { lo: w.i, hi: w.i, tracks: new Set<number>() };
			g.lo = Math.min(g.lo, w.i);
			g.hi = Math.max(g.hi, w.i);
			g.tracks.add(w.track);
			groups.set(w.L, g);
		}
		for (const [L, g] of groups) void this.load(L, g.lo, Math.min(g.hi, g.lo + 15), [...g.tracks].slice(0, 64), this.stop.signal);
	}

	private async load(L: number, lo: number, hi: number, tracks: number[], signal: AbortSignal): Promise<void> {
		try {
			const got: Tile[] = [];
			for (let from: string | null = '0'; from !== null; ) {
				const part: Bytes = await source.bytes(address(runPath(this.run, 'tiles'), { L, i: lo === hi ? lo : `${lo}-${hi}`, tracks: tracks.join(','), from: from === '0' ? null : from, soon: this.partial ? 1 : null }), signal);
				for (const t of decode(part.buf)) {
					this.put(t);
					got.push(t);
				}
				from = part.next;
				if (from) this.news();
			}
			for (const tr of tracks) for (let i = lo; i <= hi; i++) {
				const k = `${tr}/${L}/${i}`;
				this.flying.delete(k);
				if (!this.tiles.has(k) || this.stale.has(k)) this.asked.set(k, (this.asked.get(k) ?? 0) + 1);
			}
			this.failed = null;
			this.loads++;
			if (got.some((t) => t.epoch > this.epoch)) await this.loadNames();
			this.news();
		} catch (e) {
			for (const tr of tracks) for (let i = lo; i <= hi; i++) this.flying.delete(`${tr}/${L}/${i}`);
			if (e instanceof DOMException && e.name === 'AbortError') return;
			this.failed = e instanceof Error ? e.message : String(e);
			for (const tr of tracks) for (let i = lo; i <= hi; i++) {
				const k = `${tr}/${L}/${i}`;
				this.asked.set(k, (this.asked.get(k) ?? 0) + 1);
			}
			this.news();
		}
	}

	private put(t: Tile): void {
		if (t.counter) this.tops.set(t.track, t.counter.max.reduce((a, b) => Math.max(a, b), this.top(t.track)));
		const tr = this.tracks.get(t.track);
		if (t.cells && tr && t.L < tr.base_level && !this.partial) this.floor.set(t.track, Math.min(t.L - 2, this.floor.get(t.track) ?? 54));
		const k = `${t.track}/${t.L}/${t.index}`;
		const old = this.tiles.get(k);
		this.stale.delete(k);
		if (old) this.bytes -= old.bytes;
		t.used = ++this.clock;
		this.tiles.set(k, t);
		this.bytes += t.bytes;
		if (this.bytes <= KEEP) return;
		const byAge = [...this.tiles.entries()].sort((a, b) => a[1].used - b[1].used);
		for (const [key, tile] of byAge) {
			if (this.bytes <= KEEP * 0.75) break;
			this.bytes -= tile.bytes;
			this.tiles.delete(key);
		}
	}

	/** The end of a live run moves: its last tiles are asked for again. */
	refresh(): void {
		for (const [k, t] of this.tiles) if (t.live) this.stale.add(k); // drawn until the new ones are here
		this.asked.clear();
		this.news();
	}

	retry(): void {
		this.asked.clear();
		this.failed = null;
		this.news();
	}

	busyLoading(): boolean {
		return this.flying.size > 0;
	}
}
