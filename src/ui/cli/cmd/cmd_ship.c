/* SPDX-License-Identifier: Apache-2.0 */
/* aon ship - sends what this node's aond stores to a cluster; aon ship status - how that goes. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/num.h"
#include "base/proc.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "cli/cluster/ship_orders.h"
#include "ship/shipper.h"
#include "ship/spool/spool.h"

/* --- settings: the file, then what options say --- */

static const struct {
	enum opt_id opt;
	const char *key;
} also[] = {
	{ OPT_URL, "url" },     { OPT_CREDENTIALS, "credentials" },
	{ OPT_CA, "ca" },       { OPT_CERT, "cert" },
	{ OPT_KEY, "key" },     { OPT_PIN, "pin" },
	{ OPT_STORE, "store" }, { OPT_SPOOL, "spool" },
};

static int settings(const struct opts *o, struct ship_conf *c)
{
	const char *file = o->val[OPT_CONFIG] ? o->val[OPT_CONFIG] : SHIP_CONF_FILE;
	char full[PATH_MAX];
	struct conf_why why;
	int err;

	conf_defaults(&ship_conf_table, c);
	err = conf_load(&ship_conf_table, c, file, &why);
	if (err && (err != -ENOENT || o->val[OPT_CONFIG]))
		return cli_say(CLI_FAIL, "%s", why.text);
	for (size_t i = 0; i < sizeof(also) / sizeof(also[0]); i++) {
		const char *value = o->val[also[i].opt];
		bool path = also[i].opt != OPT_URL && also[i].opt != OPT_PIN;

		if (!value)
			continue;
		/* Paths in options may be relative to the working directory. */
		if (path && *value != '/' && getcwd(full, sizeof(full) - 256)) {
			size_t len = strlen(full);

			snprintf(full + len, sizeof(full) - len, "/%s", value);
			value = full;
		}
		if (conf_set(&ship_conf_table, c, also[i].key, value, &why))
			return cli_misuse("%s", why.text);
	}
	return CLI_OK;
}

/* --- running --- */

static int become(const char *name)
{
	struct passwd *pw;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return cli_say(CLI_FAIL, "no_new_privs: %s", strerror(errno));
	if (!*name || geteuid() != 0)
		return CLI_OK;
	pw = getpwnam(name);
	if (!pw)
		return cli_say(CLI_FAIL, "user: there is no user '%s'", name);
	if (initgroups(name, pw->pw_gid) < 0 || setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
		return cli_say(CLI_FAIL, "user %s: %s", name, strerror(errno));
	return CLI_OK;
}

/* What aond uses, if it tells its pid. */
static void ask_node(void *arg, struct source_node *node)
{
	const struct ship_conf *c = arg;
	struct admin_status st;
	struct proc_usage u;

	if (!*c->run_dir.s || admin_status(c->run_dir.s, &st) || !st.pid ||
	    proc_usage((pid_t)st.pid, &u))
		return;
	node->aond_cpu_ns = (uint64_t)(u.cpu_s * 1e9);
	node->rss_bytes = u.rss_bytes;
}

static int run(const struct opts *o, const struct ship_conf *c)
{
	struct shipper_opts so = { .conf = c,
				   .once = o->val[OPT_ONCE_SHIP] != NULL,
				   .node = ask_node,
				   .arg = (void *)(uintptr_t)c };
	struct ship_orders *orders;
	struct net_why why = { "" };
	int rc, err;

	if (!*c->url.s)
		return cli_misuse("expected --url, or url = ... in %s", SHIP_CONF_FILE);
	rc = become(c->user.s);
	if (rc != CLI_OK)
		return rc;
	log_level((enum log_level)c->log_level);
	so.stop_fd = so.once ? -1 : cli_stop_fd();
	orders = so.once ? NULL : ship_orders_start(c);
	err = shipper_run(&so, &why);
	ship_orders_stop(orders);
	if (so.stop_fd >= 0)
		close(so.stop_fd);
	return err ? cli_say(CLI_FAIL, "%s", why.text) : CLI_OK;
}

/* --- status --- */

struct said {
	char text[4096];
};

static const char *said(struct said *s, const char *key, char out[512])
{
	size_t len = strlen(key);

	for (const char *at = s->text; *at; at += strcspn(at, "\n") + 1) {
		if (!strncmp(at, key, len) && at[len] == ' ') {
			snprintf(out, 512, "%.*s", (int)strcspn(at + len + 1, "\n"), at + len + 1);
			return out;
		}
		if (!strchr(at, '\n'))
			break;
	}
	return NULL;
}

static void load_said(struct said *s, const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" SHIPPER_STATUS, dir);
	if (file_text(AT_FDCWD, path, s->text, sizeof(s->text)) < 0)
		*s->text = '\0';
}

struct listing {
	struct json *j; /* NULL: text */
	const struct out *out;
	uint32_t n;
};

static int on_aside(void *arg, const struct batch_head *h, const char *reason)
{
	struct listing *l = arg;
	char clean[OUT_TEXT];

	if (l->j) {
		json_object(l->j, NULL, J_U64("seq", h->seq), J_STR("table", h->table),
			    J_U64("rows", h->rows), J_STR("reason", reason));
	} else {
		out_line(l->out, OUT_WARN, "  set aside   %llu (%s, %u rows): %s",
			 (unsigned long long)h->seq, h->table, h->rows,
			 fmt_clean(clean, sizeof(clean), reason, l->out->ascii));
	}
	l->n++;
	return 0;
}

static void drops_of(const struct spool_stat *st, struct json *j, const struct out *out)
{
	char a[FMT_LEN], b[FMT_LEN];

	for (int t = 0; t < SHIP_TABLES; t++)
		for (int r = 0; r < SPOOL_REASONS; r++) {
			const struct spool_drop *d = &st->drop[t][r];

			if (!d->batches && !d->rows)
				continue;
			if (!j) {
				out_line(out, OUT_WARN,
					 "  given up    %s rows of %s in %s batches: %s",
					 fmt_exact(a, d->rows),
					 ship_table((enum ship_table_id)t)->name,
					 fmt_exact(b, d->batches), spool_reason_word[r]);
				continue;
			}
			json_object(
				j, NULL, J_STR("table", ship_table((enum ship_table_id)t)->name),
				J_STR("reason", spool_reason_word[r]), J_U64("batches", d->batches),
				J_U64("rows", d->rows), J_U64("bytes", d->bytes));
		}
}

static void status_json(const struct spool_stat *st, struct said *s, const char *dir)
{
	static const char *const number[] = { "pid",          "wall_ns",   "wire_bytes",
					      "failures",     "behind",    "clock_off_us",
					      "clock_err_us", "day_bytes", "day_limit_bytes",
					      "day_stops" };
	struct listing l = { 0 };
	struct json j;
	char v[512];

	json_init(&j, stdout);
	json_open(&j, NULL, '{');
	json_str(&j, "spool", dir);
	snprintf(v, sizeof(v), "%016llx", (unsigned long long)st->src);
	json_members(&j, J_STR("src", v), J_U64("waiting_batches", st->batches),
		     J_U64("waiting_rows", st->rows), J_U64("waiting_bytes", st->bytes),
		     J_U64("oldest_ns", st->oldest_ns), J_U64("sent_batches", st->sent),
		     J_U64("sent_rows", st->sent_rows), J_U64("sent_bytes", st->sent_bytes));
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		if (said(s, number[i], v))
			json_i64(&j, number[i], num_front_i64(v, NULL));
	json_str(&j, "trouble", said(s, "trouble", v));
	json_str(&j, "store_trouble", said(s, "store_trouble", v));
	json_open(&j, "drops", '[');
	drops_of(st, &j, NULL);
	json_close(&j);
	json_open(&j, "aside", '[');
	l.j = &j;
	spool_each_aside(dir, on_aside, &l);
	json_close(&j);
	json_end(&j);
}

/* The used part of net_mib_day. */
static void status_day(const struct out *out, struct said *s)
{
	char a[FMT_LEN], b[FMT_LEN], v[512];
	uint64_t sent = said(s, "day_bytes", v) ? num_front(v, NULL) : 0;
	uint64_t limit = said(s, "day_limit_bytes", v) ? num_front(v, NULL) : 0;
	uint64_t stops = said(s, "day_stops", v) ? num_front(v, NULL) : 0;

	if (!limit)
		return;
	out_line(out, stops ? OUT_WARN : OUT_PLAIN,
		 "  today       %s sent of %s; stopped %llu time%s", fmt_bytes(a, sent),
		 fmt_bytes(b, limit), (unsigned long long)stops, stops == 1 ? "" : "s");
}

static void status_text(const struct opts *o, const struct spool_stat *st, struct said *s,
			const char *dir)
{
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], v[512], clean[OUT_TEXT];
	struct listing l = { 0 };
	struct out out;

	out_init(&out, stdout, o);
	l.out = &out;
	out_line(&out, OUT_BOLD, "%s", dir);
	out_line(&out, OUT_PLAIN, "  waiting     %s batches, %s rows, %s",
		 fmt_exact(a, st->batches), fmt_count(b, st->rows), fmt_bytes(c, st->bytes));
	out_line(&out, OUT_PLAIN, "  arrived     %s batches, %s rows, %s packed",
		 fmt_exact(a, st->sent), fmt_count(b, st->sent_rows), fmt_bytes(c, st->sent_bytes));
	status_day(&out, s);
	if (said(s, "trouble", v))
		out_line(&out, OUT_FAIL, "  trouble     %s",
			 fmt_clean(clean, sizeof(clean), v, out.ascii));
	if (said(s, "store_trouble", v))
		out_line(&out, OUT_FAIL, "  the store   %s",
			 fmt_clean(clean, sizeof(clean), v, out.ascii));
	drops_of(st, NULL, &out);
	spool_each_aside(dir, on_aside, &l);
}

static int status(const struct opts *o, const struct ship_conf *c)
{
	struct spool_stat *st = calloc(1, sizeof(*st));
	struct said *s = calloc(1, sizeof(*s));
	struct spool_why why;
	int rc = CLI_OK;

	if (!st || !s) {
		rc = cli_say(CLI_FAIL, "out of memory");
	} else if (spool_look(c->spool.s, st, &why)) {
		rc = cli_say(CLI_FAIL, "%s", why.text);
	} else {
		load_said(s, c->spool.s);
		if (o->val[OPT_JSON])
			status_json(st, s, c->spool.s);
		else
			status_text(o, st, s, c->spool.s);
	}
	free(st);
	free(s);
	return rc;
}

int cmd_ship(const struct opts *o)
{
	struct ship_conf *c = malloc(sizeof(*c));
	int rc = c ? settings(o, c) : cli_say(CLI_FAIL, "out of memory");

	if (rc == CLI_OK && o->argc == 0)
		rc = run(o, c);
	else if (rc == CLI_OK && o->argc == 1 && !strcmp(o->argv[0], "status"))
		rc = status(o, c);
	else if (rc == CLI_OK)
		rc = cli_misuse("expected nothing, or status, not '%s'", o->argv[0]);
	free(c);
	return rc;
}
