/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h - one check is one line: its state, the result, the consequence, the fix. */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "cli/core/out.h"

enum health { HEALTH_OK, HEALTH_WARN, HEALTH_OFF, HEALTH_FAIL, HEALTH_COUNT };

struct doctor {
	struct out out;
	struct json j;
	bool json, full;
	const char *section;
	unsigned count[HEALTH_COUNT];
	bool cannot_record;
};

/* `id` is for programs; `so` and `fix` (NULL where there is none) follow a line that is not ok. */
void doctor_put(struct doctor *d, const char *id, enum health h, const char *so, const char *fix,
		const char *fmt, ...) __attribute__((format(printf, 6, 7)));

void doctor_machine(struct doctor *d);
void doctor_you(struct doctor *d);
/* Processes on GPUs that are not recorded; `root` is before /proc and /sys. */
void doctor_users(struct doctor *d, const char *root);
void doctor_sources(struct doctor *d); /* looks at files only: nothing is loaded */

/* Words of `text` in lines that fit, each line after the first moved in by `indent`. */
void doctor_wrapped(const struct out *out, const char *first, size_t indent, const char *text);

/* The first line of a small file, without its newline; false if it cannot be read. */
bool doctor_read(const char *path, char *buf, size_t cap);
