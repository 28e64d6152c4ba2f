/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger.h - conditions on a process, written by people, evaluated with every step.
 *
 *	step_ms > 1.2 * p50 and not (gpu_busy > 90)
 *
 *	or      = and { "or" and }                 not, and, or as in Python
 *	and     = not { "and" not }
 *	not     = "not" not | compare
 *	compare = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
 *	sum     = term { ("+" | "-") term }
 *	term    = factor { ("*" | "/") factor }
 *	factor  = NUMBER | QUANTITY | STAT "(" QUANTITY ")" | STAT | "-" factor | "(" or ")"
 *
 * A STAT (p50, p90, p99, mean) covers the last TRIGGER_HISTORY values of the same process, without
 * the current one; a STAT alone is of the quantity in its comparison. If a value is unknown (a
 * quantity that never came, a history shorter than TRIGGER_KNOWN), whatever depends on it is
 * unknown, too, and an unknown condition does not fire. There are no loops, names or memory: a
 * trigger is at most TRIGGER_OPS arithmetic operations.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIGGER_TEXT    240u
#define TRIGGER_OPS     64u
#define TRIGGER_DEPTH   16u  /* of parentheses, not and - */
#define TRIGGER_HISTORY 256u /* values */
#define TRIGGER_KNOWN   32u
#define TRIGGER_AGAIN   16u /* new values until the statistics are made again */

enum quantity {
#define QUANTITY(ID, word, what) QUANTITY_##ID,
#include "detect/quantity.tbl.h"
	QUANTITIES,
};

struct quantity_row {
	const char *word, *what;
};

extern const struct quantity_row quantity_table[QUANTITIES];

enum trigger_stat { STAT_NOW, STAT_P50, STAT_P90, STAT_P99, STAT_MEAN, STATS };

struct trigger {
	struct trigger_op {
		uint8_t op, quantity, stat;
		uint16_t at; /* in the text */
		double number;
	} op[TRIGGER_OPS];
	uint32_t n;
	uint32_t uses; /* a bit for each quantity */
};

/* Where it went wrong, and what was expected there. */
struct trigger_why {
	size_t at;
	char text[160];
};

/* -EINVAL: *why. *out is untouched on failure. Any bytes are allowed. */
int trigger_parse(struct trigger *out, const char *text, struct trigger_why *why);

/* Values of one quantity of one process. */
struct gauge {
	double now; /* NAN: never came */
	double stat[STATS];
	float ring[TRIGGER_HISTORY];
	uint32_t n, at, fresh;
};

/* Of those that a trigger uses, in the order of their numbers. */
struct trigger_meter {
	uint32_t uses;
	struct gauge gauge[];
};

size_t trigger_meter_bytes(const struct trigger *t);
void trigger_meter_init(struct trigger_meter *m, const struct trigger *t);
/* What is not used is left alone. */
void trigger_put(struct trigger_meter *m, enum quantity q, double value);
/* Keeps the history and drops the current values: for after a pause. */
void trigger_pause(struct trigger_meter *m);
bool trigger_look(const struct trigger *t, const struct trigger_meter *m);
/* "step_ms 14.2 (p50 9.98)", of what it uses. */
void trigger_say(const struct trigger *t, const struct trigger_meter *m, char *buf, size_t cap);
