/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.h - a table in memory from a 64-bit hash to a number.
 *
 * The hash stands for the key: it is seeded at random each time a store is opened, so nobody
 * can make two keys meet on purpose, and by chance it takes billions of them.
 */
#ifndef AON_INTERN_H
#define AON_INTERN_H

#include <stdbool.h>
#include <stdint.h>

struct intern_entry {
	uint64_t hash;
	uint32_t id; /* 0: the slot is free */
	uint32_t owner;
};

struct intern {
	struct intern_entry *slot; /* owned; cap of them, a power of two, or NULL */
	uint32_t cap;
	uint32_t count;
};

void intern_fini(struct intern *t);

/* The entry with that hash, or NULL. */
struct intern_entry *intern_find(const struct intern *t, uint64_t hash);

/* Adds what is not there. Returns 0 or -ENOMEM. */
int intern_add(struct intern *t, uint64_t hash, uint32_t id, uint32_t owner);

/* Drops the entries for which fn() is true. */
typedef bool intern_fn(void *arg, const struct intern_entry *e);
void intern_drop(struct intern *t, intern_fn *fn, void *arg);

#endif /* AON_INTERN_H */
