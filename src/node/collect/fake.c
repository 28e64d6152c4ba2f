/* SPDX-License-Identifier: Apache-2.0 */
/* fake.c - a collector that fails in a requested way, for tests. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collect.h"
#include "collect/emit.h"

struct fake {
	const char *how;
	unsigned polls;
};

static int fake_open(void **self, const struct collect_env *env, struct emit *e)
{
	struct fake *f = calloc(1, sizeof(*f));

	(void)e;
	if (!f)
		return -ENOMEM;
	f->how = env->arg ? env->arg : "steady";
	if (!strcmp(f->how, "none")) {
		free(f);
		return -ENODEV;
	}
	*self = f;
	return 0;
}

static void flood(struct emit *e)
{
	char device[32];

	for (unsigned i = 0; i < 20000; i++) {
		snprintf(device, sizeof(device), "flood%u", i);
		emit_set(e, emit_series(e, "node_network_up", device, ""), rand() % 1000);
		emit_event(e, "flood", "event %u", i);
	}
}

static int fake_poll(void *self, struct emit *e)
{
	struct fake *f = self;

	f->polls++;
	emit_set(e, emit_series(e, "node_load1", "", ""), f->polls % 4);
	emit_set(e, emit_series(e, "node_boot_time_seconds", "", ""), 1700000000);
	if (f->polls < 3)
		return 0;
	if (!strcmp(f->how, "hang"))
		sleep(3600);
	if (!strcmp(f->how, "die"))
		raise(SIGKILL);
	if (!strcmp(f->how, "flood"))
		flood(e);
	if (!strcmp(f->how, "fail"))
		return -EIO;
	if (!strcmp(f->how, "lose") && f->polls % 2)
		emit_set(e, emit_series(e, "node_network_up", "eth9", ""), 1);
	return 0;
}

static void fake_close(void *self)
{
	free(self);
}

const struct collector_ops fake_collector = { fake_open, fake_poll, fake_close };
