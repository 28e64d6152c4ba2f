/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_steps.c - the step records of stores (one per node) as the file that `aon diagnose` and
 * `aon-lab score` read: one job, step after step, ranks in order (docs/step-record.md).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/order.h"
#include "base/vec.h"
#include "cli/store/export_to.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "insight/offset.h"
#include "model/step_rec.h"

#define RECORDS_MAX (8u << 20)

struct records {
	struct step_rec *rec; /* owned */
	size_t n;
	uint64_t job;    /* of the newest record, or as was asked for */
	uint64_t newest; /* its begin */
	bool asked, full;
};

static int take(void *arg, uint32_t process, const struct step_rec *r)
{
	struct records *to = arg;

	(void)process;
	if (!to->asked && r->begin_ns > to->newest) {
		to->newest = r->begin_ns;
		to->job = r->job;
	}
	if (to->n == RECORDS_MAX) {
		to->full = true;
		return 0;
	}
	if (vec_more(&to->rec, to->n, sizeof(*to->rec)) < 0)
		return -ENOMEM;
	to->rec[to->n++] = *r;
	return 0;
}

static int by_step(const void *a, const void *b)
{
	const struct step_rec *x = a, *y = b;

	return cmp_num(x->step, y->step) ?: cmp_num(x->rank, y->rank) ?:
	       cmp_num(x->begin_ns, y->begin_ns);
}

/* Of one job; of two records of a rank's step the later: the job began anew, or it did end. */
static void choose(struct records *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->rec[i].job == r->job)
			r->rec[n++] = r->rec[i];
	qsort(r->rec, n, sizeof(*r->rec), by_step);
	r->n = 0;
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || r->rec[i].step != r->rec[i + 1].step ||
		    r->rec[i].rank != r->rec[i + 1].rank)
			r->rec[r->n++] = r->rec[i];
}

/* --- clocks --- */

static int by_host(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Hosts in order of their number, but the first record's goes first: others are held against it. */
static uint32_t number_hosts(const struct records *r, uint32_t *host)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		host[i] = r->rec[i].host;
	qsort(host, r->n, sizeof(*host), by_host);
	for (size_t i = 0; i < r->n; i++)
		if (!n || host[n - 1] != host[i])
			host[n++] = host[i];
	for (uint32_t i = 0; i < n; i++)
		if (host[i] == r->rec[0].host) {
			memmove(host + 1, host, i * sizeof(*host));
			host[0] = r->rec[0].host;
		}
	return n;
}

static uint32_t host_of(const uint32_t *host, uint32_t n, uint32_t which)
{
	const uint32_t *at =
		which == host[0] ? host : bsearch(&which, host + 1, n - 1, sizeof(*host), by_host);

	return at ? (uint32_t)(at - host) : 0;
}

/* The last operation of each slot ended for all ranks together. */
static size_t ends_of(const struct records *r, const uint32_t *host, uint32_t hosts,
		      struct offset_end *e)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < r->rec[i].slots; k++) {
			const struct step_rec *rec = &r->rec[i];
			const struct step_slot *s = &rec->slot[k];
			const struct step_probe *p = &s->probe[STEP_PROBES - 1];
			uint64_t is[] = { s->comm, s->op, s->done };

			if (!s->count || !step_op_syncs[s->op] || s->flags & STEP_SLOT_MERGED)
				continue;
			e[n++] = (struct offset_end){ step_hash(is, sizeof(is), 0),
						      host_of(host, hosts, rec->host),
						      (int64_t)rec->begin_ns +
							      (int64_t)(p->start + p->dur) };
		}
	return n;
}

static int put_clocks(struct records *r)
{
	uint32_t *host = malloc((r->n + 1) * sizeof(*host));
	struct offset_end *e = malloc((r->n * STEP_SLOTS + 1) * sizeof(*e));
	uint32_t hosts = host ? number_hosts(r, host) : 0;
	struct offset *o = calloc(hosts + 1, sizeof(*o));
	int err = host && e && o ? 0 : -ENOMEM;

	if (!err && hosts > 1)
		err = offset_find(o, hosts, e, ends_of(r, host, hosts, e));
	for (size_t i = 0; i < r->n && !err && hosts > 1; i++) {
		const struct offset *x = &o[host_of(host, hosts, r->rec[i].host)];
		int64_t us = x->off_ns / 1000;

		if (!x->known || us > INT32_MAX || us < INT32_MIN)
			continue;
		r->rec[i].clock_off_us = (int32_t)us;
		r->rec[i].clock_err_us = (uint32_t)((x->err_ns + 999) / 1000);
	}
	free(host);
	free(e);
	free(o);
	return err;
}

static int read_all(const struct opts *o, struct records *r)
{
	struct store_filter all = { 0 };
	char used[PATH_MAX];
	struct store *st;
	int rc, err;

	for (int i = 0; i < (o->argc ? o->argc : 1); i++) {
		rc = locate_open(o->argc ? o->argv[i] : NULL, &st, used);
		if (rc != CLI_OK)
			return rc;
		err = store_each_step(st, &all, take, r);
		store_close(st);
		if (err < 0)
			return cli_say(CLI_FAIL, "%s: %s. Check it: aon store check %s", used,
				       strerror(-err), used);
	}
	choose(r);
	if (r->n && put_clocks(r) < 0)
		return cli_say(CLI_FAIL, "out of memory");
	if (!r->n)
		return cli_say(CLI_FAIL,
			       "%s: no records of steps. aond makes them of programs "
			       "with steps, into stores of version 2",
			       o->argc ? o->argv[0] : used);
	if (r->full)
		fprintf(stderr, "aon export: more than %u records: the later ones are left out\n",
			RECORDS_MAX);
	return CLI_OK;
}

static int write_records(FILE *f, const struct records *r)
{
	uint8_t buf[STEP_MAX];

	for (size_t i = 0; i < r->n; i++) {
		int n = step_rec_encode(buf, sizeof(buf), &r->rec[i]);

		if (n < 0 || fwrite(buf, 1, (size_t)n, f) != (size_t)n)
			return n < 0 ? n : -EIO;
	}
	return fflush(f) ? -errno : 0;
}

/* What is not whole does not get the name that was asked for. */
static int write_file(const char *to, const struct records *r)
{
	bool stream = to && file_is_stream(to);
	char part[PATH_MAX];
	FILE *f;
	int err;

	if (!to)
		return write_records(stdout, r);
	if (snprintf(part, sizeof(part), stream ? "%s" : "%s.part", to) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	f = fopen(part, "we");
	if (!f)
		return -errno;
	err = write_records(f, r);
	if (fclose(f) && !err)
		err = -errno;
	if (!stream && !err && rename(part, to) < 0)
		err = -errno;
	if (!stream && err)
		unlink(part);
	return err;
}

static void say(const struct opts *o, const char *to, const struct records *r)
{
	uint32_t world = 0, steps = 0;
	char a[FMT_LEN];
	struct out out;
	struct json j;

	for (size_t i = 0; i < r->n; i++) {
		world = r->rec[i].world > world ? r->rec[i].world : world;
		steps += !i || r->rec[i].step != r->rec[i - 1].step;
	}
	if (o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.export.steps/1");
		json_members(&j, J_STR("path", to), J_U64("records", r->n), J_U64("steps", steps),
			     J_U64("world", world));
		json_end(&j);
		return;
	}
	out_init(&out, stdout, o);
	out_line(&out, OUT_PLAIN, "%s  %s records of %u steps, world of %u", to, fmt_exact(a, r->n),
		 steps, world);
	out_line(&out, OUT_DIM, "opens in  aon why diagnose");
}

bool export_wants_steps(const struct opts *o, const char *to)
{
	size_t len = to ? strlen(to) : 0;

	if (o->val[OPT_FORMAT])
		return !strcmp(o->val[OPT_FORMAT], "steps");
	return len > 6 && !strcmp(to + len - 6, ".steps");
}

int export_steps(const struct opts *o, const char *to)
{
	struct records r = { 0 };
	int rc, err;

	if (to && !strcmp(to, "-"))
		to = NULL;
	if (!to && (o->val[OPT_JSON] || isatty(STDOUT_FILENO)))
		return cli_misuse("steps are binary: name a file with -o");
	rc = read_all(o, &r);
	if (rc == CLI_OK) {
		err = write_file(to, &r);
		if (err)
			rc = cli_say(CLI_FAIL, "%s: %s", to ? to : "standard output",
				     strerror(-err));
		else if (to)
			say(o, to, &r);
	}
	free(r.rec);
	return rc;
}
