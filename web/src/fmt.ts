// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Three digits are enough; an unknown value is a dash.

const UNITS: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

export function digits(x: number): string {
	const a = Math.abs(x);
	if (a === 0) return '0';
	if (a >= 100) return group(Math.round(x));
	if (a >= 10) return x.toFixed(1);
	return x.toFixed(2);
}

export function group(n: number): string {
	return n.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

export function known(x: number | null | undefined): x is number {
	return typeof x === 'number' && Number.isFinite(x);
}

/** 312 ms, 1.02 ms, 87.6 µs; minutes and hours above 100 s. */
export function time(ns: number | null | undefined): string {
	if (!known(ns)) return '-';
	const a = Math.abs(ns);
	if (a === 0) return '0';
	if (a >= 36e11) return `${digits(ns / 36e11)} h`;
	if (a >= 1e11) return `${digits(ns / 6e10)} min`;
	const [u, s] = UNITS.find(([v]) => a >= v) ?? [1, 'ns'];
	return s === 'ns' ? `${Math.round(ns)} ns` : `${digits(ns / u)} ${s}`;
}

/** One unit for a column of times. */
export function unitFor(ns: number): { div: number; unit: string } {
	const [div, unit] = UNITS.find(([v]) => Math.abs(ns) >= v) ?? [1, 'ns'];
	return { div, unit };
}

export function inUnit(ns: number | null | undefined, div: number): string {
	if (!known(ns)) return '-';
	const x = ns / div;
	if (x === 0) return '0';
	return Math.abs(x) < 0.01 ? '<0.01' : digits(x);
}

export function percent(share: number | null | undefined): string {
	if (!known(share)) return '-';
	const p = share * 100, a = Math.abs(p);
	if (a === 0) return '0 %';
	if (a < 0.1) return '<0.1 %';
	return `${a < 1 ? p.toFixed(1) : Math.round(p)} %`;
}

export function count(n: number | null | undefined): string {
	return known(n) ? group(n) : '-';
}

export function bytes(n: number | null | undefined): string {
	return known(n) ? si(n, 'B', 1024, ['', 'Ki', 'Mi', 'Gi', 'Ti']) : '-';
}

/** 19.5 TFLOPS, 2.04 TB/s: decimal, as data sheets have them. */
export function rate(n: number | null | undefined, unit: string): string {
	return known(n) ? si(n, unit, 1000, ['', 'k', 'M', 'G', 'T', 'P']) : '-';
}

function si(n: number, unit: string, base: number, prefixes: string[]): string {
	let i = 0;
	while (Math.abs(n) >= base && i < prefixes.length - 1) {
		n /= base;
		i++;
	}
	return `${i ? digits(n) : Math.round(n)} ${prefixes[i]}${unit}`;
}

/** A moment of the run in seconds, exact to the nanosecond, as it stands in links: 375.34s */
export function moment(ns: number): string {
	const s = Math.trunc(ns / 1e9), rest = Math.abs(Math.round(ns - s * 1e9));
	const frac = String(rest).padStart(9, '0').replace(/0+$/, '');
	return `${ns < 0 && s === 0 ? '-' : ''}${s}${frac ? '.' + frac : ''}s`;
}

export function readMoment(text: string): number | null {
	const m = /^(-?)(\d+)(?:\.(\d{1,9}))?s?$/.exec(text.trim());
	if (!m) return null;
	const ns = Number(m[2]) * 1e9 + Number((m[3] ?? '').padEnd(9, '0') || 0);
	return m[1] ? -ns : ns;
}

/** Wall time of the run's beginning. t0 is a string of decimal nanoseconds. */
export function wall(t0: string | null | undefined, ns = 0): Date | null {
	if (!t0 || !/^\d+$/.test(t0)) return null;
	const ms = Number(BigInt(t0) / 1000000n) + ns / 1e6;
	return ms > 1e12 * 0.5 ? new Date(ms) : null; // below: a clock of its own, not wall time
}

export function ago(ms: number): string {
	const s = Math.max(0, Math.round(ms / 1000));
	if (s < 90) return `${s} s`;
	if (s < 5400) return `${Math.round(s / 60)} min`;
	return s < 130000 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
}

/** A C++ kernel's name without its return type and arguments: what it is, for a label. */
export function short(name: string): string {
	if (/\(\d+\): /.test(name)) return name; // a Python function: file(line): name
	let s = name.replace(/^void /, '').replace(/\(anonymous namespace\)::/g, ''), depth = 0;
	for (let i = 0; i < s.length; i++) {
		if (s[i] === '<') depth++;
		else if (s[i] === '>') depth--;
		else if (s[i] === '(' && depth === 0 && i > 0 && s[i - 1] !== ' ') {
			s = s.slice(0, i);
			break;
		}
	}
	return s || name;
}

/** As much of a name as there is room for: without arguments, then without templates and namespaces. */
export function label(name: string, room: number): string {
	const s = short(name);
	if (s.length <= room) return s;
	const leaf = s.replace(/<.*$/, '').replace(/^.*(::|\): )/, '');
	return room < 5 && leaf.length > room ? '' : middle(leaf || s, room);
}

/** Long names keep both ends: what it is, and which variant. */
export function middle(text: string, max: number): string {
	if (text.length <= max) return text;
	const tail = Math.floor(max * 0.35);
	return `${text.slice(0, max - tail - 1)}…${text.slice(-tail)}`;
}
