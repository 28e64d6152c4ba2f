// SPDX-License-Identifier: Apache-2.0
// Chooses the run and the view; keeps both in sync with the address and with new data.
import './style.css';
import { forget, get, ready, source, type Reply, type Run } from './api';
import { fill, h } from './dom';
import * as frame from './frame';
import { t } from './i18n';
import { setView } from './keys';
import { fleetPage } from './fleet';
import { runsPage } from './runs';
import { go, state, watch, type State } from './state';
import { failed, type Shown, type View } from './view';
import { findings } from './views/findings';
import { flame } from './views/flame';
import { kernels } from './views/kernels';
import { overview } from './views/overview';
import { roofline } from './views/roofline';
import { steps } from './views/steps';
import { timeline } from './views/timeline';

const VIEWS: View[] = [overview, timeline, flame, kernels, steps, findings, roofline];

let runs: Run[] = [];
let fleet: string | null = null; // the address of a cluster that is served
let shown: Shown | null = null;
let shownKey = '';
let cost: string | null = null;
let lastSeen = 0;
let pointer = 0; // when the pointer last moved: nothing changes under it

async function loadRuns(): Promise<void> {
	({ runs, fleet } = await get<Reply & { runs: Run[]; fleet: string | null }>('runs', {}, { fresh: true }));
	lastSeen = Date.now();
}

function current(): Run | null {
	return runs.find((r) => r.id === state.run) ?? null;
}

function open(): void {
	const run = current();
	if (!run && fleet && state.view !== 'runs' && state.view !== 'fleet') return go({ view: 'fleet' }, false);
	if (!run && !fleet && runs.length === 1 && state.view !== 'runs') return go({ run: runs[0]!.id, view: 'overview' }, false);
	const view = run ? (VIEWS.find((v) => v.id === state.view) ?? overview) : null;
	const key = run ? `${run.id}/${view!.id}` : fleet && state.view === 'fleet' ? `fleet/${state.job ?? ''}/${state.vs ?? ''}/${state.at ?? ''}/${state.since ?? ''}` : 'runs';
	frame.paintFrame(runs, run);
	frame.paintFoot(run, cost, lastSeen);
	if (key === shownKey) return;
	shownKey = key;
	shown?.close?.();
	shown = null;
	setView([]);
	if (!state.sel) frame.drawer(null);
	if (key.startsWith('fleet/')) {
		shown = fleetPage(frame.main, runs.length, frame.say);
		setView([]);
		return;
	}
	if (!run || !view) {
		runsPage(frame.main, runs, fleet !== null);
		return;
	}
	const host = h('div', { class: view.flush ? 'view flush' : 'view', data: { view: view.id } });
	fill(frame.main, h('h1', { class: 'hidden' }, t(view.question)), host);
	frame.main.scrollTop = 0;
	shown = view.open(host, run, frame.say);
	setView(shown.keys ?? []);
	frame.onCopy(() => {
		const text = shown?.text?.() ?? '';
		void frame.copy(text).then((ok) => frame.toast(ok ? t('share.data') : t('share.cannot')));
	});
	void Promise.resolve(shown.drawn).then(() => frame.fetchCost(run.id)).then((c) => {
		cost = c;
		frame.paintFoot(current(), cost, lastSeen);
	});
}

function changed(now: State, was: State): void {
	if (now.th !== was.th) frame.applyTheme();
	if (now.run !== was.run || now.view !== was.view || (!now.run && (now.job !== was.job || now.vs !== was.vs || now.at !== was.at || now.since !== was.since))) open();
	else {
		frame.paintFrame(runs, current());
		shown?.update?.(now, was);
	}
}

/** A live run tells every two seconds how far it is; views ask again for what they show. */
function listen(): void {
	if (!source.live || typeof EventSource === 'undefined') return;
	const es = new EventSource('api/v1/live');
	es.addEventListener('tick', (e) => {
		const tick = JSON.parse((e as MessageEvent<string>).data) as { runs: Partial<Run>[] };
		lastSeen = Date.now();
		let news = false;
		for (const r of tick.runs) {
			const mine = runs.find((x) => x.id === r.id);
			if (!mine) return void loadRuns().then(() => frame.paintFrame(runs, current()));
			if (mine.id === state.run && (mine.events !== r.events || mine.t1_rel !== r.t1_rel)) news = true;
			Object.assign(mine, r);
		}
		frame.paintFoot(current(), cost, lastSeen);
		if (!news || Date.now() - pointer < 700) return;
		forget();
		shown?.tick?.();
	});
}

async function start(): Promise<void> {
	frame.build(VIEWS);
	frame.applyTheme();
	for (const q of ['(prefers-color-scheme: light)', '(forced-colors: active)']) matchMedia(q).addEventListener('change', frame.applyTheme);
	window.addEventListener('pointermove', () => { pointer = Date.now(); }, { passive: true });
	watch(changed);
	try {
		await ready();
		await loadRuns();
	} catch (e) {
		frame.paintFrame([], null);
		return failed(frame.main, e, () => location.reload());
	}
	open();
	listen();
	setInterval(() => frame.paintFoot(current(), cost, lastSeen), 5000);
}

void start();
