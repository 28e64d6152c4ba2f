// SPDX-License-Identifier: Apache-2.0
// The state of the page is in the address: #/run/ID/VIEW?t=1.5s..1.7s&r=5&sel=e:81. Back undoes a
// zoom. It is behind the #, so that it works from a file and never reaches a server's log.

import { moment, readMoment } from './fmt';

export type Range = [number, number];
export type State = {
	run: string | null;
	view: string;
	t: Range | null; // the range of all views; null: the whole run
	w: Range | null; // the window of the timeline
	ranks: number[] | null;
	classes: string[] | null;
	sel: string | null;
	q: string;
	d: Range | null; // how long what is looked for takes, ns
	fs: string | null; // findings in one state; null: what is left to do
	vs: string | null;
	th: string | null;
	job: string | null; // of a cluster; and what is seen of it: how far back, a moment to compare at, the map's measure and order
	since: number | null;
	at: number | null;
	m: string | null;
	by: string | null;
	tele: string | null; // telemetry under the timeline: off, on, or ids of series; null: the usual ones, if there are any
	rest: [string, string][]; // what other versions of the page put there is kept
};

const EMPTY: State = {
	run: null, view: 'overview', t: null, w: null, ranks: null, classes: null, sel: null, q: '', d: null, fs: null, vs: null, th: null, job: null, tele: null,
	since: null, at: null, m: null, by: null,
	rest: [],
};

function readRange(text: string): Range | null {
	const [a, b] = text.split('..').map(readMoment);
	return a !== null && a !== undefined && b !== null && b !== undefined && b > a ? [a, b] : null;
}

/** A whole number of seconds. */
function readCount(text: string): number | null {
	const n = Number(text);
	return Number.isSafeInteger(n) && n > 0 ? n : null;
}

export function parse(hash: string): State {
	const s: State = { ...EMPTY, rest: [] };
	const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
	const p = path.split('/').filter(Boolean).map(safeDecode);
	if (p[0] === 'run') {
		s.run = p[1] ?? null;
		s.view = p[2] === 'find' ? 'findings' : (p[2] ?? 'overview');
		if (p[2] === 'find' && p[3]) s.sel = `f:${p[3]}`;
	} else if (p[0]) {
		s.view = p[0];
	}
	for (const [k, v] of new URLSearchParams(query)) {
		if (k === 't') s.t = readRange(v);
		else if (k === 'w') s.w = readRange(v);
		else if (k === 'r') s.ranks = v.split(',').map(Number).filter(Number.isInteger);
		else if (k === 'c') s.classes = v.split(',').filter(Boolean);
		else if (k === 'sel') s.sel = v;
		else if (k === 'q') s.q = v;
		else if (k === 'd') s.d = readRange(v);
		else if (k === 'fs') s.fs = v;
		else if (k === 'vs') s.vs = v;
		else if (k === 'th') s.th = v;
		else if (k === 'job') s.job = v;
		else if (k === 'tele') s.tele = v;
		else if (k === 'since') s.since = readCount(v);
		else if (k === 'at') s.at = readCount(v);
		else if (k === 'm') s.m = v;
		else if (k === 'by') s.by = v;
		else s.rest.push([k, v]);
	}
	return s;
}

function safeDecode(s: string): string {
	try {
		return decodeURIComponent(s);
	} catch {
		return s;
	}
}

export function format(s: State): string {
	const path = s.run ? `#/run/${encodeURIComponent(s.run)}/${s.view}` : `#/${s.view}`;
	const q: string[] = [];
	const put = (k: string, v: string) => q.push(`${k}=${encodeURIComponent(v).replace(/%2C/g, ',').replace(/%3A/g, ':')}`);
	const range = (k: string, r: Range | null) => r && put(k, `${moment(r[0])}..${moment(r[1])}`);
	range('t', s.t);
	range('w', s.w);
	if (s.ranks?.length) put('r', s.ranks.join(','));
	if (s.classes) put('c', s.classes.join(','));
	if (s.sel) put('sel', s.sel);
	if (s.q) put('q', s.q);
	range('d', s.d);
	if (s.fs) put('fs', s.fs);
	if (s.vs) put('vs', s.vs);
	if (s.th) put('th', s.th);
	if (s.job) put('job', s.job);
	if (s.tele) put('tele', s.tele);
	if (s.since) put('since', String(s.since));
	if (s.at) put('at', String(s.at));
	if (s.m) put('m', s.m);
	if (s.by) put('by', s.by);
	for (const [k, v] of s.rest) put(k, v);
	return path + (q.length ? '?' + q.join('&') : '');
}

type Listener = (now: State, was: State) => void;
const listeners = new Set<Listener>();
export let state: State = parse(location.hash);

/** push: a step that Back undoes; without it the address follows in place. */
export function go(patch: Partial<State>, push = true): void {
	const was = state;
	state = { ...state, ...patch };
	const url = format(state);
	if (url !== format(was)) {
		if (push) history.pushState(null, '', url);
		else history.replaceState(null, '', url);
	}
	for (const fn of listeners) fn(state, was);
}

export function watch(fn: Listener): () => void {
	listeners.add(fn);
	return () => listeners.delete(fn);
}

window.addEventListener('popstate', () => {
	const was = state;
	state = parse(location.hash);
	for (const fn of listeners) fn(state, was);
});
