// SPDX-License-Identifier: Apache-2.0
// What walks through the page share: to enter it, to go to a view, to wait until it is there.
import { launch, tab } from './browser.mjs';

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
