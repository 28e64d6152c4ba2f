/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_stacks.c - any bytes as the memory of a process that runs Python, and its frames as text. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacks/pyfind.h"
#include "stacks/pylayout.h"
#include "stacks/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VERSIONS 6u /* 3.10 to 3.15 */
#define THREADS  16u

struct memory {
	const uint8_t *data;
	size_t size;
	uint32_t version;
	uint32_t reads;
};

/* Offsets as an interpreter of this version would say them: all are small. */
static uint64_t word_of(const struct memory *m, size_t i)
{
	uint64_t cookie;

	memcpy(&cookie, "xdebugpy", 8);
	if (i < 3)
		return i == 0 ? cookie : i == 1 ? m->version : m->data[0] & 1;
	return 8ull * (m->data[i % m->size] % 14);
}

/* Addresses wrap: what a pointer says is mostly somewhere. The runtime is at its own address. */
static bool read_one(struct memory *m, uint64_t addr, uint8_t *out, size_t n)
{
	if (n > 1u << 18 || addr % 7 == 6)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = addr + i - (1u << 20), w = at / 8 < PY_WORDS ? word_of(m, at / 8) : 0;

		out[i] = at / 8 < PY_WORDS && m->version >> 16 > 0x30c
				 ? (uint8_t)(w >> 8 * (at % 8))
				 : m->data[(addr + i) % m->size];
	}
	return true;
}

/* It changes a little from read to read, as a program does that runs. */
static size_t read_mem(void *arg, const struct python_piece *p, size_t n)
{
	struct memory *m = arg;
	size_t got = 0;

	m->reads++;
	while (got < n && read_one(m, p[got].addr, p[got].to, p[got].n)) {
		if (p[got].n && m->reads % 5 == 4)
			((uint8_t *)p[got].to)[m->reads % p[got].n] ^= 8;
		got++;
	}
	return got;
}

static void check(const struct stacked *s)
{
	if (s->stack.n > STACK_FRAMES || strlen(s->text) >= STACK_TEXT)
		abort();
	for (const char *c = s->text; *c; c++)
		if (*c < 32 || *c > 126)
			abort();
}

/* The same thread several times: what was learned from a lie is used for the next sample. */
static void sample(struct python *p)
{
	struct python_id id[THREADS];
	size_t n = python_threads(p, id, THREADS);
	static struct python_sample out;
	static struct python_task task[4];
	struct python_thread t;
	struct python_place at;

	if (n > THREADS)
		abort();
	python_asyncio(p, 1u << 20);
	for (size_t i = 0; i < n && i < 2; i++) {
		python_thread(p, &id[i], &t);
		for (int k = 0; k < 3 && t.id.state; k++) {
			if (python_sample(p, &t, NULL, 0, NULL, &out))
				continue;
			if (out.n > STACK_FRAMES_MAX)
				abort();
			python_look_again(p, out.frame, out.n, (uint64_t)k << 31);
			python_idles(p, &out, (uint64_t)k << 31);
			if (python_tasks(p, &t, &out, (size_t)k, task, 4) > 4)
				abort();
			for (size_t f = 0; f < out.n && f < 4; f++) {
				python_place(p, &out.frame[f], (uint64_t)k << 31, &at);
				if (strlen(at.name) > 511 || strlen(at.file) > 511)
					abort();
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stacked s[VERSIONS];
	struct python_opts found;
	struct python *p;

	if (size < 16)
		return 0;
	for (uint32_t i = 0; i < VERSIONS; i++) {
		struct memory m = { data, size, 3u << 24 | (10 + i) << 16 | 0xf0, 0 };
		struct python_opts o = { .read = read_mem,
					 .arg = &m,
					 .runtime = 1u << 20,
					 .version = m.version,
					 .set_type = 1u << 20,
					 .coro_type = 1u << 20 };
		uint64_t self;

		memset(&s[i], 0, sizeof(s[i]));
		memcpy(&self, data, 8);
		python_stack(&o, self, o.runtime, &s[i].stack, &s[i].stack);
		stack_text(&s[i].stack, s[i].text);
		check(&s[i]);
		if (!python_new(&p, &o)) {
			sample(p);
			python_free(p);
		}
		python_at(0, "python3.10", read_mem, &m, &found);
	}
	stacks_merge(s, VERSIONS);
	return 0;
}
