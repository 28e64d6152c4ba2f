/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods.c - asks kubelet which GPUs its pods have, and writes a file for aond (ident/pods.h). It
 * measures nothing: it is a collector because a service that hangs then blocks only this process.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "collect/collect.h"
#include "collect/grpc.h"
#include "ident/pods.h"

#define SOCKET    "/var/lib/kubelet/pod-resources/kubelet.sock"
#define FILE_NAME "/run/aon-collect/pods"
#define ASK_MS    2000u

struct pods {
	char socket[PATH_MAX], file[PATH_MAX];
	int told; /* the last reported error */
};

/* =SOCKET[,FILE] */
static int pods_open(void **self, const struct collect_env *env, struct emit *e)
{
	const char *arg = env->arg ? env->arg : "", *comma = strchrnul(arg, ',');
	struct pods *p = calloc(1, sizeof(*p));
	struct stat sb;

	(void)e;
	if (!p)
		return -ENOMEM;
	snprintf(p->socket, sizeof(p->socket), "%s%.*s", *arg && comma != arg ? "" : SOCKET,
		 (int)(comma - arg), arg);
	snprintf(p->file, sizeof(p->file), "%s", *comma ? comma + 1 : FILE_NAME);
	if (stat(p->socket, &sb) < 0 || !S_ISSOCK(sb.st_mode)) {
		free(p);
		return -ENODEV;
	}
	*self = p;
	return 0;
}

static int note(const struct pods *p, const void *data, size_t len)
{
	char tmp[PATH_MAX + 8];
	FILE *f;
	int err;

	snprintf(tmp, sizeof(tmp), "%s.new", p->file);
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	err = pods_lines(data, len, f);
	if (fclose(f) != 0 && !err)
		err = -EIO;
	if (!err && rename(tmp, p->file) < 0)
		err = -errno;
	if (err)
		unlink(tmp);
	return err;
}

static int pods_poll(void *self, struct emit *e)
{
	struct pods *p = self;
	struct grpc g = { 0 };
	const uint8_t *data;
	size_t len;
	int err = grpc_ask(&g, p->socket, "/v1.PodResourcesLister/List", ASK_MS);

	(void)e;
	err = err ? err : grpc_message(&g, &data, &len);
	err = err ? err : note(p, data, len);
	grpc_fini(&g);
	if (err && err != p->told)
		log_warn("%s: which GPU is whose pod's is not known: %s", p->socket,
			 err == -EBADMSG ? "no answer of kubelet's pod-resources" : strerror(-err));
	p->told = err;
	return 0; /* it is asked again */
}

static void pods_close(void *self)
{
	free(self);
}

const struct collector_ops pods_collector = { pods_open, pods_poll, pods_close };
