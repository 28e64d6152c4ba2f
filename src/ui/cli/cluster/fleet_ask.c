/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_ask.c - see fleet_ask.h. */
#include "cli/cluster/fleet_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/num.h"

#define DAY_NS UINT64_C(86400000000000)

static bool is_address(const char *text)
{
	return !strncmp(text, FLEET_PREFIX, strlen(FLEET_PREFIX));
}

bool fleet_asked(const struct opts *o)
{
	return o->val[OPT_CLUSTER] ||
	       (o->argc && is_address(o->argv[0]) && !strstr(o->argv[0], "job="));
}

/* The part of a cluster that takes the place of a store. */
static const char *address_of(const struct opts *o)
{
	int at = o->cmd == CMD_SQL && !o->val[OPT_TABLES]; /* its query comes first */

	if (o->argc > at && is_address(o->argv[at]))
		return o->argv[at];
	return o->val[OPT_STORE] && is_address(o->val[OPT_STORE]) ? o->val[OPT_STORE] : NULL;
}

bool fleet_listed(const struct opts *o)
{
	const char *address = address_of(o);

	/* SQL of a job's address is that of a store. */
	return o->val[OPT_CLUSTER] || (address && !(o->cmd == CMD_SQL && strstr(address, "job=")));
}

int fleet_refused(const struct opts *o)
{
	static const struct {
		enum cmd_id cmd;
		const char *instead;
	} no[] = {
		{ CMD_TOP, "of all nodes: aon fleet, aon ps --cluster" },
		{ CMD_STORE, "of a cluster: aon cluster status" },
		{ CMD_AUDIT, "every node has its own" },
		{ CMD_RECOVER, "a cluster's servers repair themselves" },
		{ CMD_IMPORT, "aon report, why and export read it as it is" },
		{ CMD_STACKS, "on the node that the process is on" },
		{ CMD_SHIP, "ship.conf(5) says where to" },
	};

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		bool given = o->val[OPT_STORE] && is_address(o->val[OPT_STORE]);

		for (int k = 0; k < o->argc && no[i].cmd == o->cmd; k++)
			given |= is_address(o->argv[k]);
		if (no[i].cmd == o->cmd && given)
			return cli_misuse("is of this node and its files, not of a cluster (%s)",
					  no[i].instead);
	}
	return CLI_OK;
}

int fleet_not_asked(const struct opts *o)
{
	static const enum opt_id of_cluster[] = { OPT_BEGIN, OPT_UNTIL, OPT_OF_JOB };

	for (size_t i = 0; i < sizeof(of_cluster) / sizeof(of_cluster[0]); i++)
		if (o->val[of_cluster[i]] &&
		    !(of_cluster[i] == OPT_OF_JOB && o->cmd == CMD_OVERHEAD))
			return cli_misuse("--%s is of a cluster: give --cluster, too",
					  opt_table[of_cluster[i]].name);
	return CLI_OK;
}

static const char *remedy(int err)
{
	switch (err) {
	case -ECONNREFUSED:
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
		return "Check the address, and that the server runs.";
	case -EACCES:
		return "Give --credentials FILE.";
	default:
		return "";
	}
}

int fleet_ask_failed(const struct fleet *f, int err, const struct store_why *why)
{
	const char *what = *why->text ? why->text : strerror(-err);
	const char *dot = *remedy(err) ? ". " : "";

	if (*why->text || !f)
		return cli_say(CLI_FAIL, "%s%s%s", what, dot, remedy(err));
	return cli_say(CLI_FAIL, "%s: %s%s%s", fleet_shown(f), what, dot, remedy(err));
}

const struct http_files *fleet_files(const struct opts *o)
{
	static struct http_files files;

	files = (struct http_files){
		.ca = o->val[OPT_CA],
		.cert = o->val[OPT_CERT],
		.key = o->val[OPT_KEY],
		.credentials = o->val[OPT_CREDENTIALS] ? o->val[OPT_CREDENTIALS]
						       : getenv("AON_CREDENTIALS"),
		.pin = o->val[OPT_PIN],
	};
	return &files;
}

int fleet_ask_open(struct fleet **out, const struct opts *o)
{
	const char *url = o->val[OPT_CLUSTER];
	struct store_why why = { "" };
	int err;

	if (!url)
		url = address_of(o);
	if (!url || !*url)
		url = getenv("AON_CLUSTER");
	if (!url || !*url) {
		cli_misuse("no cluster: --cluster " FLEET_PREFIX "HOST, or set AON_CLUSTER");
		return CLI_USAGE;
	}
	err = fleet_open(out, url, fleet_files(o), &why);
	return err ? fleet_ask_failed(NULL, err, &why) : CLI_OK;
}

static bool parse_ago(const char *text, uint64_t *ns)
{
	double v;

	if (num_unit(text, "ns", 0, 1e18, &v) < 0)
		return false;
	*ns = clock_wall_ns() - (uint64_t)v;
	return true;
}

static bool parse_moment(const char *text, uint64_t *ns)
{
	static const char *const form[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d" };

	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		struct tm tm = { .tm_mday = 1 };
		const char *end = strptime(text, form[i], &tm);
		time_t t;

		if (!end || (*end && strcmp(end, "Z") != 0))
			continue;
		t = timegm(&tm);
		if (t < 0)
			return false;
		*ns = (uint64_t)t * 1000000000u;
		return true;
	}
	return false;
}

int fleet_ask_time(const char *option, const char *text, uint64_t *ns)
{
	if (parse_ago(text, ns) || parse_moment(text, ns))
		return CLI_OK;
	return cli_misuse("--%s takes a time ago as 90s, 30m, 24h or 7d, or one as "
			  "2026-11-17T12:30 (UTC), not '%s'",
			  option, text);
}

int fleet_ask_span(const struct opts *o, struct fleet_span *out)
{
	struct fleet_span s = { .to_ns = clock_wall_ns() };
	int rc = CLI_OK;

	if (o->val[OPT_UNTIL])
		rc = fleet_ask_time("until", o->val[OPT_UNTIL], &s.to_ns);
	s.from_ns = s.to_ns > DAY_NS ? s.to_ns - DAY_NS : 0;
	if (rc == CLI_OK && o->val[OPT_BEGIN])
		rc = fleet_ask_time("since", o->val[OPT_BEGIN], &s.from_ns);
	if (rc != CLI_OK)
		return rc;
	if (s.from_ns >= s.to_ns)
		return cli_misuse("--since lies behind --until");
	*out = s;
	return CLI_OK;
}

char *fleet_span_text(struct fleet_span s, char *buf, size_t cap)
{
	time_t from = (time_t)(s.from_ns / 1000000000u), to = (time_t)(s.to_ns / 1000000000u);
	char a[32], b[32];
	struct tm tm;

	if (clock_wall_ns() - s.to_ns < 60000000000u && s.to_ns <= clock_wall_ns()) {
		uint64_t hours = (s.to_ns - s.from_ns + 1800000000000u) / 3600000000000u;

		if (hours && hours <= 72)
			snprintf(buf, cap, "the last %llu h", (unsigned long long)hours);
		else
			snprintf(buf, cap, "the last %s", fmt_time(a, s.to_ns - s.from_ns));
		return buf;
	}
	gmtime_r(&from, &tm);
	strftime(a, sizeof(a), "%Y-%m-%d %H:%M", &tm);
	gmtime_r(&to, &tm);
	strftime(b, sizeof(b), "%Y-%m-%d %H:%M", &tm);
	snprintf(buf, cap, "%s to %s UTC", a, b);
	return buf;
}

/* The part of the job, as settings of an address. */
static void put_part(FILE *out, const struct opts *o, struct fleet_span span)
{
	char word[3 * FLEET_WORD];

	http_escape(word, sizeof(word), o->val[OPT_OF_JOB]);
	fprintf(out, "job=%s", word);
	if (o->val[OPT_OF_RANK])
		fprintf(out, "&rank=%s", o->val[OPT_OF_RANK]);
	if (o->val[OPT_OF_CAPTURE]) { /* it has its time itself */
		http_escape(word, sizeof(word), o->val[OPT_OF_CAPTURE]);
		fprintf(out, "&capture=%s", word);
	} else {
		fprintf(out, "&from=%" PRIu64 "&to=%" PRIu64, span.from_ns, span.to_ns);
	}
}

int fleet_as_store(const struct opts *o, cmd_fn *fn)
{
	const char *url = o->val[OPT_CLUSTER] ? o->val[OPT_CLUSTER] : address_of(o);
	char *text = NULL, *argv[2] = { NULL, NULL };
	struct opts as_store = *o;
	struct fleet_span span;
	size_t len;
	double rank;
	FILE *out;
	int rc = fleet_ask_span(o, &span);

	if (!url || !*url)
		url = getenv("AON_CLUSTER");
	if (rc == CLI_OK && (!url || !*url))
		rc = cli_misuse("no cluster: --cluster " FLEET_PREFIX "HOST, or set AON_CLUSTER");
	if (rc == CLI_OK && !o->val[OPT_OF_JOB])
		rc = cli_misuse("which job? --job J; aon fleet lists them");
	if (rc == CLI_OK)
		rc = opt_number(o, OPT_OF_RANK, 0, INT32_MAX, &rank);
	if (rc != CLI_OK)
		return rc;
	out = open_memstream(&text, &len);
	if (out) {
		fprintf(out, "%s%c", url, strchr(url, '?') ? '&' : '?');
		put_part(out, o, span);
	}
	if (!out || fclose(out) != 0) {
		free(text);
		return cli_say(CLI_FAIL, "out of memory");
	}
	argv[0] = text;
	as_store.argc = 1;
	as_store.argv = argv;
	/* Windows of ten seconds tell nothing of a capture. */
	if (o->cmd == CMD_REPORT && o->val[OPT_OF_CAPTURE] && !o->val[OPT_BY])
		as_store.val[OPT_BY] = "kernel";
	as_store.val[OPT_CLUSTER] = as_store.val[OPT_OF_RANK] = as_store.val[OPT_OF_JOB] =
		as_store.val[OPT_OF_CAPTURE] = NULL;
	rc = fn(&as_store);
	free(text);
	return rc;
}
