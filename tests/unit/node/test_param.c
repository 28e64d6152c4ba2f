/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: what is taken, what is refused, and in which words. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "daemon/core/param.h"
#include "t.h"

#define TEXT(s) s, sizeof(s) - 1

static const struct {
	const char *name, *text;
	size_t len;
	const char *why; /* NULL: taken */
} files[] = {
	/* clang-format off */
	{ "an empty file is right", TEXT(""), NULL },
	{ "comments and empty lines are passed over", TEXT("# hi\n\n   \t\n pool_kib = 512 # small\n"
	  "pool_small_kib=256\n"), NULL },
	{ "a last line needs no newline", TEXT("queue_mib = 32"), NULL },
	{ "lines may end as on other systems", TEXT("queue_mib = 32\r\n"), NULL },
	{ "a path may be empty where that means none", TEXT("pool_dir =\n"), NULL },
	{ "a number may have a unit of the same kind", TEXT("memory_mib = 2GiB\nmeasure_after_s = 1m\n"
	  "max_slowdown = 0.7%\nmax_probe_cost = 2\nnames_max = 20k\n"), NULL },
	{ "a share has one decimal", TEXT("max_slowdown = 0.05%\n"),
	  "f:1: max_slowdown: expected 0% to 100%, in steps of 0.1%, not '0.05%'" },
	{ "former names are taken", TEXT("slowdown_permille = 5\nrung = pulse\ntier = pulse\n"), NULL },
	{ "not one of another kind", TEXT("memory_mib = 2s\n"),
	  "f:1: memory_mib: expected a whole number from 0 to 1048576 MiB, not '2s'" },
	{ "nor a part of the smallest", TEXT("memory_mib = 1KiB\n"),
	  "f:1: memory_mib: expected a whole number from 0 to 1048576 MiB, not '1KiB'" },
	{ "a later line wins", TEXT("nice = 1\nnice = -3\n"), NULL },
	{ "an unknown key is an error", TEXT("\nnope = 1\n"),
	  "f:2: nope: no such setting (aond --help lists them)" },
	{ "a line without = is an error", TEXT("pool_kib 12\n"), "f:1: pool_kib 12: expected 'key = value'" },
	{ "words are not numbers", TEXT("pool_kib = many\n"),
	  "f:1: pool_kib: expected a whole number from 64 to 32768 KiB, not 'many'" },
	{ "nothing is not a number", TEXT("pool_kib =\n"),
	  "f:1: pool_kib: expected a whole number from 64 to 32768 KiB, not ''" },
	{ "a number has no tail", TEXT("pool_kib = 64k\n"),
	  "f:1: pool_kib: expected a whole number from 64 to 32768 KiB, not '64k'" },
	{ "below the range", TEXT("pool_kib = 63\n"),
	  "f:1: pool_kib: expected a whole number from 64 to 32768 KiB, not '63'" },
	{ "above the range", TEXT("sessions_max = 16385\n"),
	  "f:1: sessions_max: expected a whole number from 1 to 16384, not '16385'" },
	{ "far above any range", TEXT("sessions_max = 99999999999999999999\n"),
	  "f:1: sessions_max: expected a whole number from 1 to 16384, not '99999999999999999999'" },
	{ "a relative path is an error", TEXT("store = a.db\n"),
	  "f:1: store: expected an absolute path, not 'a.db'" },
	{ "a path that must be there is", TEXT("store =\n"), "f:1: store: expected an absolute path, not ''" },
	{ "a word of the list", TEXT("tier = loud\n"),
	  "f:1: tier: expected one of off|heartbeat|rollup|flight|full, not 'loud'" },
	{ "no part of a word", TEXT("tier = flig\n"),
	  "f:1: tier: expected one of off|heartbeat|rollup|flight|full, not 'flig'" },
	{ "a chunk is a power of two", TEXT("chunk_bytes = 5000\n"),
	  "f: chunk_bytes: expected a power of two, not '5000'" },
	{ "small is not larger", TEXT("pool_kib = 128\n"),
	  "f: pool_small_kib: expected at most pool_kib (128), not '1024'" },
	{ "one pool must fit", TEXT("pools_mib = 4\n"),
	  "f: pools_mib: expected room for one pool of pool_kib, not '4'" },
	{ "NUL is not text", TEXT("nice = 1\nni\0ce = 2\n"), "f:2: expected text, found a NUL byte" },
	/* clang-format on */
};

static void test_files(void)
{
	for (size_t i = 0; i < T_LEN(files); i++) {
		struct param p, before;
		struct param_why why = { "" };
		int err;

		param_defaults(&p);
		before = p;
		err = param_parse(&p, "f", files[i].text, files[i].len, &why);
		if (files[i].why)
			T_OK(err == -EINVAL && !strcmp(why.text, files[i].why) &&
				     !memcmp(&p, &before, sizeof(p)),
			     "%s: '%s'", files[i].name, why.text);
		else
			T_OK(err == 0, "%s: '%s'", files[i].name, why.text);
	}
}

static void test_long_line(void)
{
	static char text[4096];
	struct param_why why = { "" };
	struct param p;

	param_defaults(&p);
	memset(text, '#', sizeof(text));
	T_OK(param_parse(&p, "f", text, sizeof(text), &why) == -EINVAL &&
		     !strcmp(why.text, "f:1: expected a line of at most 1023 bytes"),
	     "a line without end is refused: '%s'", why.text);
}

static void test_values(void)
{
	struct param_why why;
	struct param p;

	param_defaults(&p);
	T_OK(p.pool_kib == 4096 && p.queue_mib == 16 && p.sessions_max == 1024 && p.nice == -15 &&
		     !strcmp(p.store.s, "/var/lib/aon/store.db") && !*p.pool_dir.s,
	     "defaults come from the table");
	T_OK(!param_set(&p, "tier", "full", &why) && p.tier == 4,
	     "a word is its place in the list");
	T_OK(!param_set(&p, "probe_permille", "15", &why) && p.max_probe_cost == 15 &&
		     !param_set(&p, "probe_permille", "0.3%", &why) && p.max_probe_cost == 3 &&
		     !param_set(&p, "max_probe_cost", "1.1", &why) && p.max_probe_cost == 11,
	     "a share is in percent, under its former name in thousandths");
	T_OK(!param_set(&p, "run_dir", "/a", &why) && !strcmp(p.run_dir.s, "/a"), "a path is kept");
}

/* What the table says of itself must hold, or the man page lies. */
static void test_table(void)
{
	bool ok = true;

	for (size_t i = 0; i < param_count; i++) {
		const struct param_row *r = &param_table[i];

		ok &= *r->help && r->size && (r->type != PARAM_NUM || r->min < r->max) &&
		      (r->type != PARAM_WORD || strchr(r->unit, '|')) &&
		      (r->type != PARAM_PATH || (size_t)r->max < PARAM_PATH_BYTES);
	}
	T_OK(ok, "every row of the table is sound");
}

static void count_kept(void *arg, const char *key)
{
	*(unsigned *)arg += !strcmp(key, "store") ? 1 : 100;
}

static void test_reload(void)
{
	struct param p, next;
	struct param_why why;
	unsigned kept = 0;

	param_defaults(&p);
	next = p;
	param_set(&next, "store", "/x/y.db", &why);
	param_set(&next, "queue_mib", "99", &why);
	T_OK(param_reload(&p, &next, count_kept, &kept) == 1 && p.queue_mib == 99,
	     "a reload takes what is live");
	T_OK(kept == 1 && !strcmp(p.store.s, "/var/lib/aon/store.db"),
	     "and names what is not, and keeps it");
	param_set(&next, "store", "/var/lib/aon/store.db", &why);
	T_OK(param_reload(&p, &next, count_kept, &kept) == 0 && kept == 1,
	     "a path that is the same again is no change");
}

int main(void)
{
	test_files();
	test_long_line();
	test_values();
	test_table();
	test_reload();
	return t_done();
}
