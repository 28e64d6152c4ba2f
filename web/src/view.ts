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

export interface Load {
	/** quiet: of a live run; does not disturb a question that is under way. */
	(quiet?: boolean): Promise<void>;
	/** The view is left: what it still waits for is of no use. */
	stop(): void;
}

const SLOW = 150, LONG = 4000; // ms until it is said that it loads, and that it takes long

/** Draws what `ask` brings, or why there is nothing. A refresh keeps the old picture until the new is there. */
export function loader<T>(host: HTMLElement, ask: (signal: AbortSignal) => Promise<T>, draw: (x: T) => void): Load {
	let had = false, busy = false, last: AbortController | null = null;
	const load = async (quiet = false) => {
		if (quiet && busy) return;
		last?.abort(); // a newer question: the older one's answer is not wanted
		const mine = (last = new AbortController());
		const say = (long: boolean) => {
			if (mine !== last || mine.signal.aborted) return;
			if (had) return void (quiet || host.classList.add('stale'));
			fill(host, h('div', { class: 'state dim', role: 'status' }, h('p', null, t('state.loading'), long ? ` ${t('state.long')}` : ''),
				long ? button(t('do.cancel'), () => { mine.abort(); fill(host, h('div', { class: 'state' }, h('p', null, t('state.cancelled')), button(t('do.retry'), () => void load()))); }) : null));
		};
		const slow = setTimeout(say, SLOW, false), long = setTimeout(say, LONG, true);
		busy = true;
		if (!quiet) host.setAttribute('aria-busy', 'true');
		try {
			const x = await ask(mine.signal);
			if (mine.signal.aborted) return;
			had = true;
			host.classList.remove('stale');
			draw(x);
		} catch (e) {
			if (mine.signal.aborted || (e instanceof DOMException && e.name === 'AbortError')) return;
			if (had) host.classList.add('stale');
			else failed(host, e, () => void load());
			if (!(e instanceof ApiError)) throw e;
		} finally {
			if (mine === last) {
				busy = false;
				host.removeAttribute('aria-busy');
			}
			clearTimeout(slow);
			clearTimeout(long);
		}
	};
	void load();
	return Object.assign(load, { stop: () => last?.abort() });
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
