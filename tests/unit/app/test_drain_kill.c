/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL of aond at every instruction of a drain: the next aond finds each record once, either
 * counted as taken by the dead one or still there.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/pool.h"
#include "t.h"

#define CHUNK     1024u
#define STEPS_MAX 20000

static struct pool *pool;
static uint8_t buf[16 << 10];
static struct pool_run run[8];

/* What a process with one thread left: a full chunk, one that it still fills. */
static const struct {
	uint32_t state, records;
} chunks[] = { { AON_CHUNK_FULL, 3 }, { AON_CHUNK_OWNED, 2 } };

static uint64_t fill(void)
{
	const struct aon_seg_head *h = pool_head(pool);
	uint8_t *map =
		mmap(NULL, pool_bytes(pool), PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd(pool), 0);
	uint32_t *state = (uint32_t *)(void *)(map + h->state_off);
	uint64_t a = 0;

	for (uint32_t i = 0; i < T_LEN(chunks); i++) {
		struct aon_chunk_head *c = (void *)(map + h->chunk_off + i * CHUNK);
		union aon_rec *r = (void *)(c + 1);

		*c = (struct aon_chunk_head){ .tid = 1, .seq = i, .n = chunks[i].records };
		for (uint32_t k = 0; k < c->n; k++, a++)
			r[k].host = (struct aon_rec_host){ .kind = AON_K_MARK, .len = 1, .a = a };
		state[i] = chunks[i].state;
	}
	((struct aon_seg_head *)(void *)map)->used = T_LEN(chunks);
	munmap(map, pool_bytes(pool));
	return a;
}

static void child(void)
{
	struct pool *mine;
	size_t n;
	bool more;

	if (pool_adopt(&mine, pool_fd(pool), false))
		_exit(9);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	pool_drain(mine, buf, sizeof(buf), false, run, T_LEN(run), &n, &more);
	raise(SIGSTOP);
	_exit(0);
}

/* Steps the child k instructions and kills it. Returns false when the drain ended before. */
static bool kill_after(unsigned k)
{
	bool inside = true;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		child();
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

/* Returns what is wrong with what the next aond finds, NULL when nothing is. */
static const char *judge(uint64_t emitted, uint64_t *taken)
{
	const char *wrong = NULL;
	struct pool *q;
	uint64_t a;
	size_t n;
	bool more;

	if (pool_adopt(&q, pool_fd(pool), false))
		return "it is not adopted";
	a = *taken = pool_taken(q);
	if (pool_drain(q, buf, sizeof(buf), false, run, T_LEN(run), &n, &more) || more)
		wrong = "the drain calls it a lie";
	for (size_t i = 0; !wrong && i < n; i++)
		for (uint32_t k = 0; k < run[i].units; k++)
			wrong = run[i].rec[k].host.a == a++ ? wrong : "lost or doubled";
	if (!wrong && a != emitted)
		wrong = "what was taken and what is left is not what was emitted";
	if (!wrong && pool_used(q) != 1)
		wrong = "the full chunk is not free";
	pool_free(q);
	return wrong;
}

int main(void)
{
	struct pool_opts o = { .pool_bytes = 4 * CHUNK, .chunk_bytes = CHUNK, .heap_bytes = 4096 };
	uint64_t emitted = 0, taken = 0, seen = 0;
	const char *wrong = NULL;
	bool inside = true;
	unsigned k;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	t_skip_all("stepping through a sanitizer's runtime takes hours; the plain build does it");
#endif
	for (k = 0; inside && !wrong && k < STEPS_MAX; k++) {
		if (pool_new(&pool, &o))
			return 1;
		emitted = fill();
		inside = kill_after(k);
		wrong = judge(emitted, &taken);
		seen |= 1u << taken;
		pool_free(pool);
	}
	T_OK(!wrong && !inside, "killed at each of %u instructions of a drain%s%s (%llu taken)",
	     k - 1, wrong ? ": " : "", wrong ? wrong : "", (unsigned long long)taken);
	T_OK(seen == (1 | 1 << 3 | 1 << 5), "none, one and both chunks had been taken (%llx)",
	     (unsigned long long)seen);
	return t_done();
}
