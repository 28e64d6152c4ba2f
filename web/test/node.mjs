// SPDX-License-Identifier: Apache-2.0
// What the page shows of a node: telemetry under the timeline, a form for captures. Run by tests/scenario/web/web_node.py.
import { readFileSync } from 'node:fs';
import { done, ok, require, tab } from './browser.mjs';
import { browser, enter, given, settled, text } from './walk.mjs';

const { run, bare, saved, half, cost, sampled } = given;
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const quiet = (page) => page.waitForFunction(() => window.aonTimeline?.quiet() && window.aonTimeline.telemetry.data);

async function audit(page) {
	await page.evaluate(axe);
	const r = await page.evaluate(() => globalThis.axe.run({ exclude: [['.tl-gutter button:nth-child(n+12)'], ['tbody tr:nth-child(n+6)']] }, { resultTypes: ['violations'] }));
	return r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | ')}`).join('\n');
}

/** How many pixels of a colour of the theme the telemetry has, in a stretch of them. */
const inked = (page, token) => page.evaluate((name) => {
	const c = document.querySelector('.tele-body canvas'), want = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
	const rgb = [1, 3, 5].map((i) => parseInt(want.slice(i, i + 2), 16)), px = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
	let n = 0;
	for (let i = 0; i < px.length; i += 4) if (px[i] === rgb[0] && px[i + 1] === rgb[1] && px[i + 2] === rgb[2] && px[i + 3] > 200) n++;
	return n;
}, token);

async function telemetry(theme) {
	const t = await enter({ bypassCSP: true, colorScheme: theme, reducedMotion: 'reduce' });
	const info = (await t.api('runs')).runs.find((r) => r.id === run);
	await t.go(`#/run/${run}/timeline?w=0s..${(info.t1_rel / 1e9).toFixed(9)}s`);
	await quiet(t.page);
	const names = await t.page.locator('.tele .series').allInnerTexts(), n = await t.page.evaluate(() => window.aonTimeline.telemetry.data.series.length);
	ok(names.filter((x) => /^GPU 0 (clock|power|temperature|throttled|memory|use)$/.test(x)).length === 6 && !names.some((x) => /^GPU 5/.test(x)), `${theme}: a row for each usual series of the run's GPUs`, names);
	ok(names.some((x) => /CPU user/.test(x)) && names.some((x) => /pressure/.test(x)), 'and of the host', names);
	ok(names.length === n + 1, 'as many as the API has, and one of what happened', [names.length, n]);
	ok((await inked(t.page, 'text')) > 300 && (await inked(t.page, 'heat')) > 100, 'they are drawn, with what happened', [await inked(t.page, 'text'), await inked(t.page, 'heat')]);
	ok((await audit(t.page)) === '', 'nothing in it keeps anybody out', await audit(t.page));
	await t.page.keyboard.press('Alt+t');
	const row = (await t.page.locator('.twin table[aria-label="Telemetry"] tbody tr').allInnerTexts()).find((x) => x.startsWith('GPU 0 power'));
	ok(/180 W/.test(row) && /301 W/.test(row), 'the table says the same', row);
	ok((await text(t.page, '.twin table[aria-label="events"]')).includes('Xid 79'), 'and what happened');
	await t.page.keyboard.press('Alt+t');
	await t.page.mouse.move(800, 300);
	await t.page.waitForTimeout(100);
	if (given.shots) await t.page.screenshot({ path: `${given.shots}/tele-${theme}.png` });
	// The axis is one: a zoom of the timeline is a zoom of the telemetry, and asks for more.
	const before = await t.page.evaluate(() => window.aonTimeline.telemetry.data.width_ns);
	await t.page.evaluate(() => { const tl = window.aonTimeline, [a, b] = tl.target; tl.jump([a + (b - a) * 0.45, a + (b - a) * 0.55]); });
	await t.page.waitForFunction((w) => window.aonTimeline.quiet() && window.aonTimeline.telemetry.data.width_ns < w / 2, before);
	ok(true, 'closer, cells are shorter');
	const span = await t.page.evaluate(() => window.aonTimeline.target[1] - window.aonTimeline.target[0]);
	await t.page.locator('.tele-body canvas').hover({ position: { x: 600, y: 20 } });
	await t.page.keyboard.down('Control');
	await t.page.mouse.wheel(0, -200);
	await t.page.keyboard.up('Control');
	await t.page.waitForFunction((w) => window.aonTimeline.target[1] - window.aonTimeline.target[0] < w, span);
	ok(true, 'the wheel over the telemetry zooms as over the tracks');
	await t.close();
}

/** Distinct colours of the flame graph, but for its ground. */
const hues = (page) => page.evaluate(() => {
	const c = document.querySelector('canvas.flame'), px = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = {};
	for (let i = 0; i < px.length; i += 4) if (px[i + 3] > 200) { const k = `${px[i]},${px[i + 1]},${px[i + 2]}`; seen[k] = (seen[k] ?? 0) + 1; }
	return Object.values(seen).filter((n) => n > 2000).length;
});

/** Where threads were: of all, of gaps, of a part of a step, of a range against the whole. */
async function threads(theme) {
	const t = await enter({ bypassCSP: true, colorScheme: theme, reducedMotion: 'reduce' });
	const rows = async () => (await t.page.locator('.block table tbody tr').allInnerTexts()).join('\n');
	const pick = async (label, value, samples) => { // an answer may come from what was asked before
		await t.page.getByLabel(label, { exact: true }).selectOption(value);
		await t.page.waitForFunction((n) => document.querySelector('.controls').textContent.includes(`${n} samples`), samples);
	};
	await t.go(`#/run/${sampled}/flame`);
	const all = await t.api(`run/${sampled}/stacks?weight=time`), gaps = await t.api(`run/${sampled}/stacks?weight=time&gap=any`), data = await t.api(`run/${sampled}/stacks?weight=time&part=data`);
	await pick('size', 'time', all.samples);
	ok(all.samples > gaps.samples && gaps.samples > data.samples && data.samples >= 30, 'samples are fewer in gaps, and in a part of a step', [all.samples, gaps.samples, data.samples]);
	ok(/__getitem__/.test(await rows()) && (await hues(t.page)) >= 2, `${theme}: threads have a flame graph, coloured by state`, [await rows(), await hues(t.page)]);
	ok(/running 70/.test(await t.page.locator('.controls + .row').innerText()), 'and the colours are explained', await t.page.locator('.controls + .row').innerText());
	ok((await audit(t.page)) === '', 'it keeps nobody out', await audit(t.page));
	if (given.shots) await t.page.screenshot({ path: `${given.shots}/threads-${theme}.png` });
	await pick('GPU gaps', 'any', gaps.samples);
	ok((await text(t.page, '.controls')).includes(`${gaps.samples} samples`), 'of gaps alone', await text(t.page, '.controls'));
	await pick('GPU gaps', 'no', all.samples);
	await pick('part of a step', 'data', data.samples);
	ok((await text(t.page, '.controls')).includes(`${data.samples} samples`) && /__getitem__/.test(await rows()), 'of a part of a step alone', await text(t.page, '.controls'));
	const info = (await t.api('runs')).runs.find((r) => r.id === sampled);
	await t.go(`#/run/${sampled}/flame?t=0s..${(info.t1_rel / 2e9).toFixed(9)}s`);
	await pick('size', 'time', '');
	const half = Number(/(\d[\d,.]*) samples/.exec(await text(t.page, '.controls'))?.[1].replace(/,/g, ''));
	ok(half > 0 && half < all.samples, 'of a range alone', [half, all.samples]);
	await t.page.getByRole('button', { name: 'Compare the range with the whole run' }).click();
	await t.page.waitForFunction(() => /Orange: more/.test(document.querySelector('.controls').textContent));
	ok((await audit(t.page)) === '', 'a range can be compared with the whole run', await audit(t.page));
	if (given.shots) await t.page.screenshot({ path: `${given.shots}/threads-diff-${theme}.png` });
	await t.close();
}

async function picker() {
	const t = await enter({ bypassCSP: true });
	await t.go(`#/run/${run}/timeline`);
	await quiet(t.page);
	await t.page.getByRole('button', { name: 'Choose…' }).click();
	await t.page.locator('.drawer input[type=search]').fill('nvidia5 sm_clock');
	await t.page.waitForSelector('.tele-pick label');
	ok((await audit(t.page)) === '', 'the list of series keeps nobody out', await audit(t.page));
	await t.page.locator('.tele-pick input').first().check();
	await t.page.waitForFunction(() => /tele=\d/.test(location.hash) && [...document.querySelectorAll('.tele .series')].some((x) => /GPU 5/.test(x.textContent)));
	ok(true, 'a series of another GPU is chosen, and is in the address');
	await t.page.keyboard.press('Escape');
	await t.page.getByRole('button', { name: 'Default metrics' }).click();
	await t.page.waitForFunction(() => ![...document.querySelectorAll('.tele .series')].some((x) => /GPU 5/.test(x.textContent)));
	await t.page.locator('.tl-body > canvas').focus();
	await t.page.keyboard.press('g');
	ok(await t.page.locator('.tele').isHidden(), 'G puts it away');
	await t.go(`#/run/${bare}/timeline`);
	await t.page.waitForFunction(() => window.aonTimeline.quiet() && window.aonTimeline.telemetry.data);
	ok(await t.page.locator('.tele').isHidden(), 'where nothing was measured nothing is in the way');
	await t.page.getByRole('button', { name: 'Telemetry' }).click();
	ok((await text(t.page, '.tele')).includes('aon-collect'), 'but asked, it says what would measure', await text(t.page, '.tele'));
	ok(t.faults.length === 0, 'no error on the console', t.faults.join('\n'));
	await t.close();
}

/** A capture from its form to its file, by keys; Tab leaves the form in the order that one reads it. */
async function capture() {
	const t = await enter({ bypassCSP: true });
	await t.go(`#/run/${run}/overview`);
	await t.page.waitForSelector('.capture-form');
	ok((await audit(t.page)) === '', 'the form keeps nobody out', await audit(t.page));
	await t.page.route(/\/overview/, async (r) => { await new Promise((done) => setTimeout(done, 1500)); await r.continue(); });
	await t.page.waitForRequest(/\/overview/);
	const news = t.page.waitForResponse(/\/overview/);
	await t.page.getByLabel('seconds before').focus();
	await news;
	await t.page.waitForTimeout(1000); // until they are drawn
	ok((await t.page.evaluate(() => document.activeElement?.id)) === 'cap-before', 'news that were asked for before leave the cursor in it');
	await t.page.unroute(/\/overview/);
	await t.page.getByLabel('How much', { exact: true }).fill('200');
	await t.page.getByLabel('seconds before').fill('1');
	await t.page.waitForTimeout(2500); // a live run has news meanwhile
	ok((await t.page.getByLabel('seconds before').inputValue()) === '1', 'news do not empty it');
	await t.page.keyboard.press('Enter');
	await t.page.waitForSelector('.capture tbody tr');
	await t.page.waitForFunction(() => /done|failed/.test(document.querySelector('.capture tbody tr').textContent));
	const row = await text(t.page, '.capture tbody tr');
	ok(/200 ms, 1.00 s before, 1 process/.test(row) && /done/.test(row), 'what was asked for is done', row);
	const file = await t.page.locator('.capture a').first().getAttribute('href');
	ok((await t.page.evaluate(async (u) => (await (await fetch(u)).arrayBuffer()).byteLength, file)) > 100, 'its trace can be had', file);
	ok((await audit(t.page)) === '', 'and nor does what came of it', await audit(t.page));
	if (given.shots) await t.page.locator('.capture').scrollIntoViewIfNeeded();
	if (given.shots) await t.page.screenshot({ path: `${given.shots}/capture.png` });
	await t.page.getByLabel('How much', { exact: true }).fill('5');
	await t.page.getByLabel('trigger (default: now)').fill('quiet_s > 1000');
	await t.page.keyboard.press('Enter');
	await t.page.waitForFunction(() => /waits for/.test(document.querySelector('.capture tbody tr').textContent));
	await t.page.locator('.capture tbody button', { hasText: 'Cancel' }).click();
	await t.page.waitForFunction(() => /cancelled/.test(document.querySelector('.capture tbody tr').textContent));
	ok(true, 'one that waits is taken back');
	await t.page.locator('.capture tbody button', { hasText: 'timeline' }).first().click();
	await settled(t.page);
	ok(/timeline.*w=/.test(await t.page.evaluate(() => location.hash)), 'and a done one is seen on the timeline');
	await t.go(`#/run/${bare}/overview`);
	ok((await t.page.locator('.capture-form').count()) === 0, 'of a trace there is no form');
	ok(t.faults.length === 0, 'nothing goes wrong', t.faults.join('\n'));
	await t.close();
}

/** Steps that were left out are not idle: they are drawn as such, and counted as nothing. */
async function leftOut() {
	const t = await enter({ reducedMotion: 'reduce' });
	const info = (await t.api('runs')).runs.find((r) => r.id === half), share = cost.share;
	// Close: around a step that was left out. On a loaded machine one recorded step may fill any fixed part of the run.
	const all = info.t1_rel, at = Number(BigInt(cost.at) - BigInt(info.t0)), s = (ns) => `${(Math.min(Math.max(ns, 0), all) / 1e9).toFixed(9)}s`;
	for (const [from, to, what] of [[0, all, 'far out'], [at - 1e7, at + 1e7, 'close']]) {
		await t.go(`#/run/${half}/timeline?w=${s(from)}..${s(to)}`);
		await t.page.waitForFunction(() => window.aonTimeline?.quiet() && /not recorded/.test(document.querySelector('.tl-bar').textContent));
		const note = await text(t.page, '.tl-bar'), said = Number(/; ([\d.]+) % of the time was not recorded/.exec(note)?.[1]) / 100;
		ok(said > 0 && (from > 0 || Math.abs(said - share) < 0.1), `${what}, what was not recorded is told from idle`, [note, share]);
		if (given.shots) await t.page.screenshot({ path: `${given.shots}/left-${what.replace(' ', '')}.png` });
	}
	const names = (await t.api(`run/${half}/names`)).names.filter((n) => n.name === 'not recorded');
	ok(names.length === 1, 'the API has a name for it', names);
	await t.go(`#/run/${half}/findings`);
	const f = await t.api(`run/${half}/findings`);
	ok(f.of_steps - f.recorded_steps === cost.left_out && (await text(t.page, '.recorded')).includes(`${f.recorded_steps.toLocaleString('en-US')} of ${f.of_steps.toLocaleString('en-US')} steps`), 'findings say of which steps they are', [f.recorded_steps, f.of_steps, cost]);
	ok(t.faults.length === 0, 'and nothing goes wrong', t.faults.join('\n'));
	await t.close();
}

async function small() {
	const t = await enter({ viewport: { width: 390, height: 800 }, hasTouch: true });
	await t.go(`#/run/${run}/timeline`);
	await quiet(t.page);
	const [wide, tall] = await t.page.evaluate(() => [document.documentElement.scrollWidth, document.querySelector('.tl-body').clientHeight]);
	ok(wide <= 390 && tall > 150, 'on a phone both have room', [wide, tall]);
	if (given.shots) await t.page.screenshot({ path: `${given.shots}/tele-phone.png` });
	await t.go(`#/run/${run}/overview`);
	await t.page.waitForSelector('.capture-form');
	ok((await t.page.evaluate(() => document.documentElement.scrollWidth)) <= 390, 'and so has the form');
	if (given.shots) await t.page.locator('.capture').scrollIntoViewIfNeeded();
	if (given.shots) await t.page.screenshot({ path: `${given.shots}/capture-phone.png` });
	await t.close();
}

async function file() {
	const t = await tab(browser, `file://${saved}`);
	await t.page.goto(`file://${saved}#/run/${run}/timeline`);
	await settled(t.page);
	await quiet(t.page);
	ok((await t.page.locator('.tele .series').allInnerTexts()).some((x) => /GPU 0 power/.test(x)), 'a saved page has it, too');
	ok(t.faults.length === 0, 'and nothing goes wrong', t.faults.join('\n'));
	await t.close();
}

try {
	await telemetry('dark');
	await telemetry('light');
	await threads('dark');
	await threads('light');
	await picker();
	await leftOut();
	await capture();
	await small();
	await file();
} catch (e) {
	ok(false, 'the walk goes to its end', e.stack ?? String(e));
}
await browser.close();
done();
