/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - leases on hardware that only one tool can use at a time.
 *
 *	lease list                         "HW OF BY UID PID LEFT_MS TOOL" a line, behind TABs
 *	lease take HW OF MS HOLDER TOOL    OF: a process, or 0; HOLDER: whose end frees it, or 0
 *	lease release HW OF
 *
 * Aon's own probes release the hardware within a second and resume when the lease ends: by release,
 * by its time limit, or when its holder exits. Leases survive a restart of aond (lease_kept.c).
 * Users may lease hardware of their own processes; hardware of the whole node is for the admin, and
 * collectors that need the GPUs' counters wait for it, too (collect/leased.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/core/loop.h"

#define LEASES_MAX     64u
#define LEASES_PER_UID 16u
#define LEASE_MS_MAX   3600000u
#define LEASE_TOOL     32u

enum lease_hw {
#define LEASE(NAME, word, of, source, what) LEASE_##NAME,
#include "daemon/control/lease.tbl.h"
	LEASE_HW
};

struct admin_client;
struct json;
struct lease;
struct roster;

struct leases {
	struct loop *loop;     /* borrowed, as is */
	struct roster *roster; /* whose processes make room */
	struct lease *first;   /* owned */
	int run_dir;           /* borrowed: where they are kept for the next aond; -1: nowhere */
};

struct lease_ask {
	enum lease_hw hw;
	pid_t of;     /* process that it is in; 0: the node */
	uint32_t ms;  /* how long */
	pid_t holder; /* whose end frees it; 0: its time alone */
	uid_t uid;    /* who asks, */
	pid_t pid;
	bool guest;
	char tool[LEASE_TOOL];
};

void leases_init(struct leases *ls, struct loop *l, struct roster *r);
void leases_fini(struct leases *ls);
/* Reads the leases of the previous aond; from here on they are saved there. */
void leases_read(struct leases *ls, int run_dir);
void leases_parse(struct leases *ls, char *text, uint64_t now_ns); /* any bytes; text is changed */
void leases_tick(struct leases *ls, uint64_t now_ns);              /* every second */

/* 0, and *number of the order to the probes; its holder may take it again, for another time.
 * -EPERM, -EBUSY: another has it; -ESRCH: no such process of the user; -EINVAL; -ENOSPC: too many.
 * */
int lease_take(struct leases *ls, const struct lease_ask *ask, uint32_t *number);

/* A request as above, and its answer to `f`. */
void lease_request(FILE *f, struct leases *ls, const struct admin_client *c, char *words);
void leases_json(const struct leases *ls, struct json *j); /* "leases": [...] */
