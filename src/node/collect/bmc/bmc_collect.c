/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmc_collect.c - the collectors of BMCs: a thread for each BMC of the file, read once an interval.
 *
 * This process is separate from aond, has few privileges, and is killed if it hangs.
 *
 * A separate thread writes the files for aon rack: a slow disk then delays only these files. If the
 * poll waited for the disk, the process would be killed, and would have to discover all resources
 * of all BMCs again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/bmc/bmc.h"
#include "collect/collect.h"
#include "collect/emit.h"

#define STACK_BYTES (256u << 10)
#define STATE_DIR   "/run/aon/bmc"
#define WRITER_S    1 /* that it may take to end */

struct bmcs {
	struct bmc_confs confs;
	struct bmc *bmc; /* owned */
	size_t n;
	char dir[256]; /* for aon rack; "": it cannot be written */
	pthread_t writer;
	bool writes;
	uint64_t interval_ns;
	_Atomic bool stop;
};

static int start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return -err;
}

static void *writer(void *arg)
{
	struct bmcs *s = arg;

	do
		for (size_t i = 0; i < s->n; i++)
			bmc_write(&s->bmc[i], s->dir);
	while (bmc_sleep(&s->bmc[0], s->interval_ns));
	return NULL;
}

/* False: it waits for the disk, and holds what it writes of. */
static bool writer_ends(struct bmcs *s)
{
	struct timespec until = clock_after(CLOCK_REALTIME, WRITER_S * 1000000000ull);

	return !s->writes || pthread_timedjoin_np(s->writer, NULL, &until) == 0;
}

static void bmcs_close(void *self)
{
	struct bmcs *s = self;

	bmc_stop_all(&s->stop);
	for (size_t i = 0; i < s->n; i++) {
		pthread_join(s->bmc[i].thread, NULL);
		if (s->bmc[i].listens)
			pthread_join(s->bmc[i].listener, NULL);
	}
	if (!writer_ends(s)) /* the process does, and then this is nobody's */
		return;
	for (size_t i = 0; i < s->n; i++)
		bmc_fini(&s->bmc[i]);
	free(s->bmc);
	bmc_confs_fini(&s->confs);
	free(s);
}

static int start_one(struct bmcs *s, const struct bmc_conf *conf, bool ipmi)
{
	struct bmc *b = &s->bmc[s->n];
	int err = bmc_init(b, conf, &s->stop);

	if (err)
		return err;
	err = start(&b->thread, ipmi ? ipmi_thread : redfish_thread, b);
	if (err) {
		bmc_fini(b);
		return err;
	}
	s->n++;
	b->listens = !ipmi && conf->events && start(&b->listener, redfish_listener, b) == 0;
	return 0;
}

/* DIR behind a comma of the argument, else the usual place if it can be made. */
static void find_dir(struct bmcs *s, const char *comma)
{
	snprintf(s->dir, sizeof(s->dir), "%s", comma ? comma + 1 : STATE_DIR);
	if (mkdir(s->dir, 0755) < 0 && errno != EEXIST)
		s->dir[0] = '\0';
}

static int bmcs_open(void **self, const struct collect_env *env, bool ipmi)
{
	const char *arg = env->arg && *env->arg ? env->arg : BMC_CONF_FILE,
		   *comma = strchr(arg, ',');
	struct bmcs *s = calloc(1, sizeof(*s));
	char path[4096];
	struct bmc_why why;
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%.*s", (int)(comma ? comma - arg : (long)strlen(arg)), arg);
	err = bmc_conf_load(&s->confs, path, &why);
	if (err == -ENOENT && !env->arg)
		err = -ENODEV;
	else if (err)
		log_err("%s", why.text);
	if (!err)
		s->bmc = calloc(s->confs.n + 1, sizeof(*s->bmc));
	if (!err && !s->bmc)
		err = -ENOMEM;
	find_dir(s, comma);
	for (size_t i = 0; !err && i < s->confs.n; i++)
		if (ipmi == !strncmp(s->confs.bmc[i].url, "ipmi:", 5))
			err = start_one(s, &s->confs.bmc[i], ipmi);
	if (!err && !s->n)
		err = -ENODEV;
	if (err) {
		bmcs_close(s);
		return err;
	}
	s->interval_ns = env->interval_ms * 1000000ull;
	s->writes = *s->dir && start(&s->writer, writer, s) == 0;
	*self = s;
	return 0;
}

static int redfish_collector_open(void **self, const struct collect_env *env, struct emit *e)
{
	(void)e;
	return bmcs_open(self, env, false);
}

static int ipmi_collector_open(void **self, const struct collect_env *env, struct emit *e)
{
	(void)e;
	return bmcs_open(self, env, true);
}

static int bmcs_poll(void *self, struct emit *e)
{
	struct bmcs *s = self;

	for (size_t i = 0; i < s->n; i++)
		bmc_emit(&s->bmc[i], e);
	return 0;
}

const struct collector_ops redfish_collector = { redfish_collector_open, bmcs_poll, bmcs_close };
const struct collector_ops ipmi_collector = { ipmi_collector_open, bmcs_poll, bmcs_close };
