/* SPDX-License-Identifier: Apache-2.0 */
/* node_memory.c - DIMMs by SMBIOS (type 17): slots, sizes and speeds. Accepts any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "validate/node_files.h"

#define TABLES       (256u << 10)
#define TYPE_DIMM    17
#define DIMM_SIZE    0x0c
#define DIMM_SPEED   0x15 /* MT/s that it could have */
#define DIMM_RUNS    0x20 /* and has */
#define DIMM_END     0x22
#define CHANNELS     256u
#define CHANNEL_TEXT 24u

static unsigned get16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static void take(struct dimms *d, const uint8_t *p, size_t len)
{
	unsigned size, speed, runs;

	if (len < DIMM_SPEED + 2)
		return;
	d->slots++;
	size = get16(p + DIMM_SIZE);
	if (!size || size == 0xffff)
		return;
	d->n++;
	speed = get16(p + DIMM_SPEED);
	runs = len >= DIMM_END ? get16(p + DIMM_RUNS) : speed;
	runs = runs && runs != 0xffff ? runs : speed;
	if (runs && runs != 0xffff && (!d->slowest || runs < d->slowest))
		d->slowest = runs;
	if (speed != 0xffff && speed > d->could)
		d->could = speed;
}

/* Each structure is followed by strings, the last by two NULs. */
void node_dimms(struct dimms *d, const uint8_t *p, size_t len)
{
	size_t at = 0;

	while (at + 4 <= len && p[at + 1] >= 4 && at + p[at + 1] <= len) {
		size_t next = at + p[at + 1];

		if (p[at] == TYPE_DIMM)
			take(d, p + at, p[at + 1]);
		while (next + 1 < len && (p[next] || p[next + 1]))
			next++;
		at = next + 2;
	}
}

struct channels {
	char name[CHANNELS][CHANNEL_TEXT];
	unsigned n;
};

/* "channel 3 slot 0": the part before the slot, of a controller. */
static void channel(const struct node_files *n, const char *path, const char *name, void *arg)
{
	struct channels *c = arg;
	char text[64], mine[CHANNEL_TEXT], *at;
	const char *mc = strstr(path, "/mc/");

	(void)name;
	if (!mc || !node_beside(n, path, "dimm_location", text, sizeof(text)) ||
	    !(at = strstr(text, "channel")))
		return;
	snprintf(mine, sizeof(mine), "%.*s %.11s", (int)strcspn(mc + 4, "/") % 10, mc + 4, at);
	for (unsigned i = 0; i < c->n; i++)
		if (!strcmp(c->name[i], mine))
			return;
	if (c->n < CHANNELS)
		memcpy(c->name[c->n++], mine, sizeof(mine));
}

static void controller(const struct node_files *n, const char *path, const char *name, void *arg)
{
	(void)name;
	node_each(n, path, "dimm", channel, arg);
}

/* Two DIMMs of a channel share its wires: without EDAC the sum of all is the most it can be. */
void node_memory(const struct node_files *n)
{
	struct channels *c = calloc(1, sizeof(*c));
	char *text = malloc(TABLES);
	struct dimms d = { 0 };
	size_t len = 0;

	if (c && text && node_slurp(n, "/sys/firmware/dmi/tables/DMI", text, TABLES, &len))
		node_dimms(&d, (const uint8_t *)text, len);
	if (d.n && d.slowest) {
		node_each(n, "/sys/devices/system/edac/mc", "mc", controller, c);
		facts_set(n->f, "memory/dimms", "%u", d.n);
		facts_set(n->f, "memory/slots", "%u", d.slots);
		facts_set(n->f, "memory/MTps", "%u", d.slowest);
		if (d.could)
			facts_set(n->f, "memory/slowed", "%u", d.could > d.slowest);
		facts_set(n->f, c->n ? "memory/peak_GBps" : "memory/peak_at_most_GBps", "%.4g",
			  (c->n ? c->n : d.n) * d.slowest * 8e-3);
	}
	free(text);
	free(c);
}
