/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - one look at the store: what is new goes to the spool, with the new cursor. */
#include "ship/source/source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/proc.h"
#include "ship/source/source_priv.h"

static void set_name(char out[SOURCE_NAME], const char *text)
{
	if (!*out)
		snprintf(out, SOURCE_NAME, "%.*s", (int)SOURCE_NAME - 1, text);
}

int source_names(struct source_opts *o, bool last)
{
	struct node_ident n = { .host = "" };
	struct store *st;
	char host[SOURCE_NAME] = "";

	if (*o->cluster && *o->host)
		return 0;
	if (store_open_ro(&st, o->store, NULL) == 0) {
		if (store_node_get(st, &n))
			n = (struct node_ident){ .host = "" };
		store_close(st);
	}
	if (!*n.host && !last)
		return -EAGAIN;
	gethostname(host, sizeof(host) - 1);
	set_name(o->cluster, n.cluster);
	set_name(o->cluster, "default");
	set_name(o->host, n.host);
	set_name(o->host, host);
	return 0;
}

int source_new(struct ship_source **out, const struct source_opts *o)
{
	struct ship_source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->o = *o;
	err = proc_boot_id(s->boot);
	if (err) {
		free(s);
		return err;
	}
	snprintf(s->boot_text, sizeof(s->boot_text), "%016llx%016llx",
		 (unsigned long long)s->boot[0], (unsigned long long)s->boot[1]);
	*out = s;
	return 0;
}

void source_free(struct ship_source *s)
{
	if (!s)
		return;
	store_close(s->st);
	fold_fini(&s->fold);
	packs_fini(&s->packs);
	free(s->known);
	free(s->name_hash);
	free(s->name_said);
	free(s->series);
	free(s);
}

/* Forgets what was sent, because the commit failed. */
static void source_forget(struct ship_source *s)
{
	for (size_t i = 0; i < s->knowns; i++)
		s->known[i].sum = s->known[i].cost_sum = 0;
	for (uint32_t i = 0; i < s->seriess; i++)
		s->series[i].said = NAN;
	s->beat_ns = 0;
	if (s->name_said)
		memset(s->name_said, 0, s->names);
}

uint64_t source_behind(const struct ship_source *s)
{
	return s->newest > s->at.window ? s->newest - s->at.window : 0;
}

/* The file may be another than the last time: aond sets a damaged one aside and begins anew. */
static int open_store(struct ship_source *s, struct store_why *why)
{
	struct stat sb;
	int err;

	if (stat(s->o.store, &sb) < 0) {
		err = -errno;
		snprintf(why->text, sizeof(why->text), "%.200s: %s", s->o.store, strerror(errno));
		return err;
	}
	if (s->st && s->at.dev == (uint64_t)sb.st_dev && s->at.ino == (uint64_t)sb.st_ino)
		return 0;
	store_close(s->st);
	s->st = NULL;
	err = store_open_ro(&s->st, s->o.store, why);
	if (err)
		return err;
	if (s->at.dev != (uint64_t)sb.st_dev || s->at.ino != (uint64_t)sb.st_ino) {
		s->at.window = s->at.step = s->at.telemetry = 0;
		s->at.dev = (uint64_t)sb.st_dev;
		s->at.ino = (uint64_t)sb.st_ino;
	}
	source_forget(s);
	s->knowns = 0; /* ids are a store's own */
	s->seriess = s->series_known = 0;
	free(s->series);
	s->series = NULL;
	free(s->name_hash);
	free(s->name_said);
	s->name_hash = NULL;
	s->name_said = NULL;
	s->names = 0;
	s->node = (struct node_ident){ .host = "" };
	return 0;
}

/* What the store says of its node, as soon as it does. */
static void look_node(struct ship_source *s)
{
	if (!*s->node.host && store_node_get(s->st, &s->node))
		s->node = (struct node_ident){ .host = "" };
	set_name(s->o.rack, s->node.rack);
}

/*
 * Where the last commit ended. A spool that has sent, but does not say from where (its state was damaged), goes on
 * from now: what went before may be under way already, and must not come twice.
 */
static int find_place(struct ship_source *s, struct spool *spool, uint64_t now_ns,
		      struct store_why *why)
{
	size_t len;
	const void *data = spool_cursor(spool, &len);
	struct cursor c = { 0 };
	bool lost = !len && spool_next(spool) > 1;
	int err;

	if (len == sizeof(c))
		memcpy(&c, data, len);
	if (c.magic == CURSOR_MAGIC && c.version == CURSOR_VERSION)
		s->at = c;
	else
		s->at = (struct cursor){ .magic = CURSOR_MAGIC,
					 .version = CURSOR_VERSION,
					 .not_before_ns =
						 lost ? now_ns
						 : s->o.backfill_ns && s->o.backfill_ns < now_ns
							 ? now_ns - s->o.backfill_ns
							 : 0 };
	err = open_store(s, why);
	if (err || !lost)
		return err;
	log_warn("the spool does not say how far the store was read: it goes on from now");
	s->at.alarm_ns = now_ns;
	err = store_last_window(s->st, &s->at.window);
	return err ? err : store_last_step(s->st, &s->at.step);
}

/* Numbers of windows only rise: what is missing before the oldest was overwritten. */
static int stop_at_first(void *arg, const struct window *w)
{
	(void)arg, (void)w;
	return 1;
}

static int find_gap(struct ship_source *s, struct spool *spool)
{
	uint64_t first = s->at.window;
	int err = store_new_windows(s->st, &first, ~0u, stop_at_first, NULL);

	if (err == 1 && s->at.window && first > s->at.window + 1)
		spool_lost(spool, SHIP_WINDOW, SPOOL_GAP, first - s->at.window - 1);
	return err < 0 ? err : store_last_window(s->st, &s->newest);
}

static int put_all(struct ship_source *s, struct spool *spool, const struct source_node *node,
		   bool all)
{
	int err = find_gap(s, spool);

	err = err ? err : source_processes(s);
	err = err ? err : source_windows(s, all);
	err = err ? err : source_steps(s);
	err = err ? err : source_telemetry(s);
	err = err ? err : source_alarms(s, spool);
	if (!err)
		source_beat(s, spool, node);
	return err ? err : packs_end(&s->packs);
}

int source_look(struct ship_source *s, struct spool *spool, const struct source_node *node,
		uint64_t now_ns, bool all, struct store_why *why)
{
	int err = find_place(s, spool, now_ns, why);

	if (err)
		return err;
	look_node(s);
	s->packs.spool = spool;
	s->packs.cluster = s->o.cluster;
	s->packs.now_ns = now_ns;
	s->packs.rows = 0;
	s->packs.err = 0;
	err = put_all(s, spool, node, all);
	if (err)
		for (size_t i = 0; i < PACK_OPEN; i++)
			s->packs.pack[i].n = 0, s->packs.pack[i].rows.len = 0;
	if (!err && s->packs.rows)
		err = spool_commit(spool, &s->at, sizeof(s->at));
	if (!err)
		return 0;
	snprintf(why->text, sizeof(why->text), "%.100s: %s", s->o.store, strerror(-err));
	source_forget(s);
	store_close(s->st);
	s->st = NULL;
	return spool_abort(spool) ? -ENOTRECOVERABLE : err;
}
