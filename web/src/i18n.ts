// SPDX-License-Identifier: Apache-2.0
// Every sentence of the page is a row of en.json, with named slots: {n}. A language is one more
// file. ?lang=xx-pseudo stretches and marks them, which shows texts that are not in the catalogue
// or do not fit.
import en from './en.json';

type Key = keyof typeof en;
const plural = new Intl.PluralRules('en');
const pseudo = new URLSearchParams(location.search).get('lang') === 'xx-pseudo';

/** A sentence. Where its row has "one | other", n chooses. */
export function t(key: Key, slots: Record<string, string | number> = {}): string {
	let text: string = en[key];
	const forms = text.split(' | ');
	if (forms.length === 2 && slots.n !== undefined)
		text = forms[plural.select(Number(String(slots.n).replace(/,/g, ''))) === 'one' ? 0 : 1] as string;
	if (pseudo) text = `[${text.replace(/[aeiou](?![^{]*\})/g, '$&$&')}]`;
	return text.replace(/\{(\w+)\}/g, (_, k: string) => String(slots[k] ?? ''));
}
/** The sentence of a key that comes from data, or the word itself. */
export function word(prefix: string, w: string): string {
	const key = `${prefix}.${w}`;
	return key in en ? t(key as Key) : w.replace(/_/g, ' ');
}
export type { Key };
