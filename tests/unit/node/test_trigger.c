/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/trigger.h"

#include <stdlib.h>
#include <string.h>

#include "t.h"

/* --- what is no trigger, and where it goes wrong --- */

static const struct {
	const char *text;
	size_t at;
	const char *why;
} bad[] = {
	/* clang-format off */
	{ "",                            0, "expected more" },
	{ "step_ms >",                   9, "expected more" },
	{ "step_ms > 1.2 *",            15, "expected more" },
	{ "step_ms",                     0, "expected a condition" },
	{ "1 < 2",                       0, "about nothing" },
	{ "steps > 3",                   0, "expected p50, p90, p99, mean, step_ms" },
	{ "step_ms > p50(stepms)",      14, "expected p50" },
	{ "step_ms > p50(step_ms",      21, "expected )" },
	{ "(step_ms > 1",               12, "expected )" },
	{ "step_ms > 10ms",             10, "expected a number" },
	{ "step_ms > 0x10",             10, "expected a number" },
	{ "step_ms > 1 gpu_busy < 2",   12, "expected an operator" },
	{ "step_ms > 1 < 2",            12, "expected an operator" },
	{ "step_ms and gpu_busy",        0, "expected a condition" },
	{ "(step_ms > 1) + 1 > 2",       0, "expected a number" },
	{ "not step_ms",                 4, "expected a condition" },
	{ "step_ms > gpu_busy + p50",   21, "p50 of what?" },
	{ "p50 > 3",                     0, "p50 of what?" },
	{ "step_ms = 3",                 8, "expected an operator" },
	{ "step_ms > 3; x",             11, "expected an operator" },
	{ "((((((((((((((((((1", 16, "too deep" },
	{ "not not not not not not not not not not not not not not not not not step_ms > 1", 64, "too deep" },
	/* clang-format on */
};

static void test_bad(void)
{
	struct trigger_why why;
	struct trigger t;
	char text[600] = "step_ms > 1";

	for (size_t i = 0; i < T_LEN(bad); i++) {
		why = (struct trigger_why){ 0 };
		T_OK(trigger_parse(&t, bad[i].text, &why) < 0 && why.at == bad[i].at &&
			     strstr(why.text, bad[i].why),
		     "'%s' is refused at %zu: %s", bad[i].text, why.at, why.text);
	}
	for (int i = 0; i < 30; i++)
		strcat(text, "+1+1+1");
	T_OK(trigger_parse(&t, text, &why) < 0 && strstr(why.text, "too long"),
	     "what has too many parts is refused");
	memset(text, ' ', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	T_OK(trigger_parse(&t, text, &why) < 0 && strstr(why.text, "too long"),
	     "and too many letters");
}

/* --- what is, and when it fires --- */

static struct trigger_meter *meter_for(const struct trigger *t)
{
	struct trigger_meter *m = malloc(trigger_meter_bytes(t));

	trigger_meter_init(m, t);
	return m;
}

/* Steps of 1 to 100 ms, a hundred of them twice; then gpu_busy 80, comm 30 and a step of `last`. */
static bool fires(const char *text, double last)
{
	struct trigger_why why;
	struct trigger_meter *m;
	struct trigger t;
	bool yes;

	if (trigger_parse(&t, text, &why) < 0)
		return false;
	m = meter_for(&t);
	for (int i = 0; i < 200; i++)
		trigger_put(m, QUANTITY_STEP_MS, i % 100 + 1);
	trigger_put(m, QUANTITY_BUSY, 80);
	trigger_put(m, QUANTITY_COMM, 30);
	trigger_put(m, QUANTITY_STEP_MS, last);
	yes = trigger_look(&t, m);
	free(m);
	return yes;
}

static const struct {
	const char *text;
	double last;
	bool want;
} cases[] = {
	/* clang-format off */
	{ "step_ms > 1.2 * p50",                        62, true  },
	{ "step_ms > 1.2 * p50",                        56, false },
	{ "step_ms > p99",                             100, true  },
	{ "step_ms > p90(step_ms) + 5",                 96, true  },
	{ "step_ms < mean - 40",                         5, true  },
	{ "step_ms < mean - 40",                        20, false },
	{ "1.2*p50<step_ms",                            62, true  },
	{ "step_ms - 2 - 3 == 5",                       10, true  },
	{ "step_ms / 2 / 5 == 1",                       10, true  },
	{ "2 + 3 * step_ms == 32",                      10, true  },
	{ "-step_ms == 0 - 10",                         10, true  },
	{ "step_ms >= 10 and step_ms <= 10",            10, true  },
	{ "step_ms != 10",                              10, false },
	{ "gpu_busy < 90 and comm > 20",                10, true  },
	{ "gpu_busy < 10 or comm > 20 and step_ms > 5", 10, true  },
	{ "(gpu_busy < 10 or comm > 20) and step_ms > 50", 10, false },
	{ "not (gpu_busy > 90)",                        10, true  },
	{ "not not gpu_busy > 70",                      10, true  },
	{ "comm / gpu_busy > 0.3",                      10, true  },
	{ "step_ms / 0 > 1",                            10, false }, /* unknown */
	{ "not (step_ms / 0 > 1)",                      10, false },
	{ "memory_mb > 1",                              10, false }, /* never came */
	{ "not (memory_mb > 1)",                        10, false },
	{ "memory_mb > 1 or gpu_busy > 70",             10, true  },
	{ "memory_mb > 1 and gpu_busy > 70",            10, false },
	{ "not (memory_mb > 1 and gpu_busy > 90)",      10, true  },
	{ "gpu_busy > p50 - 1000",                      10, false }, /* no history */
	/* clang-format on */
};

static void test_history(void)
{
	struct trigger_why why;
	struct trigger_meter *m;
	struct trigger t;
	int fired = 0;

	T_OK(!trigger_parse(&t, "step_ms > 1.5 * p50", &why), "the issue's own trigger is one");
	m = meter_for(&t);
	for (uint32_t i = 0; i <= TRIGGER_KNOWN - 1; i++) {
		trigger_put(m, QUANTITY_STEP_MS, i + 1 == TRIGGER_KNOWN ? 100 : 10);
		fired += trigger_look(&t, m);
	}
	T_OK(!fired, "with too short a history nothing fires");
	for (int i = 0; i < 2000; i++)
		trigger_put(m, QUANTITY_STEP_MS, 10);
	trigger_put(m, QUANTITY_STEP_MS, 16);
	T_OK(trigger_look(&t, m), "a long step after many short ones does");
	trigger_pause(m);
	T_OK(!trigger_look(&t, m), "not again after a pause, before there is a new one");
	for (int i = 0; i < 300; i++)
		trigger_put(m, QUANTITY_STEP_MS, 16);
	trigger_put(m, QUANTITY_STEP_MS, 16);
	T_OK(!trigger_look(&t, m), "what has become usual does not: the history is of late");
	free(m);
}

int main(void)
{
	char said[120];
	struct trigger_why why;
	struct trigger_meter *m;
	struct trigger t;

	test_bad();
	for (size_t i = 0; i < T_LEN(cases); i++)
		T_OK(fires(cases[i].text, cases[i].last) == cases[i].want, "%s: %s", cases[i].text,
		     cases[i].want ? "fires" : "does not");
	test_history();
	trigger_parse(&t, "gpu_busy < 50 or step_ms > 2 * p50", &why);
	m = meter_for(&t);
	for (int i = 0; i < 100; i++)
		trigger_put(m, QUANTITY_STEP_MS, 10);
	trigger_say(&t, m, said, sizeof(said));
	T_OK(!strcmp(said, "step_ms 10 (p50 10), gpu_busy ?"), "what it is about is said: %s",
	     said);
	free(m);
	return t_done();
}
