/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.h - statements about a trace: what was seen, what it costs, what to do.
 *
 * A finding has evidence or does not exist: a rule that cannot say what it saw (two numbers at
 * least) and what a fix should bring does not fire.
 */
#pragma once

#include <stdio.h>

#include "base/fmt.h"
#include "insight/insight.h"
#include "insight/find/join.h"

enum family {
#define RULE(ID, word, least, lo, hi, looked, means) FAMILY_##ID,
#include "insight/find/find.tbl.h"
	FAMILIES,
};

struct family_row {
	const char *word, *looked, *means;
	double least, lo, hi;
};

extern const struct family_row family_table[FAMILIES];

/* Whether it costs time that is known. */
static inline bool family_costs(enum family k)
{
	return k != FAMILY_MEMORY && k != FAMILY_TOO_LITTLE;
}

enum sureness { SURE_LOW, SURE_MEDIUM, SURE_HIGH };

extern const char *const sure_word[];

#define FINDING_FACTS  16u
#define FINDING_EVENTS 8u
#define FINDING_SEEN   4u
#define FINDING_TEXT   200u

struct fact {
	const char *key;
	bool real;
	uint64_t n;
	double x;
};

struct finding {
	enum family family;
	enum sureness sure;              /* earned: see find_rank.c */
	enum sureness most;              /* the rule is never surer than this */
	int32_t rank;                    /* the rank that it is about, or TRACE_NO_RANK */
	const struct insight_device *on; /* where the cost was measured: where it is highest */
	uint64_t cost_ns;                /* of the base of its account */
	double share;                    /* of that base */
	uint64_t gain_lo_ns, gain_hi_ns; /* what fixing it should bring, of the base */
	bool replayed;                   /* these are the replay's */
	bool gain_known;
	uint64_t steps; /* divide by it for a step; 1 if there are none */
	char title[FINDING_TEXT];
	char seen[FINDING_SEEN][FINDING_TEXT]; /* empty ones are not used */
	char ruled_out[FINDING_TEXT];
	char action[FINDING_TEXT];
	char expect[FINDING_TEXT];
	struct fact fact[FINDING_FACTS];
	struct event event[FINDING_EVENTS]; /* to look at */
	size_t facts, events;
};

/* The result of a rule where it is worst, whether or not it fired. */
struct checked {
	uint64_t cost_ns;
	double share;
	double gain; /* replayed, as a share of the base; below 0: it was not */
	bool fired;
	bool could; /* false: the trace lacks what the rule needs */
};

struct replay;

struct findings {
	struct finding *f; /* owned, the costliest first */
	size_t n;
	struct checked checked[FAMILIES];
	struct replay *replay;             /* owned; NULL: there was nothing to replay */
	uint64_t recorded_steps, of_steps; /* the finding is from these; the others are unsampled */
};

/* With the replay, unless the insight was read in stretches: then findings_replay() adds it. */
int findings_new(struct findings **out, const struct insight *in);
/* Replays the part from..to of the recording, and ranks the findings by that; both 0: the whole. */
int findings_replay(struct findings *fs, const struct insight *in, const struct trace *part,
		    uint64_t from_ns, uint64_t to_ns);
void findings_free(struct findings *fs); /* NULL is allowed */

/* The mean step of the device, or all of its base if there are no steps; divisor for a step. */
static inline uint64_t finding_base_ns(const struct insight_device *d)
{
	return account_step_ns(&d->account);
}
static inline uint64_t finding_steps(const struct insight_device *d)
{
	return d->account.steps ? d->account.steps : 1;
}

/* --- for the rules, find_*.c --- */

/* The cost of a rule on one device; UINT64_MAX: not known there. */
typedef uint64_t rule_cost_fn(const struct insight *in, const struct insight_device *d);
/* Fills title, seen, action and facts of f, whose rank, on, cost and share are set. */
typedef bool rule_fill_fn(const struct insight *in, struct finding *f);

uint64_t rule_cost(const struct insight *in, const struct insight_device *d, enum family k);
/* The smallest share of the base that fires. */
double rule_least(const struct insight_device *d, enum family k);
/* Fills what all findings have in common once their costs are known, and sorts them. */
void findings_rank(struct findings *fs, const struct insight *in);

struct rule {
	rule_cost_fn *cost;
	rule_fill_fn *fill;
};

#define RULE(ID, ...) extern const struct rule rule_##ID;
#include "insight/find/find.tbl.h"

/* The state that slows a device's kernels most, by telemetry, or NULL; its title goes to `out`. */
const struct join_verdict *finding_cause(const struct insight *in, const struct insight_device *d);
void finding_cause_title(const struct insight *in, const struct insight_device *d, enum cause c,
			 char *out, size_t cap);

/* clang-format off */
#define FACT_N(name, v) { .key = name, .n = v }
#define FACT_X(name, v) { .key = name, .real = true, .x = v }
/* clang-format on */
void finding_put(struct finding *f, const struct fact *some); /* up to one without a key */
#define finding_facts(f, ...) finding_put(f, (const struct fact[]){ __VA_ARGS__, { 0 } })
void finding_event(struct finding *f, const struct event *e); /* EVENT_NONE: none */
void finding_gaps(struct finding *f, enum idle_cause cause);

/* Whether too little of the device's work was recorded to conclude anything: find_little.c. */
bool finding_is_little(const struct insight_device *d);

/* What samples of the process say of its gaps of these causes (bits): adds a line of what was seen,
 * facts, and if one piece of code stands out what to do about it. */
enum code_seen {
	CODE_NONE, /* nothing was sampled */
	CODE_FEW,  /* too little */
	CODE_NAMED,
};
enum code_seen finding_code(const struct insight *in, struct finding *f, uint32_t causes);
__attribute__((format(printf, 2, 3))) void finding_seen(struct finding *f, const char *fmt, ...);
/* A name in a sentence: of one that is too long the middle goes, file, line and function stay. */
#define NAME_LEN 72u
char *finding_name(const char *name, char out[NAME_LEN]);
/* The same of code or of a kernel, which may be generated: then it says what that was made from. */
#define CODE_LEN 160u
#define CODE_OPS 48u
char *finding_code_name(const struct insight *in, uint32_t name, char out[CODE_LEN]);
/* A time a step, or of the whole. */
char *finding_time(const struct finding *f, char out[FMT_LEN], uint64_t ns);
#define T(ns)        finding_time(f, (char[FMT_LEN]){ 0 }, ns)
#define P(share)     fmt_percent((char[FMT_LEN]){ 0 }, share)
#define N(n)         fmt_count((char[FMT_LEN]){ 0 }, n)
#define D(ns)        fmt_time((char[FMT_LEN]){ 0 }, ns)
#define B(n)         fmt_bytes((char[FMT_LEN]){ 0 }, n)
#define CODE(name)   finding_code_name(in, name, (char[CODE_LEN]){ 0 })
#define SAY(to, ...) snprintf(f->to, sizeof(f->to), __VA_ARGS__) /* title, action, expect */
/* Of `all` so much lies in the base: so much of `part` does. */
static inline uint64_t finding_in_base(uint64_t part, uint64_t all, uint64_t in_base)
{
	return all ? (uint64_t)((double)part * (double)in_base / (double)all) : 0;
}
bool roof_as_expected(const struct roof_row *r);
uint64_t roof_lost_ns(const struct roof_row *r); /* beyond what such a kernel should take */
char *roof_called(const struct insight *in, const struct roof_row *r, char out[CODE_LEN]);
double ratio(uint64_t a, uint64_t b);             /* 0 if b is */
const char *finding_per(const struct finding *f); /* " a step", or " in all" */
