/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - epoll; a removed watch is never called. */
#include "daemon/core/loop.h"

#include <errno.h>
#include <unistd.h>

int loop_init(struct loop *l)
{
	l->n = l->at = 0;
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	return l->epfd < 0 ? -errno : 0;
}

void loop_fini(struct loop *l)
{
	close(l->epfd);
}

int loop_add(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	return epoll_ctl(l->epfd, EPOLL_CTL_ADD, w->fd, &ev) < 0 ? -errno : 0;
}

int loop_mod(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	return epoll_ctl(l->epfd, EPOLL_CTL_MOD, w->fd, &ev) < 0 ? -errno : 0;
}

void loop_del(struct loop *l, struct watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epfd, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = l->at; i < l->n; i++)
		if (l->ev[i].data.ptr == w)
			l->ev[i].data.ptr = NULL;
}

int loop_wait(struct loop *l, int timeout_ms)
{
	int n = epoll_wait(l->epfd, l->ev, LOOP_BATCH, timeout_ms);

	if (n < 0 && errno != EINTR)
		return -errno;
	l->n = n < 0 ? 0 : n;
	l->at = 0;
	return 0;
}

void loop_work(struct loop *l)
{
	while (l->at < l->n) {
		struct epoll_event *e = &l->ev[l->at++];
		struct watch *w = e->data.ptr;

		if (w)
			w->fn(w, e->events);
	}
}
