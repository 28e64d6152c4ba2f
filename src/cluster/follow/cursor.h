/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.h - how far each job is read, and its open findings; the spool keeps it with the rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "diagnose/diagnose.h"
#include "fleet/fleet.h"

#define CURSOR_OPEN 64u /* findings of a job; as many as the diagnosis holds */

/* A finding that is reported and not over. */
struct cursor_open {
	uint64_t t_ns; /* since when: its rows have that, the kind and the parts in common */
	struct diag_part part[DIAG_PARTS];
	uint32_t parts, since;
	float gain, confidence;
	uint8_t kind, why, act, unused[5];
};

struct cursor_job {
	char job[FLEET_WORD];
	uint64_t next;    /* step: earlier ones are diagnosed and their findings reported */
	uint64_t from_ns; /* steps that began earlier belong to an earlier attempt */
	uint64_t t_ns;    /* of the newest step that was read */
	uint32_t opens, unused;
	struct cursor_open open[CURSOR_OPEN];
};

/* Bytes that hold `n` jobs, the caller's to free(); NULL: no memory. */
void *cursor_encode(const struct cursor_job *const *job, size_t n, size_t *len);
/* The jobs, an array that the caller frees. -EBADMSG: not a cursor; -ENOMEM. */
int cursor_decode(struct cursor_job **out, size_t *n, const void *data, size_t len);
