// SPDX-License-Identifier: Apache-2.0
// The page in a real browser: what is drawn is what the API says, and everything goes by keyboard.
// Run by tests/scenario/web/web_page.py, which serves two traces, one with hostile names, and a live run.
import { done, ok, tab } from './browser.mjs';
import { browser, enter, given, settled, text, VIEWS } from './walk.mjs';

const { base, traces, hostile, live, saved, job } = given;
const quiet = (page) => page.waitForFunction(() => window.aonTimeline?.quiet());
const near = (a, b, part) => Math.abs(a - b) <= Math.abs(b) * part + 1e-9;

/** "47.3 ms" as ns. */
function ns(words) {
	const m = /(-?[\d.,]+) ?(ns|µs|ms|s|min|h)\b/.exec(words);
	return m ? Number(m[1].replace(/,/g, '')) * { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 36e11 }[m[2]] : NaN;
}

async function views(t, run, which = '') {
	for (const v of VIEWS) {
		await t.go(`#/run/${run}/${v}`);
		const tabs = await t.page.locator('.tabs a[aria-current="page"]').count();
		const body = await text(t.page, 'main .view');
		ok(tabs === 1 && body.length > 10 && !/request failed/.test(body), `${v}${which} opens`, body.slice(0, 300));
	}
}

async function overview(t, run) {
	await t.go(`#/run/${run}/overview`);
	const o = await t.api(`run/${run}/overview`);
	const body = await text(t.page, 'main .view');
	ok(o.findings.every((f) => body.includes(f.title)), 'overview has the findings', body);
	ok(near(ns(/step\n?\s*([\d.,]+ \w+)/.exec(body)?.[1] ?? ''), o.step.p50, 0.01), 'and the median step of the API', [body.slice(0, 400), o.step]);
	const idle = o.split.find((s) => s.class === 'idle');
	const drawn = await t.page.locator('.ribbon .idle').first().evaluate((e) => e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width);
	ok(near(drawn, idle.share, 0.02), 'the ribbon is as idle as the API says', [drawn, idle.share]);
	const busy = (await t.api(`run/${run}/devices`)).devices.reduce((x, d) => x + d.busy_ns, 0);
	const plot = Number(await t.page.locator('main canvas.busy').getAttribute('data-busy-ns'));
	ok(near(plot, busy, 0.02), 'the GPUs are as busy over time as the API says', [plot, busy]);
	ok((await t.page.title()).includes('Overview'), 'the title names the view');
}

async function kernels(t, run) {
	await t.go(`#/run/${run}/kernels`);
	const k = await t.api(`run/${run}/kernels?limit=5000`);
	const head = await t.page.locator('main th').allInnerTexts();
	const unit = / (ns|µs|ms|s)\b/.exec(head.find((x) => /^total/.test(x)))[1];
	const first = await t.page.locator('main tbody tr[data-i="0"] td').allInnerTexts();
	const heaviest = [...k.rows].sort((a, b) => b.ns - a.ns)[0];
	ok(first.includes(heaviest.short || heaviest.name) && near(ns(`${first[3]} ${unit}`), heaviest.ns, 0.01), 'the heaviest kernel is the first row, with its time', [first, heaviest]);
	const bars = await t.page.locator('main tbody tr[data-i="0"] .spark i').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().height));
	const most = Math.max(...heaviest.trend);
	ok(bars.length === 16 && bars.every((x, i) => Math.abs(x - (14 * heaviest.trend[i]) / most) <= 1.01), 'and its trend', [bars, heaviest.trend]);
	ok(Number(await t.page.locator('main table').first().getAttribute('aria-rowcount')) === k.rows.length, 'every kernel has a row', k.rows.length);
	await t.page.locator('main tbody tr[data-i="0"]').focus();
	await t.page.keyboard.press('ArrowDown');
	await t.page.keyboard.press('Enter');
	const second = [...k.rows].sort((a, b) => b.ns - a.ns)[1];
	ok((await text(t.page, '.drawer')).includes(second.name.slice(0, 40)), 'arrows and Enter open the next one', await text(t.page, '.drawer'));
	await t.page.keyboard.press('Escape');
	ok(await t.page.locator('.drawer').isHidden(), 'Escape closes it');
	await t.page.locator('main th button', { hasText: 'calls' }).click();
	const calls = await t.page.locator('main tbody tr[data-i="0"] td').allInnerTexts();
	ok(calls.includes(Math.max(...k.rows.map((r) => r.calls)).toLocaleString('en-US')), 'a click on a heading sorts by it', calls);
}

/** A brush over a kernel's histogram chooses its calls by how long they take, here and on the timeline. */
async function brush(t, run) {
	const k = (await t.api(`run/${run}/kernels?limit=5000`)).rows.filter((r) => r.hist.filter((n) => n).length > 2).sort((a, b) => b.calls - a.calls)[0];
	await t.go(`#/run/${run}/kernels?sel=k:${k.id}`);
	await t.page.waitForSelector('.drawer canvas.brush');
	await t.page.locator('.drawer canvas.brush').focus();
	await t.page.keyboard.press('ArrowLeft'); // the last bar, which is empty, then the longest calls
	await t.page.keyboard.press('ArrowLeft');
	await t.page.waitForFunction(() => /[?&]d=/.test(location.hash) && document.querySelector('.drawer .calls tbody tr'));
	const [lo, hi] = /[?&]d=([^&]+)/.exec(await t.page.evaluate(() => location.hash))[1].split('..').map((x) => Math.round(parseFloat(x) * 1e9));
	const said = /(\d[\d,]*) of ([\d,]+) calls/.exec(await text(t.page, '.drawer .chosen'));
	const edge = (i) => (i ? 2 ** (i + 5) : 0);
	const want = k.hist.reduce((n, x, i) => (edge(i) >= lo && edge(i + 1) <= hi ? n + x : n), 0);
	ok(want > 0 && Number(said[1].replace(/,/g, '')) === want, 'a brush over the histogram counts the calls of that length', [said[0], want, lo, hi]);
	const rows = (await t.page.locator('.drawer .calls tbody tr').allInnerTexts()).map((x) => ns(x.split('\t')[1]));
	ok(rows.length === Math.min(20, want) && rows.every((x) => x >= lo * 0.99 && x <= hi * 1.01), 'and lists them', rows);
	await t.page.locator('.drawer button', { hasText: 'These on the timeline' }).click();
	await t.page.waitForSelector('.tl-bar .hits');
	const marked = await text(t.page, '.tl-bar .hits');
	ok(marked.includes(`${want.toLocaleString('en-US')} found`), 'on the timeline they alone are marked', [want, marked]);
}

/** Many ranks: the map is the server's cells, and names who lags. */
async function ranks(t, run) {
	await t.go(`#/run/${run}/steps`);
	const heat = await t.api(`run/${run}/heat?h=96&w=600`);
	await t.page.waitForSelector('canvas.heat');
	const slow = heat.slowest[0];
	ok((await text(t.page, 'main')).includes(`rank ${slow.rank} +${Math.round(slow.over / 10)} %`), 'the map names the rank that lags', await text(t.page, 'main'));
	const lit = await t.page.locator('canvas.heat').evaluate((c) => {
		const g = c.getContext('2d'), dpr = devicePixelRatio, rows = [], hex = getComputedStyle(document.documentElement).getPropertyValue('--heat').trim();
		const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
		for (let y = 8; y < c.clientHeight - 22; y += 16) {
			const img = g.getImageData(70 * dpr, y * dpr, c.width - 80 * dpr, 1).data;
			let n = 0;
			for (let i = 0; i < img.length; i += 4) if (want.every((v, k) => Math.abs(img[i + k] - v) < 4)) n++;
			rows.push(n / (img.length / 4));
		}
		return rows;
	});
	const want = heat.worst.map((r) => r.filter((v) => v >= 200).length / r.length);
	ok(lit.length === want.length && lit.every((v, i) => Math.abs(v - want[i]) < 0.05), 'and is as hot as the API says', [lit, want]);
	await t.page.locator('canvas.heat').focus();
	for (let i = 0; i < slow.rank; i++) await t.page.keyboard.press('ArrowDown');
	await t.page.keyboard.press('Enter');
	await t.page.waitForSelector('.drawer:not([hidden]) .facts');
	ok(/step 0/.test(await text(t.page, '.drawer')) && (await text(t.page, '.drawer .facts')).includes(`${slow.rank}`), 'arrows and Enter open a step of it', await text(t.page, '.drawer'));
	await t.page.keyboard.press('Escape');
}

/** Of a row of the timeline's canvas: the share of pixels that are not the background, and of one colour. */
const pixels = (page, row, token) => page.evaluate(([label, name]) => {
	const b = [...document.querySelectorAll('.tl-gutter button')].find((x) => x.textContent.includes(label));
	const c = document.querySelector('.tl-body > canvas'), g = c.getContext('2d'), dpr = devicePixelRatio;
	const gutter = b.parentElement.getBoundingClientRect().right - c.getBoundingClientRect().left;
	const y = b.getBoundingClientRect().top - c.getBoundingClientRect().top;
	const img = g.getImageData(Math.ceil(gutter * dpr) + 1, (y + 2) * dpr, c.width - Math.ceil(gutter * dpr) - 1, 16 * dpr);
	const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
	const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
	let n = 0;
	for (let i = 0; i < img.data.length; i += 4)
		if (want.every((v, k) => Math.abs(img.data[i + k] - v) < 3)) n++;
	return n / (img.data.length / 4);
}, [row, token]);

async function timeline(t, run) {
	const info = (await t.api('runs')).runs.find((r) => r.id === run);
	const tracks = (await t.api(`run/${run}/tracks`)).tracks;
	const gpu = tracks.find((x) => x.kind === 'gpu');
	await t.go(`#/run/${run}/timeline?w=0s..${(info.t1_rel / 1e9).toFixed(9)}s`);
	await quiet(t.page);
	await t.page.waitForFunction(() => /busy in view/.test(document.querySelector('.tl-bar')?.textContent ?? ''));
	const k = (await t.api(`run/${run}/kernels?limit=5000`)).rows;
	const mat = k.filter((r) => ['gemm', 'convolution', 'fft'].includes(r.class)).reduce((x, r) => x + r.ns, 0);
	const win = await t.page.evaluate(() => window.aonTimeline.target);
	const share = await pixels(t.page, gpu.label, 'matmul');
	ok(near(share, mat / (win[1] - win[0]), 0.06), 'as much of the row has the colour of matmul as the API says it ran', [share, mat / (win[1] - win[0])]);
	const d = (await t.api(`run/${run}/devices`)).devices[0];
	const said = Number(/busy in view: .*? (\d+) %/.exec(await text(t.page, '.tl-bar'))[1]) / 100;
	ok(Math.abs(said - d.busy_ns / d.span_ns) < 0.015, 'busy in view is what the API says', [said, d.busy_ns / d.span_ns]);
	await zoom(t, run, tracks);
}

async function zoom(t, run, tracks) {
	const heaviest = (await t.api(`run/${run}/kernels?limit=1`)).rows[0];
	const at = (await found(t, run, heaviest.name.slice(0, 60))).start;
	await t.go(`#/run/${run}/timeline?w=${((at - 2e6) / 1e9).toFixed(9)}s..${((at + 2e6) / 1e9).toFixed(9)}s`);
	await quiet(t.page);
	const before = await t.page.evaluate(() => window.aonTimeline.target);
	await t.page.locator('.tl-body > canvas').focus();
	await t.page.keyboard.press('KeyW');
	const after = await t.page.evaluate(() => window.aonTimeline.target);
	ok(after[1] - after[0] < before[1] - before[0], 'W zooms in', [before, after]);
	await t.page.keyboard.press('KeyD');
	ok((await t.page.evaluate(() => window.aonTimeline.target))[0] > after[0], 'D pans to the right');
	await t.page.keyboard.press('KeyS');
	await t.page.waitForFunction(() => /[?&]w=/.test(location.hash));
	ok(true, 'the window is in the address');
	await quiet(t.page);
	await t.page.keyboard.press('ArrowRight');
	await t.page.waitForFunction(() => /sel=e:/.test(location.hash));
	await t.page.waitForSelector('.drawer:not([hidden]) .full');
	const name = await text(t.page, '.drawer .full');
	const id = /sel=e:([^&]+)/.exec(await t.page.evaluate(() => location.hash))[1];
	const e = await t.api(`run/${run}/event/${id}`);
	const facts = await text(t.page, '.drawer .facts'), long = /duration\s+(\S+(?: [nµm]?s)?)/.exec(facts)?.[1] ?? '';
	ok(e.name === name && (e.dur ? near(ns(long), e.dur, 0.01) : long === '0'), 'an arrow key chooses an event; the drawer says what the API says', [name, long, e]);
	await t.page.keyboard.press('Alt+KeyT');
	ok((await t.page.locator('.twin:not(.hidden) tbody tr').count()) > 3, 'Alt+T shows what is in view as a table');
	await t.page.keyboard.press('Alt+KeyT');
	await share(t, name);
	await select(t, run, tracks);
	await search(t, run, name);
}

/** The server looks for a limited time: on a busy machine it may have to be asked again. */
async function found(t, run, q) {
	for (let i = 0; i < 40; i++) {
		const hit = (await t.api(`run/${run}/search?q=${encodeURIComponent(q)}&limit=1`)).results[0];
		if (hit) return hit;
		await t.page.waitForTimeout(250);
	}
	throw new Error(`nothing is called ${q}`);
}

/** The address alone brings back what was seen. */
async function share(t, name) {
	await quiet(t.page);
	const hash = await t.page.evaluate(() => location.hash);
	const other = await enter();
	await other.page.goto(base + hash);
	await other.page.reload();
	await other.page.waitForSelector('.drawer:not([hidden]) .full');
	await quiet(other.page);
	const [a, b] = await Promise.all([t, other].map((x) => x.page.evaluate(() => window.aonTimeline.target)));
	ok((await text(other.page, '.drawer .full')) === name && Math.abs(a[0] - b[0]) <= 2 && Math.abs(a[1] - b[1]) <= 2, 'a shared link shows the same event in the same window', [a, b]);
	ok(other.faults.length === 0, 'and nothing goes wrong there', other.faults.join('\n'));
	await other.close();
}

async function select(t, run, tracks) {
	const list = tracks.filter((x) => x.kind === 'stream' || x.kind === 'thread').map((x) => x.id).join(',');
	let said = '', s = null;
	// An answer may be partial on a busy machine, and says so: then once more, a little beside.
	for (let i = 0; i < 5 && !(s && said.includes(`${s.n.toLocaleString('en-US')} events`)); i++) {
		await t.page.keyboard.press('Escape');
		await t.page.waitForFunction(() => !/sel=/.test(location.hash));
		const box = await t.page.locator('.tl-body > canvas').boundingBox();
		const y = box.y + box.height - 40;
		await t.page.mouse.move(box.x + 400 + 7 * i, y);
		await t.page.mouse.down();
		await t.page.mouse.move(box.x + 700, y, { steps: 4 });
		await t.page.mouse.up();
		await t.page.waitForFunction(() => /sel=a:/.test(location.hash) && document.querySelector('.drawer table'));
		const [, from, long] = /sel=a:(\d+)\+(\d+)/.exec(decodeURIComponent(await t.page.evaluate(() => location.hash)));
		s = await t.api(`run/${run}/select?t0=${from}&t1=${Number(from) + Number(long)}&tracks=${list}`);
		said = await text(t.page, '.drawer');
	}
	ok(said.includes(`${s.n.toLocaleString('en-US')} events`), 'a drag selects, and the drawer counts what the API counts', [said.slice(0, 200), s.n]);
	await t.page.keyboard.press('KeyR');
	await t.page.waitForSelector('.crumbs .chip');
	ok(/[?&]t=/.test(await t.page.evaluate(() => location.hash)), 'R makes it the range of all views');
	await t.page.keyboard.press('Backspace');
	await t.page.keyboard.press('Escape');
}

async function search(t, run, name) {
	const part = name.slice(0, 24), hit = t.page.locator('.palette li', { hasText: part });
	await t.page.keyboard.press('/');
	await t.page.waitForSelector('dialog.palette[open]');
	await t.page.keyboard.type(part, { delay: 5 });
	for (let i = 0; i < 20 && (await hit.count()) < 2; i++) {
		await t.page.waitForTimeout(500);
		if (i % 4 === 3) await t.page.locator('.palette input').dispatchEvent('input');
	}
	await hit.last().click();
	await t.page.waitForFunction(() => /[?&]q=/.test(location.hash));
	ok((await text(t.page, '.tl-bar')).includes('search:'), 'a search finds an event and dims the others');
	await t.go(`#/run/${run}/overview`);
}

async function others(t, run, vs) {
	await t.go(`#/run/${run}/findings`);
	const f = await t.api(`run/${run}/findings`);
	const body = await text(t.page, 'main .view');
	ok(f.findings.every((x) => body.includes(x.title)) && f.findings[0].seen.every((s) => body.includes(s)), 'findings show their evidence', body.slice(0, 600));
	if (f.findings.length > 1) {
		await t.page.keyboard.press('KeyN');
		await t.page.waitForFunction((s) => document.querySelector('.dossier h2')?.textContent === s, f.findings[1].title);
		ok(true, 'N goes to the next one');
	}
	await t.page.locator('button', { hasText: 'See it on the timeline' }).click();
	await settled(t.page);
	ok(/timeline/.test(await t.page.evaluate(() => location.hash)), 'and from there to its events');
	await t.go(`#/run/${run}/steps`);
	const s = await t.api(`run/${run}/steps?limit=5000`);
	ok((await t.page.locator('main tbody tr').count()) === Math.min(2000, s.steps.length), 'every step has a row', s.steps.length);
	await t.go(`#/run/${run}/flame`);
	const fl = await t.api(`run/${run}/flame`);
	const whole = fl.nodes.filter((n) => n[1] < 0).reduce((x, n) => x + n[3], 0);
	const box = await t.page.locator('canvas.flame').boundingBox();
	await t.page.mouse.click(box.x + 20, box.y + 10);
	ok(near(ns(await text(t.page, '.drawer .facts')), whole, 0.01), 'the root of the flame graph is the GPU time of the API', [await text(t.page, '.drawer'), whole]);
	await t.go(`#/run/${run}/kernels?vs=${vs}`);
	const d = await t.api(`run/${run}/diff?vs=${vs}`);
	const worst = [...d.kernels].sort((a, b) => Math.abs(b.b_ns - b.a_ns) - Math.abs(a.b_ns - a.a_ns))[0];
	ok((await text(t.page, 'main tbody tr[data-i="0"]')).includes(worst.name.slice(0, 30)), 'compared with another run, what changed most comes first', worst);
}

/** Decisions are the server's: another tab has them, and the list goes by them. */
async function triage(t, run) {
	const f = (await t.api(`run/${run}/findings`)).findings[0], key = `${f.family}:${f.rank ?? -1}:${f.device}`;
	await t.go(`#/run/${run}/findings`);
	await t.page.locator('.triage [data-state=accepted]').click();
	await t.page.keyboard.type('the data is far away');
	await t.page.keyboard.press('Enter');
	await t.page.waitForFunction((title) => ![...document.querySelectorAll('.find li button > span:first-child')].some((x) => x.textContent === title), f.title);
	const told = (await t.api(`run/${run}/states`)).states;
	ok(told.length === 1 && told[0].key === key && told[0].state === 'accepted' && told[0].note === 'the data is far away', 'a finding is accepted with a reason, and leaves the list', told);
	const other = await enter();
	await other.go(`#/run/${run}/findings?fs=accepted`);
	ok((await text(other.page, '.dossier')).includes(f.title) && (await text(other.page, '.triage')).includes('the data is far away'), 'another tab has it among the accepted', await text(other.page, 'main'));
	await other.page.locator('.triage [data-state=new]').click();
	await other.page.waitForFunction(() => !document.querySelector('.dossier'));
	ok((await t.api(`run/${run}/states`)).states.length === 0, 'and can take it back');
	ok(other.faults.length === 0, 'nothing goes wrong', other.faults.join('\n'));
	await other.close();
	await t.go(`#/run/${run}/overview`);
	await t.go(`#/run/${run}/findings`);
	await t.page.waitForFunction(() => /→ .* per step/.test(document.querySelector('.whatif output').textContent));
	const w = await t.api(`run/${run}/whatif?scale_host=DataLoader%3D0.50`);
	const said = /→ (.*) per step/.exec(await text(t.page, '.whatif output'))[1];
	ok(near(ns(said), w.predicted_ns / w.steps, 0.01), 'a slider says what the replay says', [said, w.predicted_ns / w.steps]);
}

async function keys(t, run) {
	await t.go(`#/run/${run}/overview`);
	for (const [i, v] of VIEWS.entries()) {
		await t.page.keyboard.press(String(i + 1));
		if (!(await t.page.evaluate((x) => location.hash.includes(`/${x}`), v))) ok(false, `${i + 1} opens ${v}`);
	}
	ok(true, 'the keys 1 to 7 open the views');
	await t.page.keyboard.press('?');
	ok((await t.page.locator('dialog[open] kbd').count()) > 10, '? lists the keys');
	await t.page.keyboard.press('Escape');
	await t.page.keyboard.press('KeyT');
	ok((await t.page.evaluate(() => document.documentElement.dataset.theme)) === 'light' && /th=l/.test(await t.page.evaluate(() => location.hash)), 'T changes the theme, and the address');
	await t.page.keyboard.press('Control+KeyK');
	await t.page.keyboard.type('kernels');
	await t.page.keyboard.press('Enter');
	ok(/kernels/.test(await t.page.evaluate(() => location.hash)), 'Ctrl+K does anything by its name');
}

async function phone(run) {
	const t = await enter({ viewport: { width: 390, height: 760 }, hasTouch: true });
	const wide = [];
	for (const v of VIEWS) {
		await t.go(`#/run/${run}/${v}`);
		const over = await t.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
		if (over > 0) wide.push(`${v}: ${over}`);
	}
	ok(wide.length === 0, 'on a phone no view is wider than the screen', wide.join('\n'));
	ok(t.faults.length === 0, 'and nothing goes wrong', t.faults.join('\n'));
	await t.close();
}

async function names(run) {
	const t = await enter();
	for (const v of ['overview', 'timeline', 'kernels', 'flame']) await t.go(`#/run/${run}/${v}`);
	await t.go(`#/run/${run}/kernels`);
	ok((await text(t.page, 'main')).includes('<script>') && !(await t.page.evaluate(() => window.hacked)) && (await t.page.locator('main img, main script').count()) === 0, 'a kernel called <script> is a name');
	ok(t.faults.length === 0, 'and nothing goes wrong', t.faults.join('\n'));
	await t.close();
}

/** A run that goes on: the page follows without being asked. */
async function alive(run) {
	const t = await enter();
	await t.go(`#/run/${run}/timeline`);
	const events = async () => Number(/([\d,]+) events/.exec(await text(t.page, 'footer'))?.[1].replace(/,/g, '') ?? 0);
	const first = await events();
	ok((await text(t.page, 'footer')).includes('live'), 'a live run says so', await text(t.page, 'footer'));
	await t.page.waitForFunction((n) => Number(/([\d,]+) events/.exec(document.querySelector('footer').textContent)[1].replace(/,/g, '')) > n, first);
	ok(true, 'and grows before the eyes');
	await t.go(`#/run/${run}/overview`);
	const mb = (await t.api(`run/${run}/overview`)).cost.mb;
	await t.page.waitForFunction(() => / of a core, /.test(document.querySelector('footer').textContent));
	const own = /aon: .* of a core, ([\d.]+) MB/.exec(await text(t.page, 'footer'));
	ok(near(Number(own?.[1]), mb, 0.5), 'the footer says what aond takes', [own?.[0], mb]);
	const about = await text(t.page, '.costs'), n = (await t.api(`run/${run}/accounting`)).accounting;
	ok(/records\s+[\d,]+/.test(about) && about.includes(n.lost ? 'lost' : '0') && /slowdown of steps/.test(about), 'the overview says what aon costs the run, and what was lost', about);
	await t.page.waitForSelector('.captures tbody tr');
	const c = (await t.api(`run/${run}/captures`)).captures[0];
	ok((await text(t.page, '.captures')).includes(c.text), 'and what was captured of it', [await text(t.page, '.captures'), c]);
	const file = await t.page.locator('.captures a').first().getAttribute('href');
	ok((await t.page.evaluate(async (u) => (await fetch(u)).status, file)) === 200, 'which can be had from here as well', file);
	await t.page.locator('.captures button.link').first().click();
	await settled(t.page);
	ok(/timeline.*w=/.test(await t.page.evaluate(() => location.hash)), 'and is found on the timeline');
	await views(t, run, ' of a live run');
	ok(t.faults.length === 0, 'and nothing goes wrong', t.faults.join('\n'));
	await t.close();
}

async function file(path) {
	const t = await tab(browser, `file://${path}`);
	await t.page.goto(`file://${path}`);
	await t.page.waitForSelector('main .view');
	await settled(t.page);
	const head = await text(t.page, '.verdict');
	ok(head.length > 10, 'a saved page opens without a server', head);
	for (const v of VIEWS) {
		await t.page.keyboard.press(String(VIEWS.indexOf(v) + 1));
		await settled(t.page);
		if (v === 'steps') ok((await t.page.locator('canvas.heat').count()) === 1, 'with the map of its steps', await text(t.page, 'main'));
	}
	ok(t.faults.length === 0, 'and has its views', t.faults.join('\n'));
	await t.close();
}

try {
	const t = await enter();
	await views(t, traces[0]);
	await overview(t, traces[0]);
	await kernels(t, traces[0]);
	await timeline(t, traces[0]);
	await brush(t, traces[0]);
	await ranks(t, job);
	await others(t, traces[0], traces[1]);
	await triage(t, traces[0]);
	await keys(t, traces[0]);
	ok(t.faults.length === 0, 'no error on the console, no request to anybody else', t.faults.join('\n'));
	await t.close();
	await phone(traces[0]);
	if (hostile) await names(hostile);
	if (live) await alive(live);
	if (saved) await file(saved);
} catch (e) {
	ok(false, 'the walk goes to its end', e.stack ?? String(e));
}
await browser.close();
done();
