// SPDX-License-Identifier: Apache-2.0
// A browser for tests and benchmarks: Debian's Chromium, driven by playwright-core of the cache.
import { createRequire } from 'node:module';
import { homedir } from 'node:os';

const cache = process.env.XDG_CACHE_HOME ?? `${homedir()}/.cache`;
export const require = createRequire(`${cache}/aon/web/node_modules/`);
const { chromium } = require('playwright-core');

export const launch = (more = []) => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage', ...more] });

/** A tab that notes what must not happen: errors, and requests that leave the server. */
export async function tab(browser, base, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'dark', ...options });
	context.setDefaultTimeout(240000);
	const page = await context.newPage();
	const faults = [];
	page.on('console', (m) => m.type() === 'error' && faults.push(`${m.text()} ${m.location().url}`));
	page.on('pageerror', (e) => faults.push(e.stack ?? String(e)));
	page.on('request', (r) => {
		if (!r.url().startsWith(base) && !/^(data|blob|file):/.test(r.url())) faults.push(`a request leaves: ${r.url()}`);
	});
	return { page, faults, close: () => context.close() };
}

// TAP, as tests/scenario/lib/aontest.py prints it.
let count = 0, failed = 0;
export function ok(cond, text, detail = '') {
	count++;
	process.stdout.write(`${cond ? 'ok' : 'not ok'} ${count} - ${text}\n`);
	if (!cond) {
		failed++;
		const lines = (typeof detail === 'string' ? detail : JSON.stringify(detail, null, 1) ?? '').split('\n').slice(0, 30);
		process.stdout.write(lines.map((l) => `# ${l}\n`).join(''));
	}
	return !!cond;
}
export function done() {
	process.stdout.write(`1..${count}\n`);
	process.exit(failed ? 1 : 0);
}
