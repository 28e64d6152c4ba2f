// SPDX-License-Identifier: Apache-2.0
// What should I do, and why should I believe it? Each finding in the order seen, not, do, expect, check.
import { get, runPath, source, type Finding, type Findings, type Run, type Whatif } from '../api';
import { button, fill, h, name } from '../dom';
import * as fmt from '../fmt';
import { copy, say, toast } from '../frame';
import { t } from '../i18n';
import { go, state } from '../state';
import { empty, loader, type Shown, type View } from '../view';
import { seeFinding } from './overview';

/** Which change of the replay takes a finding's cost away (families of src/insight/find.tbl.h). */
const WHATIF: Record<string, Record<string, string>> = {
	launch_bound: { free_launch: '1' },
	cpu_bound: { free_host: '1' },
	host_sync: { no_sync: '1' },
	comm_exposed: { overlap_comm: '1' },
	copy_bound: { scale: 'copy=0' },
};
const CLASS_WORDS = ['gemm', 'convolution', 'attention', 'normalisation', 'elementwise', 'communication', 'copy', 'optimizer'];

function slider(run: Run): HTMLElement {
	const out = h('output', { class: 'num' }, '-');
	const what = h('select', { 'aria-label': t('whatif.what') }, CLASS_WORDS.map((w) => h('option', { value: w }, w)));
	const range = h('input', { type: 'range', min: 0, max: 100, step: 5, value: 50, 'aria-label': t('whatif.faster') });
	const label = h('span', { class: 'num' }, '50 %');
	let turn = 0;
	const ask = async () => {
		const mine = ++turn, x = Number(range.value) / 100;
		label.textContent = `${range.value} %`;
		await new Promise((ok) => setTimeout(ok, 200));
		if (mine !== turn) return;
		try {
			const w = await get<Whatif>(runPath(run.id, 'whatif'), { scale: `${what.value}=${(1 - x).toFixed(2)}`, t0: state.t?.[0], t1: state.t?.[1] });
			if (mine !== turn) return;
			out.textContent = answer(w);
			say(out.textContent);
		} catch (e) {
			if (mine === turn) out.textContent = e instanceof Error ? e.message : String(e);
		}
	};
	range.addEventListener('input', () => void ask());
	what.addEventListener('change', () => void ask());
	void ask();
	return h('div', { class: 'row' }, t('whatif.if'), what, t('whatif.took'), range, label, t('whatif.less'), h('strong', null, out));
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

function dossier(run: Run, f: Finding): HTMLElement {
	const row = (k: string, ...v: (Node | string | null)[]) => [h('dt', null, k), h('dd', null, v)];
	return h('article', { class: 'dossier', 'aria-label': f.title },
		h('h2', null, f.title),
		h('p', { class: 'dim' }, t('find.cost', { cost: fmt.time(f.cost_ns), per: f.per === 'step' ? t('find.step') : t('find.trace'), share: fmt.percent(f.share), sure: f.confidence }),
			f.rank !== null ? ` · ${t('rank', { n: f.rank })} · GPU ${f.device}` : ` · GPU ${f.device}`),
		h('div', { class: 'row' }, button(t('do.seetimeline'), () => seeFinding(f)),
			button(t('do.copyfix'), () => void copy(f.action).then((ok) => toast(ok ? t('share.done') : f.action)))),
		h('dl', null,
			row(t('find.seen'), ...f.seen.map((s) => h('p', null, s))),
			f.not ? row(t('find.not'), f.not) : [],
			row(t('find.do'), h('strong', null, f.action)),
			row(t('find.expect'), f.expect, fixed(run, f)),
			row(t('find.events'), ...f.events.map((e) => h('p', null,
				h('button', { type: 'button', class: 'bare', on: { click: () => go({ view: 'timeline', sel: `t:${e.start_ns}+${e.dur_ns}`, w: around(e) }) } }, fmt.time(e.start_ns)),
				' ', name(fmt.middle(e.name, 90)), ' ', h('span', { class: 'num' }, fmt.time(e.dur_ns)))))));
}

function around(e: { start_ns: number; dur_ns: number }): [number, number] {
	const d = Math.max(e.dur_ns * 6, 50000);
	return [Math.max(0, Math.round(e.start_ns - d)), Math.round(e.start_ns + e.dur_ns + d)];
}

function draw(host: HTMLElement, run: Run, r: Findings): void {
	const clear = r.checked.filter((c) => c.possible && !c.found), unable = r.checked.filter((c) => !c.possible);
	const foot = () => h('div', { class: 'block' },
		clear.length ? h('p', { class: 'note' }, t('find.clear', { list: clear.map((c) => `${words(c.family)} (${fmt.percent(c.share)})`).join(', ') })) : null,
		unable.length ? h('p', { class: 'note' }, t('find.unable', { list: unable.map((c) => words(c.family)).join(', ') })) : null,
		source.saved ? null : [h('h3', null, t('whatif.title')), h('p', { class: 'note' }, t('whatif.note')), slider(run)]);
	if (!r.findings.length) {
		if (!r.checked.some((c) => c.possible)) return empty(host, 'find.cannot', 'find.cannot.what', 'aon doctor');
		return fill(host, h('h2', null, t('find.none')), h('p', { class: 'note' }, t('find.none.what')), foot());
	}
	const id = state.sel?.startsWith('f:') ? Number(state.sel.slice(2)) : r.findings[0]!.id;
	const at = r.findings.find((f) => f.id === id) ?? r.findings[0]!;
	const max = Math.max(...r.findings.map((f) => f.cost_ns));
	fill(host, h('div', { class: 'find' },
		h('ol', { 'aria-label': t('view.findings') }, r.findings.map((f) => h('li', null, h('button', {
			type: 'button', 'aria-current': String(f.id === at.id), on: { click: () => { go({ sel: `f:${f.id}` }, false); } } },
			h('span', null, f.title), h('span', { class: 'cost' }, h('i', { style: { width: `${(f.cost_ns / max) * 55}%` } }),
				h('span', { class: 'num' }, fmt.time(f.cost_ns)), h('span', { class: 'dim' }, `${fmt.percent(f.share)} · ${f.confidence}`)))))),
		h('div', null, dossier(run, at), foot())));
}

function words(family: string): string {
	return family.replace(/_/g, ' ');
}

export const findings: View = {
	id: 'findings',
	title: 'view.findings',
	question: 'view.findings.q',
	open(host, run): Shown {
		let last: Findings | null = null;
		const load = loader(host, () => get<Findings>(runPath(run.id, 'findings'), { t0: state.t?.[0], t1: state.t?.[1] }), (r) => {
			last = r;
			draw(host, run, r);
		});
		const step = (by: number) => {
			const all = last?.findings ?? [];
			const i = Math.max(0, all.findIndex((f) => `f:${f.id}` === state.sel));
			const next = all[(i + by + all.length) % all.length];
			if (next) go({ sel: `f:${next.id}` }, false);
		};
		return {
			update: (now, was) => {
				if (now.t !== was.t) void load();
				else if (now.sel !== was.sel && last) draw(host, run, last);
			},
			keys: [
				{ key: 'N', does: 'key.nextfind', run: () => step(1) },
				{ key: 'P', does: 'key.prevfind', run: () => step(-1) },
			],
			text: () => (last?.findings ?? []).map((f) => [f.title, fmt.time(f.cost_ns), ...f.seen, f.action, f.expect].join('\n')).join('\n\n'),
		};
	},
};
