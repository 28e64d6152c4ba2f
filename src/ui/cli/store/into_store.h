/* SPDX-License-Identifier: Apache-2.0 */
/*
 * into_store.h - writes a trace into a store while it is being imported: events are not kept in
 * memory. Data that a store has no place for is kept as events, see store/trace.h.
 */
#pragma once

struct store;
struct trace;
struct into_store;

/* Both are borrowed until into_store_free(); the trace streams into the store from here on. */
int into_store_new(struct into_store **out, struct trace *t, struct store *st);
/* After each import_path(): what is only known at the end of a file. */
int into_store_file_done(struct into_store *s);
/* Where it goes: for what is no event. */
struct store *into_store_to(struct into_store *s);
void into_store_free(struct into_store *s);
