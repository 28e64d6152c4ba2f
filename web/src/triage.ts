// SPDX-License-Identifier: Apache-2.0
// Decisions of people about findings: new, known, accepted with a reason, fixed. The server keeps
// them.
import { get, post, runPath, source, type Finding, type Reply, type Run } from './api';
import { button, h } from './dom';
import * as fmt from './fmt';
import { dialog, toast } from './frame';
import { t } from './i18n';

export const STATES = ['new', 'known', 'accepted', 'fixed'] as const;
export type TriageState = (typeof STATES)[number];
export interface Decision {
	key: string;
	state: TriageState;
	note: string;
	user: string;
	at: number;
}
export type Decisions = Map<string, Decision>;

/** The same finding after a restart: its number is its place in a list, and moves. */
export const keyOf = (f: Finding) => `${f.family}:${f.rank ?? -1}:${f.device ?? -1}`;
export const stateOf = (ds: Decisions, f: Finding): TriageState => ds.get(keyOf(f))?.state ?? 'new';

type States = Reply & { states: Decision[] };
const asMap = (r: States): Decisions => new Map(r.states.map((d) => [d.key, d]));

export async function decisions(run: Run, signal?: AbortSignal): Promise<Decisions> {
	if (source.saved) return new Map();
	return get<States>(runPath(run.id, 'states'), {}, { fresh: true, ...(signal ? { signal } : {}) }).then(asMap, () => new Map());
}

async function decide(run: Run, f: Finding, state: TriageState, note: string, done: (ds: Decisions) => void): Promise<void> {
	try {
		done(asMap(await post<States>(runPath(run.id, 'states'), { key: keyOf(f), state, note })));
	} catch (e) {
		toast(e instanceof Error ? e.message : String(e));
	}
}

/** To accept is to say why: who looks next wants to know. */
function accept(run: Run, f: Finding, done: (ds: Decisions) => void): void {
	const why = h('input', { type: 'text', maxlength: 200, required: true, autofocus: true, 'aria-label': t('triage.why'), placeholder: t('triage.why') });
	const form = h('form', { method: 'dialog', class: 'row', on: { submit: (e) => {
		e.preventDefault();
		if (!why.value.trim()) return;
		d.close();
		void decide(run, f, 'accepted', why.value.trim(), done);
	} } }, why, h('button', { type: 'submit' }, t('triage.submit')), button(t('do.cancel'), () => d.close()));
	const d = dialog(t('triage.accept'), h('h2', null, t('triage.accept')), h('p', { class: 'note' }, f.title), form);
	why.focus();
}

/** What it is now, and what it can become. */
export function triage(run: Run, f: Finding, ds: Decisions, done: (ds: Decisions) => void): HTMLElement | null {
	if (source.saved) return null;
	const d = ds.get(keyOf(f)), now = d?.state ?? 'new';
	const one = (s: TriageState) => button(t(`triage.do.${s}`), () => (s === 'accepted' ? accept(run, f, done) : void decide(run, f, s, '', done)), { data: { state: s } });
	return h('div', { class: 'triage' }, h('div', { class: 'row' }, h('span', { class: `state-of ${now}` }, t(`triage.${now}`)), STATES.filter((s) => s !== now).map(one)),
		d ? h('p', { class: 'note' }, t('triage.by', { user: d.user, ago: fmt.ago(Date.now() - d.at * 1000) }), d.note ? `: ${d.note}` : '') : null);
}
