/* SPDX-License-Identifier: Apache-2.0 */
/* While answers take long, others do not wait: the server on a real socket. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "serve/http/http.h"
#include "serve/http/http_priv.h"
#include "serve/serve.h"
#include "storekit.h"

#define TOKEN "0123456789abcdefghij"
#define SLOW  6 /* more than the server has threads */

static int port;

static void make_store(const char *path)
{
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 4242);
	uint32_t id = 0;

	for (uint32_t i = 1; i <= 3; i++) {
		struct track l = { .process = p.id,
				   .device = i < 3 ? 0 : TRACK_HOST,
				   .stream = 7 + i };

		id = 0;
		store_track(st, &l, &id);
	}
	if (kit_commit(st, &p, 0, 1000, 1) < 0)
		abort();
	store_close(st);
}

static int ask(const char *path)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct timeval most = { .tv_sec = 60 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char head[512];

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		abort();
	snprintf(head, sizeof(head),
		 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer " TOKEN
		 "\r\nConnection: close\r\n\r\n",
		 path, port);
	if (write(fd, head, strlen(head)) != (ssize_t)strlen(head))
		abort();
	return fd;
}

/* The status of the answer and its text; 0: there was none. */
static int take(int fd, char *text, size_t cap)
{
	size_t n = 0;
	ssize_t got;
	int status = 0;

	while (n + 1 < cap && (got = read(fd, text + n, cap - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(fd);
	sscanf(text, "HTTP/1.1 %d", &status);
	return status;
}

static int get(const char *path)
{
	char text[65536];

	return take(ask(path), text, sizeof(text));
}

static void run_path(char *out, size_t cap, struct serve *s, const char *view)
{
	struct viewer root = { .all = true };
	struct runs rs;

	if (runs_load(&rs, s, &root) < 0 || rs.n != 1)
		abort();
	snprintf(out, cap, "/api/v1/run/%s/%s", rs.run[0].id, view);
	runs_fini(&rs);
}

/* Whoever holds it computes, for as long as the test likes. */
static void while_one_computes(struct serve *s)
{
	static const char *const light[] = { "/health", "/metrics", "/api/v1/runs",
					     "/api/v1/openapi.json" };
	char path[128], kept[128], text[65536];
	int slow[SLOW], ok = 0;

	run_path(kept, sizeof(kept), s, "steps");
	T_OK(get(kept) == 200, "an answer that takes events is given");
	pthread_mutex_lock(&s->heavy);
	for (int i = 0; i < SLOW; i++) {
		char view[32];

		snprintf(view, sizeof(view), "ops?limit=%d", i + 1);
		run_path(path, sizeof(path), s, view);
		slow[i] = ask(path);
	}
	for (size_t i = 0; i < T_LEN(light); i++) {
		int status = get(light[i]);

		T_OK(status == 200 || status == 503, "%s answers while six answers take long",
		     light[i]);
	}
	run_path(path, sizeof(path), s, "tracks?soon=1");
	T_OK(get(path) == 200, "so does the timeline");
	run_path(path, sizeof(path), s, "accounting");
	T_OK(get(path) == 200, "and what needs no events");
	T_OK(get(kept) == 200, "and what was answered before");
	for (int i = 0; i < SLOW; i++)
		ok += recv(slow[i], text, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
	T_OK(ok == SLOW, "those that take long are not answered yet");
	pthread_mutex_unlock(&s->heavy);
	ok = 0;
	for (int i = 0; i < SLOW; i++)
		ok += take(slow[i], text, sizeof(text)) == 200;
	T_OK(ok == SLOW, "all of them are, in the end");
}

static void too_many(struct serve *s)
{
	int fd[POOL_WAITING + 4], busy = 0, ok = 0;
	char path[128], text[65536];

	pthread_mutex_lock(&s->heavy);
	for (size_t i = 0; i < T_LEN(fd); i++) {
		char view[32];

		snprintf(view, sizeof(view), "ops?limit=%zu", i + 100);
		run_path(path, sizeof(path), s, view);
		fd[i] = ask(path);
	}
	/* One is with the worker, POOL_WAITING wait: so three at least are refused, while all others wait. */
	for (size_t i = 0; busy < 3; i = (i + 1) % T_LEN(fd)) {
		if (fd[i] < 0 || recv(fd[i], text, 1, MSG_PEEK | MSG_DONTWAIT) < 1) {
			usleep(1000);
			continue;
		}
		if (take(fd[i], text, sizeof(text)) == 503 && strstr(text, "Retry-After:"))
			busy++;
		fd[i] = -1;
	}
	T_OK(busy == 3, "too many are told to come again");
	close(fd[0]); /* one who asked is gone when its answer comes */
	fd[0] = -1;
	pthread_mutex_unlock(&s->heavy);
	for (size_t i = 0; i < T_LEN(fd); i++)
		ok += fd[i] >= 0 && take(fd[i], text, sizeof(text)) == 200;
	T_OK(ok >= (int)POOL_WAITING - 1, "the others get their answers");
}

static bool held; /* atomic */

static void *hold_until_it_ends(void *arg)
{
	struct serve *s = arg;

	pthread_mutex_lock(&s->heavy);
	__atomic_store_n(&held, true, __ATOMIC_RELEASE); /* B: main waits for it */
	while (!__atomic_load_n(&s->ending, __ATOMIC_RELAXED))
		usleep(1000);
	pthread_mutex_unlock(&s->heavy);
	return NULL;
}

static void end_while_busy(struct serve *s, struct http *h)
{
	int fd[3], ok = 0;
	char path[128], text[65536];
	pthread_t holder;

	pthread_create(&holder, NULL, hold_until_it_ends, s);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE)) /* B */
		usleep(1000);
	for (size_t i = 0; i < T_LEN(fd); i++) {
		char view[32];

		snprintf(view, sizeof(view), "ops?limit=%zu", i + 1000);
		run_path(path, sizeof(path), s, view);
		fd[i] = ask(path);
	}
	T_OK(get("/api/v1/runs") == 200, "others are answered still");
	http_stop(h);
	pthread_join(holder, NULL);
	for (size_t i = 0; i < T_LEN(fd); i++) {
		int status = take(fd[i], text, sizeof(text));

		ok += status == 200 || status == 503 || status == 0;
	}
	T_OK(ok == (int)T_LEN(fd), "the server ends while answers take long");
}

int main(void)
{
	struct serve_opts o = { .listen = "127.0.0.1:0", .guard = { .token = TOKEN } };
	struct store_why why;
	char text[256] = "";
	struct serve *s;
	struct http *h;

	signal(SIGPIPE, SIG_IGN);
	kit_begin();
	make_store(kit_path("pool.db"));
	if (serve_new(&s) < 0 || serve_add(s, kit_path("pool.db"), NULL, &why) < 0 ||
	    http_start(&h, s, &o, text) < 0) {
		fprintf(stderr, "%s\n", text);
		abort();
	}
	port = atoi(strrchr(http_address(h), ':') + 1);
	while_one_computes(s);
	too_many(s);
	end_while_busy(s, h);
	serve_free(s);
	return kit_end();
}
