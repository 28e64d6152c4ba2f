// SPDX-License-Identifier: Apache-2.0
// The API of aon serve (src/ui/serve/api/api.json): requests and answers. Times are nanoseconds
// relative to the run's t0; unknown values are null. A saved page contains its answers.

export interface Reply {
	v: number;
	asof: number;
	lost: number;
	partial: boolean;
}

export interface Run {
	id: string;
	name: string;
	cmd: string | null;
	host: string | null;
	job: string | null;
	user: string | null;
	state: 'live' | 'ended';
	t0: string;
	t1_rel: number;
	processes: number;
	gpus: number;
	ranks: number;
	steps: number;
	events: number;
	lost: number;
}

export interface ApiFault {
	status: number;
	message: string;
	hint: string;
}

export class ApiError extends Error {
	constructor(public fault: ApiFault) {
		super(fault.message);
	}
}

type Params = Record<string, string | number | null | undefined>;

/** next: how many tiles to pass over for the rest; null: that is all. */
export interface Bytes {
	buf: ArrayBuffer;
	next: string | null;
}

interface Source {
	json(path: string, signal?: AbortSignal): Promise<unknown>;
	bytes(path: string, signal?: AbortSignal): Promise<Bytes>;
	live: boolean;
	saved: boolean;
}

async function ask(path: string, signal?: AbortSignal, method = 'GET'): Promise<Response> {
	let r: Response;
	try {
		r = await fetch(`api/v1/${path}`, { method, signal: signal ?? null, credentials: 'same-origin' });
	} catch (e) {
		if (e instanceof DOMException && e.name === 'AbortError') throw e;
		throw new ApiError({ status: 0, message: 'aon serve does not answer.', hint: 'Start it again: aon serve' });
	}
	if (r.ok) return r;
	let message = `${r.status} ${r.statusText}`, hint = '';
	try {
		const j = (await r.json()) as { error?: string | { message?: string; hint?: string }; message?: string; hint?: string };
		message = (typeof j.error === 'string' ? j.error : j.error?.message) ?? j.message ?? message;
		hint = (typeof j.error === 'object' ? j.error?.hint : j.hint) ?? '';
	} catch { /* the body is no JSON: the status says it */ }
	if (r.status === 401 || r.status === 403) hint ||= 'Open the address that aon serve printed: it carries the token.';
	throw new ApiError({ status: r.status, message, hint });
}

const http: Source = {
	live: true,
	saved: false,
	json: async (path, signal) => (await ask(path, signal)).json(),
	bytes: async (path, signal) => {
		const r = await ask(path, signal);
		return { buf: await r.arrayBuffer(), next: r.headers.get('Aon-Next') };
	},
};

/** Answers that aon report --html put into the page, by their address. What was not asked then is not there. */
function savedSource(all: Record<string, unknown>): Source {
	const find = (path: string) => {
		const [at = '', query = ''] = path.split('?', 2);
		const a = all[path] ?? (/(^|&)(t0|t1|ranks|vs|scale|cursor|q|event)=/.test(query) ? undefined : all[at]);
		if (a === undefined) throw new ApiError({ status: 404, message: 'This saved page does not contain that.', hint: 'Use aon serve.' });
		return a;
	};
	return {
		live: false,
		saved: true,
		json: async (path) => find(path),
		bytes: async (path) => ({ buf: unpack(String(find(path))), next: null }),
	};
}

function unpack(base64: string): ArrayBuffer {
	return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;
}

export let source: Source = http;

/** A saved page carries its answers compressed, in an element of their own. */
export async function ready(): Promise<void> {
	const el = document.getElementById('aon-data');
	if (!el?.textContent) return;
	const stream = new Blob([unpack(el.textContent.trim())]).stream().pipeThrough(new DecompressionStream('gzip'));
	source = savedSource((await new Response(stream).json()) as Record<string, unknown>);
}

export function address(path: string, params: Params = {}): string {
	const q = Object.entries(params)
		.filter(([, v]) => v !== null && v !== undefined && v !== '')
		.map(([k, v]) => `${k}=${encodeURIComponent(String(v)).replace(/%2C/g, ',')}`);
	return path + (q.length ? '?' + q.join('&') : '');
}

interface Kept {
	at: number;
	reply: Promise<unknown>;
	stop: AbortController;
	done: boolean;
	waiting: number; // callers that have not turned away
}
const kept = new Map<string, Kept>();

export interface How {
	fresh?: boolean; // not what was answered before
	signal?: AbortSignal; // aborted: the caller has turned away
}

/** Whoever turns away is told at once; when nobody waits any more, the question is taken back. */
function forCaller<T>(key: string, k: Kept, signal?: AbortSignal): Promise<T> {
	if (!signal) {
		k.waiting++; // waits for ever
		return k.reply as Promise<T>;
	}
	k.waiting++;
	return new Promise<T>((ok, no) => {
		const away = () => {
			no(new DOMException('turned away', 'AbortError'));
			if (--k.waiting > 0 || k.done) return;
			if (kept.get(key) === k) kept.delete(key);
			k.stop.abort();
		};
		if (signal.aborted) return away();
		signal.addEventListener('abort', away, { once: true });
		(k.reply as Promise<T>).then(ok, no).finally(() => signal.removeEventListener('abort', away));
	});
}

/** Asked once: the same question within two seconds, or of a run that has ended, is not asked again. */
export function get<T>(path: string, params: Params = {}, how: How = {}): Promise<T> {
	const key = address(path, params);
	const had = kept.get(key);
	if (had && !how.fresh && Date.now() - had.at < 2000 + (kept.size < 200 ? 60000 : 0)) return forCaller<T>(key, had, how.signal);
	const stop = new AbortController();
	const k: Kept = { at: Date.now(), reply: source.json(key, stop.signal), stop, done: false, waiting: 0 };
	kept.set(key, k);
	k.reply.catch(() => { if (kept.get(key) === k) kept.delete(key); }).finally(() => { k.done = true; });
	if (kept.size > 400) kept.delete(kept.keys().next().value as string);
	return forCaller<T>(key, k, how.signal);
}

/** Changes something on the server; parameters, and no body. */
export async function post<T>(path: string, params: Params): Promise<T> {
	return (await ask(address(path, params), undefined, 'POST')).json() as Promise<T>;
}

export function forget(): void {
	kept.clear();
}

export function runPath(run: string, what: string): string {
	return `run/${encodeURIComponent(run)}/${what}`;
}

export interface Span {
	t0: number;
	t1: number;
	whole: boolean;
}
export interface Row {
	id: string;
	name: string;
	short: string;
	class: string;
	rank?: number | null;
	ns: number;
	share: number;
	calls: number;
	min?: number;
	max?: number;
	p50: number;
	p99: number;
	bytes?: number;
	hist?: number[] | null;
	trend: number[]; // ns in each sixteenth of the range
	bound?: string | null;
	limit?: number | null;
	wasted?: number | null;
	src?: string | null;
}
export interface Rows extends Reply {
	rows: Row[];
	rest: { n: number; ns: number };
	total_ns: number;
	next: string | null;
	range: Span;
}
export interface Finding {
	id: number;
	family: string;
	title: string;
	rank: number | null;
	device: number | null;
	cost_ns: number;
	base_ns?: number;
	per: 'step' | 'trace';
	share: number;
	confidence: string;
	gain_lo_ns?: number | null;
	gain_hi_ns?: number | null;
	replay_ns?: number;
	evidence: Record<string, number | string | null>;
	events: { name: string; start_ns: number; dur_ns: number }[];
	seen: string[];
	not?: string;
	action: string;
	expect: string;
}
export interface Overview extends Reply {
	run: Run;
	range: Span;
	step: { n: number; p50: number | null; p95: number | null; drift: number | null; changes: { step: number; before_ns: number; after_ns: number }[] };
	busy: number | null;
	split: { class: string; ns: number; share: number; why: { text: string; ns: number }[] }[];
	series: { step0: number; width: number; p50: number[]; min: number[]; max: number[] };
	ranks: { rank: number | null; compute_ns: number; flag: string | null }[];
	findings: Finding[];
	kernels: Row[];
	verdict?: string | null;
	cost: { pct: number | null; lo: number | null; hi: number | null; pairs: number; accounted: number | null; core: number | null; mb: number | null };
}
export interface Step {
	rank: number | null;
	step: number;
	start_ns: number;
	dur_ns: number;
	busy_ns: number;
	idle_ns: number;
	compute_ns: number;
	comm_ns: number;
	memory_ns: number;
	exposed_comm_ns: number;
}
export interface Steps extends Reply {
	steps: Step[];
	next?: string | null;
	range: Span;
}
/** Ranks x steps: thousandths above the median of the step; a row or column may be several. */
export interface Heat extends Reply {
	range: Span;
	ranks_n: number;
	steps_n: number;
	ranks: (number | null)[];
	steps: number[];
	last_step: number;
	worst: (number | null)[][];
	mean: (number | null)[][];
	slowest: { rank: number | null; over: number }[];
}
export interface Windows extends Reply {
	width_ns: number;
	windows: { t: number; compute_ns: number; comm_ns: number; memory_ns: number; kernels: number; copies: number; steps: number; step_ns: number }[];
}
export interface Findings extends Reply {
	findings: Finding[];
	checked: { family: string; possible: boolean; found: boolean; share: number }[];
	critical_path: Record<string, number | string | null>;
	recorded_steps: number;
	of_steps: number; // the others were left out by chance
	range: Span;
}
/** A node: name, parent (-1: none), self, total, class (-1: none). Parents come first. */
export type FlameNode = [number, number, number, number, number];
export interface Flame extends Reply {
	samples?: number; // of threads
	enough?: boolean;
	weight?: string;
	names: string[];
	nodes: FlameNode[];
	classes?: string[];
	folded: { n: number; total: number };
	range: Span;
}
export interface Roofline extends Reply {
	device: string | null;
	peaks: { name: string; flops: number }[];
	bw: { name: string; Bps: number }[];
	points: { kid?: string; name?: string; short?: string; class?: string; op?: string | null; shape?: string | null; calls?: number; flop: number; byte: number; ns: number; how: string;
		type?: string; tensor?: boolean; limit?: string; fraction?: number | null; of_model?: number | null; waves?: number | null; tail?: number | null; occupancy?: number | null }[];
	unknown_ns?: number;
}
export interface DiffRow {
	name: string;
	class?: string;
	a_ns: number;
	b_ns: number;
	a_count: number;
	b_count: number;
}
export interface Diff extends Reply {
	comparable: boolean;
	why_not: string | null;
	a: { label: string; step_ns: number | null };
	b: { label: string; step_ns: number | null };
	delta_ns: number | null;
	delta_lo_ns?: number | null;
	delta_hi_ns?: number | null;
	parts: { part: string; a_ns: number; b_ns: number }[];
	kernels: DiffRow[];
	ops?: DiffRow[];
	modules?: DiffRow[];
	findings?: { family: string; change: string }[];
}
export interface Memory extends Reply {
	memory: { rank: number | null; device?: number; name: string; peak_bytes: number; low_bytes?: number[]; end_bytes?: number; peak_at_ns?: number }[];
	range: Span;
}
export interface Whatif extends Reply {
	steps: number;
	measured_ns: number;
	replayed_ns?: number;
	predicted_ns: number;
}
export interface Processes extends Reply {
	processes: { process: number; pid: number; uid: number; comm: string; job: string | null; rank: number | null; tier: string; connected: boolean; first_ns: number; last_ns: number; accounting?: { emitted: number; lost: number } }[];
}

export interface Captures extends Reply {
	captures: { at_ns: number; process: number; pid: number; text: string }[];
}
export interface Accounting extends Reply {
	accounting: { emitted?: number; stored?: number; lost: number; lost_by?: Record<string, number>; rows?: number; imported?: number; left?: number };
}

export interface EventInfo extends Reply {
	id: string | number;
	track: number;
	name: string;
	short?: string;
	class?: string | null;
	kind?: string;
	start: number;
	dur: number;
	[more: string]: unknown;
}
export interface Selected extends Reply {
	t0: number;
	t1: number;
	n: number;
	busy_ns?: number | null;
	classes: { class: string; ns: number; n: number }[];
	rows: { name: string; short?: string; class?: string | null; n: number; ns: number; avg: number; p50: number; p99: number; max: number }[];
}
export type Hits = Reply & { more: boolean; results: SearchHit[] };

/** The server looks for a moment only: where that was too short, it is asked again. */
export async function search(run: string, q: string, limit: number, how: How & { t0?: number; long?: [number, number] | null } = {}): Promise<Hits> {
	const params = { q: q.slice(0, 400), limit, t0: how.t0, least: how.long?.[0], below: how.long && Number.isFinite(how.long[1]) ? how.long[1] : undefined };
	let r = await get<Hits>(runPath(run, 'search'), params, how);
	for (let i = 0; i < 8 && r.more && r.results.length < limit; i++) r = await get<Hits>(runPath(run, 'search'), params, { ...how, fresh: true });
	return r;
}
export interface SearchHit {
	id: string | number;
	name: string;
	track?: number;
	start?: number;
	dur?: number;
}

// --- a cluster ---

/** Of GPUs together, seconds. step = busy + exposed + idle; of exposed, lost is waiting for slower ranks. */
export interface FleetTime {
	steps: number;
	held_s: number;
	step_s: number;
	busy_s: number;
	exposed_s: number;
	lost_s: number;
	idle_s: number;
	outside_s: number;
}
export interface FleetJob {
	job: string | null;
	user: string | null;
	withheld: boolean;
	ranks: number;
	gpus: number;
	hosts: number;
	world: number;
	begin_s: number;
	end_s: number;
	live: boolean;
	gpu_model: string | null;
	driver: string | null;
	framework: string | null;
	step_ns: number;
	time: FleetTime;
	slow: { rank: number; host: string | null; over: number } | null;
	finding: string | null;
}
export interface FleetNode {
	host: string;
	rack: string | null;
	leaf: number;
	version: string | null;
	seen_s: number;
	silent: boolean;
	processes: number;
	lost_records: number;
	spool_bytes: number;
	clock_off_us: number | null;
	waited_s: number;
	job: string | null;
}
export interface Fleet extends Reply {
	cluster: string;
	span: { from_s: number; to_s: number };
	gpus: number;
	time: FleetTime;
	dropped_rows: number;
	jobs: FleetJob[];
	silent_nodes: number;
	nodes: FleetNode[];
}
export interface FleetRank {
	rank: number | null;
	host: string | null;
	rack: string | null;
	leaf: number;
	steps: number;
	step_ns: number;
	own_ns: number;
	compute_ns: number;
	exposed_ns: number;
	waits_ns: number;
	idle_ns: number;
	over: number;
}
export interface FleetKernel {
	name: string;
	kind: string;
	count: number;
	total_ns: number;
	avg_ns: number;
	bytes: number;
	floor_ns: number | null;
}
export interface FleetReport extends Reply, Omit<FleetJob, 'ranks'> {
	span: { from_s: number; to_s: number };
	verdict: string;
	steps: number;
	first_step: number;
	last_step: number;
	step_p50_ns: number;
	step_p99_ns: number;
	hours: { t_s: number; ranks: number; time: FleetTime }[];
	since: { t_s: number; before_ns: number; after_ns: number } | null;
	ranks: FleetRank[];
	kernels: FleetKernel[];
	rest: { kernels: number; total_ns: number };
	findings: { kind: string; level: string; part: string; host: string | null; text: string; source: string; t_s: number; act: boolean; gain: number; confidence: number }[];
}
export interface FleetPlace {
	rank: number;
	host: string | null;
	rack: string | null;
	leaf: number;
}
/** Cells are rows of `rows` and columns of `steps`; of each the worst: which rank, at which step, how long. */
export interface FleetHeat extends Reply {
	ranks_n: number;
	steps_n: number;
	steps_all: number;
	every: number; // of so many steps one was looked at
	rows: (FleetPlace & { ranks: number })[];
	steps: number[];
	last_step: number;
	worst: (number | null)[][];
	mean: (number | null)[][];
	who: (number | null)[][];
	when: (number | null)[][];
	us: (number | null)[][];
	slowest: (FleetPlace & { over: number })[];
}
export interface FleetSide {
	job: string | null;
	ranks: number;
	steps: number;
	step_ns: number;
	busy_ns: number;
	exposed_ns: number;
	waits_ns: number;
	idle_ns: number;
	driver: string | null;
	framework: string | null;
}
export interface FleetDiff extends Reply {
	a: FleetSide;
	b: FleetSide;
	kernels: { name: string; kind: string; a_ns: number; b_ns: number; a_count: number; b_count: number }[];
}
export interface FleetChange {
	kernel: string;
	what: string;
	gpu_model: string | null;
	before: string;
	after: string;
	before_ns: number;
	after_ns: number;
	before_jobs: number;
	after_jobs: number;
	cost_s: number;
}
