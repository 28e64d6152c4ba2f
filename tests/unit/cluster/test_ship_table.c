/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ship/ddl.h"
#include "ship/rowbin.h"
#include "ship/table.h"
#include "t.h"

#define DAY_NS (86400ull * 1000000000ull)

/* A row whose every column is something else. */
static void fill(const struct ship_table *t, void *row, uint32_t salt)
{
	static const char text[] = "the quick brown fox jumps over the lazy dog";

	memset(row, 0, t->row);
	for (uint32_t i = 0; i < t->cols; i++) {
		char *field = (char *)row + t->col[i].off;
		uint64_t v = (i + 1) * 0x9e3779b97f4a7c15ull + salt;
		struct ship_str s = { text, (i * 7 + salt) % sizeof(text) };
		float f = (float)(v >> 40);

		switch (t->col[i].type) {
		case SHIP_T_U8:
			*field = (char)v;
			break;
		case SHIP_T_U16:
			memcpy(field, &v, 2);
			break;
		case SHIP_T_U32:
		case SHIP_T_I32:
			memcpy(field, &v, 4);
			break;
		case SHIP_T_F32:
			memcpy(field, &f, 4);
			break;
		case SHIP_T_F64:
		case SHIP_T_U64:
			memcpy(field, &v, 8);
			break;
		case SHIP_T_STR:
		case SHIP_T_WORD:
			memcpy(field, &s, sizeof(s));
			break;
		default:
			break;
		}
	}
	memcpy((char *)row + t->time_off, &(uint64_t){ 20000 * DAY_NS + salt }, 8);
}

static bool same(const struct ship_table *t, const void *a, const void *b, uint32_t cols)
{
	for (uint32_t i = 0; i < cols; i++) {
		const char *x = (const char *)a + t->col[i].off,
			   *y = (const char *)b + t->col[i].off;
		const struct ship_str *s = (const void *)x, *u = (const void *)y;
		static const uint8_t w[] = { 1, 2, 4, 8, 4, 4, 8 };

		if (t->col[i].type == SHIP_T_DAY) {
			if (*(const uint16_t *)y != 20000)
				return false;
		} else if (t->col[i].type >= SHIP_T_STR) {
			if (s->len != u->len || memcmp(s->s, u->s, s->len))
				return false;
		} else if (memcmp(x, y, w[t->col[i].type])) {
			return false;
		}
	}
	return true;
}

/* Rows that end anywhere but at their end are said to. */
static bool cut_is_told(const struct ship_table *t, const struct rowbin *b, void *row)
{
	for (size_t n = 0; n < b->len; n++) {
		void *copy = malloc(n + 1);
		int got;

		memcpy(copy, b->data, n);
		got = rowbin_get(t, t->cols, copy, n, row);
		free(copy);
		if (got != -ENODATA)
			return false;
	}
	return true;
}

static void test_rows(void)
{
	for (int i = 0; i < SHIP_TABLES; i++) {
		const struct ship_table *t = ship_table((enum ship_table_id)i);
		char a[2048], c[2048];
		struct rowbin b = { 0 };
		uint16_t day = 0;
		int n;

		T_OK(t->row <= sizeof(a) && t->cols <= SHIP_COLS_MAX &&
			     ship_table_find(t->name) == i,
		     "%s: is found by its name", t->name);
		fill(t, a, 3);
		T_OK(rowbin_put(&b, t, a) == 0, "%s: a row is written", t->name);
		n = rowbin_get(t, t->cols, b.data, b.len, c);
		T_OK(n == (int)b.len && same(t, a, c, t->cols), "%s: and read again", t->name);
		T_OK(cut_is_told(t, &b, c), "%s: a row that is cut is refused at every byte",
		     t->name);
		fill(t, a, 5);
		rowbin_put(&b, t, a);
		T_OK(rowbin_check(t, t->cols, b.data, b.len, 2, &day) == 0 && day == 20000,
		     "%s: two rows are two rows of their day", t->name);
		T_OK(rowbin_check(t, t->cols, b.data, b.len, 1, &day) == -EBADMSG &&
			     rowbin_check(t, t->cols, b.data, b.len, 3, &day) == -ENODATA,
		     "%s: and neither one nor three", t->name);
		memcpy(a + t->time_off, &(uint64_t){ 20001 * DAY_NS }, 8);
		rowbin_put(&b, t, a);
		T_OK(rowbin_check(t, t->cols, b.data, b.len, 3, &day) == -EBADMSG,
		     "%s: rows of two days are no batch", t->name);
		rowbin_fini(&b);
	}
}

/* The bytes themselves, as ClickHouse documents them. */
static void test_bytes(void)
{
	static const uint8_t want[] = "\x02"
				      "ab"
				      "\x01\0\0\0\0\0\0\0"
				      "\x02\0\0\0\0\0\0\0"
				      "\x01\0"
				      "\x03\0\0\0\0\0\0\0"
				      "\x01"
				      "k"
				      "\0\0\x4f\x91\x94\x4e\0\0";
	struct ship_name n = { .cluster = ship_text("ab"),
			       .src = 1,
			       .seq = 2,
			       .hash = 3,
			       .text = ship_text("k"),
			       .t_ns = DAY_NS };
	struct ship_str long_text = { NULL, 70000 };
	struct rowbin b = { 0 };
	int got;

	rowbin_put(&b, ship_table(SHIP_NAME), &n);
	T_OK(b.len == sizeof(want) - 1 && !memcmp(b.data, want, b.len),
	     "numbers are little endian, strings stand behind their length");
	b.len = 0;
	long_text.s = calloc(1, long_text.len);
	n.text = long_text;
	rowbin_put(&b, ship_table(SHIP_NAME), &n);
	got = rowbin_get(ship_table(SHIP_NAME), ship_table(SHIP_NAME)->cols, b.data, b.len, &n);
	T_OK(got == (int)b.len && n.text.len == ROWBIN_STR_MAX, "a string that is too long is cut");
	T_OK(rowbin_get(ship_table(SHIP_NAME), 1, "\x80\x00", 2, &n) == -EBADMSG &&
		     rowbin_get(ship_table(SHIP_NAME), 1, "\xff\xff\xff\xff", 4, &n) == -EBADMSG,
	     "a length in more bytes than it needs is refused");
	free((char *)long_text.s);
	rowbin_fini(&b);
}

struct heard {
	uint32_t n;
	char all[65536];
};

static int hear(void *arg, const char *statement)
{
	struct heard *h = arg;

	h->n++;
	snprintf(h->all + strlen(h->all), sizeof(h->all) - strlen(h->all), "%s;\n", statement);
	return 0;
}

static void test_ddl(void)
{
	static struct heard old, now, many;
	struct ddl_place one = { .db = "aon" };
	struct ddl_place shards = { .db = "aon", .cluster = "c", .replica = "r1", .shard = 1 };
	char insert[2048], small[20];
	uint32_t v = 0;

	T_OK(ddl_version("18.16.1", &v) == 0 && v == 18016 && ddl_version("26.9.2.1", &v) == 0 &&
		     v == 26009,
	     "versions are read");
	T_OK(ddl_version("1.1.54", &v) == -ENOTSUP && ddl_version("x", &v) == -EINVAL,
	     "a version that is too old, or none, is refused");
	ddl_each(18016, &one, hear, &old);
	ddl_each(26009, &one, hear, &now);
	ddl_each(18016, &shards, hear, &many);
	T_OK(!strstr(old.all, "CODEC") && !strstr(old.all, "TTL") && !strstr(old.all, "LowC") &&
		     !strstr(old.all, "non_replicated"),
	     "18.16 is told nothing that it does not know");
	T_OK(strstr(now.all, "CODEC(DoubleDelta") && strstr(now.all, "TTL day + INTERVAL 30 DAY") &&
		     strstr(now.all, "LowCardinality(String)") &&
		     strstr(now.all, "non_replicated_deduplication_window"),
	     "a current release packs, forgets and knows what it was sent");
	T_OK(strstr(many.all, "aon.`window_local`") &&
		     strstr(many.all, "ReplicatedMergeTree('/aon/aon/window/1', 'r1')") &&
		     strstr(many.all,
			    "ReplicatedReplacingMergeTree('/aon/aon/process/1', 'r1', end_ns)") &&
		     strstr(many.all, "replicated_deduplication_window = 100000") &&
		     strstr(many.all,
			    "aon.`window` AS aon.`window_local` ENGINE = Distributed(c, aon, "),
	     "shards are replicated, and one table stands over all");
	T_OK(old.n == now.n && many.n > old.n, "both dialects make the same tables");
	T_OK(ddl_insert(insert, sizeof(insert), &shards, ship_table(SHIP_NAME), SHIP_SCHEMA) == 0 &&
		     !strcmp(insert, "INSERT INTO aon.`name_local` "
				     "(cluster,src,seq,day,hash,text,t_ns) FORMAT RowBinary"),
	     "rows go to the shard itself, by the columns' names");
	T_OK(ddl_insert(small, sizeof(small), &one, ship_table(SHIP_NAME), SHIP_SCHEMA) == -ENOSPC,
	     "a statement is not cut");
}

int main(void)
{
	test_rows();
	test_bytes();
	test_ddl();
	return t_done();
}
