// SPDX-License-Identifier: Apache-2.0
// EventSource of a browser on /api/v1/stream: prints what it got as JSON. Run by tests/scenario/serve/serve_stream.py.
import { launch, tab } from './browser.mjs';

const given = JSON.parse(process.env.AON_PAGE);
const browser = await launch();
const t = await tab(browser, given.base);

await t.page.goto(given.address);
const got = await t.page.evaluate((n) => new Promise((resolve) => {
	const es = new EventSource('api/v1/stream?kind=mark'), names = {}, ids = [];
	let lost = 0;
	es.addEventListener('lost', (e) => { lost += JSON.parse(e.data).lost; });
	es.addEventListener('event', (e) => {
		const { name } = JSON.parse(e.data);
		names[name] = (names[name] ?? 0) + 1;
		ids.push(e.lastEventId);
		if (ids.length === n) {
			es.close();
			resolve({ names, ids: new Set(ids).size, last: e.lastEventId, lost });
		}
	});
}), given.events);
process.stdout.write(`${JSON.stringify({ ...got, faults: t.faults })}\n`);
await browser.close();
