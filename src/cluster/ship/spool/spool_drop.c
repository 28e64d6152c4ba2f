/* SPDX-License-Identifier: Apache-2.0 */
/* spool_drop.c - drops batches, reports the drops, and sets batches aside. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ship/spool/durable.h"
#include "ship/spool/spool_priv.h"

const char *const spool_reason_word[SPOOL_REASONS] = {
#define REASON(ID, word, what) [SPOOL_##ID] = word,
#include "ship/reason.tbl.h"
};

static void count(struct spool *s, const struct entry *e, enum spool_reason why)
{
	struct spool_drop *d = &s->st.drop[e->table][why];

	d->batches++;
	d->rows += e->rows;
	d->bytes += e->bytes;
	if (!d->first)
		d->first = e->seq;
	d->last = e->seq;
}

int spool_give_up(struct spool *s, struct entry *e, enum spool_reason why)
{
	int err = spool_gone(s, e);

	if (!err)
		count(s, e, why);
	return err;
}

void spool_lost(struct spool *s, enum ship_table_id table, enum spool_reason why, uint64_t rows)
{
	s->lost[table][why] += rows;
}

/* 0 goes first: what is much and soon old; what others cannot be read without goes last. */
static int worth(uint8_t table)
{
	switch (table) {
	case SHIP_EVENT:
		return 0;
	case SHIP_NAME:
	case SHIP_PROCESS:
		return 2;
	default:
		return 1;
	}
}

/* Whether we know that nobody has it. */
static bool can_go(const struct spool *s, const struct entry *e)
{
	return !e->gone && e->table != SHIP_DROP && e->seq > s->st.tried;
}

static struct entry *least(struct spool *s)
{
	struct entry *found = NULL;

	for (size_t i = 0; i < s->kept; i++) {
		struct entry *e = &s->entry[i];

		if (can_go(s, e) && (!found || worth(e->table) < worth(found->table)))
			found = e;
		if (found && worth(found->table) == 0)
			break;
	}
	return found;
}

bool spool_room(struct spool *s, uint64_t need)
{
	bool dropped = false;

	while ((s->max_bytes && s->bytes + need > s->max_bytes) || s->entries >= SPOOL_FILES_MAX) {
		struct entry *e = least(s);

		if (!e || spool_give_up(s, e, SPOOL_FULL))
			break;
		dropped = true;
		if (s->entries >= SPOOL_FILES_MAX)
			break;
	}
	if (dropped && spool_flush(s))
		return false;
	return !s->max_bytes || s->bytes + need <= s->max_bytes;
}

static int give_up_old(struct spool *s, uint64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; s->max_age_ns && i < s->kept && !err; i++) {
		struct entry *e = &s->entry[i];

		if (can_go(s, e) && e->made_ns + s->max_age_ns < now_ns)
			err = spool_give_up(s, e, SPOOL_AGE);
	}
	return err;
}

/* One such batch waits at a time, so that it need not be given up itself. */
static bool is_telling(const struct spool *s)
{
	for (size_t i = 0; i < s->entries; i++)
		if (!s->entry[i].gone && s->entry[i].table == SHIP_DROP)
			return true;
	return false;
}

/* Adds a row for each table and reason with unreported drops; returns how many, or -errno. */
static int tell(struct spool *s, uint64_t now_ns, struct rowbin *b)
{
	int n = 0, err = 0;

	for (int i = 0; i < SHIP_TABLES * SPOOL_REASONS && !err; i++) {
		struct spool_drop *d = &s->st.drop[i / SPOOL_REASONS][i % SPOOL_REASONS];
		struct spool_drop *told = &s->st.told[i / SPOOL_REASONS][i % SPOOL_REASONS];
		struct ship_drop row = {
			.cluster = ship_text(s->cluster),
			.src = s->st.src,
			.seq = spool_next(s),
			.host = ship_text(s->host),
			.t_ns = now_ns,
			.what = ship_text(
				ship_table((enum ship_table_id)(i / SPOOL_REASONS))->name),
			.reason = ship_text(spool_reason_word[i % SPOOL_REASONS]),
			.batches = d->batches - told->batches,
			.rows = d->rows - told->rows,
			.bytes = d->bytes - told->bytes,
			.of = s->st.src,
			.first_seq = d->first,
			.last_seq = d->last,
		};

		if (!row.batches && !row.rows)
			continue;
		err = rowbin_put(b, ship_table(SHIP_DROP), &row);
		d->first = d->last = 0;
		*told = *d;
		n++;
	}
	return err ? err : n;
}

int spool_drops(struct spool *s, uint64_t now_ns)
{
	struct state before;
	struct rowbin b = { 0 };
	int n, err = give_up_old(s, now_ns);

	if (err || is_telling(s))
		return err ? err : spool_flush(s);
	before = s->st;
	n = tell(s, now_ns, &b);
	if (n > 0)
		err = spool_put(s, SHIP_DROP, &b, (uint32_t)n, ship_hash_text(s->host), now_ns);
	rowbin_fini(&b);
	if (!err && n > 0)
		err = spool_commit(s, s->cursor, s->st.cursor_len);
	if (!err && n >= 0)
		return 0;
	/* Nothing was reported: the next time does it. */
	memcpy(s->st.drop, before.drop, sizeof(before.drop));
	memcpy(s->st.told, before.told, sizeof(before.told));
	spool_abort(s);
	return err ? err : n;
}

/* --- what is set aside --- */

/* The oldest go; they were counted when they were set aside. */
static void tidy_aside(int aside)
{
	struct dirent **list;
	char why[SPOOL_NAME + 8];
	DIR *d = fdopendir(dup(aside));
	int n = d ? scandirat(aside, ".", &list, NULL, alphasort) : -1, batches = 0;

	if (d)
		closedir(d);
	for (int i = 0; i < n; i++)
		batches += spool_number(list[i]->d_name) != 0;
	for (int i = 0; i < n; i++) {
		uint64_t seq = spool_number(list[i]->d_name);

		if (seq && batches-- > (int)SPOOL_ASIDE_MAX) {
			snprintf(why, sizeof(why), "%020llu.why", (unsigned long long)seq);
			durable_unlink(aside, why);
			durable_unlink(aside, list[i]->d_name);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

int spool_poison(struct spool *s, uint64_t seq, const char *reason)
{
	struct entry *e = spool_find(s, seq);
	char name[SPOOL_NAME], why[SPOOL_NAME];
	int aside, err;

	if (!e || e->seq != seq || e->gone)
		return -ENOENT;
	mkdirat(s->dir, SPOOL_ASIDE, 0700);
	aside = openat(s->dir, SPOOL_ASIDE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (aside < 0)
		return -errno;
	snprintf(why, sizeof(why), "%020llu.why", (unsigned long long)seq);
	err = durable_write(aside, why, reason, strlen(reason));
	spool_name(name, seq);
	if (!err && linkat(s->dir, name, aside, name, 0) < 0 && errno != EEXIST)
		err = -errno;
	err = err ? err : durable_sync(aside);
	if (!err || err == -ENOSPC) /* to be rid of it matters more than to keep it */
		err = spool_give_up(s, e, SPOOL_POISON);
	tidy_aside(aside);
	close(aside);
	return err ? err : spool_flush(s);
}

int spool_each_aside(const char *dir, spool_aside_fn *fn, void *arg)
{
	char path[4096], why[SPOOL_NAME];
	struct dirent **list;
	int at, n, err = 0;

	snprintf(path, sizeof(path), "%s/" SPOOL_ASIDE, dir);
	at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return errno == ENOENT ? 0 : -errno;
	n = scandirat(at, ".", &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		uint64_t seq = spool_number(list[i]->d_name);
		struct batch_head h;
		void *data = NULL, *text = NULL;
		size_t len, text_len = 0;

		snprintf(why, sizeof(why), "%020llu.why", (unsigned long long)seq);
		if (!err && seq && !durable_read(at, list[i]->d_name, BATCH_MAX, &data, &len) &&
		    !batch_parse_head(&h, data, len)) {
			if (!durable_read(at, why, 4096, &text, &text_len))
				((char *)text)[text_len] = '\0';
			err = fn(arg, &h, text ? text : "");
		}
		free(data);
		free(text);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	close(at);
	return err;
}
