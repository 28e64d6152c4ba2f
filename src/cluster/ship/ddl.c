/* SPDX-License-Identifier: Apache-2.0 */
/* ddl.c - tables, views and their Distributed twins as statements. */
#include "ship/ddl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ship/view.h"

/* The first version with each feature. Debian 12's ClickHouse has none of them. */
static const struct {
	uint32_t since, feature;
} features[] = {
	/* clang-format off */
	{ 19005, DDL_LOW },
	{ 19006, DDL_TTL },
	{ 19009, DDL_CODEC },
	{ 20003, DDL_DROP_PARTS },
	{ 21004, DDL_PLAIN_DEDUP },
	{ 22002, DDL_TOKEN },
	/* clang-format on */
};

uint32_t ddl_features(uint32_t version)
{
	uint32_t have = 0;

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (version >= features[i].since)
			have |= features[i].feature;
	return have;
}

int ddl_version(const char *text, uint32_t *out)
{
	unsigned year, number;
	uint32_t v;

	if (sscanf(text, "%4u.%4u", &year, &number) != 2 || year > 999 || number > 999)
		return -EINVAL;
	v = year * 1000 + number;
	if (v < DDL_OLDEST)
		return -ENOTSUP;
	*out = v;
	return 0;
}

const char *ddl_type(uint32_t have, enum ship_type type)
{
	static const char *const word[SHIP_TYPES] = {
		[SHIP_T_U8] = "UInt8",    [SHIP_T_U16] = "UInt16", [SHIP_T_U32] = "UInt32",
		[SHIP_T_U64] = "UInt64",  [SHIP_T_I32] = "Int32",  [SHIP_T_F32] = "Float32",
		[SHIP_T_F64] = "Float64", [SHIP_T_DAY] = "Date",   [SHIP_T_STR] = "String",
		[SHIP_T_WORD] = "String",
	};

	return type == SHIP_T_WORD && have & DDL_LOW ? "LowCardinality(String)" : word[type];
}

static const char *codec(uint32_t have, const struct ship_col *c)
{
	static const char *const word[SHIP_CODECS] = {
		[SHIP_CODEC_ANY] = " CODEC(ZSTD(1))",
		[SHIP_CODEC_DELTA] = " CODEC(Delta, ZSTD(1))",
		[SHIP_CODEC_TIME] = " CODEC(DoubleDelta, ZSTD(1))",
		[SHIP_CODEC_REAL] = " CODEC(Gorilla, ZSTD(1))",
	};

	return have & DDL_CODEC ? word[c->codec] : "";
}

static void columns(FILE *f, uint32_t have, const struct ship_table *t)
{
	for (uint32_t i = 0; i < t->cols; i++)
		fprintf(f, "%s`%s` %s%s", i ? ", " : "", t->col[i].name,
			ddl_type(have, t->col[i].type), codec(have, &t->col[i]));
}

struct making {
	FILE *f;
	uint32_t have;
	const struct ddl_place *p;
};

/* The engine and everything that follows the columns. */
static void engine(const struct making *m, const char *name, const char *kind, const char *newest,
		   const char *order, const char *partition, uint32_t days)
{
	const struct ddl_place *p = m->p;

	if (p->replica)
		fprintf(m->f, " ENGINE = Replicated%sMergeTree('/aon/%s/%s/%u', '%s'%s%s)", kind,
			p->db, name, p->shard, p->replica, *newest ? ", " : "", newest);
	else
		fprintf(m->f, " ENGINE = %sMergeTree(%s)", kind, newest);
	if (*partition)
		fprintf(m->f, " PARTITION BY %s", partition);
	fprintf(m->f, " ORDER BY (%s)", order);
	if (days && m->have & DDL_TTL)
		fprintf(m->f, " TTL day + INTERVAL %u DAY", p->days ? p->days : days);
	fputs(" SETTINGS index_granularity = 8192", m->f);
	if (days && m->have & DDL_DROP_PARTS)
		fputs(", ttl_only_drop_parts = 1", m->f);
	/*
	 * ClickHouse recognizes a repeated block by its checksum, for as long as a spool may delay
	 * one.
	 */
	if (p->replica)
		fputs(", replicated_deduplication_window = 100000"
		      ", replicated_deduplication_window_seconds = 2592000",
		      m->f);
	else if (m->have & DDL_PLAIN_DEDUP)
		fputs(", non_replicated_deduplication_window = 10000", m->f);
}

static void create(const struct making *m, const char *name)
{
	fprintf(m->f, "CREATE TABLE IF NOT EXISTS %s.`%s%s` (", m->p->db, name,
		ddl_local(m->p) ? "_local" : "");
}

static void table(const struct making *m, const struct ship_table *t)
{
	create(m, t->name);
	columns(m->f, m->have, t);
	fputc(')', m->f);
	engine(m, t->name, *t->newest ? "Replacing" : "", t->newest, t->order, t->partition,
	       t->days);
}

/* The sender chooses the shard, so that no row waits in a server's queue. */
static void spread(const struct making *m, const char *name)
{
	fprintf(m->f,
		"CREATE TABLE IF NOT EXISTS %s.`%s` AS %s.`%s_local` ENGINE = Distributed(%s, %s, "
		"`%s_local`, rand())",
		m->p->db, name, m->p->db, name, m->p->cluster, m->p->db, name);
}

/* The table of schema versions. */
static void versions(const struct making *m)
{
	create(m, "aon_schema");
	fputs("`version` UInt32, `t_ns` UInt64, `by` String)", m->f);
	engine(m, "aon_schema", "", "", "version, t_ns", "", 0);
}

/* --- views --- */

/* The column that says which row is newer; "": its rows are added up. */
static const char *newest(const struct ship_view *v)
{
	const struct ship_view_col *c = ship_view_newest(v);

	return c ? c->name : "";
}

static void sums(const struct making *m, const struct ship_view *v)
{
	create(m, v->name);
	for (int i = 0; v->col[i].name; i++)
		fprintf(m->f, "%s`%s` %s", i ? ", " : "", v->col[i].name, v->col[i].type);
	fputc(')', m->f);
	engine(m, v->name, *newest(v) ? "Replacing" : "Summing", newest(v), v->order, v->partition,
	       v->days);
}

static void view(const struct making *m, const struct ship_view *v)
{
	const char *local = ddl_local(m->p) ? "_local" : "";

	fprintf(m->f, "CREATE MATERIALIZED VIEW IF NOT EXISTS %s.`%s_view` TO %s.`%s%s` AS SELECT ",
		m->p->db, v->name, m->p->db, v->name, local);
	for (int i = 0; v->col[i].name; i++)
		fprintf(m->f,
			v->col[i].part == SHIP_PART_SUM ? "%ssum(%s) AS `%s`" : "%s%s AS `%s`",
			i ? ", " : "", v->col[i].how, v->col[i].name);
	fprintf(m->f, " FROM %s.`%s%s`", m->p->db, ship_table(v->from)->name, local);
	if (*newest(v))
		return;
	for (int i = 0; v->col[i].name && v->col[i].part == SHIP_PART_KEY; i++)
		fprintf(m->f, "%s`%s`", i ? ", " : " GROUP BY ", v->col[i].name);
}

/* --- all of them --- */

enum statement { ST_DATABASE, ST_VERSIONS, ST_TABLE, ST_SUMS, ST_VIEW, ST_SPREAD, ST_SPREAD_SUMS };

static void write_one(const struct making *m, enum statement st, uint32_t i)
{
	switch (st) {
	case ST_DATABASE:
		fprintf(m->f, "CREATE DATABASE IF NOT EXISTS %s", m->p->db);
		break;
	case ST_VERSIONS:
		versions(m);
		break;
	case ST_TABLE:
		table(m, ship_table((enum ship_table_id)i));
		break;
	case ST_SUMS:
		sums(m, &ship_views[i]);
		break;
	case ST_VIEW:
		view(m, &ship_views[i]);
		break;
	case ST_SPREAD:
		spread(m, ship_table((enum ship_table_id)i)->name);
		break;
	case ST_SPREAD_SUMS:
		spread(m, ship_views[i].name);
		break;
	}
}

static int say(struct making *m, enum statement st, uint32_t n, ddl_fn *fn, void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		char *text = NULL;
		size_t len;

		m->f = open_memstream(&text, &len);
		if (!m->f)
			return -ENOMEM;
		write_one(m, st, i);
		err = fclose(m->f) ? -ENOMEM : fn(arg, text);
		free(text);
	}
	return err;
}

int ddl_each(uint32_t version, const struct ddl_place *p, ddl_fn *fn, void *arg)
{
	const struct {
		enum statement st;
		uint32_t n;
	} all[] = {
		{ ST_DATABASE, 1 },
		{ ST_VERSIONS, 1 },
		{ ST_TABLE, SHIP_TABLES },
		{ ST_SUMS, SHIP_VIEWS },
		{ ST_VIEW, SHIP_VIEWS },
		{ ST_SPREAD, ddl_local(p) ? SHIP_TABLES : 0 },
		{ ST_SPREAD_SUMS, ddl_local(p) ? SHIP_VIEWS : 0 },
	};
	struct making m = { .have = ddl_features(version), .p = p };
	int err = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !err; i++)
		err = say(&m, all[i].st, all[i].n, fn, arg);
	return err;
}

int ddl_add_column(uint32_t version, const struct ddl_place *p, const struct ship_table *t,
		   const struct ship_col *c, ddl_fn *fn, void *arg)
{
	uint32_t have = ddl_features(version);
	int err = 0;

	for (int twin = ddl_local(p); twin >= 0 && !err; twin--) {
		char *text;

		if (asprintf(&text, "ALTER TABLE %s.`%s%s` ADD COLUMN `%s` %s%s", p->db, t->name,
			     twin ? "_local" : "", c->name, ddl_type(have, c->type),
			     twin || !ddl_local(p) ? codec(have, c) : "") < 0)
			return -ENOMEM;
		err = fn(arg, text);
		free(text);
	}
	return err;
}

int ddl_insert(char *out, size_t cap, const struct ddl_place *p, const struct ship_table *t,
	       uint32_t schema)
{
	uint32_t cols = ship_cols(t, schema);
	FILE *f = fmemopen(out, cap, "w");
	int err;

	if (!f)
		return -ENOMEM;
	fprintf(f, "INSERT INTO %s.`%s%s` (", p->db, t->name, ddl_local(p) ? "_local" : "");
	for (uint32_t i = 0; i < cols; i++)
		fprintf(f, "%s%s", i ? "," : "", t->col[i].name); /* words: no need to quote */
	fputs(") FORMAT RowBinary", f);
	err = fflush(f) || ferror(f) ? -ENOSPC : 0;
	fclose(f);
	return err;
}
