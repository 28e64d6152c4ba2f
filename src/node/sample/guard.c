/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - see guard.h. */
#include "sample/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define WAIT_NS      1000000000ull  /* the first rest, */
#define WAIT_HUNG_NS (16 * WAIT_NS) /* of one that cost a worker, */
#define WAIT_MAX_NS  (64 * WAIT_NS) /* and the longest */

struct look_guard *guard_new(bool shared)
{
	struct look_guard *g = mmap(NULL, sizeof(*g), PROT_READ | PROT_WRITE,
				    MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);

	if (g == MAP_FAILED)
		return NULL;
	g->permille = UINT32_MAX;
	return g;
}

void guard_free(struct look_guard *g)
{
	if (g)
		munmap(g, sizeof(*g));
}

void guard_begin(struct look_guard *g, uint32_t pid, uint64_t now_ns)
{
	g->since_ns = now_ns;
	g->pid = pid;
}

void guard_end(struct look_guard *g)
{
	g->pid = 0;
}

static struct guard_slow *slow_of(struct look_guard *g, uint32_t pid)
{
	struct guard_slow *oldest = &g->slow[0];

	for (uint32_t i = 0; i < g->slows; i++) {
		if (g->slow[i].pid == pid)
			return &g->slow[i];
		if (g->slow[i].until_ns < oldest->until_ns)
			oldest = &g->slow[i];
	}
	if (g->slows < GUARD_SLOW)
		oldest = &g->slow[g->slows++];
	*oldest = (struct guard_slow){ .pid = pid, .wait_ns = WAIT_NS / 2 };
	return oldest;
}

void guard_slow(struct look_guard *g, uint32_t pid, uint64_t now_ns, bool hung)
{
	struct guard_slow *s = slow_of(g, pid);

	s->wait_ns = s->wait_ns < WAIT_MAX_NS ? 2 * s->wait_ns : WAIT_MAX_NS;
	if (hung && s->wait_ns < WAIT_HUNG_NS)
		s->wait_ns = WAIT_HUNG_NS;
	s->until_ns = now_ns + s->wait_ns;
}

bool guard_rests(const struct look_guard *g, uint32_t pid, uint64_t now_ns)
{
	for (uint32_t i = 0; i < g->slows; i++)
		if (g->slow[i].pid == pid)
			return now_ns < g->slow[i].until_ns;
	return false;
}

/* --- workers --- */

/* The time of all children that have ended. */
static uint64_t ended_ns(void)
{
	struct rusage r;

	if (getrusage(RUSAGE_CHILDREN, &r) < 0)
		return 0;
	return 1000ull * ((uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000u +
			  (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec));
}

int guard_run(struct look_guard *g, int (*work)(struct look_guard *g, void *arg), void *arg)
{
	pid_t self = getpid(), child;
	int status = 0;

	for (;;) {
		child = fork();
		if (child < 0)
			return 1;
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			return getppid() == self ? work(g, arg) : 1;
		}
		while (waitpid(child, &status, 0) < 0)
			if (errno != EINTR)
				return 1;
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		g->cpu_ns = ended_ns();
		g->missed++;
		if (g->pid && clock_mono_ns() - g->since_ns > GUARD_HUNG_NS)
			guard_slow(g, g->pid, clock_mono_ns(), true);
		g->pid = 0;
	}
}
