// SPDX-License-Identifier: Apache-2.0
// A view answers one question. It has four written states: empty, partial, live, failed.
import { ApiError, type Run } from './api';
import { button, fill, h } from './dom';
import { t, type Key } from './i18n';
import type { Command } from './keys';
import type { State } from './state';

export interface Shown {
	/** The state changed; the view redraws what depends on it. */
	update?(now: State, was: State): void;
	/** Over when it has drawn all that it opens with: what keeps the server busy is asked for then. */
	drawn?: Promise<void>;
	/** A live run has news. */
	tick?(): void;
	keys?: Command[];
	/** What is seen, as text to paste. */
	text?(): string;
	close?(): void;
}

export interface View {
	id: string;
	title: Key;
	question: Key;
	flush?: boolean; // fills the whole of main
	/** Which part of the API it needs; without it the tab is not there. */
	open(host: HTMLElement, run: Run, say: (text: string) => void): Shown;
}

/** Draws what `ask` brings, or why there is nothing. A refresh keeps the old picture until the new is there. */
export function loader<T>(host: HTMLElement, ask: () => Promise<T>, draw: (x: T) => void) {
	let turn = 0, had = false;
	const load = async () => {
		const mine = ++turn;
		const slow = setTimeout(() => {
			if (!had && mine === turn) fill(host, h('p', { class: 'state dim', role: 'status' }, t('state.loading')));
		}, 150);
		try {
			const x = await ask();
			if (mine !== turn) return;
			had = true;
			host.classList.remove('stale');
			draw(x);
		} catch (e) {
			if (mine !== turn) return;
			if (e instanceof DOMException && e.name === 'AbortError') return;
			if (had) host.classList.add('stale');
			else failed(host, e, load);
			if (!(e instanceof ApiError)) throw e;
		} finally {
			clearTimeout(slow);
		}
	};
	void load();
	return load;
}

export function failed(host: HTMLElement, e: unknown, again: () => void): void {
	const f = e instanceof ApiError ? e.fault : { message: String(e), hint: '', status: 0 };
	fill(host, h('div', { class: 'state', role: 'alert' },
		h('h2', null, f.status === 404 ? t('state.absent') : t('state.failed')),
		h('p', null, f.message, f.hint ? h('br') : null, f.hint),
		f.status === 404 ? null : button(t('do.retry'), again)));
}

/** Nothing to draw, why, and what to do about it. */
export function empty(host: HTMLElement, why: Key, what: Key, command?: string): void {
	fill(host, h('div', { class: 'state' }, h('h2', null, t(why)), h('p', null, t(what)),
		command ? h('code', { translate: 'no' }, command) : null));
}
