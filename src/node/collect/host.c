/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - the node without its GPUs: cores, memory, disks, networks, sensors, cgroups, kernel log.
 *
 * Everything is read from files that stay open. Large or slowly changing files are read more
 * rarely; the more cores there are, the more rarely each is read. Devices are discovered once a
 * minute.
 */
#include "collect/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "collect/collect.h"
#include "collect/membw.h"

#define MID_MS  10000u
#define SLOW_MS 15000u
#define CORES   12u /* of so many at SLOW_MS; of more in proportion, up to CORE_MS */
#define CORE_MS 240000u
#define SCAN_MS 60000u

struct host {
	struct proc *proc;
	struct sysfs *sysfs;
	struct kmsg *kmsg;
	struct membw *membw;
	uint32_t polls, mid_every, slow_every, core_every, scan_every;
	char buf[HOST_TEXT + 1];
};

/* --- text --- */

struct word text_word(struct text *t)
{
	struct word w;

	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
	w.p = t->p;
	while (t->p < t->end && *t->p != ' ' && *t->p != '\t' && *t->p != '\n')
		t->p++;
	w.len = (size_t)(t->p - w.p);
	return w;
}

bool text_number(struct text *t, double *out)
{
	bool minus = false, any = false;
	uint64_t v = 0;
	double frac = 0, scale = 1;

	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
	if (t->p < t->end && *t->p == '-') {
		minus = true;
		t->p++;
	}
	for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++, any = true)
		v = v * 10 + (uint64_t)(*t->p - '0');
	if (t->p < t->end && *t->p == '.' && any)
		for (t->p++; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
			frac = frac * 10 + (*t->p - '0');
			scale *= 10;
		}
	if (!any)
		return false;
	*out = ((double)v + frac / scale) * (minus ? -1 : 1);
	return true;
}

void text_line(struct text *t)
{
	const char *nl = memchr(t->p, '\n', (size_t)(t->end - t->p));

	t->p = nl ? nl + 1 : t->end;
}

bool word_is(struct word w, const char *text)
{
	return strlen(text) == w.len && !memcmp(w.p, text, w.len);
}

uint32_t word_hash(struct word w)
{
	uint32_t h = (uint32_t)fnv_bytes(FNV_BASIS, w.p, w.len);

	return h ? h : 1;
}

/* --- files --- */

int host_open(const char *root, const char *path)
{
	char full[4096];

	if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
		return -1;
	return open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool host_read(int fd, char *buf, struct text *out)
{
	size_t n = 0;

	/* /proc hands out a page at a time. */
	while (n < HOST_TEXT) {
		ssize_t got = pread(fd, buf + n, HOST_TEXT - n, (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (n < 4096 && buf[n - 1] == '\n' && got < 1024)
			break; /* what is short comes at once */
	}
	buf[n] = '\0';
	*out = (struct text){ buf, buf + n };
	return n > 0;
}

/* --- the collector --- */

static void host_close(void *self)
{
	struct host *h = self;

	proc_free(h->proc);
	sysfs_free(h->sysfs);
	kmsg_free(h->kmsg);
	membw_free(h->membw);
	free(h);
}

static uint32_t every(uint32_t ms, const struct collect_env *env)
{
	return env->all || env->interval_ms >= ms ? 1 : ms / env->interval_ms;
}

static int host_start(void **self, const struct collect_env *env, struct emit *e)
{
	struct host *h = calloc(1, sizeof(*h));
	long cores = sysconf(_SC_NPROCESSORS_CONF), core_ms = SLOW_MS;
	struct rlimit rl;
	const char *why;
	char text[256];
	int err;

	if (!h)
		return -ENOMEM;
	if (!getrlimit(RLIMIT_NOFILE, &rl)) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	if (cores > (long)CORES)
		core_ms = core_ms * cores / (long)CORES;
	h->mid_every = every(MID_MS, env);
	h->slow_every = every(SLOW_MS, env);
	h->core_every = every(core_ms < (long)CORE_MS ? (uint32_t)core_ms : CORE_MS, env);
	h->scan_every = env->interval_ms >= SCAN_MS ? 1 : SCAN_MS / env->interval_ms;
	err = proc_new(&h->proc, env->root);
	err = err ? err : sysfs_new(&h->sysfs, env->root);
	err = err ? err : kmsg_new(&h->kmsg, env->root);
	err = err ? err : membw_new(&h->membw, env->root, NULL, e);
	if (err) {
		host_close(h);
		return err;
	}
	why = membw_why(h->membw, text, sizeof(text));
	if (why && !*env->root)
		log_info("memory bandwidth is not measured: %s", why);
	*self = h;
	return 0;
}

static int host_poll(void *self, struct emit *e)
{
	struct host *h = self;
	unsigned due = 1u << HOST_FAST | (h->polls % h->mid_every == 0) << HOST_MID |
		       (h->polls % h->slow_every == 0) << HOST_SLOW |
		       (h->polls % h->core_every == 0) << HOST_CORE;

	if (h->polls % h->scan_every == 0)
		sysfs_scan(h->sysfs, e);
	for (unsigned g = 0; due >> g; g++)
		if (due >> g & 1)
			emit_group(e, g);
	proc_poll(h->proc, e, h->buf, due);
	sysfs_poll(h->sysfs, e, h->buf, due);
	if (due >> HOST_MID & 1)
		membw_poll(h->membw, e);
	emit_group(e, HOST_FAST);
	kmsg_poll(h->kmsg, e);
	h->polls++;
	return 0;
}

const struct collector_ops host_collector = { host_start, host_poll, host_close };
