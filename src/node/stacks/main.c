/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aon-stacks - where the threads of processes are: each thread is stopped for a moment, one after the
 * other; threads at the same place are listed once.
 *
 *	aon-stacks [--json | --lines | --rows] [--threads] [--as UID:GID] PID[:RANK]...
 *
 * --rows is for aond: a line a group, its columns separated by tabs: what the numbers are, the numbers with commas
 * between them, how many frames are not shown, why there is no stack, then the frames.
 *
 * A program of its own because it reads what strangers wrote (ELF files, stacks, an interpreter's
 * memory) and may need rights for it: what goes wrong here ends nobody else. Rights that it has are
 * used to open the memory and to seize the threads, which does not stop them, and given up before
 * anything is read, if --as says whose processes these are. It ends itself after 8 seconds.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "base/options.h"
#include "stacks/rights.h"
#include "stacks/seize.h"
#include "stacks/unwind.h"

#define LIFE_S  8
#define PIDS    256u
#define THREADS 64u /* of a process */
#define ENTRIES 1024u

struct subject {
	pid_t pid;
	uint32_t rank; /* + 1; 0: none */
	int mem_fd;    /* owned; -1 */
	int err;       /* of the whole look */
	size_t first, n;
};

struct taken {
	pid_t tid;
	bool stopped; /* by a signal, before we came */
	int err;
};

static struct subject subject[PIDS];
static size_t subjects;
static struct taken taken[ENTRIES];
static size_t takens;

/* --- what needs rights --- */

static bool is_stopped(pid_t tid)
{
	char path[40], line[128];
	bool yes = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		yes |= !strncmp(line, "State:\tT", 8);
	if (f)
		fclose(f);
	return yes;
}

static void take_thread(struct subject *s, pid_t tid)
{
	struct taken *t = &taken[takens];

	if (takens == ENTRIES)
		return;
	takens++;
	s->n++;
	t->tid = tid;
	t->stopped = is_stopped(tid);
	t->err = seize(tid);
}

static void take_threads(struct subject *s)
{
	char path[40];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	d = opendir(path);
	while (d && s->n < THREADS && (e = readdir(d)))
		if (e->d_name[0] != '.')
			take_thread(s, (pid_t)num_front_i64(e->d_name, NULL));
	if (d)
		closedir(d);
}

static void take(struct subject *s, bool threads)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)s->pid);
	s->first = takens;
	s->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->mem_fd < 0) {
		s->err = errno == ENOENT ? -ESRCH : -errno;
		takens += takens < ENTRIES;
		s->n = takens - s->first;
	} else if (threads) {
		take_threads(s);
	} else {
		take_thread(s, s->pid);
	}
}

/* --- stacks --- */

static void read_subject(struct subject *s, struct native *n, struct stacked *out, bool threads)
{
	struct unwind *u = NULL;
	int err = s->err ? s->err : unwind_new(&u, n, s->pid, s->mem_fd);

	for (size_t i = s->first; i < s->first + s->n; i++) {
		struct taken *t = &taken[i];
		int why = s->err ? s->err : t->err ? t->err : err;

		out[i].number = threads   ? (uint32_t)t->tid
				: s->rank ? s->rank - 1
					  : (uint32_t)s->pid;
		if (!why && t->stopped)
			stack_add(&out[i].stack, "[stopped by a signal]", "", 0);
		why = why ? why : unwind_stack(u, t->tid, &out[i].stack);
		if (why)
			why_not(s->pid, t->tid, why, out[i].stack.why, sizeof(out[i].stack.why));
		stack_text(&out[i].stack, out[i].text);
	}
	unwind_free(u);
	if (s->mem_fd >= 0)
		close(s->mem_fd);
}

/* --- output --- */

static const char *word_of(bool threads)
{
	bool ranks = subjects > 0;

	for (size_t i = 0; i < subjects; i++)
		ranks &= subject[i].rank > 0;
	return threads ? "thread" : ranks ? "rank" : "pid";
}

static void say_text(const struct stacked *s, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i += s[i].group) {
		char who[256];

		stacks_who(&s[i], s[i].group, who, sizeof(who));
		printf("%s%s %s: %s\n", word, s[i].group > 1 ? "s" : "", who, s[i].text);
	}
}

/* A frame a line, for people; a journal has a line for all of them. */
static void say_lines(const struct stacked *s, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i += s[i].group) {
		const struct stack *of = &s[i].stack;
		char who[256], text[FRAME_TEXT];

		stacks_who(&s[i], s[i].group, who, sizeof(who));
		printf("%s%s %s:%s%s\n", word, s[i].group > 1 ? "s" : "", who, of->n ? "" : " ",
		       of->n ? "" : s[i].text);
		for (size_t k = 0; k < of->n; k++) {
			frame_text(&of->frame[k], text);
			printf("    %s\n", text);
		}
	}
}

static void say_json(const struct stacked *s, size_t n, const char *word)
{
	struct json j;

	json_begin(&j, stdout, "aon.stacks/1");
	json_open(&j, "groups", '[');
	for (size_t i = 0; i < n; i += s[i].group) {
		json_open(&j, NULL, '{');
		json_str(&j, "of", word);
		json_open(&j, "numbers", '[');
		for (size_t k = i; k < i + s[i].group; k++)
			json_u64(&j, NULL, s[k].number);
		json_close(&j);
		json_str(&j, "why_not", *s[i].stack.why ? s[i].stack.why : NULL);
		json_open(&j, "frames", '[');
		for (size_t k = 0; k < s[i].stack.n; k++) {
			const struct frame *f = &s[i].stack.frame[k];

			json_open(&j, NULL, '{');
			json_str(&j, "name", f->name);
			json_str(&j, "file", *f->file ? f->file : NULL);
			json_members(&j, J_U64_IF("line", f->line, f->line));
			json_bool(&j, "inlined", f->inlined);
			json_close(&j);
		}
		json_close(&j);
		json_close(&j);
	}
	json_end(&j);
}

static void say_rows(const struct stacked *s, size_t n, const char *word)
{
	char text[FRAME_TEXT];

	for (size_t i = 0; i < n; i += s[i].group) {
		const struct stack *st = &s[i].stack;
		size_t shown = st->n < STACK_SHOWN ? st->n : STACK_SHOWN;

		printf("%s\t", word);
		for (size_t k = i; k < i + s[i].group; k++)
			printf("%s%u", k > i ? "," : "", s[k].number);
		printf("\t%zu\t%s", st->n - shown, *st->why || st->n ? st->why : "it has none");
		for (size_t k = 0; k < shown; k++) {
			frame_text(&st->frame[k], text);
			printf("\t%s", text);
		}
		putchar('\n');
	}
}

/* --- the command line --- */

static int add_subject(const char *arg)
{
	struct subject *s = &subject[subjects];
	const char *end;
	int64_t pid = num_front_i64(arg, &end), rank = -1;

	if (*end == ':')
		rank = num_front_i64(end + 1, &end);
	if (*end || pid < 1 || pid > INT32_MAX || rank > INT32_MAX - 1) {
		fprintf(stderr, "aon-stacks: takes process ids, not '%s'\n", arg);
		return 2;
	}
	if (subjects < PIDS) {
		*s = (struct subject){ .pid = (pid_t)pid,
				       .rank = (uint32_t)(rank + 1),
				       .mem_fd = -1 };
		subjects++;
	}
	return 0;
}

enum opt_id { JSON, LINES, ROWS, THREADS_TOO, AS, OPTS };

static const struct option_row opts[OPTS] = {
	[JSON] = { .name = "json" },
	[LINES] = { .name = "lines" },
	[ROWS] = { .name = "rows" },
	[THREADS_TOO] = { .name = "threads" },
	[AS] = { .name = "as", .arg = "UID:GID" },
};

int main(int argc, char *argv[])
{
	struct options o = { .row = opts, .rows = OPTS, .argc = argc, .argv = argv };
	const char *val[OPTS] = { NULL }, *as;
	bool threads, some = false;
	struct native *n = NULL;
	struct stacked *s;
	int err;

	alarm(LIFE_S);
	if (options_all(&o, val) == OPTIONS_WRONG) {
		options_complain(&o);
		return 2;
	}
	as = val[AS];
	threads = val[THREADS_TOO] != NULL;
	for (int i = 1; i <= o.operands; i++)
		if (add_subject(argv[i]))
			return 2;
	if (!subjects) {
		fprintf(stderr, "usage: aon-stacks [--json|--lines] [--threads] PID[:RANK]...\n");
		return 2;
	}
	err = as ? rights_as(as) : 1;
	if (err < 0) {
		fprintf(stderr, "aon-stacks: cannot run as %s: %s\n", as, strerror(-err));
		return 1;
	}
	for (size_t i = 0; i < subjects; i++)
		take(&subject[i], threads);
	if (!err)
		rights_drop();
	s = calloc(takens ? takens : 1, sizeof(*s));
	if (!s || native_new(&n) < 0)
		return 1;
	for (size_t i = 0; i < subjects; i++)
		read_subject(&subject[i], n, s, threads);
	stacks_merge(s, takens);
	for (size_t i = 0; i < takens; i++)
		some |= !*s[i].stack.why;
	if (val[JSON])
		say_json(s, takens, word_of(threads));
	else if (val[ROWS])
		say_rows(s, takens, word_of(threads));
	else
		(val[LINES] ? say_lines : say_text)(s, takens, word_of(threads));
	native_free(n);
	free(s);
	return some ? 0 : 1;
}
