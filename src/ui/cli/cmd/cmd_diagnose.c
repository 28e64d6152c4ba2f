/* SPDX-License-Identifier: Apache-2.0 */
/* aon diagnose - which rank, host, link, stage or habit slows a job of many ranks, or stops it. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cluster/diagnose.h"
#include "cli/core/inputs.h"
#include "cli/core/out.h"
#include "cli/report/view.h"
#include "import/source.h"
#include "import/stages.h"
#include "model/step_file.h"

#define PATH_BYTES 4096u
#define FOLD       3u

static int take(void *arg, const struct step_rec *rec, size_t n)
{
	struct recording *r = arg;

	if (r->d)
		return diag_step(r->d, rec, n, diag_cases_hear, &r->cases);
	r->world = n && rec[0].world > r->world ? rec[0].world : r->world;
	r->ranks = n > r->ranks ? (uint32_t)n : r->ranks;
	r->records += n;
	for (size_t i = 0; i < n; i++)
		r->step_ns += rec[i].flags & STEP_F_PARTIAL ? 0 : (double)rec[i].t.step;
	r->steps++;
	return 0;
}

/* --- reading --- */

static int pass_file(struct recording *r)
{
	FILE *f = fopen(r->path, "re");
	int err = f ? step_file_read(f, 0, take, r) : -errno;

	if (f)
		fclose(f);
	return err;
}

static int pass_timeline(struct recording *r, const char *text, size_t len)
{
	return stages_read(text, len, &r->world, take, r);
}

/* Twice over it: how many steps there are says how much of them can be a past. */
static int both(struct recording *r, const char *text, size_t len)
{
	int err = text ? pass_timeline(r, text, len) : pass_file(r);

	if (!err && (!r->steps || !r->world))
		err = -ENODATA;
	err = err ? err : diag_new(&r->d, r->world);
	if (err < 0)
		return err;
	diag_expect(r->d, r->steps);
	err = text ? pass_timeline(r, text, len) : pass_file(r);
	return err ? err : r->cases.err;
}

static int read_one(struct recording *r)
{
	struct source *src;
	const char *head;
	char *text = NULL;
	size_t len = 0;
	ssize_t n;
	int err = source_open(&src, r->path);

	if (err < 0)
		return err;
	n = source_peek(src, &head);
	if (n > 0 && (*head == '[' || *head == '{')) {
		err = source_all(src, &text, &len);
		if (!err && !stages_is(text, len))
			err = -EINVAL;
	}
	source_close(src);
	err = err ? err : both(r, text, len);
	free(text);
	return err;
}

static int bad(const char *path, int err)
{
	if (err == -EBADMSG || err == -EINVAL || err == -EPROTO)
		return cli_say(CLI_FAIL,
			       "%s: neither records of steps (aon export "
			       "-f steps) nor a timeline of stages",
			       path);
	if (err == -ENODATA)
		return cli_say(CLI_FAIL, "%s: no record is in it", path);
	return cli_say(CLI_FAIL, "%s: %s", path, strerror(-err));
}

/* --- text --- */

static void say_case(const struct out *out, size_t number, const struct diag_case *c)
{
	struct diag_words w;
	char left[DIAG_TEXT + 32], right[64], pct[FMT_LEN];

	diag_words(&w, &c->v);
	snprintf(left, sizeof(left), "%zu  %s", number, w.title);
	snprintf(right, sizeof(right), "%s %%   %s%s", fmt_percent(pct, c->most),
		 c->act ? "act" : "note", c->v.f.confidence < 0.6f ? ", unsure" : "");
	out_ends(out, c->act ? OUT_WARN : OUT_PLAIN, left, right);
	for (size_t k = 0; k < DIAG_SEEN && *w.seen[k]; k++)
		view_wrap(out, k ? "" : "seen", w.seen[k]);
	if (*w.ruled_out)
		view_wrap(out, "not", w.ruled_out);
	view_wrap(out, "do", w.action);
	view_wrap(out, "expect", w.expect);
	fputc('\n', out->f);
}

static void say_text(const struct opts *o, const struct recording *r)
{
	size_t show = r->cases.n;
	char t[FMT_LEN];
	struct out out;

	out_init(&out, stdout, o);
	show = out.all || show <= FOLD + 1 ? show : FOLD;
	out_line(&out, OUT_BOLD, "%s: %" PRIu32 " ranks, %" PRIu32 " steps of %s", r->path,
		 r->world, r->steps, fmt_time(t, (uint64_t)(r->step_ns / (double)r->records)));
	if (r->records < (uint64_t)r->world * r->steps)
		out_line(&out, OUT_PLAIN, "%.1f %% of the records are missing",
			 100.0 - 100.0 * (double)r->records / ((double)r->world * r->steps));
	out_line(&out, OUT_PLAIN, "%.2f times what it would take with equal work and no bad place",
		 diag_slowdown(r->d));
	fputc('\n', out.f);
	for (size_t i = 0; i < show; i++)
		say_case(&out, i + 1, &r->cases.c[i]);
	if (show < r->cases.n)
		out_line(&out, OUT_PLAIN, "+ %zu more (--all)", r->cases.n - show);
	if (!r->cases.n)
		out_line(&out, OUT_PLAIN, "Nothing stands out.");
}

/* --- JSON --- */

static void put_case(struct json *j, const struct diag_case *c)
{
	struct diag_verdict v = c->v;

	v.f.gain = c->most;
	json_open(j, NULL, '{');
	diag_json(j, &v);
	json_u64(j, "last_step", c->last);
	json_close(j);
}

static void put_recording(struct json *j, const struct recording *r)
{
	json_open(j, NULL, '{');
	json_members(j, J_STR("file", r->path), J_U64("ranks", r->world), J_U64("steps", r->steps),
		     J_U64("records", r->records),
		     J_DOUBLE("step_ns", r->step_ns / (double)r->records),
		     J_DOUBLE("slowdown", diag_slowdown(r->d)));
	json_open(j, "findings", '[');
	for (size_t i = 0; i < r->cases.n; i++)
		put_case(j, &r->cases.c[i]);
	json_close(j);
	json_close(j);
}

void recording_say(const struct opts *o, struct recording *r, struct json *j)
{
	diag_cases_sort(&r->cases);
	if (j)
		put_recording(j, r);
	else
		say_text(o, r);
}

void recording_fini(struct recording *r)
{
	diag_free(r->d);
	diag_cases_fini(&r->cases);
}

/* --- files and folders --- */

static int one(const struct opts *o, const char *path, struct json *j)
{
	struct recording r = { .path = path };
	int err = read_one(&r);

	if (!err)
		recording_say(o, &r, j);
	recording_fini(&r);
	return err ? bad(path, err) : CLI_OK;
}

static int is_steps(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 6 && !strcmp(d->d_name + n - 6, ".steps");
}

static int folder(const struct opts *o, const char *dir, struct json *j)
{
	struct dirent **list;
	char path[PATH_BYTES];
	int n = scandir(dir, &list, is_steps, alphasort), rc = CLI_OK;

	if (n < 0)
		return cli_say(CLI_FAIL, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (rc == CLI_OK)
			rc = one(o, path, j);
		inputs_progress((void *)(uintptr_t)o, list[i]->d_name, (uint64_t)i + 1,
				(uint64_t)n);
		free(list[i]);
	}
	free(list);
	inputs_progress_end();
	if (!n)
		return cli_say(CLI_UNSURE, "%s: no file of steps is there", dir);
	return rc;
}

/* A store: it has more than records of steps, and aon why reads these, too. */
static bool is_database(const char *path)
{
	static const char head[] = "SQLite format 3";
	char got[sizeof(head)] = "";
	FILE *f = fopen(path, "re");
	bool is = f && fread(got, sizeof(got), 1, f) == 1 && !memcmp(got, head, sizeof(head));

	if (f)
		fclose(f);
	return is;
}

int cmd_diagnose(const struct opts *o)
{
	struct json j, *to = o->val[OPT_JSON] ? &j : NULL;
	int rc = CLI_OK;

	if (o->val[OPT_FOLLOWJOBS])
		return o->argc ? cli_misuse("--follow takes no file") : diagnose_follow(o);
	if (o->argc && !o->val[OPT_CLUSTER] && is_database(o->argv[0]))
		return cmd_why(o);
	if (!o->argc && !o->val[OPT_CLUSTER])
		return cli_misuse(
			"takes a FILE of records of steps, or a FOLDER of them; or --cluster");
	if (o->argc && o->val[OPT_CLUSTER])
		return cli_misuse("takes files, or --cluster, not both");
	if (to) {
		json_begin(to, stdout, "aon.diagnose/1");
		json_open(to, "recordings", '[');
	}
	if (!o->argc)
		rc = diagnose_cluster(o, to);
	for (int i = 0; i < o->argc && rc == CLI_OK; i++) {
		struct stat st;
		bool dir = stat(o->argv[i], &st) == 0 && S_ISDIR(st.st_mode);

		rc = dir ? folder(o, o->argv[i], to) : one(o, o->argv[i], to);
	}
	if (to)
		json_end(to);
	return rc;
}
