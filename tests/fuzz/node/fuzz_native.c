/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_native.c - any bytes as an ELF file: its unwind rules, its symbols, and its lines, where only
 * libdw's child may die; and as the stack of a thread of this process.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/cfi.h"
#include "stacks/debug/lines.h"
#include "stacks/native.h"
#include "stacks/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOKS 64u
#define ASKS  32u

static void look(const struct image *i)
{
	char name[NATIVE_NAME];
	struct symbols s;
	uint32_t crc;
	bool has = !symbols_read(&s, i);

	for (uint64_t k = 0; k < i->loads; k++)
		for (uint64_t n = 0; n < LOOKS; n++) {
			uint64_t at = i->load[k].vaddr + n * (i->load[k].size / LOOKS + 1);
			struct cfi_rule r;

			if (!cfi_find(i, at, &r) && r.cfa > CFA_PLT)
				abort();
			cfi_begins(i, at);
			if (has && !symbols_name(&s, i, at, name, sizeof(name)) &&
			    strnlen(name, sizeof(name)) == sizeof(name))
				abort();
		}
	symbols_find(i, "deep");
	if (image_link(i, name, &crc) && (!*name || strlen(name) >= IMAGE_LINK))
		abort();
	if (has)
		symbols_fini(&s);
}

static void as_memory(const uint8_t *data, size_t size)
{
	void *mem = malloc(size ? size : 1);
	struct image i;

	if (!mem)
		return;
	memcpy(mem, data, size);
	if (image_wrap(&i, mem, size)) {
		free(mem);
		return;
	}
	look(&i);
	image_fini(&i);
}

static void as_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), again;
	struct native_name out[4];
	struct lines *l;
	struct image i;

	if (fd < 0)
		return;
	if (write(fd, data, size) != (ssize_t)size || image_open(&i, fd)) {
		close(fd);
		return;
	}
	again = i.debug ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	l = again < 0 ? NULL : lines_new(again, NULL);
	if (l) {
		uint64_t step = i.load[0].size / ASKS + 1, of;

		for (uint64_t n = 0; n < ASKS; n++)
			if (lines_at(l, i.load[0].vaddr + n * step, out, 4, 200) > 4)
				abort();
		for (uint64_t n = 0; n < ASKS && !lines_ask(l, i.load[0].vaddr + n * step); n++)
			if (lines_take(l, &of, out, 4) > 4)
				abort();
		lines_tick(l, UINT64_MAX);
		lines_free(l);
	}
	image_fini(&i);
}

static void as_stack(const uint8_t *data, size_t size)
{
	static struct native_target *t;
	static struct native *n;
	struct native_regs r = { .known = NATIVE_ALL };
	struct native_copy c = { .base = 0x7ffe00000000, .mem = data, .len = size };
	struct native_frame f[32];

	if (!n && (native_new(&n) || native_target_new(&t, n, getpid(), -1)))
		abort();
	memcpy(r.value, data, size < sizeof(r.value) ? size : sizeof(r.value));
	r.value[NATIVE_SP] = c.base;
	r.value[NATIVE_PC] = (uintptr_t)LLVMFuzzerTestOneInput + (size ? data[0] : 0);
	if (native_unwind(t, &r, &c, f, 32, NULL) > 32)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_memory(data, size);
	as_file(data, size);
	as_stack(data, size);
	return 0;
}
