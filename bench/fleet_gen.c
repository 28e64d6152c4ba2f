/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_gen.c - generates a synthetic fleet as rows for ClickHouse: 1,000 nodes of 8 GPUs, jobs of
 * 8 to 1,024 ranks, a few of them with a fault. The same arguments give the same bytes.
 *
 *	fleet_gen WHAT [key=value...] > rows      RowBinary of one table; fleet_gen list says which
 *	first=4096: the first job has so many ranks; part=I of=N: every Nth job alone
 *
 * What is wrong: rank 37 of job-000 has 8 % more work of its own than others, so that all wait; job-001's last
 * ranks are its last stage and have 15 % more; job-002 holds its GPUs and does nothing; node0100 has said nothing
 * for a quarter of an hour; where the driver is the newer one, one kernel in four takes 12 % longer, where the
 * framework is, another one in four 9 %.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "model/event.h"
#include "model/step_rec.h"
#include "ship/rowbin.h"

#define S         1000000000ull
#define HOUR      (3600 * S)
#define GPUS      8u
#define FLUSH     (8u << 20)
#define SLOW_RANK 37u
#define SILENT    100u

static struct {
	uint64_t nodes, kernels, names, to, seconds, every, job, rec, step_ms, hours, part, of,
		first;
	/* Of `corpus`: its last step (`first`: its first), and a rank that is silent when the job hangs. */
	uint64_t last, without;
} o = { .nodes = 1000,
	.kernels = 150,
	.names = 2000,
	.to = 1794960000,
	.seconds = 10,
	.every = 10,
	.job = UINT64_MAX,
	.rec = 1,
	.step_ms = 1000,
	.hours = 24,
	.of = 1,
	.last = UINT64_MAX,
	.without = UINT64_MAX };

/* Numbers that are spread and always the same. */
static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x[3] = { a, b, c };

	return XXH3_64bits(x, sizeof(x));
}

static double jitter(uint64_t a, uint64_t b, uint64_t c)
{
	return (double)(mix(a, b, c) >> 11) / 9007199254740992.0 - 0.5; /* -0.5 to 0.5 */
}

/* --- who is who --- */

struct job {
	char name[16], user[16];
	uint32_t first, ranks; /* of the GPUs of the fleet */
	const char *driver, *framework;
};

static struct job *job;
static uint32_t jobs;

static void lay_jobs(void)
{
	static const uint32_t size[] = { 1024, 512, 512, 256, 256, 256, 128,
					 128,  64,  64,  32,  16,  8,   8 };
	uint32_t all = (uint32_t)o.nodes * GPUS, at = 0, want;

	job = calloc(all / GPUS + 1, sizeof(*job));
	for (; job && at < all; at += job[jobs++].ranks) {
		struct job *j = &job[jobs];

		want = !jobs && o.first ? (uint32_t)o.first
					: size[jobs % (sizeof(size) / sizeof(size[0]))];
		j->first = at;
		j->ranks = want < all - at ? want : all - at;
		snprintf(j->name, sizeof(j->name), "job-%03u", jobs);
		snprintf(j->user, sizeof(j->user), "user%02u", jobs % 17);
		j->driver = jobs % 2 ? "560.28.03" : "550.54.15";
		j->framework = jobs % 4 < 2 ? "torch 2.8.0" : "torch 2.7.1";
	}
}

static struct ship_str text(char *buf, size_t cap, const char *fmt, uint32_t n)
{
	int len = snprintf(buf, cap, fmt, n);

	return (struct ship_str){ buf, (size_t)len };
}

static const struct job *job_of(uint32_t gpu)
{
	for (uint32_t i = 0; i < jobs; i++)
		if (gpu < job[i].first + job[i].ranks)
			return &job[i];
	return NULL;
}

/* --- rows --- */

static struct rowbin out;
static enum ship_table_id table;

static void flush(void)
{
	if (out.len && fwrite(out.data, 1, out.len, stdout) != out.len)
		exit(1);
	out.len = 0;
}

static void put(const void *row)
{
	if (rowbin_put(&out, ship_table(table), row) < 0)
		exit(1);
	if (out.len >= FLUSH)
		flush();
}

#define COMMON(at) .cluster = ship_text("sim"), .src = 1, .seq = (at)

struct place {
	char host[16], rack[16];
	uint32_t node, leaf;
};

static struct place place_of(uint32_t gpu)
{
	struct place p = { .node = gpu / GPUS };

	snprintf(p.host, sizeof(p.host), "node%04u", p.node);
	snprintf(p.rack, sizeof(p.rack), "R%02u", p.node / 32);
	p.leaf = 1 + p.node / 16;
	return p;
}

static uint64_t now(void)
{
	return o.to * S;
}

static void processes(void)
{
	for (uint32_t g = 0; g < o.nodes * GPUS; g++) {
		const struct job *j = job_of(g);
		struct place p = place_of(g);
		char uuid[48];

		put(&(struct ship_process){ COMMON(g),
					    .proc = mix(g, 1, 1),
					    .host = ship_text(p.host),
					    .rack = ship_text(p.rack),
					    .leaf = p.leaf,
					    .boot = ship_text("0123456789abcdef0123456789abcdef"),
					    .job = ship_text(j->name),
					    .user = ship_text(j->user),
					    .rank = (int32_t)(g - j->first),
					    .world = j->ranks,
					    .local_rank = (int32_t)(g % GPUS),
					    .pid = 1000 + g % GPUS,
					    .start_ns = now() - o.hours * HOUR,
					    .comm = ship_text("python"),
					    .exe = ship_text("/usr/bin/python3"),
					    .gpu_uuid = text(uuid, sizeof(uuid), "GPU-%08x", g),
					    .gpu_model = ship_text("H100"),
					    .driver = ship_text(j->driver),
					    .framework = ship_text(j->framework),
					    .begin_ns = now() - o.hours * HOUR,
					    .end_ns =
						    p.node == SILENT ? now() - 900 * S : now() - 1,
					    .live = 1,
					    .emitted = 1000000,
					    .stored = 999990,
					    .lost = 10 });
	}
}

static void heartbeats(void)
{
	uint64_t from = now() - o.hours * HOUR, until;

	for (uint32_t n = 0; n < o.nodes; n++) {
		struct place p = place_of(n * GPUS);

		until = n == SILENT ? now() - 900 * S : now();
		for (uint64_t t = from; t < until; t += o.every * S)
			put(&(struct ship_node){
				COMMON(n), .host = ship_text(p.host), .rack = ship_text(p.rack),
				.leaf = p.leaf, .t_ns = t, .version = ship_text("0.1.0"),
				.processes = GPUS, .rss_bytes = 41u << 20, .stored = t / S,
				.clock_off_us = (int32_t)(100 * jitter(n, 2, 2)),
				.clock_err_us = 50 });
	}
}

static const char *const stem[] = {
	"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_",
	"void at::native::vectorized_elementwise_kernel<4, at::native::",
	"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4, ",
	"ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
};

/* As long as real ones are. */
static struct ship_str name_text(uint32_t n, char *buf, size_t cap)
{
	int len = snprintf(buf, cap, "%s%u%0*u>", stem[n % 4], n, 140, n);

	return (struct ship_str){ buf, (size_t)len };
}

static uint64_t name_hash(uint32_t n)
{
	char buf[320];
	struct ship_str s = name_text(n, buf, sizeof(buf));

	return XXH3_64bits(s.s, s.len);
}

static void names(void)
{
	char buf[320];

	for (uint32_t n = 0; n < o.names; n++)
		put(&(struct ship_name){ COMMON(n), .hash = name_hash(n),
					 .text = name_text(n, buf, sizeof(buf)), .t_ns = now() });
}

/* What rank `r` of a job spends of a step, in milliseconds: its own work. */
static double own_ms(const struct job *j, uint32_t r, uint64_t step)
{
	uint32_t which = (uint32_t)(j - job);
	double own = (double)o.step_ms * 0.8 * (1 + 0.01 * jitter(which, r, step));

	if (which == 0 && r == SLOW_RANK)
		own *= 1.08;
	if (which == 1 && r >= j->ranks - j->ranks / 8)
		own *= 1.15;
	return own;
}

static double slowest_ms(const struct job *j)
{
	uint32_t which = (uint32_t)(j - job);

	return (double)o.step_ms * 0.8 * (which == 0 ? 1.08 : which == 1 ? 1.15 : 1.005);
}

static int record(const struct job *j, uint32_t r, const struct ship_step *s, uint8_t buf[STEP_MAX])
{
	struct step_rec x;
	struct step_slot *slot;

	step_rec_init(&x);
	x.job = mix((uint64_t)(j - job), 7, 7);
	x.rank = r;
	x.world = j->ranks;
	x.step = s->step;
	x.host = (j->first + r) / GPUS;
	x.leaf = s->leaf;
	x.gpu = (uint16_t)(r % GPUS);
	x.begin_ns = s->t_ns;
	x.t.step = s->step_ns;
	x.t.compute = s->compute_ns;
	x.t.comm = s->comm_ns;
	x.t.exposed = s->exposed_ns;
	x.t.idle = s->idle_ns;
	for (uint32_t i = 0; i < 3; i++) {
		slot = step_rec_slot(&x, 100 + i, i ? STEP_OP_ALL_GATHER : STEP_OP_ALL_REDUCE);
		slot->members = j->ranks;
		step_slot_add(slot, s->step, 1 << 20, 1e6, (double)s->comm_ns / 3);
	}
	step_rec_seal(&x);
	return step_rec_encode(buf, STEP_MAX, &x);
}

/* A step of all ranks of `j` together. */
static void one_step(const struct job *j, uint32_t step, uint64_t t_ns)
{
	double bare = (double)o.step_ms * 0.03, all = slowest_ms(j) + bare;
	uint8_t rec[STEP_MAX];
	int len;

	for (uint32_t r = 0; r < j->ranks; r++) {
		struct place p = place_of(j->first + r);
		double own = own_ms(j, r, step), wait = all - own;
		struct ship_step s = { COMMON(step),
				       .job = ship_text(j->name),
				       .rank = (int32_t)r,
				       .proc = mix(j->first + r, 1, 1),
				       .host = ship_text(p.host),
				       .leaf = p.leaf,
				       .step = step,
				       .t_ns = t_ns,
				       .step_ns = (float)(all * 1e6),
				       .compute_ns = (float)(own * 0.92e6),
				       .comm_ns = (float)((wait + 60) * 1e6),
				       .exposed_ns = (float)(wait * 1e6),
				       .copy_ns = (float)(own * 0.02e6),
				       .idle_ns = (float)(own * 0.06e6),
				       .tokens = 8192 };

		if (o.rec) {
			len = record(j, r, &s, rec);
			s.rec = (struct ship_str){ (char *)rec, len > 0 ? (size_t)len : 0 };
		}
		put(&s);
	}
}

static bool chosen(uint32_t i)
{
	return i != 2 && (o.job == UINT64_MAX || o.job == i) && (!o.of || i % o.of == o.part);
}

static void steps(void)
{
	uint64_t n = o.seconds * 1000 / o.step_ms, from = now() - o.seconds * S;

	for (uint32_t i = 0; i < jobs; i++)
		for (uint64_t k = 0; chosen(i) && k < n; k++)
			one_step(&job[i], (uint32_t)k, from + k * o.step_ms * 1000000);
}

static void collectives(void)
{
	uint64_t n = o.seconds * 1000 / o.step_ms, from = now() - o.seconds * S;

	for (uint32_t i = 0; i < jobs; i++)
		for (uint64_t k = 0; chosen(i) && k < n; k++)
			for (uint32_t r = 0; r < job[i].ranks; r++)
				for (uint32_t c = 0; c < 3; c++)
					put(&(struct ship_collective){
						COMMON(k), .job = ship_text(job[i].name),
						.rank = (int32_t)r,
						.proc = mix(job[i].first + r, 1, 1),
						.step = (uint32_t)k,
						.t_ns = from + k * o.step_ms * 1000000,
						.comm = 100 + c,
						.op = c ? STEP_OP_ALL_GATHER : STEP_OP_ALL_REDUCE,
						.peers = job[i].ranks, .n = 24,
						.bytes = 24ull << 20,
						.sum_ns =
							(float)(1e8 * (1 + 0.1 * jitter(r, k, c))),
						.min_ns = 1e6f, .max_ns = 9e6f,
						.exposed_ns = 1e7f });
}

/* Kernels of job i: so many of all, the same ones in every window. */
static uint32_t kernel_of(uint32_t i, uint32_t k)
{
	return (uint32_t)((i * 37 + k) % o.names);
}

static uint64_t kernel_ns(uint32_t i, uint32_t k)
{
	uint64_t ns = 2000 + (kernel_of(i, k) % 97) * 5000;

	if (i % 2 && kernel_of(i, k) % 4 == 0)
		ns += ns * 12 / 100;
	return i % 4 < 2 && kernel_of(i, k) % 4 == 2 ? ns + ns * 9 / 100 : ns;
}

static void windows(void)
{
	uint64_t n = (o.seconds + 9) / 10, from = now() - n * 10 * S;
	char hist[24];

	memset(hist, 1, sizeof(hist));
	for (uint64_t w = 0; w < n; w++)
		for (uint32_t i = 0; i < jobs; i++)
			for (uint32_t r = 0; chosen(i) && r < job[i].ranks; r++) {
				struct place p = place_of(job[i].first + r);

				for (uint32_t k = 0; k < o.kernels; k++) {
					uint64_t ns = kernel_ns(i, k), count = 10 + k % 90;
					uint64_t total = (uint64_t)((double)(ns * count) *
								    (1 + 0.02 * jitter(r, w, k)));

					put(&(struct ship_window){
						COMMON(w), .job = ship_text(job[i].name),
						.rank = (int32_t)r,
						.proc = mix(job[i].first + r, 1, 1),
						.host = ship_text(p.host),
						.t_ns = from + w * 10 * S, .dur_ns = 10 * S,
						.kind = EVENT_KERNEL,
						.name = name_hash(kernel_of(i, k)), .count = count,
						.total_ns = total, .min_ns = ns * 9 / 10,
						.max_ns = ns * 12 / 10, .bound = 1,
						.floor_ns = total * 7 / 10,
						.hist = { hist, sizeof(hist) } });
				}
			}
}

/* A capture of ten steps of the chosen jobs: on each rank a track of the host with steps, and a stream with kernels. */
static void events(void)
{
	uint64_t from = now() - 60 * S, ms = 1000000, step_ns = o.step_ms * ms;

	for (uint32_t i = 0; i < jobs; i++)
		for (uint32_t r = 0; chosen(i) && r < job[i].ranks; r++)
			for (uint32_t n = 0; n < 10 * (o.kernels + 1); n++) {
				uint32_t step = n / ((uint32_t)o.kernels + 1),
					 k = n % ((uint32_t)o.kernels + 1);
				bool whole = !k;

				put(&(struct ship_event){
					COMMON(n), .job = ship_text(job[i].name),
					.rank = (int32_t)r, .proc = mix(job[i].first + r, 1, 1),
					.capture = ship_text("raised-1"),
					.t_ns = from + step * step_ns + (whole ? 0 : k * ms),
					.dur_ns = whole ? step_ns : kernel_ns(i, k - 1),
					.kind = whole ? EVENT_STEP : EVENT_KERNEL,
					.name = whole ? 0 : name_hash(kernel_of(i, k - 1)),
					.lane = whole ? 1 : 2,
					.device = whole ? UINT32_MAX : r % GPUS,
					.stream = whole ? 1000 + r : 7, .corr = whole ? 0 : n,
					.bytes = whole ? step : 3 });
			}
}

static void findings(void)
{
	put(&(struct ship_finding){ COMMON(1), .job = ship_text("job-000"), .rank = SLOW_RANK,
				    .host = ship_text("node0004"), .t_ns = now() - 1800 * S,
				    .kind = ship_text("F1"), .level = ship_text("rank"),
				    .part = ship_text("rank:37"), .act = 1, .gain = 0.06f,
				    .confidence = 0.97f,
				    .text = ship_text("rank 37 is slow and the others wait for it"),
				    .detail = ship_text("{}"), .source = ship_text("diagnose") });
}

static const char *date(uint64_t t_ns, char day[16])
{
	time_t t = (time_t)(t_ns / S);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(day, 16, "%Y-%m-%d", &tm);
	return day;
}

/* Rows of a roll-up as the server would have made them of hours that are not there raw; as text: they have no table. */
static void rank_hours(void)
{
	char day[16];

	for (uint64_t h = 1; h < o.hours; h++)
		for (uint32_t i = 0; i < jobs; i++)
			for (uint32_t r = 0; chosen(i) && r < job[i].ranks; r++) {
				uint64_t t = now() / HOUR * HOUR - h * HOUR,
					 n = 3600000 / o.step_ms;
				double bare = (double)o.step_ms * 0.03,
				       all = slowest_ms(&job[i]) + bare;
				double own = own_ms(&job[i], r, h), k = 1e6 * (double)n;

				printf("sim\t%s\t%u\t%s\t%llu\t%llu\t%.0f\t%.0f\t%.0f\t%.0f\t%."
				       "0f\t0\t0\n",
				       job[i].name, r, date(t, day), (unsigned long long)t,
				       (unsigned long long)n, all * k, own * .92 * k,
				       (all - own + 60) * k, (all - own) * k, own * .06 * k);
			}
}

static void kernel_hours(void)
{
	char day[16];

	for (uint64_t h = 1; h < o.hours; h++)
		for (uint32_t i = 0; i < jobs; i++)
			for (uint32_t k = 0; chosen(i) && k < o.kernels; k++) {
				uint64_t t = now() / HOUR * HOUR - h * HOUR,
					 n = (10 + k % 90) * 360ull * job[i].ranks;

				printf("sim\t%s\t%d\t%llu\t%s\t%llu\t%llu\t%llu\t%llu\t0\n",
				       job[i].name, EVENT_KERNEL,
				       (unsigned long long)name_hash(kernel_of(i, k)), date(t, day),
				       (unsigned long long)t, (unsigned long long)n,
				       (unsigned long long)(n * kernel_ns(i, k)),
				       (unsigned long long)(n * kernel_ns(i, k) * 7 / 10));
			}
}

/* Records of aon-lab corpus from standard input, as the steps of a job `corpus` that ends now. */
static void corpus(void)
{
	size_t len = 0, cap = 0, at = 0, got;
	uint8_t *all = NULL;
	struct step_rec r;
	char host[16], name[32];
	int n;

	do {
		if (cap - len < (1u << 20)) {
			cap = 2 * cap + (2u << 20);
			all = realloc(all, cap);
			if (!all)
				exit(1);
		}
		got = fread(all + len, 1, cap - len, stdin);
		len += got;
	} while (got);
	for (; at < len && (n = step_rec_decode(&r, all + at, len - at)) > 0; at += (size_t)n) {
		uint8_t rec[STEP_MAX];
		struct ship_step s = { COMMON(r.step),
				       .job = o.job == UINT64_MAX
						      ? ship_text("corpus")
						      : text(name, sizeof(name), "corpus-%u",
							     (uint32_t)o.job),
				       .rank = (int32_t)r.rank,
				       .proc = mix(r.rank, 9, 9),
				       .host = text(host, sizeof(host), "sim%03u", r.host),
				       .leaf = r.leaf,
				       .step = r.step,
				       .t_ns = now() - 600 * S + r.step * S,
				       .flags = r.flags,
				       .tokens = r.tokens };

		if (r.step < o.first || r.step > o.last ||
		    (r.rank == o.without && r.flags & STEP_F_PARTIAL))
			continue;
		r.begin_ns = s.t_ns;
		memcpy(&s.step_ns, &r.t, sizeof(r.t));
		s.rec = (struct ship_str){ (char *)rec,
					   (size_t)step_rec_encode(rec, sizeof(rec), &r) };
		put(&s);
	}
	free(all);
}

static const struct {
	const char *word;
	enum ship_table_id table;
	void (*make)(void);
} what[] = {
	{ "process", SHIP_PROCESS, processes },
	{ "node", SHIP_NODE, heartbeats },
	{ "name", SHIP_NAME, names },
	{ "window", SHIP_WINDOW, windows },
	{ "step", SHIP_STEP, steps },
	{ "collective", SHIP_COLLECTIVE, collectives },
	{ "event", SHIP_EVENT, events },
	{ "finding", SHIP_FINDING, findings },
	{ "corpus", SHIP_STEP, corpus },
	{ "rank_hour", SHIP_TABLES, rank_hours },
	{ "kernel_hour", SHIP_TABLES, kernel_hours },
};

static int set(const char *arg)
{
	static const struct {
		const char *key;
		uint64_t *to;
	} keys[] = { { "nodes", &o.nodes }, { "kernels", &o.kernels }, { "names", &o.names },
		     { "to", &o.to },       { "seconds", &o.seconds }, { "every", &o.every },
		     { "job", &o.job },     { "rec", &o.rec },         { "step_ms", &o.step_ms },
		     { "hours", &o.hours }, { "part", &o.part },       { "of", &o.of },
		     { "first", &o.first }, { "last", &o.last },       { "without", &o.without } };
	size_t n = strcspn(arg, "=");

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].key) == n && !strncmp(keys[i].key, arg, n) && arg[n] == '=') {
			*keys[i].to = strtoull(arg + n + 1, NULL, 10);
			return 0;
		}
	fprintf(stderr, "fleet_gen: '%s' is none of its settings\n", arg);
	return -EINVAL;
}

int main(int argc, char *argv[])
{
	size_t n = sizeof(what) / sizeof(what[0]);

	for (int i = 2; i < argc; i++)
		if (set(argv[i]) < 0)
			return 2;
	lay_jobs();
	for (size_t i = 0; i < n && argc > 1; i++) {
		if (strcmp(argv[1], what[i].word) != 0)
			continue;
		table = what[i].table;
		what[i].make();
		flush();
		return fflush(stdout) ? 1 : 0;
	}
	for (size_t i = 0; i < n; i++)
		puts(what[i].word);
	return argc > 1 && strcmp(argv[1], "list") != 0 ? 2 : 0;
}
