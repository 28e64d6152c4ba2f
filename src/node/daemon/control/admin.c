/* SPDX-License-Identifier: Apache-2.0 */
/* admin.c - requests of the node's owner. */
#include "daemon/control/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "daemon/core/aond.h"
#include "daemon/control/audit.h"
#include "daemon/core/count.h"
#include "model/sample_most.h"

#define REQUEST_MAX    2048
#define CAPTURE_MS_MAX 600000u

static void close_client(struct admin_client *c)
{
	loop_del(&c->admin->aond->loop, &c->sock);
	kineto_forget(&c->admin->aond->kineto, c->id);
	captures_forget(&c->admin->aond->captures, c->id);
	close(c->sock.fd);
	free(c->out);
	*c = (struct admin_client){ .sock.fd = -1 };
}

/* Sends what the socket takes; the rest when it is asked for. */
static void send_on(struct admin_client *c)
{
	for (;;) {
		size_t n = c->len - c->at < ADMIN_PACKET ? c->len - c->at : ADMIN_PACKET;

		if (send(c->sock.fd, c->out + c->at, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN ||
			    loop_mod(&c->admin->aond->loop, &c->sock, EPOLLOUT) < 0)
				close_client(c);
			return;
		}
		c->at += n;
		if (n == 0) /* the empty packet was the last */
			break;
	}
	free(c->out);
	c->out = NULL;
	loop_mod(&c->admin->aond->loop, &c->sock, EPOLLIN);
}

/* Owns the text from here on; NULL: there was no memory for it. */
static void answer(struct admin_client *c, char *text, size_t len)
{
	if (!text) {
		close_client(c);
		return;
	}
	c->out = text;
	c->len = len;
	c->at = 0;
	send_on(c);
}

/* --- requests: each writes its answer to `f` --- */

typedef void request_fn(FILE *f, struct admin_client *c, char *arg);

static void do_ping(FILE *f, struct admin_client *c, char *arg)
{
	(void)c;
	(void)arg;
	fputs("pong\n", f);
}

static void do_status(FILE *f, struct admin_client *c, char *arg)
{
	(void)arg;
	status_json(c->admin->aond, f);
}

static void do_info(FILE *f, struct admin_client *c, char *arg)
{
	const struct aond *d = c->admin->aond;

	(void)arg;
	fprintf(f, "version %s\npid %d\nuptime_s %llu\nsessions %u\nstore %s\n", AON_VERSION,
		(int)getpid(), (unsigned long long)((clock_mono_ns() - d->start_ns) / 1000000000u),
		d->roster.count, d->param.store.s);
	fprintf(f, "sampled %zu\nsampling %s\n", d->sampler.conn.fd < 0 ? 0 : d->sampler.targets,
		sampler_why(&d->sampler));
}

/* The store, then what each process does now: its row, when its newest sample was, how many there are, the
 * time that they stand for; state and name of most of them, and their time. Texts are in the store. */
static void do_code(FILE *f, struct admin_client *c, char *arg)
{
	uint64_t now = clock_mono_ns();

	(void)arg;
	fprintf(f, "store %s\n", c->admin->aond->param.store.s);
	for (const struct sess *s = c->admin->aond->roster.first; s; s = s->next) {
		struct sample_most m = { .n = 0 };
		const struct sample_place *p;

		if (s->stream)
			stream_now(s->stream, now, &m);
		p = sample_most(&m);
		if (p)
			fprintf(f, "%u %llu %llu %llu %u %u %llu\n", s->stream->proc.id,
				(unsigned long long)m.newest_ns, (unsigned long long)m.samples,
				(unsigned long long)m.ns, (unsigned)p->state, p->name,
				(unsigned long long)p->ns);
	}
}

static void do_flush(FILE *f, struct admin_client *c, char *arg)
{
	(void)arg;
	roster_sync(&c->admin->aond->roster);
	telemetry_flush(&c->admin->aond->telemetry);
	c->flush = aond_commit(c->admin->aond, true);
	if (!c->flush)
		fputs("error: no memory\n", f);
	else
		loop_mod(&c->admin->aond->loop, &c->sock, 0); /* one request at a time */
}

static void do_tier(FILE *f, struct admin_client *c, char *arg)
{
	struct aond *d = c->admin->aond;
	char *word = arg, *pid = strsep(&word, " ");
	struct param scratch = d->param;
	struct param_why why;
	struct journal_entry e = { .kind = ENTRY_TIER };
	char line[ENTRY_TEXT];

	if (!word || param_set(&scratch, "tier", word, &why) < 0) {
		fprintf(f, "error: expected tier PID WORD%s%s\n", word ? "; " : "",
			word ? why.text : "");
	} else if (!roster_tier(&d->roster, (pid_t)num_front_i64(pid, NULL),
				(enum tier)scratch.tier)) {
		fprintf(f, "error: no session of pid %.20s\n", pid);
	} else {
		entry_u(&e, FIELD_PID, num_front(pid, NULL));
		entry_s(&e, FIELD_LEVEL, word);
		entry_u(&e, FIELD_UID, c->uid);
		audit_say(c->uid, c->pid, "tier", 0, "%s", entry_text(&e, line));
		aond_journal(d, &e);
		fprintf(f, "ok\n");
	}
}

/* PID MS, and the number of the order: one that nobody can guess, because files are named by it. */
static void order(FILE *f, struct admin_client *c, char *arg)
{
	struct journal_entry e = { .kind = ENTRY_PROFILER };
	struct aond *d = c->admin->aond;
	uint32_t number = 0;
	unsigned long ms;
	int err;
	const char *end;
	long pid = num_front_i64(arg, &end);

	ms = *end == ' ' ? num_front(end + 1, &end) : 0;
	if (*end || pid < 1 || ms < 1 || ms > CAPTURE_MS_MAX) {
		fputs("error: expected capture PID MS\n", f);
		return;
	}
	while (!number)
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			number = (uint32_t)clock_mono_ns();
	err = roster_capture(&d->roster, (pid_t)pid, c->uid, number, (uint32_t)ms) ? 0 : -ESRCH;
	audit_say(c->uid, c->pid, "capture", err, "pid %ld, %lu ms", pid, ms);
	if (!err) {
		entry_s(&e, FIELD_PROFILER, "XLA");
		entry_u(&e, FIELD_MS, ms);
		entry_u(&e, FIELD_PID, (uint64_t)pid);
		entry_u(&e, FIELD_UID, c->uid);
		aond_journal(d, &e);
		fprintf(f, "number %08x\n", number);
	} else {
		fprintf(f, "error: no session of a pid %ld of yours\n", pid);
	}
}

static void do_capture(FILE *f, struct admin_client *c, char *arg)
{
	if (*arg >= '0' && *arg <= '9')
		order(f, c, arg);
	else
		capture_ask(f, &c->admin->aond->captures, c, arg);
}

static void do_yield(FILE *f, struct admin_client *c, char *arg)
{
	struct lease_ask a = { .hw = LEASE_CUPTI, .uid = c->uid, .pid = c->pid, .guest = c->guest };
	char extra;
	uint32_t number;
	int err = -EINVAL;

	snprintf(a.tool, sizeof(a.tool), "aon yield");
	if (sscanf(arg, "%d %u%c", &a.of, &a.ms, &extra) == 2)
		err = lease_take(&c->admin->aond->leases, &a, &number);
	if (!err)
		fprintf(f, "number %08x\n", number);
	else if (err == -ESRCH)
		fprintf(f, "error: no session of a pid %d of yours\n", a.of);
	else
		fprintf(f, "error: %s\n",
			err == -EBUSY ? "another user has a lease on it" : "expected yield PID MS");
}

static void do_lease(FILE *f, struct admin_client *c, char *arg)
{
	lease_request(f, &c->admin->aond->leases, c, arg);
}

/* KEY=VALUE: until the next reload or start. */
static void do_set(FILE *f, struct admin_client *c, char *arg)
{
	char *value = arg, *key = strsep(&value, "=");
	struct param_why why = { "expected set KEY=VALUE" };
	struct journal_entry e = { .kind = ENTRY_SET };
	int err = value ? aond_set(c->admin->aond, key, value, &why) : -EINVAL;

	audit_say(c->uid, c->pid, "set", err, "%.40s=%.40s", key, value ? value : "");
	if (err < 0) {
		fprintf(f, "error: %s\n", why.text);
	} else {
		entry_s(&e, FIELD_SETTING, key);
		entry_s(&e, FIELD_VALUE, value);
		entry_u(&e, FIELD_UID, c->uid);
		aond_journal(c->admin->aond, &e);
		fprintf(f, "ok\n");
	}
}

/* The connection is the broker's from here on. */
static void do_subscribe(FILE *f, struct admin_client *c, char *arg)
{
	const struct broker_asker who = { c->uid, c->pid, !c->guest };
	struct aond *d = c->admin->aond;
	struct need need;
	int err;

	if (need_parse(&need, arg) < 0) {
		fputs("error: expected kinds=HEX, pids=P,P, rate=N, priority=low|normal|high, "
		      "window or detail\n",
		      f);
		return;
	}
	loop_del(&d->loop, &c->sock);
	err = broker_subscribe(&d->broker, c->sock.fd, &who, &need,
			       (uint32_t)d->param.subscribe_mib);
	audit_say(c->uid, c->pid, "subscribe", err, "%s of %s, priority %s%s",
		  need.window ? "windows" : "events", c->guest ? "own processes" : "all processes",
		  need_word[need.priority], need.detail ? ", in detail" : "");
	if (!err) {
		kineto_forget(&d->kineto, c->id);
		captures_forget(&d->captures, c->id);
		*c = (struct admin_client){ .sock.fd = -1 };
		return;
	}
	count_add(COUNT_consumers_refused, 1);
	loop_add(&d->loop, &c->sock, EPOLLIN);
	fputs(err == -EBUSY ? "error: busy\n" : "error: no memory\n", f);
}

static void do_reload(FILE *f, struct admin_client *c, char *arg)
{
	struct param_why why;
	int err;

	(void)arg;
	err = aond_reload(c->admin->aond, &why);
	audit_say(c->uid, c->pid, "reload", err, "settings");
	if (err < 0)
		fprintf(f, "error: %s; the old settings are kept\n", why.text);
	else
		fputs("ok\n", f);
}

static void do_stop(FILE *f, struct admin_client *c, char *arg)
{
	(void)arg;
	audit_say(c->uid, c->pid, "stop", 0, "aond");
	c->admin->aond->stop = true;
	fputs("ok\n", f);
}

static const struct request {
	const char *word;
	request_fn *fn;
	bool guest; /* for everybody */
} requests[] = {
	/* clang-format off */
	{ "ping",   do_ping,   true  },
	{ "status", do_status, false },
	{ "info",   do_info,   false },
	{ "code",   do_code,   false },
	{ "flush",  do_flush,  false },
	{ "tier",   do_tier,   false },
	{ "kineto", kineto_ask, true  },
	{ "capture", do_capture, true },
	{ "yield",  do_yield,  true  },
	{ "lease",  do_lease,  true  },
	{ "budget", budget_ask, true  },
	{ "set",    do_set,    false },
	{ "subscribe", do_subscribe, true },
	{ "reload", do_reload, false },
	{ "stop",   do_stop,   false },
	/* clang-format on */
};

static void dispatch(FILE *f, struct admin_client *c, char *word, char *arg)
{
	const struct request *r = requests, *end = r + sizeof(requests) / sizeof(requests[0]);

	while (r < end && strcmp(word, r->word))
		r++;
	if (r < end && (r->guest || !c->guest)) {
		r->fn(f, c, arg ? arg : word + strlen(word));
	} else if (r < end) {
		audit_say(c->uid, c->pid, word, -EPERM, "%s", arg ? arg : "");
		fputs("error: that is for the node's admin\n", f);
	} else {
		fputs(c->guest ? "error: expected ping, kineto, capture, yield, lease, budget or "
				 "subscribe\n"
			       : "error: expected ping, status, info, code, flush, tier, kineto, "
				 "capture, "
				 "yield, lease, budget, set, subscribe, reload or stop\n",
		      f);
	}
}

/* No answer yet to a client that waits for a commit; none on a connection that the broker has now. */
static void request(struct admin_client *c, char *line)
{
	char *arg = line, *word, *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	line[strcspn(line, "\n")] = '\0';
	word = strsep(&arg, " ");
	count_add(COUNT_admin_requests, 1);
	if (f)
		dispatch(f, c, word, arg);
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	if (c->sock.fd < 0 || c->flush)
		free(text);
	else
		answer(c, text, len);
}

/* --- sockets --- */

static void client_ready(struct watch *w, uint32_t events)
{
	struct admin_client *c = container_of(w, struct admin_client, sock);
	char line[REQUEST_MAX];
	ssize_t n;

	if (c->out && events & EPOLLOUT) {
		send_on(c);
		return;
	}
	n = events & EPOLLIN && !c->flush ? recv(w->fd, line, sizeof(line) - 1, MSG_DONTWAIT) : 0;
	if (n <= 0 || memchr(line, '\0', (size_t)n)) {
		if (n >= 0 || errno != EAGAIN)
			close_client(c);
		return;
	}
	line[n] = '\0';
	request(c, line);
}

/* Into a free place of those from `first` on. -EBUSY: there is none. */
static int take_in(struct admin *a, int sock, uid_t uid, pid_t pid, int first, int places)
{
	for (int i = first; i < first + places; i++) {
		struct admin_client *c = &a->client[i];
		int err;

		if (c->sock.fd >= 0)
			continue;
		*c = (struct admin_client){ .sock = { sock, client_ready },
					    .admin = a,
					    .id = ++a->ids,
					    .uid = uid,
					    .pid = pid,
					    .guest = first != 0 };
		err = loop_add(&a->aond->loop, &c->sock, EPOLLIN);
		if (err)
			c->sock.fd = -1;
		return err;
	}
	return -EBUSY;
}

static void admin_accept(struct watch *w, uint32_t events)
{
	struct admin *a = container_of(w, struct admin, listen);
	int sock = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct ucred cred = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(cred);

	(void)events;
	if (sock < 0)
		return;
	getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	if (!take_in(a, sock, cred.uid, cred.pid, 0, ADMIN_CLIENTS))
		return;
	count_add(COUNT_admin_refused, 1);
	close(sock);
}

int admin_guest(struct admin *a, int sock, uid_t uid, pid_t pid)
{
	int own = 0;

	for (int i = ADMIN_CLIENTS; i < ADMIN_CLIENTS + ADMIN_GUESTS; i++)
		own += a->client[i].sock.fd >= 0 && a->client[i].uid == uid;
	if (own < ADMIN_PER_UID && !take_in(a, sock, uid, pid, ADMIN_CLIENTS, ADMIN_GUESTS))
		return 0;
	count_add(COUNT_admin_refused, 1);
	return -EBUSY;
}

void admin_flushed(struct admin *a, uint64_t done, int err)
{
	for (int i = 0; i < ADMIN_CLIENTS + ADMIN_GUESTS; i++) {
		struct admin_client *c = &a->client[i];
		char *text = NULL;

		if (c->sock.fd < 0 || !c->flush || c->flush > done)
			continue;
		c->flush = 0;
		if (asprintf(&text, err ? "error: store: %s\n" : "ok\n", strerror(-err)) < 0)
			text = NULL;
		answer(c, text, text ? strlen(text) : 0);
	}
}

int admin_init(struct admin *a, struct aond *d, int listen_fd)
{
	*a = (struct admin){ .aond = d, .listen = { listen_fd, admin_accept } };
	for (int i = 0; i < ADMIN_CLIENTS + ADMIN_GUESTS; i++)
		a->client[i].sock.fd = -1;
	return loop_add(&d->loop, &a->listen, EPOLLIN);
}

void admin_fini(struct admin *a)
{
	for (int i = 0; i < ADMIN_CLIENTS + ADMIN_GUESTS; i++)
		if (a->client[i].sock.fd >= 0)
			close_client(&a->client[i]);
	loop_del(&a->aond->loop, &a->listen);
	close(a->listen.fd);
}
