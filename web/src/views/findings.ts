// SPDX-License-Identifier: Apache-2.0
// What should I do, and why should I believe it? Each finding in the order seen, not, do, expect, check.
import { ApiError, get, runPath, source, type Finding, type Findings, type Run, type Whatif } from '../api';
import { button, fill, h, name } from '../dom';
import * as fmt from '../fmt';
import { copy, say, toast } from '../frame';
import { t } from '../i18n';
import { go, state } from '../state';
import { decisions, stateOf, STATES, triage, type Decisions } from '../triage';
import { empty, loader, type Shown, type View } from '../view';
import { seeFinding } from './overview';

/** Which change of the replay takes a finding's cost away (families of src/analysis/insight/find/find.tbl.h). */
const WHATIF: Record<string, Record<string, string>> = {
	launch_bound: { free_launch: '1' },
	host_code: { free_host: '1' },
	host_sync: { no_sync: '1' },
	comm_exposed: { overlap_comm: '1' },
	copy_bound: { scale: 'copy=0' },
};
/** What a slider can make faster: classes of GPU work, and what the host does between. */
const INPUT = 'DataLoader';
const FASTER = [INPUT, 'gemm', 'convolution', 'attention', 'normalisation', 'elementwise', 'communication', 'copy', 'optimizer'];
const FIRST: Record<string, string> = { input_bound: INPUT, comm_exposed: 'communication', straggler: 'communication', copy_bound: 'copy', small_kernels: 'elementwise' };

function slider(run: Run, f: Finding | null): HTMLElement {
	const out = h('output', { class: 'num', for: 'faster' }, '-');
	const first = FIRST[f?.family ?? ''] ?? 'gemm';
	const what = h('select', { 'aria-label': t('whatif.what'), translate: 'no' }, FASTER.map((w) => h('option', { value: w, selected: w === first }, w)));
	const range = h('input', { type: 'range', id: 'faster', min: 0, max: 100, step: 5, value: 50, 'aria-label': t('whatif.faster') });
	const label = h('span', { class: 'num' }, fmt.percent(0.5));
	let last: AbortController | null = null;
	const ask = async () => {
		const x = Number(range.value) / 100, pattern = `${what.value}=${(1 - x).toFixed(2)}`;
		last?.abort();
		const { signal } = (last = new AbortController());
		label.textContent = fmt.percent(x);
		out.className = 'num dim';
		await new Promise((ok) => setTimeout(ok, 200));
		if (signal.aborted) return;
		try {
			const w = await get<Whatif>(runPath(run.id, 'whatif'), { ...(what.value === INPUT ? { scale_host: pattern } : { scale: pattern }), t0: state.t?.[0], t1: state.t?.[1] }, { signal });
			out.textContent = answer(w);
			say(out.textContent);
		} catch (e) {
			if (signal.aborted) return;
			out.textContent = e instanceof ApiError && e.fault.status === 400 ? t('whatif.absent', { name: what.value }) : e instanceof Error ? e.message : String(e);
		}
		out.className = 'num';
	};
	range.addEventListener('input', () => void ask());
	what.addEventListener('change', () => void ask());
	void ask();
	return h('div', { class: 'row whatif' }, t('whatif.if'), what, t('whatif.took'), range, label, t('whatif.less'), h('strong', null, out));
}

function answer(w: Whatif): string {
	const n = Math.max(1, w.steps), d = w.measured_ns - w.predicted_ns;
	return t(w.steps ? 'whatif.answer' : 'whatif.answer.run', { now: fmt.time(w.measured_ns / n), then: fmt.time(w.predicted_ns / n), gain: fmt.percent(w.measured_ns ? d / w.measured_ns : 0) });
}

function fixed(run: Run, f: Finding): HTMLElement | null {
	const params = WHATIF[f.family];
	if (f.replay_ns) return h('p', null, t('find.replay', { then: fmt.time(f.replay_ns) }));
	if (!params || source.saved) return null;
	const out = h('p', { class: 'dim' }, t('state.loading'));
	get<Whatif>(runPath(run.id, 'whatif'), params).then((w) => { out.textContent = answer(w); out.className = ''; }, () => out.remove());
	return out;
}

function dossier(run: Run, f: Finding, ds: Decisions, decided: (ds: Decisions) => void): HTMLElement {
	const row = (k: string, ...v: (Node | string | null)[]) => [h('dt', null, k), h('dd', null, v)];
	return h('article', { class: 'dossier', 'aria-label': f.title },
		h('h2', null, f.title),
		h('p', { class: 'dim' }, t('find.cost', { cost: fmt.time(f.cost_ns), per: f.per === 'step' ? t('find.step') : t('find.trace'), share: fmt.percent(f.share), sure: f.confidence }),
			f.rank !== null ? ` · ${t('rank', { n: f.rank })}` : '', f.device !== null ? ` · ${t('find.gpu', { n: f.device })}` : ''),
		triage(run, f, ds, decided),
		h('div', { class: 'row' }, button(t('do.seetimeline'), () => seeFinding(f)),
			button(t('do.copyfix'), () => void copy(f.action).then((ok) => toast(ok ? t('share.done') : f.action)))),
		h('dl', null,
			row(t('find.seen'), ...f.seen.map((s) => h('p', null, s))),
			f.not ? row(t('find.not'), f.not) : [],
			row(t('find.do'), h('strong', null, f.action)),
			row(t('find.expect'), f.expect, fixed(run, f)),
			!f.events.length ? [] : row(t('find.events'), ...f.events.map((e) => h('p', null,
				h('button', { type: 'button', class: 'bare', on: { click: () => go({ view: 'timeline', sel: `t:${e.start_ns}+${e.dur_ns}`, w: around(e) }) } }, fmt.time(e.start_ns)),
				' ', name(fmt.middle(e.name, 90)), ' ', h('span', { class: 'num' }, fmt.time(e.dur_ns)))))));
}

function around(e: { start_ns: number; dur_ns: number }): [number, number] {
	const d = Math.max(e.dur_ns * 6, 50000);
	return [Math.max(0, Math.round(e.start_ns - d)), Math.round(e.start_ns + e.dur_ns + d)];
}

interface Told {
	r: Findings;
	ds: Decisions;
}

/** Of many findings, those in one state: what is left to do unless told. */
const shownIn = (f: Finding, ds: Decisions) => {
	const s = stateOf(ds, f);
	return state.fs === 'all' ? true : state.fs ? s === state.fs : s === 'new' || s === 'known';
};

function filter(told: Told): HTMLElement {
	const n = (is: (s: string) => boolean) => told.r.findings.filter((f) => is(stateOf(told.ds, f))).length;
	const one = (fs: string | null, label: string, count: number) => button(`${label} ${count}`, () => go({ fs, sel: null }, false), { 'aria-pressed': String(state.fs === fs), data: { fs: fs ?? 'open' } });
	return h('div', { class: 'row filter', role: 'group', 'aria-label': t('triage.filter') }, one(null, t('triage.open'), n((s) => s === 'new' || s === 'known')),
		STATES.filter((s) => s !== 'new' && s !== 'known').map((s) => one(s, t(`triage.${s}`), n((x) => x === s))), one('all', t('triage.all'), told.r.findings.length));
}

function list(told: Told, some: Finding[], at: Finding | null): HTMLElement {
	const max = Math.max(1, ...told.r.findings.map((f) => f.cost_ns));
	return h('ol', { 'aria-label': t('view.findings') }, some.map((f) => h('li', null, h('button', {
		type: 'button', 'aria-current': String(f.id === at?.id), on: { click: () => { go({ sel: `f:${f.id}` }, false); } } },
		h('span', null, f.title), h('span', { class: 'cost' }, h('i', { style: { width: `${(f.cost_ns / max) * 55}%` } }),
			h('span', { class: 'num' }, fmt.time(f.cost_ns)), h('span', { class: 'dim' }, `${fmt.percent(f.share)} · ${f.confidence}`)),
		source.saved ? null : h('span', { class: `state-of ${stateOf(told.ds, f)}` }, t(`triage.${stateOf(told.ds, f)}`))))));
}

function draw(host: HTMLElement, run: Run, told: Told, decided: (ds: Decisions) => void): void {
	const r = told.r;
	const clear = r.checked.filter((c) => c.possible && !c.found), unable = r.checked.filter((c) => !c.possible);
	const part = r.of_steps > r.recorded_steps ? h('p', { class: 'note recorded' }, t('find.recorded', { n: fmt.count(r.recorded_steps), all: fmt.count(r.of_steps) })) : null;
	const foot = (f: Finding | null) => h('div', { class: 'block' },
		source.saved ? null : [h('h2', null, t('whatif.title')), h('p', { class: 'note' }, t('whatif.note')), slider(run, f)],
		clear.length ? h('p', { class: 'note' }, t('find.clear', { list: clear.map((c) => `${words(c.family)} (${fmt.percent(c.share)})`).join(', ') })) : null,
		unable.length ? h('p', { class: 'note' }, t('find.unable', { list: unable.map((c) => words(c.family)).join(', ') })) : null);
	if (!r.findings.length) {
		if (!r.checked.some((c) => c.possible)) return empty(host, 'find.cannot', 'find.cannot.what', 'aon doctor');
		return fill(host, part, h('h2', null, t('find.none')), h('p', { class: 'note' }, t('find.none.what')), foot(null));
	}
	const some = r.findings.filter((f) => shownIn(f, told.ds));
	const id = state.sel?.startsWith('f:') ? Number(state.sel.slice(2)) : -1;
	const at = r.findings.find((f) => f.id === id) ?? some[0] ?? null;
	fill(host, part, source.saved ? null : filter(told), h('div', { class: 'find' }, some.length ? list(told, some, at) : h('p', { class: 'note' }, t('triage.none')),
		h('div', null, at ? dossier(run, at, told.ds, decided) : null, foot(at))));
}

function words(family: string): string {
	return family.replace(/_/g, ' ');
}

export const findings: View = {
	id: 'findings',
	title: 'view.findings',
	question: 'view.findings.q',
	open(host, run): Shown {
		let last: Told | null = null;
		const show = (told: Told) => {
			last = told;
			draw(host, run, told, (ds) => {
				show({ ...told, ds });
				(host.querySelector<HTMLElement>('.triage button') ?? host.querySelector<HTMLElement>('.filter button'))?.focus(); // the focus is not lost
			});
		};
		const load = loader(host, async (signal) => {
			const [r, ds] = await Promise.all([get<Findings>(runPath(run.id, 'findings'), { t0: state.t?.[0], t1: state.t?.[1] }, { signal }), decisions(run, signal)]);
			return { r, ds };
		}, show);
		const step = (by: number) => {
			const all = last?.r.findings.filter((f) => shownIn(f, last!.ds)) ?? [];
			const i = Math.max(0, all.findIndex((f) => `f:${f.id}` === state.sel));
			const next = all[(i + by + all.length) % all.length];
			if (next) go({ sel: `f:${next.id}` }, false);
		};
		return {
			update: (now, was) => {
				if (now.t !== was.t) void load();
				else if ((now.sel !== was.sel || now.fs !== was.fs) && last) show(last);
			},
			close: load.stop,
			keys: [
				{ key: 'N', does: 'key.nextfind', run: () => step(1) },
				{ key: 'P', does: 'key.prevfind', run: () => step(-1) },
			],
			text: () => (last?.r.findings ?? []).map((f) => [f.title, fmt.time(f.cost_ns), t(`triage.${stateOf(last!.ds, f)}`), ...f.seen, f.action, f.expect].join('\n')).join('\n\n'),
		};
	},
};
