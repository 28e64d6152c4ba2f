/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool between a source with numbered rows and a server that knows what it was sent: ended at every step
 * that touches the disk, or with the step failing, and then gone on with. Nothing may come twice, and what does
 * not come must have been told.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "ship/spool/durable.h"
#include "ship/spool/spool.h"
#include "t.h"

#define NOW      1800000000000000000ull
#define ROWS     60u /* of the source */
#define EACH     3u  /* rows a batch */
#define SENT_MAX 512u

/* The server, and what it has: shared with the children that are ended. */
static struct server {
	uint32_t got[ROWS + 1];
	uint64_t sent[SENT_MAX][2];
	uint32_t sents;
	uint64_t told;  /* rows that were said to be given up */
	uint32_t tales; /* batches that said so */
	bool refuse;    /* every seventh batch is poison */
} * server;

static char dir[64] = "/dev/shm/aon_spool_XXXXXX";
static int steps_left, fail_with;

static int at_step(const char *step, const char *name)
{
	(void)step, (void)name;
	if (steps_left-- != 0)
		return 0;
	if (!fail_with)
		_exit(9);
	return fail_with;
}

static struct rowbin rows_of(const struct spool *s, uint64_t first, uint32_t n)
{
	struct rowbin b = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		struct ship_name r = { .cluster = ship_text("c"),
				       .src = spool_src(s),
				       .seq = spool_next(s),
				       .hash = first + i,
				       .text = ship_text("row"),
				       .t_ns = NOW };

		rowbin_put(&b, ship_table(SHIP_NAME), &r);
	}
	return b;
}

static void receive(const struct batch_head *h, const void *data)
{
	const struct ship_table *t = ship_table(batch_table(h));
	struct rowbin rows = { 0 };
	const uint8_t *at;

	for (uint32_t i = 0; i < server->sents; i++)
		if (server->sent[i][0] == h->src && server->sent[i][1] == h->seq)
			return; /* sent again: it is there */
	server->sent[server->sents][0] = h->src;
	server->sent[server->sents++][1] = h->seq;
	if (batch_unpack(&rows, h, data))
		abort();
	at = rows.data;
	server->tales += batch_table(h) == SHIP_DROP;
	for (uint32_t i = 0; i < h->rows; i++) {
		union {
			struct ship_name name;
			struct ship_drop drop;
		} r;

		at += rowbin_get(t, t->cols, at, rows.len, &r);
		if (batch_table(h) == SHIP_NAME)
			server->got[r.name.hash]++;
		else
			server->told += r.drop.rows;
	}
	rowbin_fini(&rows);
}

static struct spool *open_spool(uint64_t max_bytes)
{
	struct spool_opts o = { .dir = dir, .cluster = "c", .host = "h", .max_bytes = max_bytes };
	struct spool_why why;
	struct spool *s = NULL;

	return spool_open(&s, &o, NOW, &why) ? NULL : s;
}

/* Two batches of the source and where it stands, in one commit. */
static int follow(struct spool *s)
{
	uint64_t at = 0;
	size_t len;
	const void *cursor = spool_cursor(s, &len);
	int err = 0;

	if (len == sizeof(at))
		memcpy(&at, cursor, sizeof(at));
	for (int i = 0; i < 2 && at < ROWS && !err; i++) {
		struct rowbin b = rows_of(s, at + 1, EACH);

		err = spool_put(s, SHIP_NAME, &b, EACH, 1, NOW);
		rowbin_fini(&b);
		at += EACH;
	}
	if (!err)
		err = spool_commit(s, &at, sizeof(at));
	if (err && spool_abort(s))
		return -ENOTRECOVERABLE;
	return err ? err : at >= ROWS;
}

static int send_all(struct spool *s)
{
	struct batch_head h;
	const void *data;
	uint64_t after = 0;
	int err;

	while ((err = spool_get(s, after, &h, &data)) > 0) {
		after = h.seq;
		if (server->refuse && h.seq % 7 == 0 && batch_table(&h) == SHIP_NAME) {
			err = spool_poison(s, h.seq, "Cannot parse");
		} else {
			receive(&h, data);
			err = spool_ack(s, h.seq);
		}
		if (err)
			return err;
	}
	return err ? err : spool_flush(s);
}

/* The whole life of a shipper; errors are met as it meets them: again, or from anew. */
static void live(uint64_t max_bytes, int rounds)
{
	struct spool *s = NULL;
	int done = 0;

	while (rounds-- && !done) {
		if (!s && !(s = open_spool(max_bytes)))
			continue;
		done = follow(s);
		if (done < 0 || spool_drops(s, NOW) || send_all(s) || spool_drops(s, NOW) ||
		    send_all(s)) {
			spool_close(s);
			s = NULL;
			done = 0;
		}
	}
	spool_close(s);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* A thousand times, and so without a shell, which a busy machine may refuse. */
static void clean(void)
{
	if (nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
		T_OK(false, "%s cannot be removed: %s", dir, strerror(errno));
	memset(server, 0, sizeof(*server));
}

static bool all_there(void)
{
	uint32_t missing = 0;

	for (uint32_t i = 1; i <= ROWS; i++) {
		if (server->got[i] > 1)
			return false;
		missing += !server->got[i];
	}
	return missing == server->told;
}

/* With sanitizers a fork and its end take long, and steps do the same things to memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STRIDE 7
#else
#define STRIDE 1
#endif

/* Ends at step 0, 1, 2, ... until it ends by itself; which step went wrong, or -1. */
static int at_every_step(bool refuse, uint64_t max_bytes, int failure, int *steps)
{
	for (int k = 0;; k += STRIDE) {
		int status;
		pid_t pid;

		clean();
		server->refuse = refuse;
		pid = fork();
		if (!pid) {
			steps_left = k;
			fail_with = failure;
			durable_hook = at_step;
			live(max_bytes, 100);
			_exit(failure && steps_left < 0 ? 9 : 0);
		}
		waitpid(pid, &status, 0);
		live(max_bytes, 100);
		if (!WIFEXITED(status) || !all_there())
			return k;
		*steps = k;
		if (WEXITSTATUS(status) == 0)
			return -1;
	}
}

static void test_crashes(void)
{
	static const struct {
		const char *name;
		bool refuse;
		uint64_t max_bytes;
		int failure;
	} cases[] = {
		{ "ended at each step, every row comes once", false, 0, 0 },
		{ "ended at each step with poison, what does not come was told", true, 0, 0 },
		{ "ended at each step in a full spool, what does not come was told", false, 300,
		  0 },
		{ "the disk full at each step, every row comes once", false, 0, -ENOSPC },
		{ "the disk failing at each step, what does not come was told", true, 0, -EIO },
	};

	for (size_t i = 0; i < T_LEN(cases); i++) {
		int steps = 0, bad = at_every_step(cases[i].refuse, cases[i].max_bytes,
						   cases[i].failure, &steps);

		T_OK(bad < 0 && steps > 50, "%s (%d steps, bad %d)", cases[i].name, steps, bad);
	}
}

static int path_of(char *out, size_t cap, const char *name)
{
	return snprintf(out, cap, "%s/%s", dir, name);
}

/* A spool of two batches, the file `name` of it changed by `fn`: what is left of the two? */
static uint32_t left_after(const char *name, void (*fn)(int fd, size_t at), size_t at,
			   uint64_t *told)
{
	struct spool *s;
	char path[128];
	int fd;

	clean();
	s = open_spool(0);
	follow(s);
	spool_close(s);
	path_of(path, sizeof(path), name);
	fd = open(path, O_RDWR);
	fn(fd, at);
	close(fd);
	s = open_spool(0);
	if (!s)
		return 99;
	send_all(s);
	spool_drops(s, NOW);
	send_all(s);
	spool_close(s);
	*told = server->told;
	return server->sents - server->tales;
}

static void cut_at(int fd, size_t at)
{
	if (ftruncate(fd, (off_t)at))
		abort();
}

static void flip_at(int fd, size_t at)
{
	uint8_t b;

	if (pread(fd, &b, 1, (off_t)at) != 1)
		abort();
	b ^= 0x10;
	if (pwrite(fd, &b, 1, (off_t)at) != 1)
		abort();
}

static void test_damage(void)
{
	const char *first = "00000000000000000001.batch";
	struct spool *s;
	bool cut = true, flip = true, state = true;
	char path[128];
	struct stat st;
	uint64_t told;
	uint32_t n;

	clean();
	s = open_spool(0);
	follow(s);
	spool_close(s);
	path_of(path, sizeof(path), first);
	if (stat(path, &st))
		abort();
	for (size_t i = 0; i < (size_t)st.st_size; i++) {
		n = left_after(first, cut_at, i, &told);
		cut = cut && n == 1 && (told == EACH || i < BATCH_HEAD);
		n = left_after(first, flip_at, i, &told);
		flip = flip && n == 1 && (told == EACH || i < BATCH_HEAD);
	}
	T_OK(cut, "a batch that is cut at any byte is given up, the next is sent");
	T_OK(flip, "so is one with a bit that turned, anywhere");
	for (size_t i = 0; i < 10000; i += i < 200 ? 1 : 97)
		state = state && left_after("state", flip_at, i, &told) == 2;
	T_OK(state, "with a damaged state what lies there is sent still");
}

static void test_rules(void)
{
	struct spool_opts other = { .dir = dir, .cluster = "c", .host = "another" };
	struct spool *s, *two = NULL;
	struct spool_stat before, after;
	struct spool_why why;
	uint64_t src;

	clean();
	s = open_spool(0);
	follow(s);
	src = spool_src(s);
	T_OK(spool_open(&two, &other, NOW, &why) == -EBUSY && strstr(why.text, "another process"),
	     "one process has a spool");
	spool_stat(s, &before);
	T_OK(spool_look(dir, &after, &why) == 0 && !memcmp(&before, &after, sizeof(after)) &&
		     after.batches == 2 && after.rows == 2 * EACH,
	     "others may look at it");
	spool_close(s);
	s = open_spool(0);
	T_OK(spool_src(s) == src && spool_next(s) == 3, "opened again it goes on");
	spool_close(s);
	T_OK(spool_open(&s, &other, NOW, &why) == 0 && spool_src(s) != src && spool_next(s) == 3,
	     "on another host it is another source");
	send_all(s);
	T_OK(server->sents == 2 && server->sent[0][0] == src, "what lay in it is sent as it was");
	spool_close(s);
}

static void test_age(void)
{
	struct spool_opts o = { .dir = dir, .cluster = "c", .host = "h", .max_age_ns = 1000 };
	struct spool_why why;
	struct spool *s;
	struct spool_stat st;

	clean();
	spool_open(&s, &o, NOW, &why);
	follow(s);
	spool_drops(s, NOW + 1001);
	spool_stat(s, &st);
	T_OK(st.batches == 1 && st.drop[SHIP_NAME][SPOOL_AGE].batches == 2 &&
		     st.drop[SHIP_NAME][SPOOL_AGE].rows == 2 * EACH,
	     "what waited for too long is given up, and that is told");
	spool_close(s);
}

static int seen_aside;
static int count_aside(void *arg, const struct batch_head *h, const char *reason)
{
	(void)arg;
	seen_aside += h->rows == EACH && !strcmp(reason, "Cannot parse");
	return 0;
}

static void test_aside(void)
{
	clean();
	server->refuse = true;
	live(0, 100);
	spool_each_aside(dir, count_aside, NULL);
	T_OK(seen_aside >= 2 && server->told == (uint32_t)seen_aside * EACH,
	     "poison is set aside with its reason (%d)", seen_aside);
}

/* Events go first, names last. */
static void test_order(void)
{
	struct ship_event ev = { .cluster = ship_text("c"), .t_ns = NOW };
	struct spool_stat st;
	struct rowbin b = { 0 };
	struct batch_head h;
	const void *data;
	uint64_t first;
	struct spool *s;

	clean();
	s = open_spool(1000);
	follow(s);
	rowbin_put(&b, ship_table(SHIP_EVENT), &ev);
	spool_put(s, SHIP_EVENT, &b, 1, 1, NOW);
	spool_commit(s, NULL, 0);
	for (int i = 0; i < 5; i++)
		follow(s);
	T_OK(spool_get(s, 0, &h, &data) == 1, "what is about to be sent stays from then on");
	first = h.seq;
	for (int i = 0; i < 5; i++)
		follow(s);
	T_OK(spool_get(s, 0, &h, &data) == 1 && h.seq == first, "in a full spool, too");
	spool_stat(s, &st);
	T_OK(st.drop[SHIP_EVENT][SPOOL_FULL].batches == 1 && st.bytes <= 1000 &&
		     st.drop[SHIP_NAME][SPOOL_FULL].batches > 0,
	     "a full spool gives up raw events before all else");
	rowbin_fini(&b);
	spool_close(s);
}

int main(void)
{
	server = mmap(NULL, sizeof(*server), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (access("/dev/shm", W_OK))
		snprintf(dir, sizeof(dir), "/tmp/aon_spool_XXXXXX");
	if (server == MAP_FAILED || !mkdtemp(dir))
		return 1;
	log_fd(-1); /* damage is told, and there is much of it */
	test_rules();
	test_age();
	test_aside();
	test_order();
	test_damage();
	test_crashes();
	clean();
	return t_done();
}
