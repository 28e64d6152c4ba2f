/* SPDX-License-Identifier: Apache-2.0 */
/* store_dump.c - every event of a store, one JSON object a line, with its words spelled out. */
#include <stdio.h>

#include "store/store.h"

struct tracks {
	struct track of[8192];
	size_t used;
};

struct dump {
	struct store *st;
	struct tracks *tracks;
};

static int add_track(void *arg, const struct track *l)
{
	struct tracks *all = arg;

	if (all->used < sizeof(all->of) / sizeof(*all->of))
		all->of[all->used++] = *l;
	return 0;
}

static void print_track(const struct dump *d, uint32_t id)
{
	const struct track *l = d->tracks->of;

	for (size_t i = 0; i < d->tracks->used; i++)
		if (l[i].id == id)
			printf(",\"device\":%d,\"context\":%u,\"stream\":%llu,\"lane\":\"%s\"",
			       (int)l[i].device, l[i].context, (unsigned long long)l[i].stream,
			       l[i].name ? store_name_text(d->st, l[i].name) : "");
}

static void print_event(const struct dump *d, const struct event *e)
{
	static const char *const kind[EVENT_MAX] = {
#define EVENT(num, NAME, text, has) [num] = text,
#include "model/event.tbl.h"
	};
	struct geo g;

	printf("{\"kind\":\"%s\",\"name\":\"%s\",\"start\":%llu,\"dur\":%llu,\"a\":%llu,"
	       "\"b\":%llu,\"corr\":%u,\"dir\":%u",
	       kind[e->kind], e->name ? store_name_text(d->st, e->name) : "",
	       (unsigned long long)e->start_ns, (unsigned long long)e->dur_ns,
	       (unsigned long long)e->a, (unsigned long long)e->b, e->corr,
	       e->flags >> EVENT_COPY_SHIFT);
	print_track(d, e->track);
	if (e->kind == EVENT_KERNEL && e->a && !store_geo_get(d->st, (uint32_t)e->a, &g))
		printf(",\"geo\":[%u,%u,%u,%u,%u,%u],\"regs\":%u,\"smem\":[%u,%u]", g.grid[0],
		       g.grid[1], g.grid[2], g.block[0], g.block[1], g.block[2], g.regs,
		       g.smem_static, g.smem_dynamic);
	puts("}");
}

static int print_events(void *arg, uint32_t process, const struct event_columns *c)
{
	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		struct event e = event_at(c, i);

		print_event(arg, &e);
	}
	return 0;
}

int main(int argc, char *argv[])
{
	static struct tracks tracks;
	struct dump d = { .tracks = &tracks };
	struct store_filter all = { 0 };
	struct store_why why;
	int err;

	if (argc != 2)
		return 2;
	err = store_open_ro(&d.st, argv[1], &why);
	if (err) {
		fprintf(stderr, "store_dump: %s\n", why.text);
		return 1;
	}
	err = store_each_track(d.st, 0, add_track, &tracks);
	if (!err)
		err = store_each_events(d.st, &all, EVENT_COLS_ALL, print_events, &d);
	store_close(d.st);
	return err != 0;
}
