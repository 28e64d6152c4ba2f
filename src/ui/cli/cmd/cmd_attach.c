/* SPDX-License-Identifier: Apache-2.0 */
/* aon attach - what can be seen of a process that runs already, and how to record it next time. */
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
#include "read/procs.h"
#include "stacks/find.h"
#include "stacks/stack.h"

#define SHOWN       16u
#define PROBES      12u
#define STACKS_JSON 65536u /* bytes of what aon-stacks says, at most */

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

/* libaon-cuda.so is the probe "cuda". */
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
			add_probe(s, name + 1, strcspn(name + 1, ".\n"));
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
	char path[PATH_MAX], pid[16], text[STACKS_JSON + JSON_PAD];
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
	len = f ? fread(text, 1, STACKS_JSON, f) : 0;
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

static void put_text(const struct opts *o, const struct seen *s)
{
	char clean[OUT_TEXT];
	struct out out;

	out_init(&out, stdout, o);
	fmt_clean(clean, sizeof(clean), s->command, out.ascii);
	out_line(&out, OUT_BOLD, "pid %d: %s", (int)s->pid, clean);
	put_recorded(&out, s);
	put_probes(&out, s);
	if (!s->frames)
		out_line(&out, OUT_PLAIN, "  stack     no: %s", s->why_not);
	else
		out_line(&out, OUT_PLAIN, "  stack     of the main thread, now:");
	for (size_t i = 0; i < s->frames && i < SHOWN; i++) {
		fmt_clean(clean, sizeof(clean), s->frame[i], out.ascii);
		out_line(&out, OUT_PLAIN, "    %s", clean);
	}
	if (s->frames > SHOWN)
		out_line(&out, OUT_PLAIN, "    and %zu more: aon stacks %d", s->frames - SHOWN,
			 (int)s->pid);
	fmt_clean(clean, sizeof(clean), s->command, out.ascii);
	if (s->recorded)
		out_next(&out, "aon capture --pid %d", (int)s->pid);
	else
		out_next(&out, "aon run -- %s", clean);
}

int cmd_attach(const struct opts *o)
{
	struct seen s = { 0 };
	long pid;
	int err;

	if (o->argc != 1)
		return cli_misuse("takes one process id");
	if (num_i64(o->argv[0], 1, INT_MAX, &pid) < 0)
		return cli_misuse("takes a process id, not '%s'", o->argv[0]);
	s.pid = (pid_t)pid;
	err = read_command(&s);
	if (err < 0)
		return cli_say(CLI_FAIL, "pid %ld: %s", pid,
			       err == -ENOENT ? "no such process" : strerror(-err));
	read_probes(&s);
	read_store(&s);
	read_stack(&s);
	if (o->val[OPT_JSON])
		put_json(&s);
	else
		put_text(o, &s);
	return s.recorded || s.frames ? CLI_OK : CLI_FAIL;
}
