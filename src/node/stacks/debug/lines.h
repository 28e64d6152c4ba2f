/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - source lines and inlined functions, where a module has debug information.
 *
 * A child process has the file (dwarf.h): it may open nothing, has little time and memory, and answers
 * questions. It ends when it was not asked for two seconds, and is started again with the next
 * question. One that is late, or that the file kills, is started again a few times at most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stacks/native.h"

struct lines;

/*
 * fd: an ELF file with debug information, owned from here on, also on failure. crc: what the file's
 * CRC-32 must be, else the child answers nothing; NULL: any. No child is started yet. NULL: no memory, or no libdw.
 */
struct lines *lines_new(int fd, const uint32_t *crc);
void lines_free(struct lines *l);

/* Asks, and does not wait. -EAGAIN: it has been asked too much already. -ENOENT: never again. */
int lines_ask(struct lines *l, uint64_t vaddr);
/* The next answer: innermost first; the last one is the function itself, the others are FRAME_INLINE.
 * Returns how many, 0: nothing is known there. -EAGAIN: there is none yet. */
int lines_take(struct lines *l, uint64_t *vaddr, struct native_name *out, size_t cap);
/* Asks, and waits for the answer, for wait_ms at most. */
size_t lines_at(struct lines *l, uint64_t vaddr, struct native_name *out, size_t cap, int wait_ms);

bool lines_alive(const struct lines *l);
bool lines_asked(const struct lines *l); /* an answer is under way */
/* Ends a child that is late; waits for one that has ended. */
void lines_tick(struct lines *l, uint64_t now_ns);
void lines_stop(struct lines *l); /* ends its child */

/* CPU time of all children that have ended, of any lines. */
uint64_t lines_cpu_ns(void);
