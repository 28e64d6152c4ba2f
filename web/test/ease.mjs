// SPDX-License-Identifier: Apache-2.0
// The page for who uses it otherwise: by ear and keyboard, in few colours, in another language, on a
// phone, beside a slow server, together with Perfetto's page. Run by tests/scenario/web/web_ease.py.
import { done, ok } from './browser.mjs';
import { audit, browser, enter, given, settled, text, VIEWS } from './walk.mjs';

const { base, run, job } = given;

async function heard() {
	const t = await enter({ bypassCSP: true, reducedMotion: 'reduce' }); // the audit is a script of the test's own
	for (const v of VIEWS) {
		await t.go(`#/run/${v === 'steps' ? job : run}/${v}`);
		const bad = await audit(t.page);
		ok(bad.length === 0, `${v}: nothing in it keeps anybody out`, bad.join('\n'));
	}
	await t.go(`#/run/${run}/kernels`);
	await t.page.locator('main tbody tr[data-i="0"]').click();
	await t.page.waitForSelector('.drawer:not([hidden]) canvas');
	ok((await audit(t.page)).length === 0, 'nor in the drawer', (await audit(t.page)).join('\n'));
	await t.page.keyboard.press('?');
	await t.page.waitForSelector('dialog[open]');
	ok((await audit(t.page)).length === 0, 'nor in the list of keys', (await audit(t.page)).join('\n'));
	await t.page.keyboard.press('Escape');
	await t.page.evaluate(() => { location.hash = '#/runs'; dispatchEvent(new PopStateEvent('popstate')); });
	await t.page.waitForSelector('main h1');
	ok((await audit(t.page)).length === 0, 'nor in the list of runs', (await audit(t.page)).join('\n'));
	await t.close();
	const light = await enter({ bypassCSP: true, colorScheme: 'light' });
	for (const v of ['overview', 'findings']) {
		await light.go(`#/run/${run}/${v}`);
		const bad = await audit(light.page, 'color-contrast');
		ok(bad.length === 0, `${v} is read in light, too`, bad.join('\n'));
	}
	await light.close();
}

/** Tab goes through everything in the order of the page, and is always seen. */
async function tabbed() {
	const t = await enter();
	await t.go(`#/run/${run}/overview`);
	await t.page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
	const seen = [];
	for (let i = 0; i < 30; i++) {
		await t.page.keyboard.press('Tab');
		seen.push(await t.page.evaluate((n) => {
			const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);
			e.dataset.tab ??= String(n);
			const all = [...document.querySelectorAll('*')];
			return { what: `${e.tagName} ${e.textContent.slice(0, 30)}`, at: all.indexOf(e), body: e === document.body, shown: r.width > 0 && r.height > 0, ring: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2, skip: e.classList.contains('skip') };
		}, i));
	}
	ok(seen[0].skip, 'the first Tab offers to skip the frame', seen[0]);
	const first = seen.findIndex((x) => x.body);
	const order = (first < 0 ? seen : seen.slice(0, first)).map((x) => x.at);
	ok(order.length > 10 && order.every((x, i) => !i || x > order[i - 1]), 'Tab goes in the order of the page', seen.map((x) => x.what).join('\n'));
	ok(seen.every((x) => x.body || (x.shown && x.ring)), 'and one sees where it is', seen.filter((x) => !x.body && !(x.shown && x.ring)).map((x) => x.what).join('\n'));
	await t.close();
}

/** By keys alone, in a dozen of them, from the overview to the step of the rank that lags. */
async function slowRank() {
	const t = await enter();
	await t.go(`#/run/${job}/overview`);
	const slow = (await t.api(`run/${job}/heat`)).slowest[0].rank;
	await t.page.keyboard.press('5');
	await settled(t.page);
	await t.page.locator('main').focus();
	for (const key of ['Tab', 'Tab', 'Enter']) await t.page.keyboard.press(key); // the measure, then who lags
	await t.page.waitForFunction(() => /[?&]r=/.test(location.hash));
	ok(new RegExp(`[?&]r=${slow}\\b`).test(await t.page.evaluate(() => location.hash)), 'four keys lead to the rank that lags', await t.page.evaluate(() => location.hash));
	await t.close();
}

/** Every sentence is of the catalogue: in the made-up language all are in brackets, and fit. */
async function translated(width, name) {
	const t = await enter({ viewport: { width, height: 800 } }, '?lang=xx-pseudo');
	const replies = [];
	t.page.on('response', (r) => { if (r.url().includes('/api/v1/') && /json/.test(r.headers()['content-type'] ?? '')) replies.push(r.text().catch(() => '')); });
	await t.page.reload();
	const plain = [], cut = [];
	for (const v of VIEWS) {
		await t.go(`#/run/${v === 'steps' ? job : run}/${v}`);
		const [words, clipped] = await t.page.evaluate(() => {
			const out = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			for (let n = walk.nextNode(); n; n = walk.nextNode()) {
				const p = n.parentElement, s = n.data.trim();
				if (!p || p.closest('[translate=no], bdi, kbd, code, script, style, option, .mark') || !/\p{L}{3}/u.test(s) || s.includes('[')) continue;
				if (p.closest(':not(body)')?.offsetParent !== null) out.push(s);
			}
			const small = [...document.querySelectorAll('button, label, h1, h2, p, dt, th, .note')].filter((e) => e.offsetParent && !e.closest('.hidden, .crumbs, .tl-gutter, td, .palette') && getComputedStyle(e).textOverflow !== 'ellipsis' && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible').map((e) => e.textContent.slice(0, 60));
			return [out, [...small, ...(document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : [])]];
		});
		const all = (await Promise.all(replies)).join('\n');
		// What the server says stays as it is: names, and findings in their own words.
		const own = (s) => all.includes(JSON.stringify(s).slice(1, -1)) || s.split(/[·:(),]| {2,}|\d+(?:\.\d+)? ?%?/).every((x) => !/\p{L}{3}/u.test(x) || all.includes(JSON.stringify(x.trim()).slice(1, -1)) || all.includes(x.trim().replace(/ /g, '_')));
		for (const s of words) if (!/^[\d.,+−–→ ]*(ns|µs|ms|min|[kMGTPE]?FLOP(S|\/s|\/byte)?|[kKMGTP]?i?B(\/s)?)?$/.test(s) && !own(s)) plain.push(`${v}: ${s}`);
		for (const s of clipped) cut.push(`${v}: ${s}`);
	}
	ok(plain.length === 0, `every sentence is of the catalogue${name}`, [...new Set(plain)].join('\n'));
	ok(cut.length === 0, `and has room to be longer${name}`, cut.join('\n'));
	await t.close();
}

/** With the system's few colours, classes are patterns; no colour of a theme is left. */
async function fewColours() {
	const t = await enter({ forcedColors: 'active', colorScheme: 'dark' });
	const info = (await t.api('runs')).runs.find((r) => r.id === run);
	await t.go(`#/run/${run}/timeline?w=0s..${(info.t1_rel / 1e9).toFixed(9)}s`);
	await t.page.waitForFunction(() => window.aonTimeline?.quiet());
	const found = await t.page.evaluate(() => {
		const c = document.querySelector('.tl-body > canvas'), px = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer), n = new Map();
		for (const x of px) n.set(x, (n.get(x) ?? 0) + 1);
		return { many: [...n.values()].filter((x) => x > px.length / 2000).length, blue: n.get(0xffffb10c) ?? 0, swatches: [...document.querySelectorAll('.legend .swatch')].map((e) => getComputedStyle(e).background) };
	});
	ok(found.blue === 0, 'no colour of a theme is left on the timeline', found);
	ok(new Set(found.swatches).size === found.swatches.length, 'and every class has a pattern of its own', found.swatches);
	for (const v of ['flame', 'overview', 'steps', 'kernels']) await t.go(`#/run/${run}/${v}`);
	ok(t.faults.length === 0, 'nothing goes wrong', t.faults.join('\n'));
	await t.close();
}

/** Perfetto's page is not there: one that speaks as it does takes the trace. */
async function perfetto() {
	const t = await enter();
	await t.go(`#/run/${run}/overview`);
	const speaks = `<!doctype html><title>stand-in</title><script>
		let deaf = 3; // not ready at once, as the real one
		addEventListener('message', (e) => {
			if (e.data === 'PING') { if (!deaf--) e.source.postMessage('PONG', e.origin); deaf = Math.max(deaf, 0); }
			else if (e.data?.perfetto) window.got = { from: e.origin, title: e.data.perfetto.title, bytes: e.data.perfetto.buffer.byteLength, first: [...new Uint8Array(e.data.perfetto.buffer.slice(0, 2))] };
		});</script>`;
	await t.page.context().route('https://ui.perfetto.dev/**', (r) => r.fulfill({ contentType: 'text/html', body: speaks }));
	await t.page.locator('header button', { hasText: 'Open in' }).click();
	const [popup] = await Promise.all([t.page.context().waitForEvent('page'), t.page.locator('dialog button', { hasText: 'Perfetto UI' }).click()]);
	await popup.waitForFunction(() => window.got);
	const got = await popup.evaluate(() => window.got);
	const want = await t.page.evaluate(async (u) => (await (await fetch(u)).arrayBuffer()).byteLength, `api/v1/run/${run}/download?format=perfetto`);
	ok(got.bytes === want && want > 1000 && base.startsWith(got.from), 'Perfetto UI is handed the whole trace, after it said that it listens', [got, want]);
	ok(got.title.length > 3, 'with a title', got.title);
	await t.close();
}

/** A server that takes its time: what nobody waits for any more is taken back. */
async function slow() {
	const t = await enter(), dropped = [];
	let held = 0;
	t.page.on('requestfailed', (r) => dropped.push(r.url()));
	await t.go(`#/run/${run}/overview`);
	await t.page.route(/\/flame\?/, () => { held++; }); // never answered
	await t.page.evaluate((h) => { history.pushState(null, '', h); dispatchEvent(new PopStateEvent('popstate')); }, `#/run/${run}/flame`);
	await t.page.waitForFunction(() => /Loading…/.test(document.querySelector('main').textContent));
	await t.page.waitForSelector('main button:has-text("Cancel")');
	ok(held > 0, 'a view says that it loads, and after a while that it can be cancelled');
	await t.page.locator('main button', { hasText: 'Cancel' }).click();
	await t.page.waitForFunction(() => /Cancelled/.test(document.querySelector('main').textContent));
	await t.page.waitForFunction(() => document.querySelector('main button')); // to try again
	await t.page.locator('main button', { hasText: 'Try again' }).click();
	await t.page.waitForFunction(() => /Loading…/.test(document.querySelector('main').textContent));
	await t.go(`#/run/${run}/kernels`);
	for (let i = 0; i < 100 && dropped.filter((u) => /\/flame\?/.test(u)).length < 2; i++) await t.page.waitForTimeout(100);
	ok(held === 2 && dropped.filter((u) => /\/flame\?/.test(u)).length === 2, 'both ways the question is taken back', [held, dropped]);
	ok((await t.page.locator('main tbody tr').count()) > 5, 'and another view is there at once');
	await t.close();
}

/** On a phone nothing is cut off, and fingers hit what is to be hit. */
async function phone() {
	const t = await enter({ viewport: { width: 360, height: 740 }, hasTouch: true }), bad = [];
	for (const v of VIEWS) {
		await t.go(`#/run/${v === 'steps' ? job : run}/${v}`);
		bad.push(...await t.page.evaluate((view) => {
			const small = [...document.querySelectorAll('main button, main select, main input, header a, header button')].filter((e) => e.offsetParent && !e.closest('.tl-gutter, .ribbon, th, td, .hidden, .link, p') && e.getBoundingClientRect().height < 23.5).map((e) => `${view}: ${e.textContent.slice(0, 30)} is ${e.getBoundingClientRect().height} high`);
			const wide = document.documentElement.scrollWidth > innerWidth ? [`${view}: ${document.documentElement.scrollWidth} wide`] : [];
			const out = [...document.querySelectorAll('main canvas, main p, main h2, main dl')].filter((e) => e.offsetParent && !e.closest('.scroll, .hidden, .twin') && e.getBoundingClientRect().right > innerWidth + 1).map((e) => `${view}: ${e.tagName} ${e.textContent.slice(0, 30)} ends at ${e.getBoundingClientRect().right}`);
			return [...small, ...wide, ...out];
		}, v));
	}
	ok(bad.length === 0, 'on a phone nothing is cut off or too small to touch', bad.join('\n'));
	await t.close();
}

try {
	await heard();
	await tabbed();
	await slowRank();
	await translated(1280, '');
	await translated(390, ', on a phone');
	await fewColours();
	await perfetto();
	await slow();
	await phone();
} catch (e) {
	ok(false, 'the walk goes to its end', e.stack ?? String(e));
}
await browser.close();
done();
