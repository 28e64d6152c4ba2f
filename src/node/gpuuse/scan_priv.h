/* SPDX-License-Identifier: Apache-2.0 */
/* scan_priv.h - what the files of the scan share. */
#pragma once

#include <limits.h>

#include "base/map.h"
#include "gpuuse/scan.h"

#define USES_MAX    1024u        /* processes times devices */
#define CLIENTS_MAX 4096u        /* a compositor has some hundred */
#define PIDS_MAX    32768u       /* processes of a poll */
#define LINKS_MAX   65536u       /* names of open files that a poll reads, 1.3 us each */
#define LINKS_A_PID 4096u        /* the same of one process */
#define FILES_MAX   4096u        /* fdinfo files that a poll reads; 10 us and more each */
#define FDINFO_TEXT 8192u        /* bytes of one; xe writes 1,500 */
#define TIME_NS     500000000ull /* that a poll may take; the rest comes with the next one */
#define REST_MAX    6u           /* polls between two looks at a process that uses no GPU */

/* What was last read of a client: counters may go back for a moment, and then stay as they were. */
struct dri_client {
	uint64_t key, id;
	uint32_t device, poll, engines;
	struct {
		char name[FDINFO_NAME];
		uint64_t ns, cycles, total;
	} engine[FDINFO_ENGINES];
};

struct gpu_scan {
	char root[PATH_MAX];
	int proc; /* owned */
	struct gpu_devices devices;
	struct gpu_use *use; /* owned */
	uint32_t uses;
	struct dri_client *client; /* owned */
	uint32_t clients;
	struct lookup by_key; /* of client */
	struct map rest;      /* pid -> when it is looked at again, and how long it rested */
	pid_t *pid;           /* owned: of this poll, sorted */
	uint8_t *walked;      /* owned: of each, whether it was looked at in this poll */
	uint32_t pids;
	pid_t from; /* where the last poll stopped; 0: it came to the end */
	uint32_t poll;
	uint64_t now_ns, before_ns, began_ns;
	struct gpu_scan_count count;
	struct fdinfo info;
	char text[FDINFO_TEXT + 1];
};

/* scan_use.c. The process on that device; NULL: there are too many. */
struct gpu_use *scan_use(struct gpu_scan *s, pid_t pid, uint32_t device);
/* What a client's file says goes to its process. */
void scan_client(struct gpu_scan *s, struct gpu_use *u, const struct fdinfo *f);
void scan_begin(struct gpu_scan *s);
void scan_end(struct gpu_scan *s); /* those that were not seen are gone */

/* scan_kfd.c */
void scan_kfd(struct gpu_scan *s);
