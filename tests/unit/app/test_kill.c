/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL at every instruction of the emit path: the segment shows whole records only, and
 * each emit that returned is there or counted.
 *
 * For each window (a few emits) and each k: a child stops before the window, is stepped k
 * instructions by ptrace, and killed. Then the daemon's end reads the segment.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aon/aon.h>
#include <aon/provider.h>

#include "client/client.h"
#include "pool/pool.h"
#include "t.h"

#define CHUNK     1024u
#define PER_CHUNK (CHUNK / AON_UNIT - 1)
#define STEPS_MAX 20000

static struct progress {
	volatile uint64_t begun, done;
} * progress; /* shared with the child */

static struct pool *pool;

static void mark(void)
{
	uint64_t a = progress->done;

	progress->begun = a + 1;
	aon_emit_(AON_MARK_, 1, 0, a, ~a);
	progress->done = a + 1;
}

static void activity(void)
{
	uint64_t a = progress->done;
	struct aon_act act = { .size = sizeof(act),
			       .kind = AON_ACT_COPY,
			       .start_ns = a,
			       .end_ns = a + (5ull << 32),
			       .bytes = ~a };

	progress->begun = a + 1;
	aon_act_emit(&act);
	progress->done = a + 1;
}

static void marks(unsigned n)
{
	while (n--)
		mark();
}

static void two_marks(void)
{
	marks(2);
}

static void two_activities(void)
{
	activity();
	activity();
}

static void none(void)
{
}

static void one(void)
{
	marks(1);
}

static void nearly_a_chunk(void)
{
	marks(PER_CHUNK - 1);
}

static void nearly_the_pool(void)
{
	marks(PER_CHUNK * 4 - 1);
}

static const struct window {
	const char *name;
	void (*before)(void);
	void (*window)(void);
} windows[] = {
	{ "the first emit of a thread", none, two_marks },
	{ "a plain emit", one, two_marks },
	{ "from one chunk to the next", nearly_a_chunk, two_marks },
	{ "an activity with an extension", one, two_activities },
	{ "a pool that is full", nearly_the_pool, two_marks },
};

static void child(const struct window *w)
{
	void *map =
		mmap(NULL, pool_bytes(pool), PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd(pool), 0);

	client_forked();
	if (client_use(map, pool_bytes(pool)))
		_exit(9);
	w->before();
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	w->window();
	raise(SIGSTOP);
	_exit(0);
}

/* Steps the child k instructions and kills it. Returns false when the window ended before. */
static bool kill_after(const struct window *w, unsigned k)
{
	bool inside = true;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		child(w);
	waitpid(pid, &status, 0);
	while (k-- && inside) {
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		waitpid(pid, &status, 0);
		inside = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return inside;
}

struct found {
	uint64_t records, torn;
};

static void look(struct found *f, const struct pool_run *r)
{
	for (uint32_t i = 0; i < r->units; i += r->rec[i].host.len) {
		const union aon_rec *rec = &r->rec[i];
		const struct aon_ext *e = (const struct aon_ext *)(const void *)&rec[1];

		if (rec->host.kind == AON_K_MARK)
			f->torn += rec->host.len != 1 || rec->host.a != f->records ||
				   rec->host.b != ~rec->host.a;
		else
			f->torn += rec->host.kind != AON_K_COPY || rec->act.len != 2 ||
				   rec->act.start != f->records || e->arg != ~f->records ||
				   e->dur_ns != 5ull << 32;
		f->records++;
	}
}

/* Returns what is wrong with the segment that a killed child left, NULL when nothing is. */
static const char *judge(void)
{
	static uint8_t buf[64 << 10];
	uint64_t lost[AON_LOSS_APP_MAX], counted;
	struct pool_run run[16];
	struct found f = { 0 };
	size_t n;
	bool more;

	if (pool_drain(pool, buf, sizeof(buf), true, run, T_LEN(run), &n, &more) || more)
		return "the drain calls it a lie";
	for (size_t i = 0; i < n; i++)
		look(&f, &run[i]);
	pool_lost(pool, lost);
	counted = f.records + lost[AON_LOSS_POOL_FULL];
	if (f.torn)
		return "a torn record is visible";
	if (counted < progress->done)
		return "an emit that returned is neither there nor counted";
	if (counted > progress->begun)
		return "more is counted than was emitted";
	return NULL;
}

int main(void)
{
	struct pool_opts o = { .pool_bytes = 4 * CHUNK, .chunk_bytes = CHUNK, .heap_bytes = 4096 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	t_skip_all("stepping through a sanitizer's runtime takes hours; the plain build does it");
#endif
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < T_LEN(windows); i++) {
		const char *wrong = NULL;
		bool inside = true;
		unsigned k;

		for (k = 0; inside && !wrong && k < STEPS_MAX; k++) {
			memset(progress, 0, sizeof(*progress));
			if (pool_new(&pool, &o))
				return 1;
			inside = kill_after(&windows[i], k);
			wrong = judge();
			pool_free(pool);
		}
		T_OK(!wrong && !inside && progress->done >= 2,
		     "killed at each of %u instructions: %s%s%s", k - 1, windows[i].name,
		     wrong ? ": " : "", wrong ? wrong : "");
	}
	return t_done();
}
