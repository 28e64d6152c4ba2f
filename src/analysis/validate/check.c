/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the three ways to judge facts: advice, a golden profile, other nodes. */
#include "validate/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/order.h"
#include "base/vec.h"

#define WARN_BELOW 0.95
#define FAIL_BELOW 0.90

const char *const check_words[] = { "pass", "skip", "warn", "fail" };

enum how { IS, MOST, LEAST };

static const struct advice {
	const char *id, *key;
	enum how how;
	const char *want;
	enum check_level level;
	const char *when, *why, *act;
} advice[] = {
#define ADVICE(id, key, how, want, level, when, why, act) \
	{ #id, key, how, want, CHECK_##level, when, why, act },
#include "validate/advice.tbl.h"
};

int checks_add(struct checks *out, const struct check *c)
{
	if (vec_more(&out->c, out->n, sizeof(*out->c)) < 0)
		return -ENOMEM;
	out->c[out->n++] = *c;
	return 0;
}

void checks_fini(struct checks *c)
{
	free(c->c);
	*c = (struct checks){ 0 };
}

enum check_level checks_worst(const struct checks *c)
{
	enum check_level worst = CHECK_PASS;

	for (size_t i = 0; i < c->n; i++)
		if (c->c[i].level > worst)
			worst = c->c[i].level;
	return worst == CHECK_SKIP ? CHECK_PASS : worst;
}

size_t checks_count(const struct checks *c, enum check_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->c[i].level == level;
	return n;
}

static bool is_one_of(const char *value, const char *words)
{
	size_t n = strlen(value);

	for (const char *p = words; *p; p += strcspn(p, "|"), p += *p == '|')
		if (strcspn(p, "|") == n && !strncmp(p, value, n))
			return true;
	return false;
}

static bool holds(const struct advice *a, const struct facts *f, const char *value)
{
	double v;

	if (a->how == IS)
		return is_one_of(value, a->want);
	if (!facts_number(f, a->key, &v))
		return false;
	return a->how == MOST ? v <= num_front_real(a->want, NULL)
			      : v >= num_front_real(a->want, NULL);
}

/* For people: "off or passthrough", "at most 50", "0". */
static void say_want(char *out, size_t cap, const struct advice *a)
{
	static const char *const before[] = { "", "at most ", "at least " };
	size_t used = (size_t)snprintf(out, cap, "%s", strcmp(a->want, "0") ? before[a->how] : "");

	for (const char *p = a->want; *p && used + 5 < cap; p++) {
		memcpy(out + used, *p == '|' ? " or " : p, *p == '|' ? 4 : 1);
		used += *p == '|' ? 4 : 1;
		out[used] = '\0';
	}
}

int checks_advice(struct checks *out, const struct facts *f)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(advice) / sizeof(advice[0]); i++) {
		const struct advice *a = &advice[i];
		const char *value = facts_get(f, a->key);
		struct check c = { .by = "setting", .when = a->when, .why = a->why, .act = a->act };
		char where[FACT_KEY];

		snprintf(where, sizeof(where), "%s_at", a->key);
		snprintf(c.id, sizeof(c.id), "%s", a->id);
		snprintf(c.is, sizeof(c.is), "%s", value ? value : "not known here");
		if (value && facts_get(f, where))
			snprintf(c.is, sizeof(c.is), "%.100s (%.150s)", value, facts_get(f, where));
		say_want(c.want, sizeof(c.want), a);
		c.level = !value ? CHECK_SKIP : holds(a, f, value) ? CHECK_PASS : a->level;
		err = checks_add(out, &c);
	}
	return err;
}

/* What is different on every node, or at every moment. */
static bool is_own(const char *key)
{
	static const char *const words[] = { "serial",     "Serial",  "uuid", "UUID",    "hostname",
					     "PowerState", "boot_id", "/pid", "Password" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(key, words[i]))
			return true;
	return false;
}

/* What no two nodes need have alike: what is expected of them, and how well they are, which the table above judges. */
static bool is_judged(const char *key)
{
	size_t n = strlen(key);

	if (!strncmp(key, "expected/", 9) || (n > 3 && !strcmp(key + n - 3, "_at")))
		return true;
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
		if (advice[i].how != IS && !strcmp(advice[i].key, key))
			return true;
	return false;
}

static bool is_measured(const char *key)
{
	return !strncmp(key, "measured/", 9) || !strncmp(key, "log/", 4);
}

/* Of these less is better; of the others more is. */
static bool less_is_better(const char *key)
{
	static const char *const words[] = { "latency", "_us", "_ns", "errors", "wrong", "temp" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(key, words[i]))
			return true;
	return false;
}

static enum check_level judge(const char *key, double is, double want)
{
	double share = less_is_better(key) ? (is > 0 ? want / is : 1) : (want > 0 ? is / want : 1);

	return share >= WARN_BELOW ? CHECK_PASS : share >= FAIL_BELOW ? CHECK_WARN : CHECK_FAIL;
}

static int against(struct checks *out, const struct facts *f, const char *key, const char *want)
{
	const char *is = facts_get(f, key);
	struct check c = { .by = "profile" };
	double a, b;
	const char *end;

	if (is_own(key) || is_judged(key))
		return 0;
	snprintf(c.id, sizeof(c.id), "%s", key);
	snprintf(c.is, sizeof(c.is), "%s", is ? is : "missing");
	snprintf(c.want, sizeof(c.want), "%s", want);
	b = num_front_real(want, &end);
	if (is && is_measured(key) && !*end && facts_number(f, key, &a))
		c.level = judge(key, a, b);
	else
		c.level = is && !strcmp(is, want)   ? CHECK_PASS
			  : !is && is_measured(key) ? CHECK_SKIP
						    : CHECK_FAIL;
	return checks_add(out, &c);
}

int checks_profile(struct checks *out, const struct facts *f, const struct facts *golden)
{
	int err = 0;

	for (size_t i = 0; !err && i < golden->n; i++)
		err = against(out, f, golden->f[i].key, golden->f[i].value);
	return err;
}

/* --- nodes --- */

/* The commonest word. False: there is no majority. */
static bool most(const struct facts *f, size_t n, const char *key, char out[FACT_VALUE])
{
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		const char *value = facts_get(&f[i], key);
		size_t same = 0;

		for (size_t k = 0; value && k < n; k++) {
			const char *other = facts_get(&f[k], key);

			same += other && !strcmp(other, value);
		}
		if (same > best) {
			best = same;
			snprintf(out, FACT_VALUE, "%s", value);
		}
	}
	return best * 2 > n;
}

/* `is` NULL: it has none. */
static int otherwise(struct checks *out, const char *name, const char *key, const char *is,
		     const char *want, enum check_level level)
{
	struct check c = { .by = "nodes", .level = level };

	snprintf(c.id, sizeof(c.id), "%s: %.*s", name,
		 (int)(FACT_KEY - strlen(name) % FACT_KEY - 3), key);
	snprintf(c.is, sizeof(c.is), "%s", is ? is : "missing");
	snprintf(c.want, sizeof(c.want), "%s", want);
	return checks_add(out, &c);
}

/*
 * Of measures: worse than the median by 5 %, and by more than the others scatter, that is 3.5 times what the median
 * of the distances from it says (times 1.4826: a standard deviation).
 */
static int one_measure(struct checks *out, const char *const *name, const struct facts *f, size_t n,
		       const char *key)
{
	double *v = calloc(n, 2 * sizeof(*v)), mid, scatter, is;
	size_t numbers = 0;
	char want[FACT_VALUE];
	int err = v ? 0 : -ENOMEM;

	for (size_t i = 0; v && i < n; i++)
		numbers += facts_number(&f[i], key, &v[numbers]);
	if (err || numbers * 2 <= n || numbers < 3) {
		free(v);
		return err;
	}
	mid = median_of(v, numbers);
	for (size_t i = 0; i < numbers; i++)
		v[n + i] = fabs(v[i] - mid);
	scatter = 3.5 * 1.4826 * median_of(v + n, numbers);
	free(v);
	snprintf(want, sizeof(want), "%.4g, the median of %zu", mid, numbers);
	for (size_t i = 0; !err && i < n; i++)
		if (facts_number(&f[i], key, &is) && fabs(is - mid) > scatter &&
		    judge(key, is, mid) > CHECK_SKIP)
			err = otherwise(out, name[i], key, facts_get(&f[i], key), want,
					judge(key, is, mid));
	return err;
}

static int one_key(struct checks *out, const char *const *name, const struct facts *f, size_t n,
		   const char *key)
{
	char want[FACT_VALUE];
	int err = 0;

	if (is_own(key) || is_judged(key))
		return 0;
	if (is_measured(key))
		return one_measure(out, name, f, n, key);
	if (!most(f, n, key, want))
		return 0;
	for (size_t i = 0; !err && i < n; i++) {
		const char *is = facts_get(&f[i], key);

		if (!is || strcmp(is, want))
			err = otherwise(out, name[i], key, is, want, CHECK_WARN);
	}
	return err;
}

int checks_nodes(struct checks *out, const char *const *name, const struct facts *f, size_t n)
{
	struct facts keys = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		for (size_t k = 0; !err && k < f[i].n; k++)
			if (!facts_get(&keys, f[i].f[k].key))
				err = facts_set(&keys, f[i].f[k].key, " ");
	if (err == -EMSGSIZE)
		err = 0; /* more than there is room for: of the first ones */
	for (size_t k = 0; !err && k < keys.n; k++)
		err = one_key(out, name, f, n, keys.f[k].key);
	facts_fini(&keys);
	return err;
}
