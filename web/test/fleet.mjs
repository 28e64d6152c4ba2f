// SPDX-License-Identifier: Apache-2.0
// The pages of a cluster in a real browser: what is drawn is what the API says, by pointer and by keyboard, and nothing
// keeps anybody out. Run by tests/scenario/web/web_fleet.py, which serves a made-up fleet: rank 37 of job-000, on node0004, is slow.
import { done, ok } from './browser.mjs';
import { audit, browser, enter, given, settled, text } from './walk.mjs';

const { job, other, hostile } = given;
const FLEET = '#/fleet', JOB = `#/fleet?job=${job}`;
const hash = (t) => t.page.evaluate(() => location.hash);

async function overview(t) {
	await t.go(FLEET);
	const f = await t.api('fleet'), body = await text(t.page, 'main .view');
	ok(f.jobs.filter((j) => j.job !== hostile).every((j) => body.includes(j.job)), 'every job has its row', body.slice(0, 600));
	ok((await t.page.locator('main table').first().locator('tbody tr').first().innerText()).includes(f.jobs[0].job), 'what lost most comes first', f.jobs[0].job);
	ok(/GPUs work [\d.]+ % of the time/.test(body) && body.includes('node0100'), 'a sentence first, and the silent node by its name', body.slice(0, 400));
	ok(await t.page.locator('script').count() === await t.page.evaluate(() => document.querySelectorAll('head script, body > script').length) && body.includes('<script>'), 'a job called <script> is a name');
	await t.page.waitForFunction(() => [...document.querySelectorAll('main h2')].some((e) => /slower with a version/.test(e.textContent)));
	const v = (await t.api('fleet/versions')).changes, rows = await t.page.locator('main table').last().locator('tbody tr').allInnerTexts();
	ok(v.length > 0 && rows.length === v.length && v.some((c) => c.what === 'framework') && rows.some((r) => /framework\s+torch 2\.7\.1 → torch 2\.8\.0/.test(r)) && rows.some((r) => /driver\s+550\.54\.15 → 560\.28\.03/.test(r)), 'kernels that got slower with a driver and with a framework', [rows.slice(0, 3), v.slice(0, 2)]);
	await t.page.locator('main td a', { hasText: job }).click();
	await settled(t.page);
	ok((await hash(t)).includes(`job=${job}`), 'a click opens the job', await hash(t));
}

/** The colour of a cell's middle, against the bare surface. */
const pixel = (t, row, col, rows, cols) => t.page.locator('main canvas.heat').first().evaluate((c, [j, i, n, m]) => {
	const dpr = c.width / c.clientWidth, wide = Math.min(m * 24, c.clientWidth - 100), rowH = n <= 24 ? 18 : n <= 64 ? 8 : n <= 128 ? 4 : 3;
	return [...c.getContext('2d').getImageData(Math.round((96 + (i + 0.5) * (wide / m)) * dpr), Math.round((j + 0.5) * rowH * dpr), 1, 1).data];
}, [row, col, rows, cols]);

async function point(t, m, j, i, does = 'hover') {
	const rowH = m.rows.length <= 24 ? 18 : m.rows.length <= 64 ? 8 : m.rows.length <= 128 ? 4 : 3;
	const c = t.page.locator('main canvas.heat').first(), wide = await c.evaluate((e, n) => Math.min(n * 24, e.clientWidth - 100), m.steps.length);
	await c[does]({ position: { x: 96 + (i + 0.5) * (wide / m.steps.length), y: (j + 0.5) * rowH } });
}

async function ranks(t) {
	await t.go(JOB);
	const answer = t.page.waitForResponse((r) => r.url().includes('fleet/heat') && r.url().includes('order=slow'));
	ok((await text(t.page, 'main .verdict')).startsWith('The others wait for rank 37 on node0004'), 'the job begins with what is wrong', await text(t.page, 'main .verdict'));
	await t.page.locator('main select[aria-label=order]').selectOption('slow');
	const m = await (await answer).json();
	await settled(t.page);
	ok((await hash(t)).includes('by=slow'), 'the order is in the address', await hash(t));
	ok(m.rows[0].rank === 37 && m.who[0][0] === 37, 'the slowest rank is in the first row', m.rows[0]);
	await t.page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 100)))));
	const hot = await pixel(t, 0, 3, m.rows.length, m.steps.length), cold = await pixel(t, m.rows.length - 1, 3, m.rows.length, m.steps.length);
	ok(hot[0] - cold[0] > 40 && cold[3] === 255, 'and has another colour than the rest', [hot, cold]);
	await point(t, m, 0, 3);
	const said = await text(t.page, '.readout');
	ok(/rank 37 on node0004, rack R00, switch 1, step \d+: 8\d\d ms, \+8/.test(said), 'pointing at a cell tells rank, node, switch, step and value', said);
	await point(t, m, 0, 3, 'click');
	await t.page.waitForFunction(() => /Rank 37/.test(document.querySelector('main').textContent) && document.querySelectorAll('main canvas.plot').length > 1);
	ok(/[?&]r=37\b/.test(await hash(t)) && (await text(t.page, 'main')).includes('Rank 37 on node0004'), 'a click leads to the rank', await hash(t));
	for (const [by, label] of [['host', 'node0000'], ['leaf', 'R00'], ['rank', 'rank 0']]) {
		await t.page.locator('main select[aria-label=order]').selectOption(by);
		await settled(t.page);
		const d = await t.api(`fleet/heat?job=${job}&order=${by}`);
		ok(d.worst.flat().filter((x) => x !== null).length === d.rows.length * d.steps.length && d.rows.length > 1, `by ${by}: every cell is there (${label})`, d.rows.slice(0, 2));
	}
	await t.page.locator('main canvas.heat').first().focus();
	await t.page.keyboard.press('ArrowDown');
	ok(/rank \d+ on node/.test(await text(t.page, '.readout')), 'arrows tell the same', await text(t.page, '.readout'));
	await t.page.keyboard.press('z');
	await t.page.waitForFunction(() => [...document.querySelectorAll('main button')].some((b) => b.textContent === 'All steps'));
	ok(true, 'z looks closer, and there is a way back');
}

async function compared(t) {
	await t.go(`${JOB}&vs=${other}`);
	const d = await t.api(`fleet/diff?job=${job}&vs=${other}`);
	ok((await text(t.page, 'main')).includes(d.b.step_ns > d.a.step_ns ? 'longer' : 'shorter'), 'two jobs are compared in a sentence');
	await t.go(JOB);
	const at = await t.page.locator('main select[aria-label^="Compare before"] option').nth(1).getAttribute('value');
	await t.page.locator('main select[aria-label^="Compare before"]').selectOption(at);
	await settled(t.page);
	ok((await hash(t)).includes(`at=${at}`) && /A step of B takes/.test(await text(t.page, 'main')), 'a job is compared with itself, before and after an hour', (await text(t.page, 'main')).slice(0, 900));
	await t.page.locator('main select[aria-label=Time]').selectOption('604800');
	await settled(t.page);
	ok((await hash(t)).includes('since=604800'), 'how far back is in the address', await hash(t));
}

async function heard() {
	for (const colorScheme of ['dark', 'light']) {
		const t = await enter({ bypassCSP: true, colorScheme, reducedMotion: 'reduce' });
		for (const [h, what] of [[FLEET, 'the fleet'], [`${JOB}&r=37`, 'a job and its rank'], [`${JOB}&vs=${other}`, 'a comparison']]) {
			await t.go(h);
			const bad = await audit(t.page);
			ok(bad.length === 0, `${what}, ${colorScheme}: nothing in it keeps anybody out`, bad.join('\n'));
		}
		ok(t.faults.length === 0, `and nothing went wrong meanwhile (${colorScheme})`, t.faults);
		await t.close();
	}
	const phone = await enter({ viewport: { width: 360, height: 740 } }, '?lang=xx-pseudo');
	await phone.go(`${JOB}&r=37`);
	const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth);
	ok(wide <= 360, 'it fits on a phone, in a longer language', wide);
	await phone.close();
}

const t = await enter();
await overview(t);
await ranks(t);
await compared(t);
ok(t.faults.length === 0, 'nothing went wrong meanwhile', t.faults);
await t.close();
await heard();
await browser.close();
done();
