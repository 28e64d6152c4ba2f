/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h - how far each job was read, and its open findings. The spool stores it together with
 * the rows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "diagnose/diagnose.h"
#include "fleet/fleet.h"

#define CURSOR_OPEN 64u /* findings of a job; the diagnosis holds no more */

/* A finding that was reported and is not over. */
struct cursor_open {
	uint64_t t_ns; /* when it began. Its rows have the same t_ns, kind and parts */
	struct diag_part part[DIAG_PARTS];
	uint32_t parts, since;
	float gain, confidence;
	uint8_t kind, why, act, unused[5];
};

struct cursor_job {
	char job[FLEET_WORD];
	uint64_t next;    /* earlier steps are diagnosed and their findings reported */
	uint64_t from_ns; /* steps that began earlier belong to an earlier attempt */
	uint64_t t_ns;    /* time of the newest step that was read */
	uint32_t opens, unused;
	struct cursor_open open[CURSOR_OPEN];
};

/* Encodes `n` jobs; the caller frees the result. NULL: out of memory. */
void *cursor_encode(const struct cursor_job *const *job, size_t n, size_t *len);
/* Decodes the jobs into an array that the caller frees. -EBADMSG: invalid; -ENOMEM. */
int cursor_decode(struct cursor_job **out, size_t *n, const void *data, size_t len);
