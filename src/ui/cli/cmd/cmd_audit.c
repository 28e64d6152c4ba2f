/* SPDX-License-Identifier: Apache-2.0 */
/* aon audit - who asked aond for what, and the outcome (model/audit.h). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "model/audit.h"

struct list {
	const struct out *out;
	struct json *j; /* NULL: text */
	size_t n, bad;
};

static void show(struct list *l, const struct audit_line *a)
{
	char when[FMT_LEN], clean[OUT_TEXT];

	l->n++;
	fmt_wall(when, a->wall_ns);
	if (!l->j) {
		out_line(l->out, strcmp(a->outcome, "ok") ? OUT_WARN : OUT_PLAIN,
			 "%s  uid %-6" PRIu32 " pid %-7" PRIu32 "  %-10s %-7s %s", when, a->uid,
			 a->pid, a->what, a->outcome,
			 fmt_clean(clean, sizeof(clean), a->text, l->out->ascii));
		return;
	}
	json_object(l->j, NULL, J_U64("wall_ns", a->wall_ns), J_STR("at", when),
		    J_U64("uid", a->uid), J_U64("pid", a->pid), J_STR("what", a->what),
		    J_STR("outcome", a->outcome), J_STR("text", a->text));
}

/* -ENOENT: there is none. */
static int read_file(const char *store, const char *suffix, struct list *l)
{
	char path[PATH_MAX], line[AUDIT_LINE + 1];
	struct audit_line a;
	FILE *f;
	int err = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", store, suffix) >= sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (audit_get(line, &a) < 0)
			l->bad++;
		else
			show(l, &a);
	}
	if (ferror(f))
		err = -EIO;
	fclose(f);
	return err;
}

/* Of the node's aond, whether it runs or not. */
static const char *store_of(const struct opts *o, struct admin_status *s)
{
	if (o->argc)
		return o->argv[0];
	return admin_status(locate_run_dir(), s) == 0 && *s->store ? s->store : NODE_STORE;
}

int cmd_audit(const struct opts *o)
{
	struct list l = { 0 };
	struct admin_status s;
	const char *store;
	struct json j;
	struct out out;
	int err;

	if (o->argc > 1)
		return cli_misuse("takes one store, not '%s' too", o->argv[1]);
	store = store_of(o, &s);
	out_init(&out, stdout, o);
	l.out = &out;
	if (o->val[OPT_JSON]) {
		l.j = &j;
		json_begin(&j, stdout, "aon.audit/1");
		json_str(&j, "store", store);
		json_open(&j, "lines", '[');
	}
	err = read_file(store, AUDIT_BEFORE, &l);
	if (!err || err == -ENOENT)
		err = read_file(store, AUDIT_SUFFIX, &l);
	if (err && err != -ENOENT)
		return cli_say(CLI_FAIL, "%s" AUDIT_SUFFIX ": %s%s", store, strerror(-err),
			       err == -EACCES ? ". It is for root, aond's user and its group."
					      : "");
	if (l.j)
		json_end(&j);
	else if (!l.n && o->argc && access(store, F_OK) < 0)
		return cli_say(CLI_FAIL, "%s: %s. Give the store of an aond.", store,
			       strerror(errno));
	else if (!l.n)
		fprintf(stderr, "Nobody has asked for anything: %s" AUDIT_SUFFIX " is not there.\n",
			store);
	if (l.bad)
		return cli_say(CLI_FAIL, "%s" AUDIT_SUFFIX ": %zu lines are damaged", store, l.bad);
	return CLI_OK;
}
