/* SPDX-License-Identifier: Apache-2.0 */
/* membw.h - memory traffic by the memory controllers' counters, where the kernel has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emit;
struct membw;

/* A descriptor whose eight bytes are the count, or -errno. */
typedef int membw_open_fn(uint32_t type, uint64_t config, int cpu);

/* fn: NULL for the kernel's, and then only without a root. Nothing to count is no error. */
int membw_new(struct membw **out, const char *root, membw_open_fn *fn, struct emit *e);
void membw_free(struct membw *m);
void membw_poll(struct membw *m, struct emit *e);

/* Why nothing is counted, in words; NULL: it is. */
const char *membw_why(const struct membw *m, char *buf, size_t cap);

/* Puts a word's value where its format ("config:8-15") has it. False: it does not fit, or elsewhere. */
bool membw_bits(const char *format, uint64_t value, uint64_t *config);
