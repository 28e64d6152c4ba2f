/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry.c - one tick per second, and the value of each series at that tick; see telemetry.h. */
#include "sim/telemetry.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/telemetry.h"
#include "sim/noise.h"

#define EPOCH_NS  1000000000ll /* as events have it (emit.c) */
#define TICK_NS   1000000000ll
#define TICKS_MAX 900u
#define CPUS      96
#define TDP_W     700.0
#define NIC_BPS   50e9
#define WARM_S    40.0 /* until a GPU that works is as hot as it gets */

enum tele_of { OF_GPU, OF_NODE, OF_NIC };
enum tele {
#define TELE(ID, ...) TELE_##ID,
#include "sim/tele.tbl.h"
	TELES
};

static const struct tele_row {
	uint32_t metric, every;
	enum tele_of of;
	const char *device, *labels;
} tele[TELES] = {
#define TELE(ID, metric, of, every, device, labels) \
	[TELE_##ID] = { metric, every, OF_##of, device, labels },
#include "sim/tele.tbl.h"
};

enum how {
#define HOW(FAULT, word, cause) HOW_##FAULT##_##word,
#include "sim/tele.tbl.h"
	HOWS
};

static const struct how_row {
	enum fault_kind kind;
	const char *word, *cause;
} hows[HOWS] = {
#define HOW(FAULT, word, cause) { FAULT_##FAULT, #word, cause },
#include "sim/tele.tbl.h"
};

static int how_at(enum fault_kind k, uint32_t how)
{
	for (int i = 0; i < HOWS; i++)
		if (hows[i].kind == k && !how--)
			return i;
	return -1;
}

const char *sim_how_word(enum fault_kind k, uint32_t how)
{
	int i = how_at(k, how);

	return i < 0 ? NULL : hows[i].word;
}

const char *sim_how_cause(enum fault_kind k, uint32_t how)
{
	int i = how_at(k, how);

	return i < 0 ? NULL : hows[i].cause;
}

/* What faults make of a rank's GPU, its NIC and its node in a tick: factors, and shares of a CPU's time. */
struct state {
	double clock, mem, by_pcie_width, by_pcie_gen, by_cpu, by_nic, fan, inlet, temp;
	double sbe, rows, replays, crc, again, steal, irq, waiting, numa, symbols, seq;
	double capped, pending, down, foreign; /* 1: it is */
	uint32_t reasons;
	bool idle;
};

struct sim_meter {
	const struct job *j;
	struct sim_meter_to to;
	uint32_t *id;              /* owned: of each series of each rank or node; 0: none */
	double *value;             /* owned: by series, then tick */
	double *sum;               /* owned: counters, by series */
	struct state *rank, *node; /* owned */
	size_t all;                /* series */
	uint32_t ranks, nodes, ticks, ticks_max;
	uint64_t tick; /* number of the next */
	uint64_t tick_ns[TICKS_MAX];
};

static double chance(const struct sim_meter *m, uint64_t what, uint64_t who)
{
	return noise_uniform(noise_bits(m->j->seed, NOISE_OF_FAULT, 77 + what, who, m->tick));
}

static double wobble(const struct sim_meter *m, uint64_t what, uint64_t who)
{
	return noise_normal(noise_bits(m->j->seed, NOISE_OF_FAULT, 77 + what, who, m->tick));
}

/* Of a place, whatever the time. */
static double fixed(const struct sim_meter *m, uint64_t what, uint64_t who)
{
	return noise_uniform(noise_bits(m->j->seed, NOISE_OF_FAULT, 1077 + what, who, 0));
}

/* --- faults --- */

/* On a GPU, its NIC or its host: a field of its state is `is`, or the fault's factor. */
static const struct shown {
	enum how how;
	bool host;
	size_t at; /* of struct state: a double */
	double is; /* 0: by */
} shown[] = {
/* clang-format off */
#define AT(field) offsetof(struct state, field)
	{ HOW_POWER_cap,       false, AT(capped),        1 },
	{ HOW_THERMAL_hot,     false, AT(temp),          88 },
	{ HOW_THERMAL_fan,     false, AT(temp),          88 },
	{ HOW_THERMAL_fan,     false, AT(fan),           0.35 },
	{ HOW_THERMAL_inlet,   false, AT(temp),          88 },
	{ HOW_HBM_ecc,         false, AT(sbe),           0.3 },
	{ HOW_HBM_remap,       false, AT(pending),       1 },
	{ HOW_HBM_remap,       false, AT(rows),          0.02 },
	{ HOW_FOREIGN_process, false, AT(foreign),       1 },
	{ HOW_NVLINK_crc,      false, AT(crc),           20 },
	{ HOW_NVLINK_replay,   false, AT(again),         5 },
	{ HOW_NVLINK_down,     false, AT(down),          1 },
	{ HOW_PCIE_width,      false, AT(by_pcie_width), 0 },
	{ HOW_PCIE_gen,        false, AT(by_pcie_gen),   0 },
	{ HOW_PCIE_replay,     false, AT(replays),       3 },
	{ HOW_NIC_errors,      false, AT(symbols),       40 },
	{ HOW_NIC_rate,        false, AT(by_nic),        0 },
	{ HOW_LOSS_rdma,       false, AT(seq),           25 },
	{ HOW_SLOW_CPU_clock,  true,  AT(by_cpu),        0 },
#undef AT
	/* clang-format on */
};

/* Reasons that NVML has for a clock that is lowered. */
static const uint32_t clock_reason[HOWS] = {
	[HOW_POWER_cap] = 0x4,    [HOW_POWER_brake] = 0x80, [HOW_POWER_lock] = 0x2,
	[HOW_THERMAL_hot] = 0x20, [HOW_THERMAL_fan] = 0x20, [HOW_THERMAL_inlet] = 0x20,
};

static void show_how(struct state *s, struct state *n, enum how how, double by)
{
	double lost = 1 - 1 / by;

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (shown[i].how == how)
			*(double *)((char *)(shown[i].host ? n : s) + shown[i].at) =
				shown[i].is > 0 ? shown[i].is : by;
	if (clock_reason[how])
		s->clock /= by;
	s->reasons |= clock_reason[how];
	s->inlet += how == HOW_THERMAL_inlet ? 15 : 0;
	if (how == HOW_HBM_memclk)
		s->mem /= by;
	if (how == HOW_CONTENTION_waiting)
		n->waiting = lost > 0.35 ? lost : 0.35;
	if (how == HOW_CONTENTION_steal || how == HOW_CONTENTION_irq) {
		*(how == HOW_CONTENTION_irq ? &n->irq : &n->steal) = 0.5 * lost;
		n->waiting = 0.3 * lost;
	}
	if (how == HOW_SLOW_CPU_numa)
		n->numa = 0.3 + 0.4 * lost;
}

static void show_fault(struct sim_meter *m, const struct play *p, uint32_t i)
{
	const struct fault *f = &m->j->fault[i];
	int how = how_at(f->kind, f->how);

	for (uint32_t r = 0; how >= 0 && r < m->ranks; r++) {
		struct state *s = &m->rank[r], *n = &m->node[job_node(m->j, r)];
		double share = p->without >> i & 1 ? 0 : fault_share(f, m->j, r, p->step),
		       by = 1 + (f->by - 1) * share;

		if (share <= 0)
			continue;
		show_how(s, n, (enum how)how, by);
		n->fan = s->fan < n->fan ? s->fan : n->fan;
		n->inlet = s->inlet > n->inlet ? s->inlet : n->inlet;
	}
}

/* What slows nothing: from two fifths of the job on, a GPU that chance chose. */
static void show_odd(struct sim_meter *m, const struct play *p)
{
	uint32_t what = m->j->confound, r = (uint32_t)(fixed(m, 500, 0) * m->ranks) % m->ranks;
	struct state *s = &m->rank[r];

	if (p->step < m->j->steps * 2 / 5)
		return;
	if (what & 1)
		s->temp = 84;
	if (what & 2)
		s->sbe = 0.2;
	if (what & 8) {
		s->crc = 3;
		s->symbols = 2;
		s->replays = 0.5;
	}
	if (what & 16)
		m->node[job_node(m->j, r)].waiting = 0.4;
}

/* Between steps nothing runs, and clocks fall (confound 4). */
static void show_idle(struct sim_meter *m, const struct play *p, int64_t at)
{
	for (uint32_t r = 0; r < m->ranks; r++)
		m->rank[r].idle = m->j->confound & 4 && p->hit[r].pause_ns[PAUSE_CHECKPOINT] > 0 &&
				  at > p->end_ns - p->hit[r].pause_ns[PAUSE_CHECKPOINT];
}

static void show(struct sim_meter *m, const struct play *p, int64_t at)
{
	const struct state none = { .clock = 1,
				    .mem = 1,
				    .by_pcie_width = 1,
				    .by_pcie_gen = 1,
				    .by_cpu = 1,
				    .by_nic = 1,
				    .fan = 1 };

	for (uint32_t r = 0; r < m->ranks; r++)
		m->rank[r] = none;
	for (uint32_t n = 0; n < m->nodes; n++)
		m->node[n] = none;
	for (uint32_t i = 0; i < m->j->faults; i++)
		show_fault(m, p, i);
	if (m->j->confound)
		show_odd(m, p);
	show_idle(m, p, at);
}

/* --- values --- */

static double steps_of(double v, double step)
{
	return round(v / step) * step;
}

static double clock_of(const struct sim_meter *m, uint32_t r)
{
	double most = m->j->gpu->clock_mhz ? m->j->gpu->clock_mhz : 1500;
	double is = most * (0.955 - 0.015 * fixed(m, 1, r)) * m->rank[r].clock;

	return m->rank[r].idle ? 345 : steps_of(is * (1 + 0.004 * wobble(m, 2, r)), 15);
}

/* A GPU under load draws its limit now and then, and says so: no fault yet. */
static uint32_t reasons_of(const struct sim_meter *m, uint32_t r)
{
	const struct state *s = &m->rank[r];

	if (s->idle)
		return 1;
	if (s->reasons)
		return chance(m, 3, r) < 0.93 ? s->reasons : 0;
	return chance(m, 4, r) < 0.15 ? 4 : 0;
}

static double temp_of(const struct sim_meter *m, uint32_t r, double more)
{
	double hot = m->rank[r].temp > 0 ? m->rank[r].temp : 58 + 12 * fixed(m, 5, r);
	double warm = m->rank[r].temp > 0 ? 1 : 1 - exp(-(double)m->tick / WARM_S);

	return 38 + (hot - 38) * warm + more + 0.7 * wobble(m, 6 + (uint64_t)more, r) -
	       (m->rank[r].idle ? 12 : 0);
}

static double power_of(const struct sim_meter *m, uint32_t r, double limit)
{
	double is = TDP_W * (0.86 + 0.08 * fixed(m, 9, r)) * pow(m->rank[r].clock, 1.6);

	is = is * (1 + 0.02 * wobble(m, 10, r));
	return m->rank[r].idle ? 110 : is < limit ? is : limit * (0.985 + 0.01 * chance(m, 11, r));
}

static double gpu_value(const struct sim_meter *m, uint32_t r, enum tele t)
{
	const struct state *s = &m->rank[r];
	double limit = s->capped > 0 ? steps_of(TDP_W * pow(s->clock, 1.6), 5) : TDP_W;

	switch (t) {
	case TELE_CLOCK:
		return clock_of(m, r);
	case TELE_MEMCLOCK:
		return (m->j->gpu->memory_mhz ? m->j->gpu->memory_mhz : 2619) * s->mem;
	case TELE_REASONS:
		return reasons_of(m, r);
	case TELE_MAXCLOCK:
		return m->j->gpu->clock_mhz ? m->j->gpu->clock_mhz : 1500;
	case TELE_MAXMEM:
		return m->j->gpu->memory_mhz ? m->j->gpu->memory_mhz : 2619;
	case TELE_MEMTEMP:
		return temp_of(m, r, 8);
	case TELE_TEMP:
		return temp_of(m, r, 0);
	case TELE_POWER:
		return power_of(m, r, limit);
	case TELE_SLOWDOWN:
		return 87;
	case TELE_LIMIT_DEF:
		return TDP_W;
	case TELE_ENFORCED:
		return limit;
	case TELE_UTIL:
		return s->idle ? 0 : 100;
	case TELE_GEN:
		return s->idle ? 1 : fmax(1, 5 - round(log2(s->by_pcie_gen)));
	case TELE_WIDTH:
		return fmax(1, 16 / exp2(round(log2(s->by_pcie_width))));
	case TELE_MAXGEN:
		return 5;
	case TELE_MAXWIDTH:
		return 16;
	case TELE_PENDING:
		return s->pending;
	case TELE_NVL_UP:
		return 1 - s->down;
	case TELE_PROCESSES:
		return 1 + s->foreign;
	case TELE_IB_RATE:
		return NIC_BPS / exp2(round(log2(s->by_nic)));
	default:
		return 0;
	}
}

static double node_value(const struct sim_meter *m, uint32_t n, enum tele t)
{
	const struct state *s = &m->node[n];

	switch (t) {
	case TELE_CPUCLOCK:
		return steps_of(3.4e9 / s->by_cpu * (1 + 0.012 * wobble(m, 20, n)), 1e5);
	case TELE_FAN1:
		return steps_of(9200 * s->fan * (1 + 0.01 * wobble(m, 21, n)), 100);
	case TELE_FAN2:
		return steps_of(9300 * (1 + 0.01 * wobble(m, 22, n)), 100);
	default: /* TELE_INLET */
		return 24 + s->inlet + 0.4 * wobble(m, 23, n);
	}
}

/* What a counter rises by in a tick: single errors happen on every machine. */
static double rise_of(const struct sim_meter *m, uint32_t who, enum tele t)
{
	const struct state *s = tele[t].of == OF_NODE ? &m->node[who] : &m->rank[who];
	double u = chance(m, 100 + t, who), used = 0.3 + 0.02 * wobble(m, 30, who);

	switch (t) {
	case TELE_SBE:
		return u < s->sbe + 1e-4;
	case TELE_ROWS_CE:
		return u < s->rows;
	case TELE_REPLAYS:
		return u < 1e-3 ? 1 : floor(s->replays * 2 * u);
	case TELE_NVL_FLIT:
		return u < 5e-4 ? 1 : floor(s->crc * 2 * u);
	case TELE_NVL_DATA:
		return floor(s->crc * u);
	case TELE_NVL_REPLAY:
		return floor(s->again * 2 * u);
	case TELE_NVL_BACK:
		return u < s->again / 50;
	case TELE_IB_SYMBOLS:
		return u < 1e-3 ? 1 : floor(s->symbols * 2 * u);
	case TELE_IB_ERRORS:
		return floor(s->symbols * u / 4);
	case TELE_RDMA_SEQ:
		return u < 2e-3 ? 2 : floor((s->seq + s->symbols / 4) * 2 * u);
	case TELE_RDMA_ACK:
		return floor(s->seq * u / 8);
	case TELE_USER:
		return CPUS * used;
	case TELE_SYSTEM:
		return CPUS * 0.04;
	case TELE_IDLE:
		return fmax(0, CPUS * (0.65 - used + 0.3 - s->steal - s->irq));
	case TELE_STEAL:
		return CPUS * (s->steal + 0.004 * u);
	case TELE_SOFTIRQ:
		return CPUS * (s->irq + 0.005 + 0.01 * u);
	case TELE_PSI:
		return s->waiting * (0.9 + 0.1 * u) + 0.04 * u;
	case TELE_NUMA_HERE:
		return 20000 * (1 - s->numa);
	case TELE_NUMA_THERE:
		return 20000 * (s->numa + 0.03 * u);
	case TELE_RETRANS:
		return u < 0.1 ? 2 : 0;
	default:
		return 0;
	}
}

/* --- series --- */

static uint32_t count_of(const struct sim_meter *m, enum tele t)
{
	return tele[t].of == OF_NODE ? m->nodes : m->ranks;
}

static int name_series(struct sim_meter *m)
{
	size_t at = 0;
	int err = 0;

	for (enum tele t = 0; t < TELES; t++)
		for (uint32_t i = 0; i < count_of(m, t) && !err; i++) {
			struct series s = { .metric = tele[t].metric };
			uint32_t node = tele[t].of == OF_NODE ? i : job_node(m->j, i);
			char host[24];

			/* Only OF_GPU and OF_NIC have a number in it. */
			snprintf(s.device, sizeof(s.device), "%.*s",
				 (int)strcspn(tele[t].device, "%"), tele[t].device);
			if (tele[t].of != OF_NODE)
				snprintf(s.device + strlen(s.device), 12, "%u",
					 i % m->j->ranks_per_node);
			snprintf(s.labels, sizeof(s.labels), "%s", tele[t].labels);
			snprintf(host, sizeof(host), "node%u", node);
			series_label(s.labels, "Hostname", host);
			err = m->to.series(m->to.arg, &s, &m->id[at++]);
		}
	return err;
}

int sim_meter_new(struct sim_meter **out, const struct job *j, const struct sim_meter_to *to)
{
	struct sim_meter *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->j = j;
	m->to = *to;
	m->ranks = job_ranks(j);
	m->nodes = job_node(j, m->ranks - 1) + 1;
	for (enum tele t = 0; t < TELES; t++)
		m->all += count_of(m, t);
	m->ticks_max = (uint32_t)(TELEMETRY_CHANGES_MAX / m->all);
	m->ticks_max = m->ticks_max > TICKS_MAX ? TICKS_MAX : m->ticks_max;
	m->id = calloc(m->all, sizeof(*m->id));
	m->value = calloc(m->all * m->ticks_max, sizeof(*m->value));
	m->sum = calloc(m->all, sizeof(*m->sum));
	m->rank = calloc(m->ranks, sizeof(*m->rank));
	m->node = calloc(m->nodes, sizeof(*m->node));
	err = m->id && m->value && m->sum && m->rank && m->node ? name_series(m) : -ENOMEM;
	if (err) {
		sim_meter_free(m);
		return err;
	}
	*out = m;
	return 0;
}

void sim_meter_free(struct sim_meter *m)
{
	if (!m)
		return;
	free(m->id);
	free(m->value);
	free(m->sum);
	free(m->rank);
	free(m->node);
	free(m);
}

/* --- ticks and blocks --- */

static int hand_over(struct sim_meter *m)
{
	struct telemetry_block b = { .source = 1, .ticks = m->ticks, .tick_ns = m->tick_ns };
	int err;

	if (!m->ticks)
		return 0;
	b.change = calloc(m->all * m->ticks, sizeof(*b.change));
	if (!b.change)
		return -ENOMEM;
	for (uint32_t t = 0; t < m->ticks; t++)
		for (size_t s = 0; s < m->all; s++) {
			const double *v = &m->value[s * m->ticks_max];

			if (m->id[s] && (!t || v[t] != v[t - 1]))
				b.change[b.changes++] = (struct change){ m->id[s], t, v[t] };
		}
	err = m->to.block(m->to.arg, &b);
	free(b.change);
	m->ticks = 0;
	return err;
}

/* Between two readings of a series the last one stands. */
static int tick(struct sim_meter *m)
{
	size_t at = 0;

	for (enum tele t = 0; t < TELES; t++) {
		const struct metric *metric = metric_get(tele[t].metric);
		bool due = m->tick % tele[t].every == 0;

		for (uint32_t i = 0; i < count_of(m, t); i++, at++) {
			double *v = &m->value[at * m->ticks_max + m->ticks];

			if (metric->type != METRIC_GAUGE)
				m->sum[at] += rise_of(m, i, t);
			if (!due && m->tick) /* of the block before, its last */
				*v = m->ticks ? v[-1] : m->value[(at + 1) * m->ticks_max - 1];
			else if (metric->type != METRIC_GAUGE)
				*v = metric_round(metric, m->sum[at]);
			else
				*v = metric_round(metric, tele[t].of == OF_NODE
								  ? node_value(m, i, t)
								  : gpu_value(m, i, t));
		}
	}
	m->tick_ns[m->ticks++] = (uint64_t)EPOCH_NS + m->tick++ * TICK_NS;
	return m->ticks == m->ticks_max ? hand_over(m) : 0;
}

int sim_meter_step(struct sim_meter *m, const struct play *p)
{
	int err = 0;

	while (!err && (int64_t)(m->tick * TICK_NS) <= p->end_ns) {
		show(m, p, (int64_t)(m->tick * TICK_NS));
		err = tick(m);
	}
	return err;
}

int sim_meter_end(struct sim_meter *m)
{
	return hand_over(m);
}
