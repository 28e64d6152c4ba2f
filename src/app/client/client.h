/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - what the files of libaon share. Nothing here is exported.
 *
 * The rules: no exit, no print, no heap, no lock that anybody waits for, no thread, no signal;
 * errno is kept; every failure is counted or ignored silently.
 *
 * emit.c    the hot path and its slow half     thread.c  a thread's end: attach, exit
 * join.c    talking to aond, the state machine intern.c  names, geometries, tracks
 * link.c    sockets, descriptors, mappings     api.c     the exported rest
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/gate.h"
#include "abi/msg.h"
#include "client/inline.h"

extern const struct aon_thread aon_unattached, aon_dead; /* const: shared by all threads */

enum client_state {
	CLIENT_INERT,   /* never: AT_SECURE, AON_OFF, or no way to notice a fork */
	CLIENT_AWAY,    /* no socket, no answer awaited */
	CLIENT_WAITING, /* HELLO is sent */
	CLIENT_JOINED,
};

/* One of libaon's descriptors, with what distinguishes it from one that the app put in its place. */
struct held_fd {
	int fd; /* -1: none */
	uint64_t dev, ino;
};

struct client {
	_Atomic uint32_t state; /* enum client_state; changed by the holder of `turn` */
	_Atomic uintptr_t turn; /* the thread (its TLS) that does a step of the joining; 0: none */
	_Atomic uint32_t ready; /* 1: `seg` is there, for life; written after it */
	struct aon_seg seg;
	size_t seg_bytes;
	const struct aon_gate *gate;             /* the session's; NULL before */
	const struct aon_rendezvous *rendezvous; /* NULL: no run directory yet */
	uint32_t generation;                     /* of the daemon that was asked last */
	int refused;                             /* -errno of the last answer, 0: none */
	struct held_fd sock, pool;
	_Atomic uint64_t looked_tsc; /* when the socket was last looked at */
	_Atomic uint64_t tried_tsc;  /* when a daemon was last tried for */
	_Atomic uint64_t hello_tsc;  /* when HELLO was sent */
	_Atomic uint32_t filtered;   /* 1: the app has system call filters: make no calls */
	bool born_filtered;          /* it was started with some: they let us pass */
	_Atomic uint64_t early;      /* records lost while there was no segment to count in */
	_Atomic uint64_t range_ids;
	_Atomic uint64_t features; /* of the daemon that was joined last; 0: none yet */
	uint64_t pool_id[2];
	char run_dir[96];
	char run[16];
	uint32_t rank, world, local_rank; /* as in HELLO */
	char job[48];
	char node[32];
	char pod[72];
	char namespace[72];
	char gpus[96];
	char account[40];
	uint32_t pool_kib;
	uint32_t join_ms; /* that the first event may wait for aond's answer */
};

extern struct client aon_client;

/*
 * Used around every slow path. errno belongs to the app. A thread that is cancelled, even
 * asynchronously, must not end while it holds the turn or a chunk. Deferred cancellation is enough,
 * since there is no cancellation point in here; disabling it would change what pthread_join()
 * returns (glibc 2.36).
 */
struct detour {
	int saved_errno, cancel_type;
};

static inline struct detour detour_begin(void)
{
	struct detour d = { .saved_errno = errno };

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &d.cancel_type);
	return d;
}

static inline void detour_end(struct detour d)
{
	errno = d.saved_errno;
	pthread_setcanceltype(d.cancel_type, &d.cancel_type);
}

/* --- emit.c --- */
void client_gate_off(void);                   /* one load, one branch, nothing */
void client_gate_slow(void);                  /* every emit comes to the slow path */
void client_gate_watch(const uint32_t *word); /* the rendezvous page's, or the session's */

/* --- join.c --- */
/* One step of joining; false if another thread is doing it. Never waits longer than wait_ms. */
bool client_step(uint64_t tsc, unsigned wait_ms);
void client_try_join(uint64_t tsc); /* an emit without a segment: asks aond, or reads its answer */
void client_settle(void);           /* adds early losses to the segment's count */
void client_doorbell(void);
void client_look(uint64_t tsc); /* is the daemon still there? */
void client_poll(uint64_t tsc); /* called at good moments to join or to look */
void client_full(void);         /* no chunk is free */
bool client_was_forked(void);
bool client_forked(void); /* in a child: forget the parent's session; false: not yet done */
bool client_quiet(void);  /* no system call now */
int client_use(void *map, size_t bytes); /* a mapped segment becomes this process's */
void client_note_send(const struct aon_msg_note *note);

/* About a second and a fifth of one, in ticks; any steady counter of 1-5 GHz will do. */
#define TICKS_1S    (1ull << 31)
#define TICKS_200MS (1ull << 29)
#define TICKS_1MS   (1ull << 21)

/* --- link.c --- */
int link_connect(const char *run_dir, struct held_fd *out);
int link_send(const struct held_fd *s, const void *msg, size_t len, int pass_fd);
/* A message and its descriptors; returns its length, 0 at the end, -EAGAIN, -errno. */
int link_recv(const struct held_fd *s, void *msg, size_t cap, int fds[AON_MSG_FDS], int *nfds);
bool link_ours(const struct held_fd *h);    /* still what we opened, not something of the app's */
int link_hold(int fd, struct held_fd *out); /* takes fd to a high number; closed on failure */
void link_drop(struct held_fd *h);
int link_gone(const struct held_fd *s);              /* 1: the peer has closed */
int link_wait(const struct held_fd *s, unsigned ms); /* for a message; NULL: for the time */
const void *link_map_rendezvous(const char *run_dir);
void *link_map(int fd, size_t bytes, bool writable, const void *at);
void *link_private(size_t bytes, bool wipe_on_fork);
bool link_filtered(void);      /* are there system call filters? One that forbids asking kills */
bool link_born_filtered(void); /* the same from /proc, by calls that a program's start needs */
size_t link_size(int fd);

/* --- thread.c --- */
bool thread_setup(void);
bool thread_attach(void);      /* false: aon_self stays what it was */
void thread_sweep(void);       /* chunks of threads that ended unseen */
bool thread_wiped(void);       /* are we in a child that has not cleaned up yet? */
bool thread_claim_reset(void); /* true for the one thread of a child that is to clean up */
void thread_mark(void);        /* done: the tables are this process's */

/* --- intern.c --- */
bool intern_setup(void);
uint32_t intern(uint32_t type, const void *data, uint32_t len);
uint32_t intern_room(uint32_t type,
		     uint32_t len); /* as intern(), for bytes that are written later */
void intern_publish(void);          /* to a segment that the process has got */
