/* SPDX-License-Identifier: Apache-2.0 */
/* priv.h - shared by the files of the HTTP server. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "net/httpd/httpd.h"

/* A connection, from its accept to its close. */
struct conn {
	struct conn *next, **link;
	int fd;
	uint64_t since_ns; /* waiting for a request, or answering one */
	bool answering, live;
	bool known; /* the two below are filled */
	int err;    /* of its certificate */
	char name[HTTPD_NAME];
};

struct httpd {
	struct httpd_opts o;
	const struct httpd_ops *ops; /* borrowed, as is arg */
	void *arg;
	int fd; /* owned until MHD runs */
	struct MHD_Daemon *mhd;
	int quiet_fd; /* owned: from MHD, when it takes no more; -1: none */
	char host[256], ip[64], port[8], unix_path[108];
	_Atomic size_t uploading; /* bytes; relaxed */
	pthread_mutex_t lock;     /* conns */
	struct conn *conns;
};

/* listen.c: a listening socket; fills host, ip, port or unix_path. */
int httpd_listen(struct httpd *h, char why[256]);
