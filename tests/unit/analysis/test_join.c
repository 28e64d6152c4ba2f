/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up telemetry and work of four GPUs, a minute of it: what is said to have made what slower. */
#include "insight/find/join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "t.h"
#include "tracekit.h"

#define S    1000000000ull
#define BINS 60u
#define GPUS 4u
#define NONE CAUSES

/* From `from` on, of one GPU or of all: factors of work and telemetry. */
struct made {
	const char *name;
	double compute, memory, copy, host; /* how much longer work takes */
	bool work_of_all;                   /* on every GPU, not on the second alone */
	double clock, mem_clock;            /* of the second GPU, as factors */
	unsigned reasons;
	double errors_s; /* corrected memory errors */
	double width, steal;
	unsigned from;
	enum cause want;
};

static const struct made cases[] = {
	/* clang-format off */
	/* name                                           compute mem  copy host all    clock memclk why  ecc width steal from want */
	{ "nothing is wrong, nothing is said",            1,    1,    1, 1,   false, 1,    1,    0,    0, 16, 0,    20, NONE },
	{ "a clock that is low for heat slows products",  1.25, 1,    1, 1,   false, 0.8,  1,    0x20, 0, 16, 0,    20, CAUSE_THERMAL },
	{ "the same for power",                           1.25, 1,    1, 1,   false, 0.8,  1,    0x4,  0, 16, 0,    20, CAUSE_POWER },
	{ "the same and nobody says why",                 1.25, 1,    1, 1,   false, 0.8,  1,    0,    0, 16, 0,    20, CAUSE_CLOCK },
	{ "from the begin on its like tell",              1.25, 1,    1, 1,   false, 0.8,  1,    0x20, 0, 16, 0,    0,  CAUSE_THERMAL },
	{ "a low clock that slows nothing",               1,    1,    1, 1,   false, 0.8,  1,    0x20, 0, 16, 0,    20, NONE },
	{ "a low clock explains no memory",               1,    1.25, 1, 1,   false, 0.8,  1,    0x20, 0, 16, 0,    20, NONE },
	{ "a clock 10 % lower does not double a time",    2,    1,    1, 1,   false, 0.9,  1,    0x20, 0, 16, 0,    20, NONE },
	{ "the work of all changed at that moment",       1.25, 1.25, 1, 1,   true,  1,    1,    0,    1, 16, 0,    20, NONE },
	{ "memory at a lower clock",                      1,    1.3,  1, 1,   false, 1,    0.75, 0,    0, 16, 0,    20, CAUSE_MEMCLK },
	{ "memory with errors",                           1,    1.15, 1, 1,   false, 1,    1,    0,    1, 16, 0,    20, CAUSE_ECC },
	{ "errors that slow nothing",                     1,    1,    1, 1,   false, 1,    1,    0,    1, 16, 0,    20, NONE },
	{ "a narrow link slows copies",                   1,    1,    4, 1,   false, 1,    1,    0,    0, 4,  0,    20, CAUSE_PCIE },
	{ "a narrow link that nothing is copied over",    1,    1,    1, 1,   false, 1,    1,    0,    0, 4,  0,    20, NONE },
	{ "a slower GPU at the same clock",               1.1,  1.1,  1, 1,   false, 1,    1,    0,    0, 16, 0,    0,  CAUSE_SLOWER },
	{ "stolen CPUs slow the host",                    1,    1,    1, 1.6, true,  1,    1,    0,    0, 16, 0.2,  20, CAUSE_STEAL },
	{ "stolen CPUs that nobody misses",               1,    1,    1, 1,   false, 1,    1,    0,    0, 16, 0.2,  20, NONE },
	/* clang-format on */
};

static double noise(void)
{
	return 1 + 0.01 * ((double)rand() / RAND_MAX - 0.5);
}

static void put_work(struct join *j, const struct made *m, uint32_t gpu, uint32_t track)
{
	const double by[] = { m->compute, m->memory, 1, m->copy, 1, 1, m->host };

	for (enum join_class c = 0; c < JOIN_CLASSES; c++) {
		struct join_key k = { .device = gpu, .class = c, .same = 1 + c, .name = "work" };
		uint32_t at;

		if (c == JOIN_OTHER || c == JOIN_COMM || c == JOIN_NET)
			continue;
		kit_must(join_key(j, &k, &at) == 0, "key");
		for (uint32_t b = 0; b < BINS; b++)
			for (unsigned i = 0; i < 8; i++) {
				bool bad = b >= m->from && (gpu == 1 || m->work_of_all);
				double ns = 20e6 * noise() * (bad ? by[c] : 1);

				join_work(j, at, S + b * S + i * S / 8, (uint64_t)ns);
				if (c < JOIN_COPY)
					join_busy(j, track, S + b * S + i * S / 8, (uint64_t)ns);
			}
	}
}

static void put_signals(struct join *j, const struct made *m, uint32_t gpu, uint32_t owner,
			uint32_t node)
{
	for (uint32_t b = 0; b < BINS; b++) {
		bool bad = b >= m->from && gpu == 1;
		uint64_t at = S + b * S, to = at + S;

		join_hold(j, owner, SIGNAL_SM_CLOCK, 1800 * noise() * (bad ? m->clock : 1), at, to);
		join_hold(j, owner, SIGNAL_MEM_CLOCK, 2600 * (bad ? m->mem_clock : 1), at, to);
		join_hold(j, owner, SIGNAL_POWER_BITS, bad ? m->reasons : 0, at, to);
		join_hold(j, owner, SIGNAL_THERMAL_BITS, bad ? m->reasons : 0, at, to);
		join_hold(j, owner, SIGNAL_PCIE_WIDTH, bad ? m->width : 16, at, to);
		join_count(j, owner, SIGNAL_ECC_SBE, bad ? m->errors_s : 0, at, to);
		if (gpu)
			continue;
		join_count(j, node, SIGNAL_CPU_ALL, 96, at, to);
		join_count(j, node, SIGNAL_CPU_STEAL, 96 * (b >= m->from ? m->steal : 0), at, to);
	}
}

static struct join *make(const struct made *m)
{
	struct join *j;
	uint32_t node;

	srand(7);
	kit_must(join_new(&j, S, S, BINS) == 0 && join_owner(j, &node) == 0, "join_new");
	for (uint32_t g = 0; g < GPUS; g++) {
		struct join_device d = { .pid = 100 + g, .rank = (int32_t)g };
		uint32_t owner, at, track;

		kit_must(join_owner(j, &owner) == 0, "owner");
		d.owner[JOIN_GPU] = owner + 1;
		d.owner[JOIN_NODE] = node + 1;
		kit_must(join_device(j, &d, &at) == 0 && join_track(j, at, &track) == 0, "device");
		put_work(j, m, at, track);
		put_signals(j, m, g, owner, node);
	}
	kit_must(join_judge(j) == 0, "join_judge");
	return j;
}

static void look(const struct made *m)
{
	struct join *j = make(m);
	const struct join_verdict *v = m->want == NONE ? NULL : join_found(j, 1, m->want);
	bool host = m->want == CAUSE_STEAL;

	if (m->want == NONE) {
		T_OK(!j->verdicts, "%s", m->name);
	} else {
		T_OK(v && j->verdicts == (host ? GPUS : 1), "%s", m->name);
		T_OK(v && v->cost_ns > 0 && v->since_ns >= S + m->from * S &&
			     v->since_ns <= S + (m->from + 2) * S,
		     "%s: since when, and what it cost", m->name);
	}
	for (size_t i = 0; m->want == NONE && i < j->verdicts; i++)
		printf("# said: %s of %u\n", cause_table[j->verdict[i].cause].word,
		       j->verdict[i].device);
	join_free(j);
}

int main(void)
{
	struct join *j;

	for (size_t i = 0; i < T_LEN(cases); i++)
		look(&cases[i]);
	T_OK(join_new(&j, 0, S, JOIN_BINS_MIN - 1) < 0 &&
		     join_new(&j, 0, S, JOIN_BINS_MAX + 1) < 0 && join_new(&j, 0, 0, 20) < 0,
	     "too little time, or too much, is refused");
	T_OK(join_new(&j, 0, S, 20) == 0 && join_judge(j) == 0 && !j->verdicts,
	     "of nothing nothing is said");
	join_free(j);
	for (size_t c = 0; c < CAUSES; c++)
		T_OK(strlen(cause_table[c].action) < 200, "what to do about %s fits a finding",
		     cause_table[c].word);
	return t_done();
}
