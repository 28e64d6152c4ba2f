/* SPDX-License-Identifier: Apache-2.0 */
/* test_box.c - the table of who holds memory: sums, growth, steps, threads, children. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "probe/torch/block.h"
#include "probe/torch/box.h"
#include "t.h"

#define MIB (1ull << 20)

/* libaon's: no daemon until a test says so. */
static void *segment;

void *aon_memory_table(uint32_t bytes);

void *aon_memory_table(uint32_t bytes)
{
	return bytes == sizeof(struct aon_memory) ? segment : NULL;
}

static struct aon_memory m;

static void test_names(void)
{
	uint32_t a, b;

	box_init(&m, 1);
	a = box_site(&m, AON_MEMORY_HOST, AON_MEMORY_FORWARD, "layers.3.attn");
	b = box_site(&m, AON_MEMORY_HOST, AON_MEMORY_FORWARD, "layers.11.attn");
	T_OK(a == b && !strcmp(m.site[a].name, "layers.*.attn"), "layers of a model are one site");
	T_OK(box_site(&m, AON_MEMORY_HOST, AON_MEMORY_FORWARD, "12") !=
		     box_site(&m, AON_MEMORY_GPU, AON_MEMORY_FORWARD, "12"),
	     "of the host, and of the GPU");
	a = box_site(&m, AON_MEMORY_HOST, AON_MEMORY_FORWARD,
		     "a.path.that.is.much.longer.than.the.table.has.room.for.a.name.in.a.site");
	T_OK(strlen(m.site[a].name) == AON_MEMORY_NAME - 1, "a long name is cut");
	box_place(&m, a, "model.py:88");
	box_place(&m, a, "model.py:99");
	T_OK(!strcmp(m.site[a].place, "model.py:88"), "the first place stays");
	for (int i = 0; i < 200; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		a = box_site(&m, AON_MEMORY_HOST, AON_MEMORY_FORWARD, name);
	}
	T_OK(a == AON_MEMORY_FORWARD && m.unnamed > 0, "more names than room: one without a name");
}

/* What a site keeps after each step, in MiB, and where its growth begins. */
static const struct {
	const char *name;
	uint32_t kept[24];
	uint64_t since, grown;
} growth[] = {
	/* clang-format off */
	{ "steady: no growth",           { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 },           9, 0 },
	{ "grows from the start on",     { 1, 2, 3, 4, 5, 6, 7, 8 },                       1, 7 },
	{ "grows after some time",       { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5, 8, 11 },       9, 9 },
	{ "falls back: begins anew",     { 1, 9, 1, 1, 4, 7 },                             3, 6 },
	{ "a stop of a few steps",       { 1, 2, 3, 3, 3, 4, 5 },                          1, 4 },
	{ "warms up, then stays",        { 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 },       10, 0 },
	/* clang-format on */
};

static void test_growth(void)
{
	for (size_t i = 0; i < T_LEN(growth); i++) {
		const struct aon_memory_site *s;
		uint64_t now = 0, n;

		box_init(&m, 1);
		s = &m.site[AON_MEMORY_OTHER];
		for (n = 0; n < T_LEN(growth[i].kept) && growth[i].kept[n]; n++) {
			if (growth[i].kept[n] > now)
				box_add(&m, AON_MEMORY_OTHER, (growth[i].kept[n] - now) * MIB);
			else
				box_sub(&m, AON_MEMORY_OTHER, (now - growth[i].kept[n]) * MIB);
			now = growth[i].kept[n];
			box_step(&m, n + 1);
		}
		T_OK(s->since_step == growth[i].since &&
			     s->most - s->since == growth[i].grown * MIB && s->live == now * MIB &&
			     m.step == n + 1,
		     "%s (since %llu, %llu)", growth[i].name, (unsigned long long)s->since_step,
		     (unsigned long long)((s->most - s->since) / MIB));
	}
}

static void test_steps(void)
{
	const struct aon_memory_total *t = &m.total[AON_MEMORY_HOST];
	uint64_t at_700 = 0;
	bool rises = true;

	box_init(&m, 1);
	for (uint64_t n = 1; n <= 1000; n++) {
		box_add(&m, AON_MEMORY_OTHER, n == 700 ? 90 * MIB : 2 * MIB);
		box_sub(&m, AON_MEMORY_OTHER, n == 700 ? 90 * MIB : MIB);
		box_step(&m, n);
	}
	for (uint64_t i = 1; i < t->rows; i++)
		rises &= t->step[i].step > t->step[i - 1].step;
	T_OK(t->rows >= AON_MEMORY_STEPS / 2 && t->rows <= AON_MEMORY_STEPS && t->every == 16 &&
		     rises && t->step[t->rows - 1].step == 1000,
	     "a thousand steps in %d rows", (int)t->rows);
	while (at_700 < t->rows && t->step[at_700].step < 700)
		at_700++;
	T_OK(at_700 < t->rows && t->step[at_700].peak == (699 + 90) * MIB && t->peak == 1000 * MIB,
	     "the peak of one step among them, and of all");
	box_sub(&m, AON_MEMORY_OTHER, ~0ull);
	T_OK(t->live == 0 && m.site[AON_MEMORY_OTHER].live == 0, "never below nothing");
	box_fail(&m, AON_MEMORY_HOST, 77, AON_MEMORY_DATA);
	T_OK(t->fails == 1 && t->fail_bytes == 77 && t->fail_step == 1001 &&
		     t->fail_site == AON_MEMORY_DATA + 1,
	     "what was refused");
}

/* --- blocks --- */

static uint32_t other(struct aon_memory *table, enum aon_memory_space space, const void *block)
{
	(void)table;
	(void)block;
	return box_fixed(space, AON_MEMORY_OTHER);
}

static void *at(uint64_t thread, uint64_t i)
{
	return (void *)(uintptr_t)(0x100000000 + (thread << 40) + i * 4096);
}

#define ROUNDS 200u
#define BLOCKS 500u

static void *work(void *arg)
{
	uint64_t thread = (uintptr_t)arg;

	for (uint64_t r = 0; r < ROUNDS; r++) {
		box_site(block_table(), AON_MEMORY_HOST, AON_MEMORY_FORWARD, r % 2 ? "one" : "two");
		for (uint64_t i = 0; i < BLOCKS; i++)
			block_made(AON_MEMORY_HOST, at(thread, i), 100 + 3000 * i, other);
		for (uint64_t i = 0; i < BLOCKS; i++)
			block_freed(at(thread, i));
		if (thread == 1)
			box_step(block_table(), r + 1);
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		block_made(AON_MEMORY_HOST, at(thread, i), 100 + 3000 * i, other);
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[4];
	uint64_t made = 0, held;
	const struct aon_memory *b;

	T_OK(block_start(false) == 0 && block_on(), "blocks are counted");
	for (uint64_t i = 0; i < T_LEN(t); i++)
		pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < T_LEN(t); i++)
		pthread_join(t[i], NULL);
	for (uint64_t i = 0; i < BLOCKS; i++)
		made += T_LEN(t) * (100 + 3000 * i);
	b = block_table();
	held = b->total[AON_MEMORY_HOST].live;
	T_OK(b->dropped == 0 && held > made * 97 / 100 && held < made * 103 / 100,
	     "four threads: what is held is right on average: %.2f of it",
	     (double)held / (double)made);
	for (uint64_t k = 0; k < T_LEN(t); k++)
		for (uint64_t i = 0; i < BLOCKS; i++)
			block_freed(at(k + 1, i));
	T_OK(b->total[AON_MEMORY_HOST].live == 0 && b->site[AON_MEMORY_OTHER].live == 0,
	     "and nothing once all is freed");
}

static void test_shared(void)
{
	struct aon_memory *shared = calloc(1, sizeof(*shared));
	int status = -1;
	pid_t child;

	block_made(AON_MEMORY_HOST, at(9, 1), 8 * MIB, other);
	segment = shared;
	block_made(AON_MEMORY_HOST, at(9, 2), MIB, other);
	T_OK(block_table() == shared && shared->total[AON_MEMORY_HOST].live == 9 * MIB &&
		     shared->version == AON_MEMORY_VERSION,
	     "a daemon that comes later gets what was counted before");
	segment = NULL;
	child = fork();
	if (child == 0) {
		bool ok = block_freed(at(9, 1)) == 0 && block_table() != shared &&
			  block_table()->total[AON_MEMORY_HOST].live == 0;

		block_made(AON_MEMORY_HOST, at(9, 3), 2 * MIB, other);
		ok = ok && block_table()->total[AON_MEMORY_HOST].live == 2 * MIB;
		_exit(ok ? 0 : 1);
	}
	waitpid(child, &status, 0);
	T_OK(status == 0 && shared->total[AON_MEMORY_HOST].live == 9 * MIB,
	     "a child begins with nothing and leaves its parent's table alone");
	block_move(at(9, 1), AON_MEMORY_DATA);
	block_move(at(9, 7), AON_MEMORY_DATA);
	T_OK(shared->site[AON_MEMORY_DATA].live == 8 * MIB &&
		     shared->total[AON_MEMORY_HOST].live == 9 * MIB,
	     "a block is moved to another site, one that is not there is not");
	T_OK(block_freed(at(9, 1)) == 8 * MIB && block_freed(at(9, 1)) == 0 &&
		     shared->site[AON_MEMORY_DATA].live == 0,
	     "a block is freed once, where it is");
	free(shared);
}

int main(void)
{
	test_names();
	test_growth();
	test_steps();
	test_threads();
	test_shared();
	return t_done();
}
