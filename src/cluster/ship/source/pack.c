/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - see pack.h. */
#include "ship/source/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static bool is_word_of_others(enum ship_table_id t)
{
	return t == SHIP_NAME || t == SHIP_PROCESS;
}

static void put_one(struct packs *p, struct pack *k)
{
	uint64_t seq = spool_next(p->spool);
	size_t at = 1 + strlen(p->cluster) + sizeof(uint64_t); /* behind cluster and src */

	for (uint32_t i = 0; i < k->n; i++)
		memcpy(k->rows.data + k->start[i] + at, &seq, sizeof(seq));
	if (!p->err && k->n)
		p->err = spool_put(p->spool, k->table, &k->rows, k->n, k->route, p->now_ns);
	if (!p->err)
		p->rows += k->n;
	k->rows.len = 0;
	k->n = 0;
}

static void put(struct packs *p, struct pack *k)
{
	for (size_t i = 0; i < PACK_OPEN && !is_word_of_others(k->table); i++)
		if (p->pack[i].n && is_word_of_others(p->pack[i].table))
			put_one(p, &p->pack[i]);
	put_one(p, k);
}

static struct pack *open_pack(struct packs *p, enum ship_table_id table, uint64_t route,
			      uint16_t day)
{
	struct pack *best = NULL;

	for (size_t i = 0; i < PACK_OPEN; i++) {
		struct pack *k = &p->pack[i];

		if (k->n && k->table == table && k->route == route && k->day == day)
			return k;
		if (!best || (best->n && (!k->n || k->used < best->used)))
			best = k;
	}
	if (best->n)
		put(p, best);
	best->table = table;
	best->route = route;
	best->day = day;
	return best;
}

static int note_start(struct pack *k)
{
	if (vec_room(&k->start, &k->cap, k->n + 1, sizeof(*k->start)) < 0)
		return -ENOMEM;
	k->start[k->n] = (uint32_t)k->rows.len;
	return 0;
}

void packs_add(struct packs *p, enum ship_table_id table, uint64_t route, void *row)
{
	const struct ship_table *t = ship_table(table);
	struct ship_name *common = row; /* every row begins alike */
	struct pack *k;
	uint64_t t_ns;

	if (p->err)
		return;
	memcpy(&t_ns, (char *)row + t->time_off, sizeof(t_ns));
	k = open_pack(p, table, route, ship_day(t_ns));
	k->used = ++p->uses;
	common->cluster = ship_text(p->cluster);
	common->src = spool_src(p->spool);
	common->seq = 0;
	if (!p->err)
		p->err = note_start(k);
	if (!p->err)
		p->err = rowbin_put(&k->rows, t, row);
	k->n += !p->err;
	if (k->n == BATCH_ROWS_MAX || k->rows.len > PACK_BYTES)
		put(p, k);
}

int packs_end(struct packs *p)
{
	for (int words = 1; words >= 0; words--)
		for (size_t i = 0; i < PACK_OPEN; i++)
			if (p->pack[i].n && is_word_of_others(p->pack[i].table) == words)
				put_one(p, &p->pack[i]);
	return p->err;
}

void packs_fini(struct packs *p)
{
	for (size_t i = 0; i < PACK_OPEN; i++) {
		rowbin_fini(&p->pack[i].rows);
		free(p->pack[i].start);
	}
}
