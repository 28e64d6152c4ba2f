/* SPDX-License-Identifier: Apache-2.0 */
/* aon attach - where a process that runs already spends its time, and how to record it next time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/num.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "cli/node/attach.h"
#include "cli/report/report_stacks.h"
#include "export/export_file.h"
#include "read/json.h"
#include "read/procs.h"
#include "stacks/find.h"
#include "stacks/stack.h"

#define SHOWN       16u
#define PROBES      12u
#define LETTERS     "abcdefghijklmnopqrstuvwxyz0123456789_-"
#define FOLD        20u
#define THREADS     5u  /* that are shown of many */
#define SECONDS     10u /* where nobody can end it */
#define HZ          49.0
#define STACKS_TEXT 65536u /* bytes of what aon-stacks says, at most */

struct seen {
	pid_t pid;
	char command[512];
	bool known, recorded; /* known: a store could be asked */
	struct process row;   /* if it is recorded */
	char probe[PROBES][16];
	size_t probes;
	bool maps; /* its mappings could be read */
	char why_not[256];
	char frame[STACK_FRAMES][FRAME_TEXT];
	size_t frames;
	struct attach a;
	struct insight *in; /* owned: of its samples; NULL: it was not sampled */
};

/* --- looking --- */

static int read_command(struct seen *s)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)s->pid);
	n = file_text(AT_FDCWD, path, s->command, sizeof(s->command));
	if (n < 0)
		return (int)n;
	while (n && !s->command[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!s->command[i])
			s->command[i] = ' ';
	s->command[n] = '\0';
	if (!n)
		snprintf(s->command, sizeof(s->command), "(kernel thread, or ended)");
	return 0;
}

static void add_probe(struct seen *s, const char *name, size_t len)
{
	for (size_t i = 0; i < s->probes; i++)
		if (!strncmp(s->probe[i], name, len) && !s->probe[i][len])
			return;
	if (s->probes < PROBES && len < sizeof(s->probe[0]))
		memcpy(s->probe[s->probes++], name, len);
}

/* libaon-cuda.so is the probe "cuda". The process chose the names of its files: letters are taken. */
static void read_probes(struct seen *s)
{
	char line[4352];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)s->pid);
	f = fopen(line, "re");
	s->maps = f != NULL;
	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "/libaon"), *name;

		if (!at)
			continue;
		name = at + strlen("/libaon");
		if (*name == '-')
			add_probe(s, name + 1, strspn(name + 1, LETTERS));
		else if (*name == '.')
			add_probe(s, "libaon", 6);
	}
	if (f)
		fclose(f);
}

static void read_store(struct seen *s)
{
	struct procs_want want = { .pid = (uint32_t)s->pid, .connected = true };
	char dir[PATH_MAX], path[PATH_MAX];
	struct admin_status aond = { 0 };
	struct store *st;
	struct procs ps;

	locate_run_dir_of(s->pid, dir);
	if (*dir)
		admin_status(dir, &aond);
	cli_mute(true); /* that there is no store is part of the answer */
	if (locate_open(*aond.store ? aond.store : NULL, &st, path) == CLI_OK) {
		if (!procs_load(&ps, st, &want)) {
			s->known = true;
			if (ps.n && procs_live(&ps, &ps.p[0])) {
				s->recorded = true;
				s->row = ps.p[0];
			}
			procs_fini(&ps);
		}
		store_close(st);
	}
	cli_mute(false);
}

static void text_of(char *out, size_t cap, struct json_tok value)
{
	if (*value.s == '"')
		out[json_tok_unescape(out, cap - 1, json_tok_text(value))] = '\0';
}

static void take_frame(struct seen *s, struct json_tok frame)
{
	struct frame f = { 0 };
	const char *p = frame.s + 1;
	struct json_tok key, value;
	int64_t line;

	while (*frame.s == '{' && json_pair(&p, frame.s + frame.len, &key, &value)) {
		if (json_tok_is(key, "name"))
			text_of(f.name, sizeof(f.name), value);
		else if (json_tok_is(key, "file"))
			text_of(f.file, sizeof(f.file), value);
		else if (json_tok_is(key, "line") && json_tok_i64(value, &line))
			f.line = (uint32_t)line;
		else if (json_tok_is(key, "inlined"))
			f.inlined = *value.s == 't';
	}
	if (s->frames < STACK_FRAMES)
		frame_text(&f, s->frame[s->frames++]);
}

/* aon.stacks/1: of one process there is one group. */
static void take_group(struct seen *s, struct json_tok group)
{
	const char *p = group.s + 1, *q;
	struct json_tok key, value, frame;

	while (*group.s == '{' && json_pair(&p, group.s + group.len, &key, &value)) {
		q = value.s + 1;
		if (json_tok_is(key, "why_not"))
			text_of(s->why_not, sizeof(s->why_not), value);
		while (json_tok_is(key, "frames") && json_item(&q, value.s + value.len, &frame))
			take_frame(s, frame);
	}
}

static void take_stacks(struct seen *s, const char *text, size_t len)
{
	const char *end = text + len, *p = json_space(text, end), *q;
	struct json_tok key, value, group;

	for (p++; p < end && json_pair(&p, end, &key, &value);) {
		q = value.s + 1;
		while (json_tok_is(key, "groups") && json_item(&q, value.s + value.len, &group))
			take_group(s, group);
	}
}

static void read_stack(struct seen *s)
{
	char path[PATH_MAX], pid[16], text[STACKS_TEXT + JSON_PAD];
	size_t len;
	int fd[2];
	FILE *f;
	pid_t child;

	snprintf(s->why_not, sizeof(s->why_not), "aon-stacks is not installed beside aon");
	snprintf(pid, sizeof(pid), "%d", (int)s->pid);
	if (stacks_find(path) < 0 || pipe2(fd, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (!child) {
		dup2(fd[1], STDOUT_FILENO);
		execl(path, "aon-stacks", "--json", pid, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	f = fdopen(fd[0], "r");
	len = f ? fread(text, 1, STACKS_TEXT, f) : 0;
	memset(text + len, '"', JSON_PAD);
	if (child > 0)
		snprintf(s->why_not, sizeof(s->why_not), "%s",
			 len ? "it has none" : "aon-stacks said nothing");
	take_stacks(s, text, len);
	if (s->frames)
		s->why_not[0] = '\0';
	if (f)
		fclose(f);
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* --- the answer --- */

/* Its threads in the order of their samples: the first is the one to speak of. */
static size_t threads_of(const struct seen *s, uint32_t *track, size_t most)
{
	const struct trace *t = s->in->t;
	size_t n = 0;

	if (samples_thread(s->in, s->a.process) == SAMPLES_ALL)
		return 0;
	track[n++] = samples_thread(s->in, s->a.process);
	for (uint32_t l = 0; l < t->tracks && n < most; l++) {
		bool has = false;

		for (size_t i = 0; i < s->in->samples.rows && !has; i++)
			has = s->in->samples.row[i].track == l;
		if (has && l != track[0])
			track[n++] = l;
	}
	return n;
}

static void put_sampled_json(struct json *j, const struct seen *s)
{
	struct samples_want w = { s->a.process, SAMPLES_ALL, 0, 0 };
	uint32_t track[SHOWN * SHOWN];
	size_t n = threads_of(s, track, SHOWN * SHOWN);

	json_open(j, "sampled", '{');
	json_members(j, J_REAL("seconds", (double)s->a.wall_ns / 1e9), J_REAL("hz", s->a.hz),
		     J_U64("sampler_cpu_ns", s->a.cpu_ns), J_U64("missed", s->a.missed),
		     J_STR("why_not", *s->a.reason ? s->a.reason : NULL));
	json_open(j, "threads", '[');
	for (size_t i = 0; i < n; i++) {
		w.track = track[i];
		json_open(j, NULL, '{');
		json_u64(j, "thread", s->in->t->track[track[i]].stream);
		samples_json(j, s->in, &w, STACKS_JSON);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

static void put_json(const struct seen *s)
{
	char word[sizeof(s->command) + 16];
	struct json j;

	json_begin(&j, stdout, "aon.attach/1");
	json_members(&j, J_U64("pid", s->pid), J_STR("command", s->command),
		     J_BOOL_IF("recorded", s->known, s->recorded),
		     J_STR("detail", s->recorded ? procs_detail(s->row.tier) : NULL));
	json_open(&j, "probes", '[');
	for (size_t i = 0; i < s->probes; i++)
		json_str(&j, NULL, s->probe[i]);
	json_close(&j);
	json_str(&j, "stack_why_not", *s->why_not ? s->why_not : NULL);
	json_open(&j, "stack", '[');
	for (size_t i = 0; i < s->frames; i++)
		json_str(&j, NULL, s->frame[i]);
	json_close(&j);
	snprintf(word, sizeof(word), "aon capture --pid %d", (int)s->pid);
	json_str(&j, "capture", s->recorded ? word : NULL);
	snprintf(word, sizeof(word), "aon run -- %s", s->command);
	json_str(&j, "record", word);
	if (s->in)
		put_sampled_json(&j, s);
	else
		json_null(&j, "sampled");
	json_end(&j);
}

static void put_recorded(const struct out *out, const struct seen *s)
{
	if (s->recorded)
		out_line(out, OUT_PLAIN, "  recorded  yes, detail %s", procs_detail(s->row.tier));
	else if (!s->known)
		out_line(out, OUT_PLAIN,
			 "  recorded  unknown: no store of an aond is readable here");
	else
		out_line(out, OUT_PLAIN,
			 "  recorded  no: it was started without aon run and has no "
			 "session with aond");
}

static void put_probes(const struct out *out, const struct seen *s)
{
	char list[PROBES * 18] = "";

	for (size_t i = 0; i < s->probes; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 s->probe[i]);
	out_line(out, OUT_PLAIN, "  probes    %s",
		 !s->maps    ? "unknown: permission denied"
		 : s->probes ? list
			     : "none: none can be loaded into a running process");
}

/* Where its threads were: the first sentence of the answer. */
static void put_sampled(const struct out *out, const struct seen *s)
{
	struct samples_want w = { s->a.process, SAMPLES_ALL, 0, 0 };
	char n[FMT_LEN], wall[FMT_LEN], cpu[FMT_LEN], why[OUT_TEXT];
	uint32_t track[SHOWN * SHOWN];
	size_t threads = threads_of(s, track, SHOWN * SHOWN);
	size_t show = out->all || threads <= THREADS ? threads : THREADS;

	for (size_t i = 0; i < show; i++) {
		w.track = track[i];
		where_text(out, s->in, &w, FOLD);
		fputc('\n', out->f);
	}
	if (show < threads)
		out_line(out, OUT_PLAIN, "+ %zu more threads (--all)\n", threads - show);
	out_line(out, OUT_PLAIN, "  sampled   %s times in %s; the sampler took %s %% of a core",
		 fmt_count(n, s->in->samples.count), fmt_time(wall, s->a.wall_ns),
		 fmt_percent(cpu, s->a.wall_ns ? (double)s->a.cpu_ns / (double)s->a.wall_ns : 0));
	if (*s->a.reason)
		out_line(out, OUT_WARN, "            %s",
			 fmt_clean(why, sizeof(why), s->a.reason, out->ascii));
	if (s->a.gone)
		out_line(out, OUT_PLAIN,
			 "            it ended, or could not be sampled any longer");
}

static void put_stack(const struct out *out, const struct seen *s)
{
	char clean[OUT_TEXT];

	if (!s->frames)
		out_line(out, OUT_PLAIN, "  stack     no: %s",
			 fmt_clean(clean, sizeof(clean), s->why_not, out->ascii));
	else
		out_line(out, OUT_PLAIN, "  stack     of the main thread, now:");
	for (size_t i = 0; i < s->frames && i < SHOWN; i++) {
		fmt_clean(clean, sizeof(clean), s->frame[i], out->ascii);
		out_line(out, OUT_PLAIN, "    %s", clean);
	}
	if (s->frames > SHOWN)
		out_line(out, OUT_PLAIN, "    and %zu more: aon stacks %d", s->frames - SHOWN,
			 (int)s->pid);
}

static void put_text(const struct opts *o, const struct seen *s)
{
	char clean[OUT_TEXT];
	struct out out;

	out_init(&out, stdout, o);
	if (s->in)
		put_sampled(&out, s);
	fmt_clean(clean, sizeof(clean), s->command, out.ascii);
	out_line(&out, OUT_BOLD, "pid %d: %s", (int)s->pid, clean);
	put_recorded(&out, s);
	put_probes(&out, s);
	if (!s->in)
		put_stack(&out, s);
	if (s->recorded)
		out_next(&out, "aon capture --pid %d", (int)s->pid);
	else
		out_next(&out, "aon run -- %s", clean);
}

/* --- sampling --- */

/* The stack that it was in most often, as text. */
static void keep_stack(struct seen *s)
{
	struct samples_want w = { s->a.process, samples_thread(s->in, s->a.process), 0, 0 };
	struct samples_sum sum;
	char label[FRAME_LABEL];
	struct stack_row row;

	if (samples_blame(&sum, s->in, &w) < 0)
		return;
	row = trace_stack(s->in->t, sum.stacks ? sum.stack[0].stack : 0);
	for (uint32_t i = 0; i < row.n && s->frames < STACK_FRAMES; i++)
		snprintf(s->frame[s->frames++], FRAME_TEXT, "%.*s", (int)FRAME_TEXT - 1,
			 frame_called(s->in->t, &row.frame[i], label));
	samples_fini(&sum);
	if (s->frames)
		s->why_not[0] = '\0';
}

static int write_to(const struct seen *s, const char *to)
{
	char failed[PATH_MAX] = "";
	struct export_to x = { .to = to };
	int format = export_format_of(to, &x.gz), err;

	x.format = (enum export_format)format;
	err = export_files(s->a.t, &x, NULL, NULL, failed);
	return err ? cli_say(CLI_FAIL, "%s: %s. Nothing was left behind.", failed, strerror(-err))
		   : CLI_OK;
}

/* Of stacks, not of what happened when. */
static bool is_of_stacks(const char *to)
{
	bool gz;
	int format = export_format_of(to, &gz);

	return format == EXPORT_PPROF || format == EXPORT_COLLAPSED ||
	       format == EXPORT_OTLP_PROFILE;
}

/* False: it cannot be sampled, s->why_not says why. */
static bool sample(struct seen *s, const struct opts *o, int *rc)
{
	char path[PATH_MAX];

	attach_denied(s->pid, s->why_not, sizeof(s->why_not));
	if (*s->why_not || helper_find(path, "sample", "aon-sample") < 0)
		return false;
	*rc = attach_watch(&s->a, o, s->command);
	if (*rc == CLI_OK && (trace_seal(s->a.t) < 0 || insight_new(&s->in, s->a.t) < 0))
		*rc = cli_say(CLI_FAIL, "%s", strerror(ENOMEM));
	if (*rc != CLI_OK)
		return true;
	if (!s->in->samples.count) {
		snprintf(s->why_not, sizeof(s->why_not), "%s",
			 *s->a.reason ? s->a.reason : "aon-sample took no sample");
		insight_free(s->in);
		s->in = NULL;
		return false;
	}
	keep_stack(s);
	return true;
}

static int options(struct seen *s, const struct opts *o)
{
	bool live = isatty(STDOUT_FILENO) && !o->val[OPT_JSON];

	s->a = (struct attach){ .pid = s->pid,
				.fd = -1,
				.hz = HZ,
				.seconds = live ? 0 : SECONDS,
				.threads = o->val[OPT_THREADS] != NULL };
	if (opt_number(o, OPT_SECONDS, 0.1, 86400, &s->a.seconds) ||
	    opt_number(o, OPT_HZ, 1, 1000, &s->a.hz))
		return CLI_USAGE;
	if (o->val[OPT_OUTPUT_STACKS] && !is_of_stacks(o->val[OPT_OUTPUT_STACKS]))
		return cli_misuse(
			"-o takes a name that ends in .collapsed, .pb.gz, .pprof or .otlp");
	return CLI_OK;
}

static int look(struct seen *s, const struct opts *o)
{
	int rc = CLI_OK;

	read_probes(s);
	read_store(s);
	if (!sample(s, o, &rc) && !*s->why_not)
		read_stack(s);
	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_JSON])
		put_json(s);
	else
		put_text(o, s);
	if (s->in && o->val[OPT_OUTPUT_STACKS])
		rc = write_to(s, o->val[OPT_OUTPUT_STACKS]);
	return rc != CLI_OK ? rc : s->recorded || s->frames || s->in ? CLI_OK : CLI_FAIL;
}

int cmd_attach(const struct opts *o)
{
	struct seen s = { 0 };
	long pid;
	int err, rc;

	if (o->argc != 1)
		return cli_misuse("takes one process id");
	if (num_i64(o->argv[0], 1, INT_MAX, &pid) < 0)
		return cli_misuse("takes a process id, not '%s'", o->argv[0]);
	s.pid = (pid_t)pid;
	rc = options(&s, o);
	if (rc != CLI_OK)
		return rc;
	err = read_command(&s);
	if (err < 0)
		return cli_say(CLI_FAIL, "pid %ld: %s", pid,
			       err == -ENOENT ? "no such process" : strerror(-err));
	rc = look(&s, o);
	insight_free(s.in);
	attach_fini(&s.a);
	return rc;
}
