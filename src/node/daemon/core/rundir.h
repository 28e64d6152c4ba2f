/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.h - the run directory: checked, locked by one aond, with its sockets and its rendezvous page. */
#pragma once

#include <sys/types.h>

#include "abi/gate.h"

struct rundir {
	int dir; /* these owned; -1: none */
	int lock;
	struct aon_rendezvous *rendezvous; /* owned mapping */
};

struct rundir_why {
	char text[256];
};

/* Makes it if it is not there. Refuses one in which others could put things, and one that
 * another aond has: -EPERM, -EBUSY. */
int rundir_open(struct rundir *r, const char *path, struct rundir_why *why);
void rundir_close(struct rundir *r);

/* A listening SOCK_SEQPACKET socket of that name and mode, non-blocking. Returns it or -errno. */
int rundir_listen(struct rundir *r, const char *name, mode_t mode);
void rundir_unlink(struct rundir *r, const char *name);

/* Opens the rendezvous page file, or makes it. Its inode stays the same for as long as it can be used. */
int rundir_rendezvous(struct rundir *r, struct rundir_why *why);
/* Announces the daemon to every process that waits for one. */
void rundir_announce(struct rundir *r);
