// SPDX-License-Identifier: Apache-2.0
// What walks through the page share: to enter it, to go to a view, to wait until it is there.
import { readFileSync } from 'node:fs';
import { launch, require, tab } from './browser.mjs';

export const given = JSON.parse(process.env.AON_PAGE);
export const VIEWS = ['overview', 'timeline', 'flame', 'kernels', 'steps', 'findings', 'roofline'];
export const browser = await launch();
export const text = (page, sel) => page.locator(sel).first().innerText();

/** The view is there: it has content, and is loading no more. */
export async function settled(page) {
	await page.waitForFunction(() => {
		const v = document.querySelector('main .view');
		return v && v.children.length && !document.querySelector('main [aria-busy=true]') && !/Loading…|Looaadiing…/.test(v.textContent) && (v.dataset.view !== 'timeline' || v.dataset.painted || v.querySelector('.state'));
	});
}

export async function enter(options, query = '') {
	const t = await tab(browser, given.base, options);
	await t.page.goto(given.address);
	await t.page.waitForSelector('header.top');
	if (query) await t.page.goto(given.base + query);
	t.api = (path) => t.page.evaluate(async (p) => (await fetch(`api/v1/${p}`)).json(), path);
	t.go = async (hash) => {
		await t.page.evaluate((h) => { history.pushState(null, '', h); dispatchEvent(new PopStateEvent('popstate')); }, hash);
		await settled(t.page);
	};
	return t;
}

/** What axe-core finds that keeps somebody out; of the rows of a table, the first few. */
export async function audit(page, only) {
	await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
	const r = await page.evaluate((o) => globalThis.axe.run({ exclude: [['tbody tr:nth-child(n+6)'], ['.tl-gutter button:nth-child(n+12)']] }, { resultTypes: ['violations'], ...o }), only ? { runOnly: { type: 'rule', values: [only] } } : {});
	return r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id} (${v.impact}): ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.html.slice(0, 100)}`).join(' | ')}`);
}
