// SPDX-License-Identifier: Apache-2.0
// One table: a command is a key, a word for people and what it does. The help, the palette and the
// keyboard all come from it. W, A, S and D are places on the keyboard, so that AZERTY needs no setting.
import { t, type Key } from './i18n';

export interface Command {
	key: string; // as shown: 'W', 'Shift+J', 'Ctrl+K', '1'
	does: Key;
	run: () => void;
	slots?: Record<string, string | number>;
	held?: boolean; // repeats while the key is down
}

let common: Command[] = [];
let ofView: Command[] = [];
let off = localStorage.getItem('aon.keys') === 'off'; // WCAG 2.1.4: single keys can be turned off

export function setCommon(c: Command[]): void {
	common = c;
}
export function setView(c: Command[]): void {
	ofView = c;
}
export function commands(): Command[] {
	return [...ofView, ...common];
}
export function keysOff(): boolean {
	return off;
}
export function toggleKeys(): void {
	off = !off;
	localStorage.setItem('aon.keys', off ? 'off' : 'on');
}

function shown(e: KeyboardEvent): string {
	const mod = (e.ctrlKey || e.metaKey ? 'Ctrl+' : '') + (e.altKey ? 'Alt+' : '');
	if (/^Key[WASD]$/.test(e.code)) return mod + (e.shiftKey ? 'Shift+' : '') + e.code.slice(3);
	const key = e.key.length === 1 ? e.key.toUpperCase() : e.key;
	const letter = /^[A-Z]$/.test(key) || e.key.length > 1;
	return mod + (e.shiftKey && letter ? 'Shift+' : '') + key;
}

function typing(target: EventTarget | null): boolean {
	const el = target as HTMLElement | null;
	return !!el && (/^(INPUT|SELECT|TEXTAREA)$/.test(el.tagName) || el.isContentEditable);
}

window.addEventListener('keydown', (e) => {
	const k = shown(e);
	const single = !/Ctrl|Alt/.test(k) && k !== 'Escape';
	if (document.querySelector('dialog[open]')) return;
	if (typing(e.target) && !/Ctrl/.test(k)) {
		if (k === 'Escape') (e.target as HTMLElement).blur();
		return;
	}
	if (off && single && k !== '?') return;
	// Enter and space belong to what has the focus.
	if ((k === 'Enter' || k === ' ') && (e.target as HTMLElement | null)?.closest('button, a, [role="row"]')) return;
	const c = commands().find((x) => x.key === k || (k === '=' && x.key === '+'));
	if (!c || (e.repeat && !c.held)) return;
	e.preventDefault();
	c.run();
});

/** What a command is called, for the help and the palette. */
export function title(c: Command): string {
	return t(c.does, c.slots ?? {});
}
