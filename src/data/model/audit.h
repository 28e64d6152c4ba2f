/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h - a line of the audit log: a request to aond, its user, and the outcome.
 *
 *	wall_ns TAB uid TAB pid TAB what TAB outcome TAB text LF
 *
 * aond writes it (daemon/control/audit.h) beside its store, as STORE.audit and, before that, STORE.audit.1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AUDIT_SUFFIX ".audit"
#define AUDIT_BEFORE ".audit.1"
#define AUDIT_LINE   512u /* bytes of a line at most, its end with them */

struct audit_line {
	uint64_t wall_ns;
	uint32_t uid, pid;
	const char *what;    /* capture, subscribe, set, ... : a word */
	const char *outcome; /* ok, or a word on why not */
	const char *text;    /* for people */
};

/* Writes the line with its LF; what does not fit is cut. Returns its length. */
size_t audit_put(char out[AUDIT_LINE], const struct audit_line *l);
/* Splits a line without its LF in place. -EINVAL: not an audit line, or incomplete. */
int audit_get(char *line, struct audit_line *out);
