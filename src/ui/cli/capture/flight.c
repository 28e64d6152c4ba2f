/* SPDX-License-Identifier: Apache-2.0 */
/* flight.c - reads torch's Flight Recorder from the ranks of a job; see flight.h. */
#include "cli/capture/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/num.h"
#include "base/proc.h"
#include "base/vec.h"
#include "cli/core/out.h"
#include "import/flight.h"

#define PIDS_MAX   1024u
#define GROUPS_MAX 64u
#define TEXT_MAX   48u
#define ANSWER_MAX (256u << 20)
#define ANSWER_S   10

struct group {
	char name[TEXT_MAX], what[TEXT_MAX];
	uint64_t last, open, since_ns;
};

struct asked {
	pid_t pid;
	char rank[12]; /* a number; "": not known */
	char file[64]; /* where its dump went; "": there is none */
	const char *why;
	struct group *group; /* owned */
	size_t groups;
};

struct flight {
	const struct opts *o;
	struct out out;
	struct asked *p; /* owned */
	size_t n;
};

void flight_prepare(char dir[FLIGHT_DIR])
{
	snprintf(dir, FLIGHT_DIR, "/tmp/aon-flight-XXXXXX");
	if (!mkdtemp(dir)) {
		cli_say(0, "--flight-recorder: %s: %s. Going on without it.", dir, strerror(errno));
		*dir = '\0';
		return;
	}
	setenv(FLIGHT_ENV, dir, 1);
	setenv("TORCH_FR_BUFFER_SIZE", "2000", 0); /* what current versions have anyway */
}

/* --- one process --- */

/* Of the process itself, who may have another /tmp; of nobody else, by the directory's owner. */
static int reach(pid_t pid, const char *dir)
{
	const struct timeval patience = { ANSWER_S, 0 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat proc, sb;
	char path[2 * FLIGHT_DIR];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &proc) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/root%.60s", (int)pid, dir);
	if (stat(path, &sb) < 0)
		return -errno;
	if (sb.st_uid != proc.st_uid || sb.st_mode & 022)
		return -EPERM;
	if ((size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s/%d.sock", path, (int)pid) >=
	    sizeof(at.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int hear(int fd, char **answer, size_t *len)
{
	size_t cap = 0, n = 0;
	char *buf = NULL;
	ssize_t got = 1;
	int err = 0;

	while (!err && got > 0) {
		err = n > ANSWER_MAX ? -EFBIG : vec_room(&buf, &cap, n + (64 << 10), 1);
		got = err ? 0 : read(fd, buf + n, cap - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (err || got) {
		free(buf);
		return err ? err : -ETIMEDOUT;
	}
	*answer = buf;
	*len = n;
	return 0;
}

static int ask(pid_t pid, const char *dir, const char *what, char **answer, size_t *len)
{
	char text[160];
	int fd = reach(pid, dir), err = fd < 0 ? fd : 0, n;

	if (err)
		return err;
	n = snprintf(text, sizeof(text),
		     "POST /handler/%s HTTP/1.1\r\nHost: aon\r\nConnection: close\r\n"
		     "Content-Length: 0\r\n\r\n",
		     what);
	err = send(fd, text, (size_t)n, MSG_NOSIGNAL) == n ? hear(fd, answer, len) : -EPIPE;
	close(fd);
	return err;
}

static int on_group(void *arg, const struct flight_group *g)
{
	struct asked *p = arg;
	struct group *to;

	if (p->groups == GROUPS_MAX)
		return 0;
	to = &p->group[p->groups++];
	snprintf(to->name, sizeof(to->name), "%s", g->name);
	snprintf(to->what, sizeof(to->what), "%s", g->what);
	to->last = g->last;
	to->open = g->open;
	to->since_ns = g->since_ns;
	return 0;
}

/* Never over what is there. */
static int keep(struct asked *p, const char *body, size_t len)
{
	int fd = -1, err = -EEXIST;

	for (int i = 1; fd < 0 && err == -EEXIST && i < 100; i++) {
		snprintf(p->file, sizeof(p->file),
			 i > 1 ? "aon-flight-%d.%d.json" : "aon-flight-%d.json", (int)p->pid, i);
		fd = open(p->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		err = fd < 0 ? -errno : 0;
	}
	if (!err && write(fd, body, len) != (ssize_t)len)
		err = -EIO;
	if (fd >= 0 && close(fd) < 0 && !err)
		err = -errno;
	if (err)
		*p->file = '\0';
	return err;
}

static const char *reason(int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED)
		return "it does not answer: start it with aon run --flight-recorder -- CMD; it "
		       "answers once torch.distributed has a group (torch 2.8 and later)";
	return err == -EBADMSG ? "what it answers is no dump of a Flight Recorder" : strerror(-err);
}

/* gloo's recorder; where it has nothing, NCCL's. */
static int take(struct asked *p)
{
	static const char *const what[] = { "fr_trace_json", "dump_nccl_trace_json" };
	char dir[FLIGHT_DIR], *answer;
	const char *body;
	size_t len;
	int err = 0;

	proc_env(p->pid, "RANK", p->rank, sizeof(p->rank));
	if (strspn(p->rank, "0123456789") != strlen(p->rank))
		*p->rank = '\0';
	proc_env(p->pid, FLIGHT_ENV, dir, sizeof(dir));
	if (!*dir)
		return -ENOENT;
	for (size_t i = 0; i < 2 && !err && !p->groups; i++) {
		err = ask(p->pid, dir, what[i], &answer, &len);
		if (err)
			return err;
		err = flight_body(answer, len, &body, &len);
		err = err ? err : flight_each(body, len, on_group, p);
		if (err >= 0)
			err = err || i ? keep(p, body, len) : 0;
		free(answer);
	}
	return err;
}

/* --- all of them --- */

static const struct group *group_of(const struct asked *p, const char *name)
{
	for (size_t i = 0; i < p->groups; i++)
		if (!strcmp(p->group[i].name, name))
			return &p->group[i];
	return NULL;
}

/* The collective of the group that somebody waits in, the first there is; NULL: none. */
static const struct group *stuck(const struct flight *f, const char *name)
{
	const struct group *first = NULL, *g;

	for (size_t i = 0; i < f->n; i++) {
		g = group_of(&f->p[i], name);
		if (g && g->open && (!first || g->open < first->open))
			first = g;
	}
	return first;
}

static const char *who(const struct asked *p, char *buf, size_t cap)
{
	if (*p->rank)
		snprintf(buf, cap, "rank %.11s", p->rank);
	else
		snprintf(buf, cap, "pid %d", (int)p->pid);
	return buf;
}

static void say_stuck(const struct flight *f, const char *name)
{
	const struct group *at = stuck(f, name), *g;
	char t[FMT_LEN], buf[32];
	uint64_t ns;

	if (!at)
		return;
	ns = clock_wall_ns();
	out_line(&f->out, OUT_BOLD, "  Group %s: collective %" PRIu64 " (%s) has not ended for %s.",
		 name, at->open, at->what,
		 out_time(&f->out, t, sizeof(t), ns > at->since_ns ? ns - at->since_ns : 0));
	for (size_t i = 0; i < f->n; i++) {
		g = group_of(&f->p[i], name);
		if (g && g->last < at->open)
			out_line(&f->out, OUT_WARN,
				 "  The others wait for %s: the last that it called is %" PRIu64
				 ".",
				 who(&f->p[i], buf, sizeof(buf)), g->last);
	}
}

static void print(const struct flight *f)
{
	static const struct col col[] = { COL_TEXT("  Rank", 0),  COL_NUM("pid", 0),
					  COL_TEXT("group", 0),   COL_NUM("called", 0),
					  COL_NUM("waits in", 0), COL_NAME("what", 0) };
	struct table t;

	/* A group that the first rank lacks is listed with the first rank that has it. */
	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->p[i].groups; k++) {
			bool told = false;

			for (size_t b = 0; b < i; b++)
				told |= group_of(&f->p[b], f->p[i].group[k].name) != NULL;
			if (!told)
				say_stuck(f, f->p[i].group[k].name);
		}
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->p[i].groups; k++) {
			const struct group *g = &f->p[i].group[k];

			table_add(&t, "  %s", *f->p[i].rank ? f->p[i].rank : "-");
			table_add(&t, "%d", (int)f->p[i].pid);
			table_add_text(&t, &f->out, g->name);
			table_add(&t, "%" PRIu64, g->last);
			if (g->open)
				table_add(&t, "%" PRIu64, g->open);
			else
				table_add(&t, "-");
			table_add_text(&t, &f->out, g->what);
		}
	if (t.cells)
		table_print(&t, &f->out, 2);
	table_fini(&t);
	for (size_t i = 0; i < f->n; i++)
		if (*f->p[i].file)
			out_line(&f->out, OUT_PLAIN, "  dump      %s", f->p[i].file);
}

static void print_json(const struct flight *f)
{
	struct json j;

	json_begin(&j, stdout, "aon.flight/1");
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < f->n; i++) {
		const struct asked *p = &f->p[i];

		json_open(&j, NULL, '{');
		json_members(&j, J_U64("pid", (uint64_t)p->pid),
			     J_I64_IF("rank", *p->rank, (int64_t)num_front(p->rank, NULL)),
			     J_STR("dump", *p->file ? p->file : NULL), J_STR("why", p->why));
		json_open(&j, "groups", '[');
		for (size_t k = 0; k < p->groups; k++) {
			const struct group *g = &p->group[k];
			const struct group *at = stuck(f, g->name);

			json_object(&j, NULL, J_STR("group", g->name), J_U64("called", g->last),
				    J_I64_IF("waits_in", g->open, (int64_t)g->open),
				    J_STR("what", g->open ? g->what : NULL),
				    J_BOOL("missing", at && g->last < at->open));
		}
		json_close(&j);
		json_close(&j);
	}
	json_close(&j);
	json_end(&j);
}

static int choose(struct flight *f)
{
	const char *list = f->o->val[OPT_PIDS];
	uint64_t pid;
	int got;

	if (!list || !*list)
		return cli_misuse("--flight-recorder needs --pid");
	while ((got = num_next(&list, INT32_MAX, &pid)) > 0 && f->n < PIDS_MAX)
		f->p[f->n++] = (struct asked){ .pid = (pid_t)pid };
	return got ? cli_misuse("--pid takes a number, or some with commas between, not '%s'",
				f->o->val[OPT_PIDS])
		   : CLI_OK;
}

int flight_capture(const struct opts *o)
{
	struct flight f = { .o = o, .p = calloc(PIDS_MAX, sizeof(*f.p)) };
	int rc = f.p ? choose(&f) : cli_say(CLI_FAIL, "out of memory"), err;

	out_init(&f.out, stdout, o);
	for (size_t i = 0; i < f.n && rc != CLI_USAGE; i++) {
		f.p[i].group = calloc(GROUPS_MAX, sizeof(*f.p[i].group));
		err = f.p[i].group ? take(&f.p[i]) : -ENOMEM;
		if (err < 0) {
			f.p[i].why = reason(err);
			rc = cli_say(CLI_FAIL, "pid %d: %s", (int)f.p[i].pid, f.p[i].why);
		}
	}
	if (rc != CLI_USAGE && o->val[OPT_JSON])
		print_json(&f);
	else if (rc != CLI_USAGE)
		print(&f);
	for (size_t i = 0; i < f.n; i++)
		free(f.p[i].group);
	free(f.p);
	return rc;
}
