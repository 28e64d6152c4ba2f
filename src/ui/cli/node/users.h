/* SPDX-License-Identifier: Apache-2.0 */
/*
 * users.h - the processes of this node that use a GPU or train in Python, recorded or not: as the
 * kernel shows them to this user (gpuuse/scan.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "cli/core/out.h"
#include "gpuuse/maps.h"
#include "gpuuse/scan.h"

struct procs;

struct user {
	pid_t pid, parent;
	uid_t uid;
	uint64_t start;
	char comm[64], command[256];
	const struct gpu_use *use; /* borrowed: `uses` of them; NULL: it has no GPU's file open */
	uint32_t uses;
	bool seen; /* its mappings could be read */
	struct maps_seen maps;
	bool worker; /* forked off from another one of them */
	bool recorded;
	char why[256], fix[512]; /* of one that is not recorded */
};

struct users {
	struct gpu_scan *scan; /* owned */
	struct user *user;     /* owned; by PID */
	uint32_t n, unrecorded, hidden;
};

struct users_want {
	const char *root;       /* before /proc and /sys; "": none */
	const struct procs *ps; /* those that a store has; NULL: no store could be asked */
	bool shares;            /* wait for a moment, to see what they do */
};

int users_load(struct users *u, const struct users_want *w);
void users_fini(struct users *u);

/* The process of a store; NULL: it uses no GPU. */
const struct user *users_of(const struct users *u, uint32_t pid, uint64_t start);

/* Of all its GPUs: the share of the busiest engine (NAN: not known), and its memory. */
double user_share(const struct user *x);
bool user_memory(const struct user *x, uint64_t *bytes);

/* Those that are not recorded, each with the reason and the command that changes that. */
void users_text(const struct users *u, const struct out *out);
void users_json(struct json *j, const struct users *u);
void user_gpus_json(struct json *j, const struct users *u, const struct user *x);
