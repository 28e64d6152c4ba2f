/* SPDX-License-Identifier: Apache-2.0 */
/* Traces on demand: what Kineto may say, who is kept in mind, who gets which order, over a socket. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/capture/kineto.h"
#include "t.h"

#define SECOND 1000000000ull
#define HEAD   sizeof(struct fabric_head)
#define REQ    sizeof(struct fabric_req)

static const struct {
	const char *name, *type;
	uint64_t size; /* as it says */
	size_t len;    /* as it comes */
	int32_t n;
	int want;
} messages[] = {
	/* clang-format off */
	/* name                                     type    size       len               n   want */
	{ "a request that names nobody",            "req",  REQ,       HEAD + REQ,       0,  0       },
	{ "one with its pid and two ancestors",     "req",  REQ + 12,  HEAD + REQ + 12,  3,  0       },
	{ "one that says more pids than it brings", "req",  REQ + 12,  HEAD + REQ + 12,  4,  -EPROTO },
	{ "one that says fewer",                    "req",  REQ + 12,  HEAD + REQ + 12,  2,  -EPROTO },
	{ "one with a negative count",              "req",  REQ,       HEAD + REQ,       -1, -EPROTO },
	{ "one with the largest count",             "req",  REQ,       HEAD + REQ,       INT32_MAX, -EPROTO },
	{ "half a pid",                             "req",  REQ + 2,   HEAD + REQ + 2,   0,  -EPROTO },
	{ "half a request",                         "req",  8,         HEAD + 8,         0,  -EPROTO },
	{ "a size above what came",                 "req",  REQ + 4,   HEAD + REQ,       1,  -EPROTO },
	{ "a size below what came",                 "req",  REQ,       HEAD + REQ + 4,   0,  -EPROTO },
	{ "a size that wraps",                      "req",  UINT64_MAX, HEAD + REQ,      0,  -EPROTO },
	{ "a head alone",                           "req",  0,         HEAD,             0,  -EPROTO },
	{ "half a head",                            "req",  0,         HEAD / 2,         0,  -EPROTO },
	{ "a registration",                         "ctxt", 16,        HEAD + 16,        0,  0       },
	{ "half a registration",                    "ctxt", 8,         HEAD + 8,         0,  -EPROTO },
	{ "the question who we are",                "aon",  0,         HEAD,             0,  0       },
	{ "an unknown kind",                        "pmon", REQ,       HEAD + REQ,       0,  -ENOMSG },
	{ "a kind that only begins like one",       "reqs", REQ,       HEAD + REQ,       0,  -ENOMSG },
	{ "too long",                               "req",  KINETO_PACKET, HEAD + KINETO_PACKET, 0, -EPROTO },
	/* clang-format on */
};

static void test_check(void)
{
	static char data[2 * KINETO_PACKET];
	struct fabric_msg m;

	for (size_t i = 0; i < T_LEN(messages); i++) {
		struct fabric_head h = { .size = messages[i].size };
		struct fabric_req r = { .type = FABRIC_TRACE, .n = messages[i].n, .job = 777 };
		int got;

		memset(data, 0, sizeof(data));
		strcpy(h.type, messages[i].type);
		memcpy(data, &h, sizeof(h));
		memcpy(data + sizeof(h), &r, sizeof(r));
		got = fabric_check(&m, data, messages[i].len);
		T_OK(got == messages[i].want, "%s: %d", messages[i].name, got);
	}
}

/* --- orders: everybody can ask --- */

static const struct {
	const char *text;
	const char *want; /* a line of what Kineto gets; NULL: refused */
} orders[] = {
	/* clang-format off */
	{ "steps=5 dir=/tmp/a/41",                      "ACTIVITIES_LOG_FILE=/tmp/a/41/trace.json\n" },
	{ "steps=5 dir=/tmp/a",                         "ACTIVITIES_ITERATIONS=5\n" },
	{ "dir=/tmp/a steps=5 start=77 round=9",        "PROFILE_START_ITERATION=77\n" },
	{ "dir=/tmp/a steps=5 start=77 round=9",        "PROFILE_START_ITERATION_ROUNDUP=9\n" },
	{ "steps=5 dir=/tmp/a",                         "PROFILE_START_ITERATION_ROUNDUP=1\n" },
	{ "ms=500 dir=/tmp/a",                          "ACTIVITIES_DURATION_MSECS=500\n" },
	{ "ms=500 at=1790000000000 dir=/tmp/a",         "PROFILE_START_TIME=1790000000000\n" },
	{ "",                                           NULL },
	{ "steps=5",                                    NULL },
	{ "dir=/tmp/a",                                 NULL },
	{ "steps=5 ms=5 dir=/tmp/a",                    NULL },
	{ "steps=0 dir=/tmp/a",                         NULL },
	{ "steps=100001 dir=/tmp/a",                    NULL },
	{ "steps=-1 dir=/tmp/a",                        NULL },
	{ "steps= dir=/tmp/a",                          NULL },
	{ "steps=5x dir=/tmp/a",                        NULL },
	{ "ms=600001 dir=/tmp/a",                       NULL },
	{ "steps=99999999999999999999 dir=/tmp/a",      NULL },
	{ "steps=5 dir=tmp/a",                          NULL },
	{ "steps=5 dir=/tmp/../etc",                    NULL },
	{ "steps=5 dir=/tmp/a\nACTIVITIES_LOG_FILE=/x", NULL },
	{ "steps=5  dir=/tmp/a",                        NULL },
	{ "steps=5 dir=/tmp/a#b",                       NULL },
	{ "steps=5 verbose=1 dir=/tmp/a",               NULL },
	/* clang-format on */
};

static void test_orders(void)
{
	char config[KINETO_CONFIG], text[256];
	struct kineto_what o;

	for (size_t i = 0; i < T_LEN(orders); i++) {
		int err;

		strcpy(text, orders[i].text);
		err = kineto_parse(&o, text);
		if (!err)
			kineto_config(config, &o);
		T_OK(orders[i].want ? !err && strstr(config, orders[i].want) : err == -EINVAL,
		     "%s \"%.*s\"",
		     orders[i].want ? "taken:" : "refused:", (int)strcspn(orders[i].text, "\n"),
		     orders[i].text);
	}
	snprintf(text, sizeof(text), "steps=5 dir=/%0201d", 1);
	T_OK(kineto_parse(&o, text) == -EINVAL, "refused: a long path");
}

/* --- the table, with the clock as an argument --- */

static const struct fabric_msg ready = { .kind = FABRIC_REQ, .ready = true },
			       busy = { .kind = FABRIC_REQ };
static char got[KINETO_CONFIG];

static void new_table(struct kineto *k)
{
	*k = (struct kineto){ .sock = { -1, -1 }, .dir = -1, .wake = -1 };
	pthread_mutex_init(&k->lock, NULL);
	k->proc = calloc(KINETO_PROCS, sizeof(*k->proc));
}

static void test_order(void)
{
	pid_t self = getpid();
	struct kineto_order o[4];
	struct kineto k;

	new_table(&k);
	T_OK(kineto_order(&k, self, 5, 1, "x") == -ESRCH, "who has not asked gets no order");
	T_OK(!kineto_heard(&k, &ready, self, 5, SECOND, got) && !*got, "without an order, nothing");
	T_OK(kineto_order(&k, self, 6, 1, "x") == -EPERM, "another user cannot order");
	T_OK(!kineto_order(&k, self, 5, 1, "a=1\n"), "its own user can");
	T_OK(kineto_order(&k, self, 0, 2, "b=1\n") == -EBUSY, "one order at a time, also of root");
	kineto_heard(&k, &busy, self, 5, 2 * SECOND, got);
	T_OK(!*got, "who is busy gets nothing");
	T_OK(kineto_orders(&k, 1, o, 4) == 1 && o[0].state == KINETO_WAITS && !o[0].gone,
	     "and the order waits");
	kineto_heard(&k, &ready, self, 5, 3 * SECOND, got);
	T_OK(!strcmp(got, "a=1\n"), "then it gets it");
	kineto_heard(&k, &ready, self, 5, 4 * SECOND, got);
	T_OK(!*got, "once");
	T_OK(kineto_orders(&k, 1, o, 4) == 1 && o[0].state == KINETO_GIVEN &&
		     !kineto_orders(&k, 2, o, 4),
	     "its owner knows, others do not");
	T_OK(kineto_order(&k, self, 0, 2, "b=1\n") == -EBUSY &&
		     !kineto_order(&k, self, 5, 1, "d=1\n"),
	     "who has given an order can give it again, nobody else");
	kineto_forget(&k, 1);
	T_OK(!kineto_orders(&k, 1, o, 4) && !kineto_order(&k, self, 0, 3, "c=1\n"),
	     "an order that is forgotten leaves room for the next, of root");
	kineto_forget(&k, 3);
	kineto_heard(&k, &ready, self, 5, 5 * SECOND, got);
	T_OK(!*got, "and what is forgotten is not given");
	kineto_fini(&k);
}

static void test_reused(void)
{
	struct kineto_order o[1];
	struct kineto k;
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT); /* dead, not yet buried */
	new_table(&k);
	kineto_heard(&k, &ready, child, 5, SECOND, got);
	T_OK(!kineto_order(&k, child, 5, 1, "a=1\n") && kineto_orders(&k, 1, o, 1) == 1 &&
		     o[0].gone,
	     "a process that has ended is told as gone");
	kineto_heard(&k, &ready, child, 6, SECOND, got);
	T_OK(!*got && !kineto_orders(&k, 1, o, 1),
	     "an order does not go to a process of another user with the same number");
	waitpid(child, NULL, 0);
	T_OK(kineto_order(&k, child, 6, 1, "a=1\n") == -ESRCH, "nor is one taken for the dead");
	T_OK(kineto_order(&k, 0, 0, 1, "a=1\n") == -ESRCH, "or for nobody");
	T_OK(kineto_heard(&k, &ready, 0, 0, SECOND, got) == -ESRCH,
	     "whom the kernel does not name is not kept in mind");
	kineto_fini(&k);
}

static void test_bounds(void)
{
	static struct kineto_row row[KINETO_PROCS + 1];
	struct kineto k;
	int err = 0;

	new_table(&k);
	for (pid_t pid = 1; pid <= (pid_t)KINETO_PER_UID; pid++)
		err |= kineto_heard(&k, &ready, pid, 5, SECOND, got);
	T_OK(!err && kineto_heard(&k, &ready, 5000, 5, SECOND, got) == -ENOSPC,
	     "a user has a number of places, and no more");
	for (pid_t pid = KINETO_PER_UID + 1; pid <= (pid_t)KINETO_PROCS; pid++)
		err |= kineto_heard(&k, &ready, pid, 1000 + (uid_t)pid / 100, SECOND, got);
	T_OK(!err && kineto_heard(&k, &ready, 5000, 99, SECOND, got) == -ENOSPC,
	     "the table has an end");
	T_OK(kineto_list(&k, 5, SECOND, row, T_LEN(row)) == KINETO_PER_UID &&
		     kineto_list(&k, 0, SECOND, row, T_LEN(row)) == KINETO_PROCS &&
		     kineto_list(&k, 77, SECOND, row, T_LEN(row)) == 0,
	     "users see their own, root all");
	T_OK(kineto_list(&k, 0, SECOND + KINETO_GONE_NS + 1, row, T_LEN(row)) == 0,
	     "who has not asked for long is not listed");
	T_OK(!kineto_heard(&k, &ready, 5000, 99, SECOND + KINETO_GONE_NS + 1, got) &&
		     kineto_list(&k, 0, SECOND + KINETO_GONE_NS + 1, row, T_LEN(row)) == 1,
	     "and makes room");
	kineto_fini(&k);
}

/* --- over a socket, in a directory of ours --- */

static int client(const char *dir, const char *name)
{
	struct timeval tv = { 20, 0 };
	struct sockaddr_un sa;
	socklen_t len = fabric_address(&sa, dir, name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (bind(fd, (struct sockaddr *)&sa, len) < 0)
		perror("bind");
	return fd;
}

static ssize_t say(int fd, const char *dir, const char *type, const void *body, size_t len,
		   char *in, size_t cap)
{
	struct fabric_head h = { .size = len };
	char data[256];
	struct sockaddr_un sa;
	socklen_t to = fabric_address(&sa, dir, FABRIC_NAME);

	strcpy(h.type, type);
	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), body, len);
	if (sendto(fd, data, sizeof(h) + len, 0, (struct sockaddr *)&sa, to) < 0)
		return -1;
	return cap ? recv(fd, in, cap, 0) : 0;
}

static void test_socket(void)
{
	struct fabric_req r = { .type = FABRIC_TRACE, .job = 7 };
	char dir[] = "/tmp/aon-kineto-test-XXXXXX", in[1024], path[80], other[80];
	struct kineto_row row[2];
	struct kineto k, second;
	struct stat sb;
	int fd, far;

	if (!mkdtemp(dir))
		t_skip_all("no directory");
	snprintf(path, sizeof(path), "%s/socks", dir);
	T_OK(!kineto_init(&k, "/run/here", path, 0) && k.sock[1] >= 0, "the name is taken");
	T_OK(!stat(path, &sb) && (sb.st_mode & 07777) == 01777, "in a directory for all");
	kineto_init(&second, "/run/there", path, 0);
	T_OK(second.sock[1] == -EADDRINUSE, "by one daemon only");
	kineto_fini(&second);
	fd = client(path, "dynoconfigclient-1");
	T_OK(say(fd, path, "aon", "", 0, in, sizeof(in)) == (ssize_t)HEAD + 9 &&
		     !memcmp(in + HEAD, "/run/here", 9),
	     "it says who it is, also after another has tried");
	T_OK(say(fd, path, "req", &r, sizeof(r), in, sizeof(in)) == (ssize_t)HEAD,
	     "a request without an order gets an empty answer");
	T_OK(kineto_list(&k, getuid(), 0, row, 2) == 1 && row[0].pid == getpid() && row[0].job == 7,
	     "its sender is known as the kernel knows it");
	kineto_order(&k, getpid(), getuid(), 1, "x=1\n");
	T_OK(say(fd, path, "req", &r, sizeof(r), in, sizeof(in)) == (ssize_t)HEAD + 4 &&
		     !memcmp(in + HEAD, "x=1\n", 4),
	     "one with an order gets it");
	T_OK(say(fd, path, "ctxt", &(struct fabric_ctxt){ 0 }, 16, in, sizeof(in)) ==
		     (ssize_t)HEAD + 4,
	     "a registration is answered with a number");
	/* From elsewhere, where Kineto would end its process if we answered. */
	snprintf(other, sizeof(other), "%s/other", dir);
	mkdir(other, 0700);
	far = client(other, "dynoconfigclient-2");
	say(far, path, "aon", "", 0, in, 0);
	say(fd, path, "garbage", "", 0, in, 0);
	T_OK(say(fd, path, "aon", "", 0, in, sizeof(in)) == (ssize_t)HEAD + 9 &&
		     recv(far, in, sizeof(in), MSG_DONTWAIT) < 0,
	     "a sender of another directory, and garbage, get no answer; the next does");
	close(fd);
	close(far);
	kineto_fini(&k);
	snprintf(in, sizeof(in), "%s/" FABRIC_NAME, path);
	T_OK(access(in, F_OK) < 0, "the name is given up at the end");
	snprintf(in, sizeof(in), "rm -r %s", dir);
	(void)!system(in);
}

int main(void)
{
	test_check();
	test_orders();
	test_order();
	test_reused();
	test_bounds();
	test_socket();
	return t_done();
}
