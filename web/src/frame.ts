// SPDX-License-Identifier: Apache-2.0
// Shared by all views: tabs, range and scope, legend, drawer, keys, palette, status.
import { get, runPath, source, type Overview, type Run } from './api';
import { CLASSES, readTheme } from './classes';
import { button, fill, h, name } from './dom';
import * as fmt from './fmt';
import { t } from './i18n';
import { commands, keysOff, setCommon, title, toggleKeys, type Command } from './keys';
import { format, go, state } from './state';
import type { View } from './view';

const bar = h('section', { class: 'bar', 'aria-label': t('frame.scope') });
const tabs = h('nav', { class: 'tabs', 'aria-label': t('frame.views') });
const drawerBody = h('aside', { class: 'drawer', 'aria-label': t('frame.details'), hidden: true });
const foot = h('footer', { class: 'foot' });
const live = h('div', { class: 'hidden', role: 'status', 'aria-live': 'polite' });
export const main = h('main', { id: 'main', tabindex: -1 });

let views: View[] = [];
let runs: Run[] = [];

export function build(all: View[]): void {
	views = all;
	const tools = h('div', { class: 'tools' },
		button(t('do.find'), () => palette('find'), { class: 'wide', title: '/' }),
		button(t('do.open'), openIn, { class: 'wide', 'aria-haspopup': 'dialog' }),
		button(t('do.share'), share, { title: 'C' }),
		button('◐', () => theme(), { class: 'bare', title: 'T', 'aria-label': t('key.theme') }),
		button('?', help, { class: 'bare', title: '?', 'aria-label': t('key.help') }));
	document.body.append(
		h('a', { class: 'skip', href: '#main', on: { click: (e) => { e.preventDefault(); main.focus(); } } }, t('frame.skip')),
		h('header', { class: 'top' }, h('a', { class: 'mark', href: '#/runs', 'aria-label': t('frame.home') }, 'aon'), tabs, tools),
		bar, h('div', { class: 'middle' }, main, drawerBody), foot, live);
	setCommon(commonKeys());
}

function commonKeys(): Command[] {
	return [
		...views.map((v, i): Command => ({ key: String(i + 1), does: 'key.view', slots: { view: t(v.title) }, run: () => show(v.id) })),
		{ key: '/', does: 'key.find', run: () => palette('find') },
		{ key: 'Ctrl+K', does: 'key.palette', run: () => palette('do') },
		{ key: 'V', does: 'key.compare', run: compare },
		{ key: 'Backspace', does: 'key.pop', run: () => go({ t: null }) },
		{ key: 'C', does: 'key.share', run: share },
		{ key: 'Shift+C', does: 'key.copy', run: () => copyText?.() },
		{ key: 'T', does: 'key.theme', run: () => theme() },
		{ key: '?', does: 'key.help', run: help },
		{ key: 'Escape', does: 'key.clear', run: () => { drawer(null); go({ sel: null }, false); } },
	];
}

let copyText: (() => void) | null = null;
export function onCopy(fn: (() => void) | null): void {
	copyText = fn;
}

export function show(view: string): void {
	go({ view, sel: null });
}

/** One polite line for who cannot see the picture. */
export function say(text: string): void {
	live.textContent = text;
}

export function toast(text: string): void {
	const el = h('div', { class: 'toast', role: 'status' }, text);
	document.body.append(el);
	setTimeout(() => el.remove(), 4000);
}

export function drawer(content: Node | null, heading = ''): void {
	drawerBody.hidden = !content;
	fill(drawerBody);
	if (content)
		fill(drawerBody, h('header', null, h('h2', null, heading),
			button('×', () => { drawer(null); go({ sel: null }, false); }, { class: 'bare', 'aria-label': t('do.close') })), content);
}

export function paintFrame(list: Run[], run: Run | null): void {
	runs = list;
	fill(tabs, run ? views.map((v, i) => h('a', {
		href: format({ ...state, view: v.id, sel: null }),
		'aria-current': v.id === state.view ? 'page' : null,
		title: t(v.question),
		on: { click: (e) => { e.preventDefault(); show(v.id); } },
	}, h('kbd', { 'aria-hidden': 'true' }, i + 1), t(v.title))) : null);
	tabs.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }); // on a phone not all are in sight
	document.body.classList.toggle('norun', !run);
	document.title = run ? `${t((views.find((v) => v.id === state.view) ?? views[0]!).title)} · ${run.name} · aon` : 'aon';
	paintBar(run);
}

function runLabel(r: Run): string {
	const cmd = r.cmd?.split('/').pop();
	const parts = [cmd && cmd !== r.name ? `${r.name} ${cmd}` : r.name];
	if (r.gpus) parts.push(t('run.gpus', { n: r.gpus }));
	if (r.host) parts.push(r.host);
	return parts.join(' · ');
}

function paintBar(run: Run | null): void {
	const sep = () => h('span', { class: 'sep', 'aria-hidden': 'true' }, '›');
	const crumbs = h('nav', { class: 'crumbs', 'aria-label': t('frame.range') });
	if (run) {
		crumbs.append(runs.length > 1 ? runChoice(run) : h('span', { translate: 'no' }, runLabel(run)), sep(),
			button(t('range.whole'), () => go({ t: null, ranks: null }), { 'aria-pressed': null }));
		if (state.t)
			crumbs.append(sep(), button(t('range.part', { from: fmt.time(state.t[0]), to: fmt.time(state.t[1]), long: fmt.time(state.t[1] - state.t[0]) }) + ' ×',
				() => go({ t: null }), { class: 'chip', title: t('range.drop') }));
		if (state.ranks?.length)
			crumbs.append(sep(), button(t('range.ranks', { list: state.ranks.join(', '), n: state.ranks.length }) + ' ×',
				() => go({ ranks: null }), { class: 'chip', title: t('range.drop') }));
		if (state.vs)
			crumbs.append(button(t('range.vs', { run: runs.find((r) => r.id === state.vs)?.name ?? state.vs }) + ' ×',
				() => go({ vs: null }), { class: 'chip', title: t('range.drop') }));
	}
	fill(bar, crumbs, run ? legend() : null);
}

function runChoice(run: Run): HTMLElement {
	const s = h('select', { 'aria-label': t('frame.run'), translate: 'no', on: {
		change: () => go({ run: s.value, t: null, w: null, ranks: null, sel: null }) } },
		runs.map((r) => h('option', { value: r.id, selected: r.id === run.id }, runLabel(r))));
	return s;
}

function legend(): HTMLElement {
	const on = (id: string) => !state.classes || state.classes.includes(id);
	const flip = (id: string) => {
		const all: string[] = CLASSES.map((c) => c.id);
		const now = (state.classes ?? all).filter((c) => c !== id);
		if (!on(id)) now.push(id);
		go({ classes: now.length === all.length ? null : all.filter((c) => now.includes(c)) });
	};
	return h('div', { class: 'legend', role: 'group', 'aria-label': t('frame.legend') },
		CLASSES.map((c) => h('button', { type: 'button', 'aria-pressed': String(on(c.id)), title: t(`class.${c.id}`), on: { click: () => flip(c.id) } },
			h('span', { class: 'swatch', style: { background: `var(--${c.id})` } }), h('span', null, t(`class.${c.id}`)))),
		h('button', { type: 'button', disabled: true, title: t('class.idle') }, h('span', { class: 'swatch idle' }), h('span', null, t('class.idle'))));
}

export function paintFoot(run: Run | null, cost: string | null, lastSeen: number): void {
	const at = run ? fmt.wall(run.t0) : null;
	const silent = source.live && run?.state === 'live' && lastSeen && Date.now() - lastSeen > 10000;
	fill(foot,
		cost ? h('span', { class: 'wide' }, cost) : null,
		run ? h('span', { class: run.lost ? 'warn' : '' }, t('foot.lost', { n: fmt.count(run.lost) })) : null,
		run ? h('span', null, t('foot.events', { n: fmt.count(run.events) })) : null,
		source.saved ? h('span', null, t('foot.saved')) : run?.state === 'live'
			? h('span', { class: silent ? 'warn' : 'live' }, silent ? t('foot.silent', { t: new Date(lastSeen).toLocaleTimeString() }) : t('foot.live'))
			: run ? h('span', null, t('foot.ended')) : null,
		at ? h('span', { class: 'wide' }, t('foot.from', { utc: at.toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC'), local: at.toLocaleTimeString() })) : null,
		keysOff() ? h('span', null, t('foot.keysoff')) : null);
}

export function theme(to?: 'dark' | 'light'): void {
	const sys = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
	const now = (document.documentElement.dataset.theme as 'dark' | 'light' | undefined) ?? sys;
	const next = to ?? (now === 'dark' ? 'light' : 'dark');
	go({ th: next === sys && !to ? null : next[0]! }, false);
	applyTheme();
}

export function applyTheme(): void {
	const sys = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
	document.documentElement.dataset.theme = state.th === 'l' ? 'light' : state.th === 'd' ? 'dark' : sys;
	readTheme();
	window.dispatchEvent(new Event('aon-theme'));
}

async function share(): Promise<void> {
	window.dispatchEvent(new Event('aon-share')); // a view whose address lags brings it up to date
	const ok = await copy(location.href);
	const local = /^(localhost|127\.|\[::1\])/.test(location.hostname);
	toast(!ok ? location.href : source.saved || !local ? t('share.done') : t('share.local'));
}

export async function copy(text: string): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return false; // not allowed here: the caller shows it instead
	}
}

export function dialog(label: string, ...content: (Node | null)[]): HTMLDialogElement {
	const d = h('dialog', { 'aria-label': label, on: { close: () => d.remove(), click: (e) => { if (e.target === d) d.close(); } } }, content);
	document.body.append(d);
	d.showModal();
	return d;
}

function shownKey(key: string): string {
	const arrow: Record<string, string> = { ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', Escape: 'Esc' };
	return arrow[key] ?? key;
}

function help(): void {
	const d = dialog(t('key.help'), h('h2', null, t('help.title')),
		h('div', { class: 'keys' }, commands().map((c) => h('div', null, h('kbd', null, shownKey(c.key)), h('span', null, title(c))))),
		h('p', { class: 'note' }, t('help.mouse')),
		h('div', { class: 'row' },
			button(keysOff() ? t('help.keyson') : t('help.keysoff'), () => { toggleKeys(); d.close(); }),
			button(t('do.close'), () => d.close(), { autofocus: true })));
}

export interface Found {
	text: string;
	note: string;
	go: () => void;
}
export type Finder = (q: string) => Promise<Found[]>;
let finder: Finder | null = null;
export function setFinder(f: Finder | null): void {
	finder = f;
}

/** One list for commands and for names; what is typed filters it. */
export function palette(mode: 'find' | 'do', given?: Found[], label?: string): void {
	const list = h('ul', { role: 'listbox', id: 'palette-list', 'aria-label': label ?? t('key.palette') });
	let rows: Found[] = [], at = 0, turn = 0;
	const base: Found[] = given ?? (mode === 'do' ? commands().map((c) => ({ text: title(c), note: c.key, go: c.run })) : []);
	const paint = () => {
		fill(list, rows.slice(0, 60).map((r, i) => h('li', {
			role: 'option', id: `palette-${i}`, 'aria-selected': String(i === at),
			on: { click: () => pick(i), mousemove: () => { if (at !== i) { at = i; paint(); } } },
		}, h('span', { translate: mode === 'find' ? 'no' : null, title: r.text }, r.text), h('span', { class: 'dim' }, r.note))),
			!rows.length && input.value ? h('li', { class: 'dim' }, t('find.none')) : null);
		input.setAttribute('aria-activedescendant', rows.length ? `palette-${at}` : '');
		list.children[at]?.scrollIntoView({ block: 'nearest' });
	};
	const pick = (i: number) => {
		const r = rows[i];
		d.close();
		r?.go();
	};
	const filter = async () => {
		const q = input.value.trim().toLowerCase(), mine = ++turn;
		rows = base.filter((r) => r.text.toLowerCase().includes(q));
		at = 0;
		paint();
		if (mode !== 'find' || given || !finder || !q) return;
		await new Promise((ok) => setTimeout(ok, 120));
		if (mine !== turn) return;
		const found = await finder(input.value.trim()).catch(() => []);
		if (mine !== turn) return;
		rows = found;
		paint();
	};
	const input = h('input', {
		type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list', autocomplete: 'off', spellcheck: 'false',
		placeholder: label ?? (mode === 'find' ? t('find.hint') : t('palette.hint')), 'aria-label': label ?? t('key.find'),
		on: {
			input: () => void filter(),
			keydown: (e) => {
				const n = Math.min(rows.length, 60);
				if (e.key === 'ArrowDown') at = Math.min(n - 1, at + 1);
				else if (e.key === 'ArrowUp') at = Math.max(0, at - 1);
				else if (e.key === 'Enter') return pick(at);
				else return;
				e.preventDefault();
				paint();
			},
		},
	});
	const d = dialog(label ?? t('key.palette'), input, list);
	d.classList.add('palette');
	input.focus();
	void filter();
}

function compare(): void {
	const others = runs.filter((r) => r.id !== state.run);
	if (!others.length) return toast(t('compare.none'));
	palette('do', others.map((r) => ({ text: runLabel(r), note: r.id, go: () => go({ vs: r.id }) })), t('compare.pick'));
}

/** Downloads, and the trace in Perfetto's own page: it is handed over in the browser, not uploaded. */
function openIn(): void {
	if (!state.run) return;
	if (source.saved) return toast(t('open.saved'));
	const file = (f: string) => `api/v1/${runPath(state.run!, 'download')}?format=${f}`;
	const d = dialog(t('do.open'), h('h2', null, t('do.open')),
		h('p', { class: 'note' }, t('open.what')),
		h('div', { class: 'row' },
			button(t('open.perfetto'), () => { d.close(); perfetto(file('perfetto')); }),
			...(['perfetto', 'kineto', 'pprof'] as const).map((f) => h('a', { href: file(f), download: '' }, t(`open.${f}.file`)))),
		h('p', { class: 'note' }, t('open.note')));
}

/** https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui: PING until PONG, then the bytes. */
function perfetto(url: string): void {
	const ui = 'https://ui.perfetto.dev';
	const win = window.open(ui);
	if (!win) return toast(t('open.blocked'));
	void (async () => {
		const r = await fetch(url);
		if (!r.ok) return toast(t('state.failed'));
		const buffer = await r.arrayBuffer();
		const ping = setInterval(() => win.postMessage('PING', ui), 100);
		const pong = (e: MessageEvent) => {
			if (e.origin !== ui || e.data !== 'PONG') return;
			clearInterval(ping);
			window.removeEventListener('message', pong);
			win.postMessage({ perfetto: { buffer, title: `aon ${state.run}`, keepApiOpen: false } }, ui);
		};
		window.addEventListener('message', pong);
		setTimeout(() => clearInterval(ping), 60000);
	})();
}

/** The step ribbon: where a span of time goes, in class colours. */
export function ribbon(parts: { id: string; share: number; label: string }[], small = false, pick?: (id: string) => void): HTMLElement {
	const label = parts.map((p) => `${p.label} ${fmt.percent(p.share)}`).join(', ');
	return h('div', { class: small ? 'ribbon small' : 'ribbon', role: pick ? 'group' : 'img', 'aria-label': label },
		parts.filter((p) => p.share > 0.0005).map((p) => h(pick ? 'button' : 'span', {
			class: p.id === 'idle' ? 'idle' : null, title: `${p.label} ${fmt.percent(p.share)}`, type: pick ? 'button' : null,
			'aria-label': pick ? `${p.label} ${fmt.percent(p.share)}` : null,
			style: { width: `${p.share * 100}%`, ...(p.id === 'idle' ? {} : { background: `var(--${p.id})` }) },
			on: pick ? { click: () => pick(p.id) } : {},
		})));
}

export function nameLink(text: string, to: () => void): HTMLElement {
	return h('button', { type: 'button', class: 'bare', on: { click: to } }, name(text));
}

/** What aond takes of the node; null: not known, or it has ended. */
export function ownCost(c: Overview['cost']): string | null {
	return fmt.known(c.core) && fmt.known(c.mb) ? t('cost.own', { core: fmt.percent(c.core), mb: fmt.rate(c.mb * 1e6, 'B') }) : null;
}

/** Too wide to be a figure: it may be nothing, and the range is more than a percent. */
export const costOpen = (c: Overview['cost']) => fmt.known(c.lo) && fmt.known(c.hi) && c.lo <= 0 && c.hi - c.lo > 1;

export async function fetchCost(run: string): Promise<string | null> {
	try {
		const c = (await get<Overview>(runPath(run, 'overview'))).cost;
		const slower = !fmt.known(c.pct) ? null
			: costOpen(c) ? t('foot.costopen', { lo: c.lo!.toFixed(0), hi: c.hi!.toFixed(0) })
			: fmt.known(c.lo) && fmt.known(c.hi) ? t('foot.cost', { pct: c.pct.toFixed(1), lo: c.lo.toFixed(1), hi: c.hi.toFixed(1) }) : t('foot.costonly', { pct: c.pct.toFixed(1) });
		const own = ownCost(c);
		return [slower, own ? t('foot.own', { own }) : null].filter((x) => x !== null).join(' · ') || null;
	} catch {
		return null;
	}
}
