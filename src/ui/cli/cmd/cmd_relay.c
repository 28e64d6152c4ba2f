/* SPDX-License-Identifier: Apache-2.0 */
/* aon relay - takes batches from nodes, answers when they are on disk, brings them to ClickHouse. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_read.h"
#include "cli/core/out.h"
#include "net/cluster_url.h"
#include "relay/relay.h"

#define RELAY_DIR     "/var/lib/aon/relay"
#define RELAY_LISTEN  "0.0.0.0:8417"
#define STATUS_MAX    (1u << 20)
#define STATUS_OLD_NS (15ull * 1000000000)
#define MIB           (1ull << 20)

static const char *dir_of(const struct opts *o)
{
	return o->val[OPT_RELAYDIR] ? o->val[OPT_RELAYDIR] : RELAY_DIR;
}

/* --- aon relay status --- */

/* With JSON_PAD quotes behind it. */
static char *read_status(const char *dir, size_t *len)
{
	char path[PATH_MAX + 16], *text;
	int err;

	snprintf(path, sizeof(path), "%s/status.json", dir);
	err = file_regular(&text, len, AT_FDCWD, path, 0, STATUS_MAX);
	if (err < 0) {
		cli_say(0, "%s: %s%s", path, strerror(-err),
			err == -ENOENT ? ". Name the relay's folder with --dir" : "");
		return NULL;
	}
	memset(text + *len, '"', JSON_PAD);
	return text;
}

static bool is_old(const char *text, size_t len)
{
	const char *p = memchr(text, '{', len);
	struct json_tok key, value;
	int64_t at = 0;

	if (p)
		p++;
	while (p && json_pair(&p, text + len, &key, &value))
		if (json_tok_is(key, "wall_ns"))
			json_tok_i64(value, &at);
	return clock_wall_ns() > (uint64_t)at + STATUS_OLD_NS;
}

static void show_pairs(const struct out *out, const char *p, const char *end)
{
	struct json_tok key, value;

	while (json_pair(&p, end, &key, &value)) {
		if (*value.s == '{')
			show_pairs(out, value.s + 1, value.s + value.len);
		else if (*value.s != '[')
			fprintf(out->f, "%-20.*s %.*s\n", (int)key.len, key.s,
				(int)json_tok_text(value).len, json_tok_text(value).s);
	}
}

static void show_nodes(const struct out *out, const char *p, const char *end)
{
	static const struct col col[] = { COL_NAME("NODE", 0), COL_NUM("SILENT S", 0),
					  COL_NUM("BATCHES", 0), COL_NUM("BYTES", 1),
					  COL_NUM("HELD BACK", 2) };
	struct json_tok key, all, node, value;
	struct table t;
	char text[256];
	size_t rows = 0;

	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	while (json_pair(&p, end, &key, &all)) {
		const char *at = all.s + 1, *item;

		if (!json_tok_is(key, "nodes"))
			continue;
		for (; json_item(&at, all.s + all.len, &node); rows++) {
			item = node.s + 1;
			while (json_pair(&item, node.s + node.len, &key, &value)) {
				snprintf(text, sizeof(text), "%.*s", (int)json_tok_text(value).len,
					 json_tok_text(value).s);
				table_add_text(&t, out, text);
			}
		}
		break;
	}
	if (rows) {
		fprintf(out->f, "\n");
		table_print(&t, out, 0);
	}
	table_fini(&t);
}

static int status(const struct opts *o)
{
	size_t len = 0;
	char *text = read_status(dir_of(o), &len);
	const char *p = text ? memchr(text, '{', len) : NULL;
	struct out out;
	bool old;

	if (!text)
		return CLI_FAIL;
	if (!p) {
		free(text);
		return cli_say(CLI_FAIL, "%s/status.json: not what a relay writes", dir_of(o));
	}
	old = is_old(text, len);
	out_init(&out, stdout, o);
	if (o->val[OPT_JSON]) {
		fwrite(text, 1, len, stdout);
	} else {
		show_pairs(&out, p + 1, text + len);
		show_nodes(&out, p + 1, text + len);
	}
	free(text);
	fflush(stdout);
	return old ? cli_say(CLI_FAIL, "the relay does not run: this is what it reported last")
		   : CLI_OK;
}

/* --- aon relay --- */

static int read_limits(const struct opts *o, struct relay_opts *r)
{
	double disk = RELAY_DISK_MIB, rate = 1024, rows = RELAY_ROWS, age = 5;
	int rc = opt_number(o, OPT_DISKMIB, 16, 1e7, &disk);

	if (rc == CLI_OK)
		rc = opt_number(o, OPT_NODERATE, 16, 1e6, &rate);
	if (rc == CLI_OK)
		rc = opt_number(o, OPT_FREEZEROWS, 1, RELAY_ROWS_MAX, &rows);
	if (rc == CLI_OK)
		rc = opt_number(o, OPT_FREEZEAGE, 0.1, 3600, &age);
	r->disk_bytes = (uint64_t)(disk * (double)MIB);
	r->node_bytes_s = (uint64_t)(rate * 1024);
	r->freeze = (struct freeze_rules){ .rows = (uint64_t)rows,
					   .rows_max = RELAY_ROWS_MAX,
					   .bytes = 32 * MIB,
					   .bytes_max = 64 * MIB,
					   .age_ns = (uint64_t)(age * 1e9) };
	return rc;
}

static int read_opts(const struct opts *o, struct relay_opts *r)
{
	const struct {
		enum opt_id id;
		const char **to, *what;
	} files[] = {
		{ OPT_CERT, &r->cert, "the relay's certificate" },
		{ OPT_KEY, &r->key, "its key" },
		{ OPT_RELAYCA, &r->ca, "who signs nodes and users" },
		{ OPT_ACCESS, &r->access, "who may do what" },
	};

	*r = (struct relay_opts){ .listen = o->val[OPT_RELAYLISTEN] ? o->val[OPT_RELAYLISTEN]
								    : RELAY_LISTEN,
				  .dir = dir_of(o),
				  .connections = 1024 };
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		*files[i].to = o->val[files[i].id];
		if (!*files[i].to)
			return cli_misuse("needs --%s FILE: %s", opt_table[files[i].id].name,
					  files[i].what);
	}
	return read_limits(o, r);
}

static void announce(const struct opts *o, const struct relay *r)
{
	struct json j;

	if (o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.relay_start/1");
		json_str(&j, "listen", relay_address(r));
		json_end(&j);
	} else {
		printf("listens at https://%s\n", relay_address(r));
	}
	fflush(stdout);
}

static int run_until_stopped(const struct opts *o, struct relay_opts *ro, const sigset_t *stop)
{
	const struct timespec second = { 1, 0 };
	struct relay *r = NULL;
	char why[256] = "";
	int err = relay_start(&r, ro, why);

	if (err)
		return cli_say(CLI_FAIL, "%s", *why ? why : strerror(-err));
	announce(o, r);
	while (sigtimedwait(stop, NULL, &second) < 0)
		relay_tick(r);
	relay_stop(r);
	return CLI_OK;
}

static int read_url(const struct opts *o, struct relay_opts *r, struct cluster_url *url)
{
	struct net_why why;

	if (!o->val[OPT_URL])
		return cli_misuse("needs --url clickhouse://HOST:PORT/DATABASE");
	if (cluster_url_parse(url, o->val[OPT_URL], &why) < 0)
		return cli_misuse("--url: %s", why.text);
	if (url->kind != CLUSTER_CLICKHOUSE)
		return cli_misuse("--url: expected clickhouse://, a relay sends to no other");
	r->url = url;
	r->files = (struct http_files){ .ca = r->ca, .credentials = o->val[OPT_CREDENTIALS] };
	return CLI_OK;
}

int cmd_relay(const struct opts *o)
{
	struct cluster_url url;
	struct relay_opts ro;
	sigset_t stop;
	int rc;

	if (o->argc == 1 && !strcmp(o->argv[0], "status"))
		return status(o);
	if (o->argc)
		return cli_misuse("takes 'status' or nothing, not '%s'", o->argv[0]);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	rc = read_opts(o, &ro);
	if (rc == CLI_OK)
		rc = read_url(o, &ro, &url);
	return rc == CLI_OK ? run_until_stopped(o, &ro, &stop) : rc;
}
