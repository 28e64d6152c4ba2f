/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_op.h - the operations of a trigger, which trigger.c writes and trigger_look.c runs. */
#pragma once

#include "detect/trigger.h"

enum trigger_code {
	NUMBER,
	VALUE,
	NEGATE,
	ADD,
	SUB,
	MUL,
	DIV,
	LT,
	LE,
	GT,
	GE,
	EQ,
	NE,
	NOT,
	AND,
	OR
};

extern const char *const trigger_stat_word[STATS];
