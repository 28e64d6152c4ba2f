/* SPDX-License-Identifier: Apache-2.0 */
/* procs.h - the processes of a store that a command selects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/process.h"
#include "store/store.h"

struct procs_want {
	uint32_t id, pid;  /* 0: any */
	const char *run;   /* NULL: any */
	uint64_t since_ns; /* joined at or after this, in this boot; 0: any */
	bool connected;    /* only those with a session */
};

struct procs {
	struct process *p; /* owned; those with a session first, then by the last sign of life */
	size_t n;
	size_t in_store; /* number of processes in the store, selected or not */
	const struct procs_want *want;
	uint64_t boot_id[2]; /* of this machine */
};

int procs_load(struct procs *ps, struct store *st, const struct procs_want *want);
void procs_fini(struct procs *ps);

/*
 * Whether the process has a session, as far as this machine can tell: a killed daemon leaves an
 * outdated state in the store.
 */
bool procs_live(const struct procs *ps, const struct process *p);

/* CLOCK_MONOTONIC now if a process of the list is live, otherwise the last sign of life of any. */
uint64_t procs_now(const struct procs *ps);

const char *procs_tier(uint32_t tier);   /* word in stores and JSON */
const char *procs_detail(uint32_t tier); /* word for people */
char *procs_user(uint32_t uid, char *buf, size_t cap);
