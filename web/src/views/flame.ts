// SPDX-License-Identifier: Apache-2.0
// Which code launched this GPU work, and where were threads? Frames are grey; the leaf is a kernel and
// has its class's colour. Of sampled threads the leaf is a state, and each frame has the colour of the state that
// it was in most.
import { get, runPath, type Flame, type Run } from '../api';
import { classOf as kernelClass, colour, forced, texture, type ClassId } from '../classes';
import { button, canvas, fill, h } from '../dom';
import * as fmt from '../fmt';
import { drawer, say } from '../frame';
import { t } from '../i18n';
import { ink, words } from '../ink';
import { font } from '../plot';
import { go, state, watch } from '../state';
import { table } from '../table';
import { empty, loader, type Shown, type View } from '../view';

/** States of threads have the colours of classes; their words stand on them. */
const STATES: Record<string, ClassId> = { running: 'matmul', runnable: 'copy', throttled: 'copy', gil: 'optimizer', lock: 'attention', io: 'comm', 'page fault': 'comm', sleep: 'other', wait: 'pointwise', syscall: 'other' };
const classOf = (word: string): ClassId => STATES[word] ?? kernelClass(word);
const GAPS = ['no', 'any', 'input', 'sync', 'host', 'launch', 'dependency', 'other'] as const;
const PARTS = ['all', 'data', 'forward', 'backward', 'optimizer', 'collective', 'checkpoint', 'rest', 'outside'] as const;

interface Node {
	name: string;
	self: number;
	total: number;
	was: number; // of the run compared with
	cls: string | null;
	hue: string | null; // of threads: the state of most of its time
	kids: Node[];
	up: Node | null;
	depth: number;
}

/** A tree, heaviest first; a second run is laid over the first by name. */
function tree(f: Flame, old: Flame | null): Node {
	const root: Node = { name: t('flame.all'), self: 0, total: 0, was: 0, cls: null, hue: null, kids: [], up: null, depth: 0 };
	const lay = (fl: Flame, second: boolean) => {
		const made: Node[] = [];
		for (const [nm, parent, self, total, cls] of fl.nodes) {
			const up = parent < 0 ? root : (made[parent] ?? root);
			const name = fl.names[nm] ?? '?';
			let n = up.kids.find((k) => k.name === name);
			if (!n) {
				n = { name, self: 0, total: 0, was: 0, cls: cls >= 0 ? (fl.classes?.[cls] ?? 'other') : null, hue: null, kids: [], up, depth: up.depth + 1 };
				up.kids.push(n);
			}
			if (second) n.was += total;
			else {
				n.self += self;
				n.total += total;
			}
			if (parent < 0) {
				if (second) root.was += total;
				else root.total += total;
			}
			made.push(n);
		}
	};
	lay(f, false);
	if (old) lay(old, true);
	// Two runs are compared by shares of their own total: their lengths need not be the same.
	if (old && root.was) {
		const k = root.total / root.was;
		const scale = (n: Node) => { n.was *= k; n.kids.forEach(scale); };
		scale(root);
	}
	const width = (n: Node) => (old ? Math.max(n.total, n.was) : n.total);
	const sort = (n: Node) => { n.kids.sort((a, b) => width(b) - width(a)); n.kids.forEach(sort); };
	sort(root);
	return root;
}

function tint(n: Node): Record<string, number> {
	const sums: Record<string, number> = n.cls ? { [n.cls]: Math.max(n.total, n.was) } : {};
	for (const k of n.kids) for (const [state, v] of Object.entries(tint(k))) sums[state] = (sums[state] ?? 0) + v;
	n.hue = Object.entries(sums).sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
	return sums;
}

interface Placed {
	n: Node;
	x: number;
	y: number;
	w: number;
}
const ROW = 19;

function place(root: Node, focus: Node, width: number, diff: boolean): Placed[] {
	const out: Placed[] = [];
	const size = (n: Node) => (diff ? Math.max(n.total, n.was) : n.total);
	const ups: Node[] = [];
	for (let u = focus.up; u; u = u.up) ups.unshift(u);
	ups.forEach((u, i) => out.push({ n: u, x: 0, y: i * ROW, w: width }));
	const walk = (n: Node, x: number, w: number, depth: number) => {
		if (w < 0.5) return;
		out.push({ n, x, y: depth * ROW, w });
		const sum = Math.max(size(n), n.kids.reduce((s, k) => s + size(k), 0), 1);
		let at = x;
		for (const k of n.kids) {
			const kw = (size(k) / sum) * w;
			walk(k, at, kw, depth + 1);
			at += kw;
		}
	};
	walk(focus, 0, width, ups.length);
	void root;
	return out;
}

function flat(root: Node): Node[] {
	const out: Node[] = [];
	const walk = (n: Node) => { out.push(n); n.kids.forEach(walk); };
	root.kids.forEach(walk);
	return out;
}

function path(n: Node): string {
	return n.up?.up ? `${path(n.up)} › ${n.name}` : n.name;
}

function details(n: Node, root: Node, unit: (v: number) => string, diff: boolean, threads: boolean): void {
	const f = (k: string, v: string) => [h('dt', null, k), h('dd', null, v)];
	drawer(h('div', null, h('div', { class: 'full', translate: 'no' }, n.name),
		h('dl', { class: 'facts' }, f(t('flame.total'), unit(n.total)), f(t('col.share'), fmt.percent(n.total / Math.max(1, root.total))), f(t('flame.self'), unit(n.self)),
			n.cls || n.hue ? f(t(threads ? 'flame.state' : 'col.class'), n.cls ?? n.hue ?? '') : [], diff ? f(t('flame.was'), unit(n.was)) : [], diff ? f(t('col.delta'), (n.total >= n.was ? '+' : '−') + unit(Math.abs(n.total - n.was))) : []),
		h('section', null, h('h2', { class: 'dim' }, t('flame.path')), h('div', { class: 'full', translate: 'no' }, path(n))),
		n.cls && !threads ? h('section', { class: 'row' }, button(t('kernels.events'), () => go({ view: 'timeline', q: n.name, sel: null }))) : null), t('flame.frame'));
	say(t('flame.said', { name: n.name, total: unit(n.total), share: fmt.percent(n.total / Math.max(1, root.total)) }));
}

export const flame: View = {
	id: 'flame',
	title: 'view.flame',
	question: 'view.flame.q',
	open(host, run: Run): Shown {
		let weight = 'gpu', focus: Node | null = null, root: Node | null = null, at: Node | null = null, diff = false, against = false, placed: Placed[] = [];
		let rows: () => string = () => '';
		const unit = (v: number) => (weight === 'gpu' || weight === 'time' ? fmt.time(v) : weight === 'bytes' ? fmt.bytes(v) : fmt.count(v));
		const plot = h('div'), states = h('div', { class: 'row dim' }), note = h('span', { class: 'dim' }), twin = h('div', { class: 'block' });
		const pickWeight = h('select', { 'aria-label': t('flame.weight'), on: { change: () => { weight = pickWeight.value; focus = null; void load(); } } },
			(['gpu', 'launches', 'time', 'samples'] as const).map((w) => h('option', { value: w }, t(`flame.weight.${w}`))));
		const threads = () => weight === 'time' || weight === 'samples';
		const pickGap = h('select', { 'aria-label': t('flame.gap'), on: { change: () => void load() } }, GAPS.map((g) => h('option', { value: g }, t(`flame.gap.${g}`))));
		const pickPart = h('select', { 'aria-label': t('flame.part'), on: { change: () => void load() } }, PARTS.map((p) => h('option', { value: p }, t(`flame.part.${p}`))));
		const ofThreads = h('span', { class: 'row', hidden: true }, h('label', null, t('flame.gap'), pickGap), h('label', null, t('flame.part'), pickPart));
		const search = h('input', { type: 'search', placeholder: t('flame.search'), 'aria-label': t('flame.search'), value: state.q, on: { input: () => go({ q: search.value }, false) } });
		const out = button(t('flame.out'), () => { focus = focus?.up ?? root; c.redraw(); }, { title: 'Backspace' });
		const c = canvas((g, w) => {
			if (!root) return;
			placed = place(root, focus ?? root, w, diff);
			const height = Math.max(...placed.map((p) => p.y), 0) + ROW + 1;
			if (Math.abs(c.el.clientHeight - height) > 1) {
				c.el.style.height = `${height}px`;
				return c.redraw();
			}
			font(g, 12, true);
			g.textBaseline = 'middle';
			const q = state.q.toLowerCase();
			for (const p of placed) paintNode(g, p, q);
			out.disabled = !focus || focus === root;
		}, { class: 'flame', role: 'img', tabindex: 0, 'aria-label': t('flame.alt') });
		const paintNode = (g: CanvasRenderingContext2D, p: Placed, q: string) => {
			const hitQ = !q || p.n.name.toLowerCase().includes(q);
			const d = p.n.total - p.n.was;
			g.globalAlpha = hitQ ? 1 : 0.3;
			const hue = diff ? null : p.n.cls ?? p.n.hue;
			g.fillStyle = hue ? texture(g, classOf(hue)) : colour('raised');
			g.fillRect(p.x, p.y, Math.max(0.5, p.w - 1), ROW - 1);
			if (forced) {
				g.strokeStyle = colour('line');
				g.strokeRect(p.x + 0.5, p.y + 0.5, Math.max(0.5, p.w - 1), ROW - 1);
			}
			if (diff && p.n !== root) {
				const k = Math.min(1, Math.abs(d) / Math.max(1, Math.max(p.n.total, p.n.was)));
				g.globalAlpha = (hitQ ? 1 : 0.3) * k;
				g.fillStyle = colour(d > 0 ? 'more' : 'less');
				g.fillRect(p.x, p.y, Math.max(0.5, p.w - 1), ROW - 1);
			}
			g.globalAlpha = hitQ ? 1 : 0.4;
			if (p.n === at) {
				g.strokeStyle = colour('mark');
				g.lineWidth = 2;
				g.strokeRect(p.x + 1, p.y + 1, Math.max(1, p.w - 3), ROW - 3);
			}
			if (p.w > 28) {
				const sign = diff && Math.abs(d) > 0.01 * (root?.total ?? 1) ? (d > 0 ? '+' : '−') + unit(Math.abs(d)) + ' ' : '';
				const room = Math.floor((p.w - 8) / 7.3);
				if (room > 1) words(g, sign + fmt.label(p.n.name, room - sign.length), p.x + 4, p.y + ROW / 2, p.w - 8, hue ? ink(classOf(hue)) : colour('text'));
			}
			g.globalAlpha = 1;
		};
		const hit = (e: MouseEvent) => placed.find((p) => e.offsetX >= p.x && e.offsetX < p.x + p.w && e.offsetY >= p.y && e.offsetY < p.y + ROW)?.n;
		c.el.addEventListener('mousemove', (e) => {
			const n = hit(e);
			c.el.title = n ? `${n.name}\n${unit(n.total)} · ${fmt.percent(n.total / Math.max(1, root?.total ?? 1))}` : '';
		});
		const choose = (n: Node) => {
			at = n;
			details(n, root!, unit, diff, threads());
			c.redraw();
		};
		c.el.addEventListener('click', (e) => {
			const n = hit(e);
			if (!n) return;
			focus = n === focus ? (n.up ?? n) : n;
			choose(n);
		});
		const walk = (dx: number, dy: number) => {
			if (!root) return;
			let n = at ?? root;
			if (dy > 0) n = n.kids[0] ?? n;
			if (dy < 0) n = n.up ?? n;
			if (dx && n.up) n = n.up.kids[n.up.kids.indexOf(n) + dx] ?? n;
			choose(n);
		};
		const rest = button(t('flame.rest'), () => { against = !against; rest.setAttribute('aria-pressed', String(against)); void load(); }, { 'aria-pressed': 'false' });
		const ask = async (signal: AbortSignal) => {
			rest.hidden = !state.t;
			if (!state.t) against = false;
			ofThreads.hidden = !threads();
			const what = threads() ? 'stacks' : 'flame', of = threads() ? { weight, gap: pickGap.value, part: pickPart.value } : { weight };
			const p = { ...of, t0: state.t?.[0], t1: state.t?.[1], ranks: state.ranks?.join(',') };
			const [f, old] = await Promise.all([get<Flame>(runPath(run.id, what), p, { signal }), state.vs ? get<Flame>(runPath(state.vs, what), of, { signal }) : against ? get<Flame>(runPath(run.id, what), of, { signal }) : null]);
			return { f, old };
		};
		fill(host, h('div', { class: 'controls' }, h('label', null, t('flame.weight'), pickWeight), ofThreads, search, out, rest, note), states, plot, twin);
		const load = loader(plot, ask, ({ f, old }) => {
			if (!f.nodes.length) return threads() ? empty(plot, 'flame.nosamples', 'flame.nosamples.what', 'aon ps') : empty(plot, 'flame.empty', 'flame.empty.what', 'aon doctor');
			diff = !!old;
			root = tree(f, old);
			// The legend of classes above is of kernels: states have their own.
			const seen = threads() && !old ? Object.entries(tint(root)).sort((a, b) => b[1] - a[1]) : [];
			fill(states, seen.map(([state, v]) => h('span', null, h('span', { class: 'swatch', style: { background: `var(--${classOf(state)})` } }), ` ${state} ${fmt.percent(v / Math.max(1, root!.total))}`)));
			focus = null;
			at = null;
			const deep = flat(root).some((n) => n.depth > 2);
			note.textContent = [threads() ? t(f.enough ? 'flame.sampled' : 'flame.few', { n: fmt.count(f.samples ?? 0) }) : deep ? '' : t('flame.nostacks'), threads() && !old ? t('flame.hue') : '', f.folded.n ? t('flame.folded', { n: fmt.count(f.folded.n), total: unit(f.folded.total) }) : '', old ? t('flame.diff') : ''].filter(Boolean).join(' ');
			fill(plot, c.el);
			c.redraw();
			const tb = table<Node>({ label: t('view.flame'), rows: flat(root).sort((a, b) => b.self - a.self).slice(0, 200), sort: 'self', columns: [
				{ id: 'name', head: 'flame.frame', left: true, grow: true, sort: (n) => n.name, cell: (n) => h('bdi', { class: 'name', translate: 'no', title: path(n) }, n.up?.up ? h('span', { class: 'dim' }, path(n.up), ' › ') : null, n.cls ? fmt.short(n.name) : n.name) },
				{ id: 'self', head: 'flame.self', sort: (n) => n.self, cell: (n) => unit(n.self) },
				{ id: 'total', head: 'flame.total', sort: (n) => n.total, cell: (n) => unit(n.total) },
				{ id: 'share', head: 'col.share', sort: (n) => n.total, cell: (n) => fmt.percent(n.total / Math.max(1, root!.total)) }],
				pick: (n) => { focus = n; choose(n); } });
			rows = tb.text;
			fill(twin, tb.el);
		});
		window.addEventListener('aon-theme', c.redraw);
		const off = watch((now, was) => { if (now.q !== was.q) { if (document.activeElement !== search) search.value = now.q; c.redraw(); } });
		return {
			update: (now, was) => { if (now.t !== was.t || now.ranks !== was.ranks || now.vs !== was.vs) void load(); },
			text: () => rows(),
			keys: [
				{ key: 'ArrowDown', does: 'key.child', held: true, run: () => walk(0, 1) },
				{ key: 'ArrowUp', does: 'key.parent', held: true, run: () => walk(0, -1) },
				{ key: 'ArrowRight', does: 'key.next', held: true, run: () => walk(1, 0) },
				{ key: 'ArrowLeft', does: 'key.prev', held: true, run: () => walk(-1, 0) },
				{ key: 'Enter', does: 'key.focus', run: () => { if (at) { focus = at; c.redraw(); } } },
				{ key: 'Backspace', does: 'key.out', run: () => { focus = focus?.up ?? root; c.redraw(); } },
				{ key: '0', does: 'key.whole', run: () => { focus = root; c.redraw(); } },
			],
			close: () => { off(); load.stop(); },
		};
	},
};
