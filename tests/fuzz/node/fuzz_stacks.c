/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_stacks.c - any bytes as the memory of a process that runs Python, and its frames as text. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacks/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	const uint8_t *data;
	size_t size;
};

/* Addresses wrap: what a pointer says is mostly somewhere. */
static int read_mem(void *arg, uint64_t addr, void *out, size_t n)
{
	const struct memory *m = arg;

	if (m->size < 16 || n > 65536 || addr % 7 == 6)
		return -EFAULT;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)out)[i] = m->data[(addr + i) % m->size];
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = { data, size };
	static struct stacked s[4];

	for (uint32_t i = 0; i < 4; i++) {
		struct python p = { .read = read_mem,
				    .arg = &m,
				    .runtime = size,
				    .version = 3u << 24 | (10 + i) << 16 };
		uint64_t id = 0;

		memset(&s[i], 0, sizeof(s[i]));
		if (size >= 8)
			memcpy(&id, data, 8);
		python_stack(&p, (pid_t)id, id, &s[i].stack);
		stack_text(&s[i].stack, s[i].text);
		if (s[i].stack.n > STACK_FRAMES || strlen(s[i].text) >= STACK_TEXT)
			abort();
		for (const char *c = s[i].text; *c; c++)
			if (*c < 32 || *c > 126)
				abort();
	}
	stacks_merge(s, 4);
	return 0;
}
