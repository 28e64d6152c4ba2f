/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - one epoll loop; a watch is a descriptor and its callback. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#define LOOP_BATCH 64

struct watch;
typedef void watch_fn(struct watch *w, uint32_t events);

/* Part of the object that it serves; see container_of(). */
struct watch {
	int fd; /* -1: not watched. Owned by the object. */
	watch_fn *fn;
};

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct loop {
	int epfd;
	int n, at; /* of the batch that is being worked on */
	struct epoll_event ev[LOOP_BATCH];
};

int loop_init(struct loop *l);
void loop_fini(struct loop *l);

int loop_add(struct loop *l, struct watch *w, uint32_t events);
int loop_mod(struct loop *l, struct watch *w, uint32_t events);
/* From here on w->fn is not called, not even for what this batch still holds. */
void loop_del(struct loop *l, struct watch *w);

/* Waits for a batch (-1: for ever); 0 or -errno. Then: works on it. */
int loop_wait(struct loop *l, int timeout_ms);
void loop_work(struct loop *l);
