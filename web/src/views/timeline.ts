// SPDX-License-Identifier: Apache-2.0
// What happened when, and what waited for what? src/timeline draws it; here it answers keys, mouse and touch.
import { get, runPath, search, source, type EventInfo, type Overview, type Reply, type Run, type Selected, type Steps } from '../api';
import { button, fill, h } from '../dom';
import * as fmt from '../fmt';
import { drawer, say, setFinder, toast } from '../frame';
import { t } from '../i18n';
import type { Command } from '../keys';
import { go, state, type Range, type State } from '../state';
import { TelemetryPlot } from '../timeline/telemetry';
import { areaPanel, eventPanel } from '../timeline/panel';
import { steer, type Steered } from '../timeline/pointer';
import { Stage } from '../timeline/stage';
import type { Track } from '../timeline/store';
import { before, recolour } from '../timeline/tile';
import { twinRows, twinTable, type TwinRow } from '../timeline/twin';
import { empty, failed, type Shown, type View } from '../view';

const SOON = 200, LONG = 2000; // ms
const later = (ms: number) => new Promise((ok) => setTimeout(ok, ms));

class Timeline extends Stage implements Shown, Steered {
	private selInfo: EventInfo | null = null;
	private trail: string[] = [];
	private twinShown = false;
	private readonly tools = h('div', { class: 'tl-bar' });
	private readonly twin = h('div', { class: 'twin hidden', tabindex: -1 });
	readonly telemetry = new TelemetryPlot(this.run, { window: () => this.win, gutter: () => this.gutter(), pointer: () => this.hover?.x ?? null });
	keys: Command[] = [];

	constructor(host: HTMLElement, run: Run) {
		super(host, run);
		this.keys = this.commands();
		void this.open();
	}

	private async open(): Promise<void> {
		fill(this.host, h('p', { class: 'state dim', role: 'status' }, t('timeline.loading')));
		try {
			await Promise.all([this.loadTracks(), this.store.loadNames()]);
			while (!this.closed && this.store.partial && !this.tracks.length) {
				await later(SOON / 2);
				await this.loadTracks();
			}
			if (this.closed) return;
			await this.store.loadSaved();
		} catch (e) {
			this.begun();
			return failed(this.host, e, () => void this.open());
		}
		if (!this.tracks.some((x) => x.n)) {
			this.begun();
			return empty(this.host, 'timeline.empty', 'timeline.empty.what', 'aon doctor');
		}
		document.documentElement.style.setProperty('--gutter', `${this.gutter()}px`);
		fill(this.host, h('div', { class: 'tl' }, this.tools, this.strip.el, h('div', { class: 'tl-body' }, this.body.el, this.scroller), this.telemetry.el, this.twin));
		this.paintTools();
		this.listen();
		recolour(state.classes);
		this.place();
		void this.readOn().then(() => later(LONG)).then(this.begun); // or there was nothing to draw
		void this.drawn.then(() => Promise.all([this.loadSteps(), this.loadSlow(), this.loadTelemetry()]));
		if (state.q) void this.loadHits();
		await this.readSelection(state.sel);
		setFinder((q) => this.find(q));
	}

	private async loadTracks(): Promise<void> {
		const r = await get<Reply & { tracks: Track[]; read?: number; to_read?: number }>(runPath(this.run.id, 'tracks'), { soon: 1 }, { fresh: true });
		this.store.partial = r.partial;
		this.progress = (r.read ?? 0) / Math.max(1, r.to_read ?? 1);
		this.setTracks(r.tracks);
	}

	/** While the server reads the run, what it has by now; no question before the last one is answered. */
	private async readOn(): Promise<void> {
		while (this.store.partial && !this.closed) {
			this.annotate();
			await later(SOON);
			if (this.store.busyLoading() && !this.store.failed) continue;
			await this.renew().catch(() => later(LONG));
		}
		if (!this.closed) this.draw();
	}

	private async renew(): Promise<void> {
		const n = this.tracks.length;
		await this.loadTracks();
		if (this.closed) return;
		if (this.tracks.length !== n) this.place();
		this.store.refresh();
	}

	private async loadSteps(): Promise<void> {
		try {
			const r = await get<Steps>(runPath(this.run.id, 'steps'), { limit: 5000 });
			this.stepsOf.clear();
			for (const s of [...r.steps].sort((a, b) => a.start_ns - b.start_ns)) {
				const list = this.stepsOf.get(s.rank);
				if (list) list.push(s);
				else this.stepsOf.set(s.rank, [s]);
			}
			this.steps = [...this.stepsOf.values()][0] ?? [];
			// Opens at a typical step, not at everything.
			if (!this.placed && !state.w && !state.t && this.steps.length > 2 && !state.sel) {
				const by = [...this.steps].sort((a, b) => a.dur_ns - b.dur_ns), s = by[by.length >> 1]!;
				this.jump([Math.max(0, s.start_ns - s.dur_ns * 0.1), s.start_ns + s.dur_ns * 1.1], false);
			}
		} catch { /* a run without steps has a strip without bars */ }
		this.placed = true;
		this.draw();
	}

	private async loadTelemetry(): Promise<void> {
		await this.telemetry.look();
		if (!this.closed) this.paintTools();
	}

	override draw(): void {
		super.draw();
		this.telemetry?.picture.redraw(); // not yet there while the stage is made
	}

	/** Of many ranks, those that a finding names are not folded. */
	private async loadSlow(): Promise<void> {
		if (new Set(this.tracks.map((x) => x.rank)).size <= 3) return;
		const o = await get<Overview>(runPath(this.run.id, 'overview')).catch(() => null);
		if (!o || this.closed) return;
		const flagged = o.ranks.filter((r) => r.flag).map((r) => r.rank), named = o.findings.map((f) => f.rank);
		this.slow = [...flagged, ...named].filter((r): r is number => r !== null).slice(0, 3);
		this.place();
	}

	private paintTools(): void {
		fill(this.tools,
			button('−', () => this.zoom(1.6), { title: 'S', 'aria-label': t('key.zoomout') }), button('+', () => this.zoom(1 / 1.6), { title: 'W', 'aria-label': t('key.zoomin') }),
			button(t('timeline.whole'), () => this.jump([0, this.end()]), { title: '0' }),
			button('[', () => this.step(-1), { title: '[', 'aria-label': t('key.prevstep') }), button(']', () => this.step(1), { title: ']', 'aria-label': t('key.nextstep') }),
			state.q ? button(t('timeline.search', { q: fmt.middle(state.q, 40) }) + ' ×', () => go({ q: '', d: null }), { 'aria-pressed': 'true' }) : null,
			state.q && state.d ? button(t('kernels.within', { lo: fmt.time(state.d[0]), hi: fmt.time(state.d[1]) }) + ' ×', () => go({ d: null }), { 'aria-pressed': 'true' }) : null,
			state.q && this.hits.length ? h('span', { class: 'dim hits' }, t(this.moreHits ? 'timeline.hitsmore' : 'timeline.hits', { n: fmt.count(this.hits.length) })) : null,
			this.folds.only ? button(t('timeline.only') + ' ×', () => { this.folds.only = null; this.paintTools(); this.place(); }, { 'aria-pressed': 'true' }) : null,
			h('span', { class: 'grow' }), this.note,
			button(t('tele.title'), () => this.toggleTelemetry(), { title: 'G', 'aria-pressed': String(this.telemetry.open()) }),
			button(t('timeline.table'), () => this.toggleTwin(), { title: 'Alt+T', 'aria-pressed': String(this.twinShown) }));
	}

	// ---- choosing

	private async readSelection(sel: string | null): Promise<void> {
		if (!sel) {
			this.sel = null;
			this.selInfo = null;
			this.flows = [];
			return this.draw();
		}
		const span = /^t:(\d+)\+(\d+)$/.exec(sel), ev = /^e:(.+)$/.exec(sel), area = /^a:(\d+)\+(\d+)$/.exec(sel);
		if (span) this.sel = { track: null, start: Number(span[1]), dur: Number(span[2]) };
		else if (area) void this.chooseArea([Number(area[1]), Number(area[1]) + Number(area[2])]);
		else if (ev && String(this.selInfo?.id) !== ev[1]) await this.choose(ev[1]!, !state.w);
		this.draw();
	}

	private async choose(id: string, fit = false): Promise<void> {
		try {
			const e = source.saved ? this.fromTile(id) : await get<EventInfo>(runPath(this.run.id, `event/${encodeURIComponent(id)}`));
			if (!e) return;
			this.selInfo = e;
			this.sel = { track: e.track, start: e.start, dur: e.dur };
			this.area = null;
			this.reveal(e.track);
			if (fit) this.move([e.start - Math.max(e.dur, 1000) * 4, e.start + Math.max(e.dur, 1000) * 5]);
			const tr = this.store.tracks.get(e.track);
			drawer(eventPanel(e, tr, button(t('timeline.fit'), () => this.fit(), { title: 'F' }), button(t('timeline.cause'), () => this.cause(), { title: 'J' }),
				button(t('timeline.others'), () => this.others(), { title: 'O' }), button(t('timeline.same'), () => go({ q: e.name, d: null }), { title: '. ,' })), t('timeline.event'));
			say(t('timeline.said', { name: e.short || fmt.short(e.name), track: tr?.label ?? '', long: fmt.time(e.dur) }));
			this.draw();
			void this.loadFlows(id);
		} catch (x) {
			toast(x instanceof Error ? x.message : String(x));
		}
	}

	/** Of a saved page: what the tile that was clicked says of the event. */
	private fromTile(id: string): EventInfo | null {
		const x = this.hover && this.hit(this.hover.x, this.hover.y);
		if (!x || 'merged' in x || String(x.id) !== id) return null;
		const n = this.store.names.get(x.name);
		return { v: 1, asof: 0, lost: 0, partial: true, id, track: x.track.id, name: n?.name ?? '?', class: n?.class ?? null, start: x.start, dur: x.dur };
	}

	private reveal(track: number): void {
		let r = this.rows.find((x) => x.track?.id === track);
		if (!r && this.folds.alike) {
			this.folds.alike = false;
			this.place();
			r = this.rows.find((x) => x.track?.id === track);
		}
		if (!r) return;
		this.current = r.key;
		const view = this.scroller.clientHeight, y = this.scroller.scrollTop;
		if (r.y < y || r.y + r.h > y + view) this.scroller.scrollTop = r.y - view / 2;
	}

	private async loadFlows(id: string): Promise<void> {
		type F = Reply & { flows: { from: { id: string | number; track: number; start: number; dur: number }; to: { id: string | number; track: number; start: number; dur: number } }[] };
		try {
			const r = await get<F>(runPath(this.run.id, 'flows'), { event: id });
			if (String(this.selInfo?.id) !== id) return;
			this.flows = r.flows.map((f) => ({ from: { track: f.from.track, t: f.from.start + f.from.dur / 2 }, to: { track: f.to.track, t: f.to.start } }));
			this.trail = r.flows.filter((f) => String(f.to.id) === id).map((f) => String(f.from.id));
			this.draw();
		} catch { /* what has no cause on record has no arrow */ }
	}

	private async chooseArea(a: Range): Promise<void> {
		this.area = a;
		this.sel = null;
		this.selInfo = null;
		this.draw();
		const tracks = this.rows.filter((r) => r.track && (r.track.kind === 'stream' || r.track.kind === 'thread')).map((r) => r.track!.id).slice(0, 64);
		const body = h('div');
		drawer(body, t('timeline.area', { long: fmt.time(a[1] - a[0]) }));
		try {
			const s = await get<Selected>(runPath(this.run.id, 'select'), { t0: Math.max(0, Math.round(a[0])), t1: Math.round(a[1]), tracks: tracks.join(',') });
			if (this.area !== a) return;
			fill(body, areaPanel(s, button(t('timeline.fit'), () => this.fit(), { title: 'F' }), button(t('timeline.torange'), () => this.toRange(), { title: 'R' })));
			say(t('timeline.areasaid', { long: fmt.time(a[1] - a[0]), n: fmt.count(s.n) }));
		} catch (e) {
			failed(body, e, () => void this.chooseArea(a));
		}
	}

	private toRange(): void {
		const r = this.area ?? (this.sel ? ([this.sel.start, this.sel.start + this.sel.dur] as Range) : this.win);
		go({ t: [Math.max(0, Math.round(r[0])), Math.round(r[1])] });
	}

	private cause(): void {
		const up = this.trail[0];
		if (up) go({ sel: `e:${up}` });
		else toast(t('timeline.nocause'));
	}

	/** The same moment on the same kind of track of every rank. */
	private others(): void {
		const tr = this.sel?.track !== null && this.sel ? this.store.tracks.get(this.sel.track) : this.rows.find((r) => r.key === this.current)?.track;
		if (!tr) return;
		this.folds.only = (x) => x.kind === tr.kind && (x.kind === 'stream' || x.kind === 'thread' ? x.label === tr.label || x.kind !== 'thread' : true);
		this.paintTools();
		this.place();
	}

	private moreHits = false;
	private looking: AbortController | null = null;

	/** Where what is searched for begins: marked on the axis, however far out the window is. */
	private async loadHits(): Promise<void> {
		this.looking?.abort();
		this.looking = null;
		this.hits = [];
		this.paintTools();
		if (!state.q || source.saved) return;
		const { signal } = (this.looking = new AbortController());
		try {
			const r = await search(this.run.id, state.q, 2000, { signal, long: state.d });
			this.hits = r.results.map((x) => x.start ?? -1).sort((a, b) => a - b);
			this.moreHits = r.more;
		} catch { /* then nothing is marked; what is in view is dimmed all the same */ }
		if (signal.aborted || this.closed) return;
		this.paintTools();
		this.draw();
	}

	/** The next event of the same name on the same track, asked of the tiles that are here, then of the server. */
	private async same(by: number): Promise<void> {
		const e = this.selInfo;
		if (!e) return;
		const r = await search(this.run.id, e.name, by > 0 ? 8 : 2000, { long: state.d, ...(by > 0 ? { t0: e.start + 1 } : {}) });
		const list = r.results.filter((x) => x.start !== undefined).sort((a, b) => a.start! - b.start!);
		const next = by > 0 ? list.find((x) => x.start! > e.start) : [...list].reverse().find((x) => x.start! < e.start);
		if (!next) return toast(t('find.none'));
		go({ sel: `e:${next.id}` });
		const long = this.target[1] - this.target[0];
		if (next.start! < this.target[0] || next.start! > this.target[1]) this.move([next.start! - long / 2, next.start! + long / 2]);
	}

	private async find(q: string): Promise<{ text: string; note: string; go: () => void }[]> {
		const n = /^(?:step\s*)?#?(\d+)$/i.exec(q), out: { text: string; note: string; go: () => void }[] = [];
		const step = n && this.steps.find((s) => s.step === Number(n[1]));
		if (step) out.push({ text: t('overview.stepno', { n: fmt.count(step.step) }), note: fmt.time(step.dur_ns), go: () => this.jump([step.start_ns, step.start_ns + step.dur_ns]) });
		for (const r of this.rows.filter((x) => x.label.toLowerCase().includes(q.toLowerCase())).slice(0, 8))
			out.push({ text: r.label, note: t('timeline.track'), go: () => { this.current = r.key; this.scroller.scrollTop = r.y; this.place(); } });
		out.push({ text: t('timeline.highlight', { q }), note: '', go: () => go({ q }) });
		const r = await search(this.run.id, q, 40, { fresh: true });
		for (const x of r.results)
			out.push({ text: x.name, note: x.start !== undefined ? fmt.time(x.start) : '', go: () => go({ q, sel: x.start !== undefined ? `e:${x.id}` : state.sel, w: x.start !== undefined ? null : state.w }) });
		return out;
	}

	// ---- keys, mouse, touch

	private commands(): Command[] {
		const c = (key: string, does: Command['does'], run: () => void, held = false): Command => ({ key, does, run, held });
		return [
			c('W', 'key.zoomin', () => this.zoom(1 / 1.35), true), c('S', 'key.zoomout', () => this.zoom(1.35), true), c('+', 'key.zoomin', () => this.zoom(1 / 1.35), true), c('-', 'key.zoomout', () => this.zoom(1.35), true),
			c('A', 'key.panleft', () => this.pan(-0.15), true), c('D', 'key.panright', () => this.pan(0.15), true),
			c('F', 'key.fit', () => this.fit()), c('0', 'key.whole', () => this.jump([0, this.end()])),
			c('ArrowRight', 'key.next', () => this.neighbour(1), true), c('ArrowLeft', 'key.prev', () => this.neighbour(-1), true),
			c('ArrowDown', 'key.down', () => this.row(1), true), c('ArrowUp', 'key.up', () => this.row(-1), true), c('Enter', 'key.enter', () => this.fit()),
			c('.', 'key.nextsame', () => void this.same(1)), c(',', 'key.prevsame', () => void this.same(-1)),
			c('[', 'key.prevstep', () => this.step(-1), true), c(']', 'key.nextstep', () => this.step(1), true),
			c('J', 'key.cause', () => this.cause()), c('Shift+J', 'key.back', () => history.back()),
			c('M', 'key.mark', () => { this.marks.push(this.hover ? this.time(this.hover.x) : (this.win[0] + this.win[1]) / 2); this.draw(); }),
			c('Shift+M', 'key.unmark', () => { this.marks = []; this.draw(); }),
			c('R', 'key.range', () => this.toRange()), c('X', 'key.fold', () => { const r = this.rows.find((x) => x.key === this.current); if (r) this.fold(r); }),
			c('I', 'key.pin', () => this.pin()), c('O', 'key.others', () => this.others()), c('Alt+T', 'key.table', () => this.toggleTwin()), c('G', 'key.tele', () => this.toggleTelemetry()),
		];
	}

	private pin(): void {
		const tr = this.rows.find((x) => x.key === this.current)?.track;
		if (!tr) return;
		if (!this.folds.pinned.delete(tr.id)) this.folds.pinned.add(tr.id);
		this.place();
	}

	private row(by: number): void {
		const i = this.rows.findIndex((r) => r.key === this.current), r = this.rows[Math.max(0, Math.min(this.rows.length - 1, i + by))];
		if (!r) return;
		this.current = r.key;
		const view = this.scroller.clientHeight;
		if (r.y < this.scroller.scrollTop || r.y + r.h > this.scroller.scrollTop + view) this.scroller.scrollTop = r.y - view / 2;
		this.place();
		say(r.label);
	}

	/** The event before or after the chosen one on its track; at first the first one in view. */
	private neighbour(by: number): void {
		const r = this.rows.find((x) => x.key === this.current && x.track) ?? this.rows.find((x) => x.track?.kind === 'stream') ?? this.rows.find((x) => x.track);
		if (!r?.track) return;
		this.current = r.key;
		const from = this.sel?.track === r.track.id ? this.sel.start : by > 0 ? this.target[0] - 1 : this.target[1];
		const tile = this.tileAt(r.track, Math.max(0, from)), e = tile?.exact;
		if (!e) {
			this.zoom(0.5);
			return say(t('timeline.closer'));
		}
		let i = before(e, from);
		i = by > 0 ? i + 1 : i - (e.start[i] === from ? 1 : 0);
		if (i < 0 || i >= e.n) {
			const at = by > 0 ? tile!.t0 + 2 ** (tile!.L + 9) : tile!.t0 - 1;
			return this.move([at - (this.win[1] - this.win[0]) / 2, at + (this.win[1] - this.win[0]) / 2]);
		}
		if (e.start[i]! < this.win[0] || e.start[i]! > this.win[1]) this.move([e.start[i]! - (this.win[1] - this.win[0]) / 2, e.start[i]! + (this.win[1] - this.win[0]) / 2]);
		go({ sel: `e:${e.id[i]}` }, false);
	}

	// ---- what the pointer asks for (pointer.ts)

	private listen(): void {
		steer(this.body.el, this);
		steer(this.telemetry.picture.el, this.below());
		this.scroller.addEventListener('scroll', () => this.draw());
		const strip = (e: PointerEvent) => {
			if (!(e.buttons & 1)) return;
			const mid = (e.offsetX / this.strip.el.clientWidth) * this.end(), half = (this.target[1] - this.target[0]) / 2;
			this.move([mid - half, mid + half]);
		};
		this.strip.el.addEventListener('pointerdown', strip);
		this.strip.el.addEventListener('pointermove', strip);
		window.addEventListener('aon-theme', this.themed);
		window.addEventListener('resize', this.resized);
		window.addEventListener('aon-share', this.saved);
	}

	/** What the pointer does on the telemetry: the same in time, and nothing of tracks. */
	private below(): Steered {
		const nothing = () => {}, now = () => this.target;
		return {
			get target() { return now(); }, gutter: () => this.gutter(), time: (x) => this.time(x), snap: (x) => this.time(x), point: (at) => this.point(at && { x: at.x, y: -1e6 }), tip: (x) => this.telemetry.tip(x),
			click: nothing, fitAt: nothing, show: (r) => this.show(r), jump: (r) => this.jump(r), select: (r, done) => this.select(r, done), zoom: (k, at) => this.zoom(k, at), pan: (k) => this.pan(k),
			scroll: (px) => this.telemetry.scroll(px),
		};
	}

	private toggleTelemetry(): void {
		this.telemetry.toggle();
		this.paintTools();
	}

	point(at: { x: number; y: number } | null): void {
		this.hover = at;
		this.draw();
	}

	show(r: Range): void {
		this.target = this.win = r;
		this.draw();
	}

	scroll(px: number): void {
		this.scroller.scrollTop += px;
		this.draw();
	}

	select(r: Range, done: boolean): void {
		this.area = r;
		if (done) go({ sel: `a:${Math.max(0, Math.round(r[0]))}+${Math.round(r[1] - r[0])}` });
		this.draw();
	}

	fitAt(x: number, y: number): void {
		const hit = this.hit(x, y);
		if (hit) this.jump([hit.start - hit.dur * 0.05, hit.start + hit.dur * 1.05]);
	}

	private themed = () => {
		recolour(state.classes);
		this.draw();
	};
	private saved = () => this.saveWindow();
	private resized = () => {
		document.documentElement.style.setProperty('--gutter', `${this.gutter()}px`);
		this.place();
	};

	tip(x: number, y: number): void {
		const hit = this.hit(x, y), n = hit ? this.store.names.get(hit.name) : null;
		this.body.el.title = !hit ? '' : 'merged' in hit ? t('timeline.merged', { n: fmt.count(hit.n), name: n?.name ?? '?', long: fmt.time(hit.dur) }) : `${n?.name ?? '?'}\n${fmt.time(hit.dur)}`;
	}

	click(x: number, y: number): void {
		const hit = this.hit(x, y), r = this.rowAt(y);
		if (r) {
			this.current = r.key;
			this.place();
		}
		this.area = null;
		if (!hit) return go({ sel: null }, false);
		if ('merged' in hit) return this.jump([hit.start - hit.dur * 24, hit.start + hit.dur * 25]);
		go({ sel: `e:${hit.id}` }, false);
	}

	// ---- the table that says the same

	private toggleTwin(): void {
		this.twinShown = !this.twinShown;
		this.twin.classList.toggle('hidden', !this.twinShown);
		this.paintTools();
		this.paintTwin();
		if (this.twinShown) this.twin.focus();
	}

	private twinRows: TwinRow[] = [];

	protected settled(): void {
		this.telemetry.settle();
		this.paintTwin();
	}

	private paintTwin(): void {
		const mid = Math.max(0, (this.win[0] + this.win[1]) / 2), seen = this.visible(this.body.el.clientHeight).map((r) => r.track!);
		this.twinRows = twinRows(this.store, seen, this.win[0], this.win[1], (tr) => this.tileAt(tr, mid), (tr) => this.busyOf(tr));
		fill(this.twin, twinTable(this.twinRows, (id) => go({ sel: `e:${id}` }, false)), this.telemetry.twin());
	}

	// ---- of the frame

	update(now: State, was: State): void {
		if (now.classes !== was.classes) recolour(now.classes);
		if (now.q !== was.q || now.d !== was.d) void this.loadHits();
		if (now.ranks !== was.ranks) this.place();
		this.telemetry.update(was.tele);
		if (now.w && now.w !== was.w && (Math.abs(now.w[0] - this.target[0]) > 1 || Math.abs(now.w[1] - this.target[1]) > 1) && Date.now() - this.save > 50) {
			this.target = now.w;
		}
		if (now.t !== was.t && now.t) this.move(now.t);
		if (now.sel !== was.sel) {
			if (!now.sel) this.area = null;
			void this.readSelection(now.sel);
		}
		this.draw();
	}

	tick(): void {
		void (async () => {
			if (this.store.partial) return; // readOn() is at it
			if (await this.renew().then(() => !this.closed, () => false)) void Promise.all([this.loadSteps(), this.telemetry.look()]);
		})();
	}

	text(): string {
		return this.twinRows.map((r) => [r.track, r.name, r.cls, r.start ?? '', r.ns].join('\t')).join('\n');
	}

	close(): void {
		this.closed = true;
		this.telemetry.close();
		this.looking?.abort();
		clearTimeout(this.late);
		window.removeEventListener('aon-theme', this.themed);
		window.removeEventListener('resize', this.resized);
		window.removeEventListener('aon-share', this.saved);
		setFinder(null);
	}
}

export const timeline: View = {
	id: 'timeline',
	title: 'view.timeline',
	question: 'view.timeline.q',
	flush: true,
	open: (host, run) => {
		const tl = new Timeline(host, run);
		(window as unknown as { aonTimeline?: Timeline }).aonTimeline = tl; // for the browser tests and the benchmark
		return tl;
	},
};
