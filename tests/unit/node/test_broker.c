/* SPDX-License-Identifier: Apache-2.0 */
/* What consumers say that they need, and what of it each gets: by union, user, share and priority. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/broker_priv.h"
#include "t.h"

static const struct {
	const char *words;
	int err;
	uint64_t kinds;
	uint32_t pids, rate;
	enum need_priority priority;
	bool window, detail;
} need_rows[] = {
	{ "", 0, UINT64_MAX, 0, 0, NEED_NORMAL, false, false },
	{ "kinds=1c0 pids=7,8 rate=100 priority=high detail", 0, 0x1c0, 2, 100, NEED_HIGH, false,
	  true },
	{ "window  priority=low", 0, UINT64_MAX, 0, 0, NEED_LOW, true, false },
	{ "later=5 windows", 0, UINT64_MAX, 0, 0, NEED_NORMAL, false, false },
	{ "kinds=0", -EINVAL, 0, 0, 0, 0, false, false },
	{ "kinds=xyz", -EINVAL, 0, 0, 0, 0, false, false },
	{ "kinds=10000000000000000", -EINVAL, 0, 0, 0, 0, false, false },
	{ "pids=", -EINVAL, 0, 0, 0, 0, false, false },
	{ "pids=1,,2", -EINVAL, 0, 0, 0, 0, false, false },
	{ "pids=-1", -EINVAL, 0, 0, 0, 0, false, false },
	{ "rate=0", -EINVAL, 0, 0, 0, 0, false, false },
	{ "priority=urgent", -EINVAL, 0, 0, 0, 0, false, false },
};

static void words(void)
{
	char text[256] = "pids=1";
	struct need n;

	for (size_t i = 0; i < T_LEN(need_rows); i++) {
		char copy[128];
		int err;

		snprintf(copy, sizeof(copy), "%s", need_rows[i].words);
		err = need_parse(&n, copy);
		T_OK(err == need_rows[i].err &&
			     (err ||
			      (n.kinds == need_rows[i].kinds && n.pids == need_rows[i].pids &&
			       n.rate == need_rows[i].rate && n.priority == need_rows[i].priority &&
			       n.window == need_rows[i].window && n.detail == need_rows[i].detail)),
		     "need '%s'", need_rows[i].words);
	}
	for (unsigned i = 0; i < NEED_PIDS; i++)
		strcat(text, ",2");
	T_OK(need_parse(&n, text) == -EINVAL, "more processes than a consumer can name");
}

/* --- a broker --- */

static struct broker b;
static struct loop loop;

static int join(uid_t uid, bool all, const char *words)
{
	const struct broker_asker who = { uid, 1, all };
	char copy[128], said[16];
	struct need need;
	int pair[2];

	snprintf(copy, sizeof(copy), "%s", words);
	if (need_parse(&need, copy) || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return -1;
	if (broker_subscribe(&b, pair[0], &who, &need, 1)) {
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	return recv(pair[1], said, sizeof(said), 0) == 4 ? pair[1] : -1;
}

static void part(int fd)
{
	close(fd);
	loop_wait(&loop, 0);
	loop_work(&loop);
}

static const struct ring *ring_of(uid_t uid, bool all, enum need_priority priority, bool window)
{
	for (const struct audience *a = b.first; a; a = a->next)
		if (a->all == all && (all || a->uid == uid) && a->priority == priority &&
		    a->window == window)
			return &a->ring;
	return NULL;
}

#define EVENTS 10u

static void emit(uid_t uid, uint32_t pid)
{
	const struct process p = { .id = pid, .pid = pid, .uid = uid };
	struct event ev[EVENTS] = { 0 };

	for (unsigned i = 0; i < EVENTS; i++)
		ev[i].kind = i % 2 ? EVENT_STEP : EVENT_KERNEL;
	broker_events(&b, &p, ev, EVENTS);
}

static void unions(void)
{
	char steps[32], both[48];
	const struct ring *r;
	int one, two, three;

	snprintf(steps, sizeof(steps), "kinds=%x pids=5", 1u << EVENT_STEP);
	snprintf(both, sizeof(both), "kinds=%x pids=6", 1u << EVENT_KERNEL);
	one = join(1, false, steps);
	r = ring_of(1, false, NEED_NORMAL, false);
	emit(1, 5);
	emit(1, 6);
	emit(2, 5);
	T_OK(r->head == EVENTS / 2, "only what is needed is written");
	two = join(1, false, both);
	T_OK(b.rings == 1, "who is alike shares a ring");
	emit(1, 5);
	emit(1, 6);
	emit(1, 7);
	T_OK(r->head == EVENTS / 2 + 2 * EVENTS, "into which goes what any of them needs");
	three = join(1, false, "");
	emit(1, 7);
	T_OK(r->head == EVENTS / 2 + 3 * EVENTS, "all, if one needs all");
	part(three);
	part(two);
	emit(1, 6);
	emit(1, 5);
	T_OK(r->head == 4 * EVENTS, "and no more than that when it has left");
	part(one);
	T_OK(!b.first && !b.rings && !b.consumers, "nobody is left");
}

static void windows(void)
{
	struct rollup row[2] = { { .kind = EVENT_STEP, .count = 3, .total_ns = 30 },
				 { .kind = EVENT_KERNEL, .count = 5, .total_ns = 50 } };
	const struct window w = { .process = 5, .rows = 2, .start_ns = 7, .row = row };
	const struct process mine = { .id = 5, .pid = 5, .uid = 1 }, other = { .uid = 2 };
	char words[32];
	int fd;

	snprintf(words, sizeof(words), "window kinds=%x", 1u << EVENT_KERNEL);
	fd = join(1, false, words);
	broker_window(&b, &mine, &w);
	broker_window(&b, &other, &w);
	emit(1, 5);
	T_OK(ring_of(1, false, NEED_NORMAL, true)->head == 1,
	     "who wants windows gets those, of the kinds that it needs, and no events");
	part(fd);
}

static void shares(void)
{
	const struct ring *low, *high;
	int fd[2] = { join(1, false, "priority=low"), join(1, false, "priority=high") };
	int all;

	low = ring_of(1, false, NEED_LOW, false);
	high = ring_of(1, false, NEED_HIGH, false);
	broker_tick(&b, 17 * EVENTS, false);
	for (int i = 0; i < 20; i++)
		emit(1, 5);
	T_OK(low->head == EVENTS && high->head == 16 * EVENTS,
	     "a second's events are shared out by priority");
	T_OK(low->map->skipped == 19 * EVENTS && high->map->skipped == 4 * EVENTS,
	     "and what is over is told in the ring that it is missing from");
	all = join(0, true, "");
	broker_tick(&b, 0, false);
	for (int i = 0; i < 100; i++)
		emit(1, 5);
	T_OK(low->head == 101 * EVENTS && high->head == 116 * EVENTS &&
		     ring_of(0, true, NEED_NORMAL, false)->head == 100 * EVENTS,
	     "without a limit all get all");
	broker_tick(&b, 0, true);
	emit(1, 5);
	T_OK(low->head == 101 * EVENTS && low->skipped == 20 * EVENTS && high->head == 117 * EVENTS,
	     "while aond is over its own budget, low priority gets nothing");
	part(all);
	part(fd[0]);
	part(fd[1]);
}

static void bounds(void)
{
	static const char *const ways[] = { "", "window", "priority=low", "priority=high",
					    "window priority=high" };
	int fd[T_LEN(ways)], n = 0;

	for (size_t i = 0; i < T_LEN(ways); i++)
		n += (fd[i] = join(1, false, ways[i])) >= 0;
	T_OK(n == BROKER_PER_USER && fd[4] < 0, "a user has so many rings");
	for (int i = 0; i < n; i++)
		part(fd[i]);
}

static void detail(void)
{
	const struct process mine = { .pid = 5, .uid = 1 }, another = { .pid = 6, .uid = 1 };
	const struct process theirs = { .pid = 5, .uid = 2 };
	int fd = join(1, false, "detail pids=5");

	T_OK(broker_detail(&b, &mine) && !broker_detail(&b, &another) &&
		     !broker_detail(&b, &theirs),
	     "detail is asked of the processes that are named, and never of another user's");
	part(fd);
	T_OK(!broker_detail(&b, &mine), "while somebody is there who needs it");
}

/* --- questions --- */

static void turn(void)
{
	loop_wait(&loop, 0);
	loop_work(&loop);
}

static bool asks(int fd)
{
	char out[64];

	if (send(fd, "name 1", 6, MSG_DONTWAIT | MSG_NOSIGNAL) != 6)
		return false;
	turn();
	return recv(fd, out, sizeof(out), MSG_DONTWAIT) > 0;
}

static void deaf(void)
{
	int fd = join(1, false, ""), other = join(2, false, "");
	unsigned answered = 0;
	char out[64];

	while (answered < 3 * BROKER_ASKS && asks(fd))
		answered++;
	/* Those who have left were heard as well. */
	T_OK(answered > BROKER_ASKS - 100 && answered <= BROKER_ASKS,
	     "who asks without pause is not heard any more");
	T_OK(asks(other), "others are");
	broker_tick(&b, 0, false);
	turn();
	T_OK(recv(fd, out, sizeof(out), MSG_DONTWAIT) > 0,
	     "until the next second: nothing is lost");
	while (asks(fd))
		;
	part(fd);
	T_OK(b.consumers == 1, "who leaves meanwhile is gone");
	part(other);
}

int main(void)
{
	if (loop_init(&loop)) {
		T_OK(0, "a loop");
		return t_done();
	}
	broker_init(&b, &loop, NULL);
	words();
	unions();
	windows();
	shares();
	bounds();
	detail();
	deaf();
	T_OK(!b.first, "all have left");
	broker_fini(&b);
	loop_fini(&loop);
	return t_done();
}
