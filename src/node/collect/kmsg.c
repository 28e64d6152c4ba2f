/* SPDX-License-Identifier: Apache-2.0 */
/* kmsg.c - the kernel log: lines that report faults become events and are counted by kind. */
#include "collect/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#define RECORD   8192u /* bytes: the kernel's longest */
#define A_POLL   64u   /* records in one poll */
#define SAME_MAX 4u    /* events of one kind in one poll: a storm is counted, not reported */

struct kmsg {
	int fd; /* owned; -1: it may not be read */
};

static const struct {
	const char *kind, *text;
} faults[] = {
	/* clang-format off */
	{ "xid",       "NVRM: Xid" },
	{ "nvrm",      "NVRM: GPU" },
	{ "nvrm",      "NVRM: The NVIDIA GPU" },
	{ "nvlink",    "nvidia-nvswitch" },
	{ "gpu",       "amdgpu: GPU reset" },
	{ "gpu",       "GPU HANG" },
	{ "oom",       "Out of memory: Killed process" },
	{ "oom",       "Memory cgroup out of memory" },
	{ "mce",       "mce: [Hardware Error]" },
	{ "mce",       "Machine check events logged" },
	{ "edac",      "EDAC MC" },
	{ "aer",       "PCIe Bus Error" },
	{ "aer",       "AER: " },
	{ "link",      "NIC Link is Down" },
	{ "link",      "Link is Down" },
	{ "link",      "link down" },
	{ "link",      "Link down" },
	{ "link",      "Port module event" },
	{ "link",      "link becomes ready" },
	{ "link",      "Link up" },
	{ "thermal",   "temperature above threshold" },
	{ "hung_task", "blocked for more than" },
	{ "lockup",    "soft lockup" },
	{ "disk",      "I/O error" },
	/* clang-format on */
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

const char *kmsg_kind(const char *line, unsigned *number)
{
	for (size_t i = 0; i < FAULTS; i++) {
		const char *p = strstr(line, faults[i].text);

		if (!p)
			continue;
		*number = 0;
		/* NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus. */
		p = strstr(p, "): ");
		if (i == 0 && p)
			*number = (unsigned)num_front(p + 3, NULL);
		return faults[i].kind;
	}
	return NULL;
}

int kmsg_new(struct kmsg **out, const char *root)
{
	struct kmsg *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->fd = host_open(root, "/dev/kmsg");
	if (k->fd >= 0)
		lseek(k->fd, 0, SEEK_END); /* what was before is known, or too late */
	*out = k;
	return 0;
}

void kmsg_free(struct kmsg *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	free(k);
}

struct count {
	double n[FAULTS];
	unsigned told[FAULTS];
};

static void note(struct count *c, struct emit *e, const char *text)
{
	unsigned number;
	const char *kind = kmsg_kind(text, &number);
	size_t i = 0;

	if (!kind)
		return;
	while (strcmp(faults[i].kind, kind) != 0)
		i++;
	c->n[i]++;
	if (c->told[i]++ < SAME_MAX)
		emit_event(e, kind, "%.200s", text);
}

/* "6,339,5140900,-;the line", continued by lines that begin with a blank. */
void kmsg_poll(struct kmsg *k, struct emit *e)
{
	static struct count c; /* of this process */
	char buf[RECORD + 1];

	memset(c.told, 0, sizeof(c.told));
	for (unsigned i = 0; k->fd >= 0 && i < A_POLL; i++) {
		ssize_t n = read(k->fd, buf, RECORD);
		char *text;

		if (n < 0 && errno == EPIPE)
			continue; /* some were overwritten before we came */
		if (n <= 0)
			break;
		buf[n] = '\0';
		text = strchr(buf, ';');
		if (!text)
			continue;
		text[1 + strcspn(text + 1, "\n")] = '\0';
		note(&c, e, text + 1);
	}
	for (size_t i = 0; k->fd >= 0 && i < FAULTS; i++)
		if (!i || strcmp(faults[i].kind, faults[i - 1].kind) != 0)
			emit_count(e, emit_series(e, "aon_kernel_events_total", faults[i].kind, ""),
				   c.n[i]);
}
