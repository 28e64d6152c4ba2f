/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs.h - the inputs of a command: stores of aon, traces of other tools, folders of traces, "-"
 * for standard input, in any mix, as one trace. Several files are the ranks of one job.
 */
#pragma once

#include "cli/core/cli.h"
#include "model/trace.h"

struct insight;

/*
 * Fills *out from the operands (of none: the store to read here), sealed; trace_free() it.
 * CLI_OK, also where files were damaged: it said so, and inputs_exit() is the exit status then.
 * CLI_FAIL after an error message.
 */
int inputs_load(struct trace **out, const struct opts *o);
int inputs_exit(const struct trace *t);

/*
 * The breakdown of one store straight from its columns (insight/sweep.h), in a fraction of the time
 * and memory. CLI_OK, CLI_FAIL after an error message, or INPUTS_LOAD: inputs_load() it, as it is
 * something else, or holds what a sweep does not (`queues`: calls that launch work count).
 */
#define INPUTS_LOAD (-1)
int inputs_sweep(struct trace **t, struct insight **in, const struct opts *o, bool queues);

/*
 * A single operand that is a store with too many events to load (read/stretch.h): analysed as a
 * whole, *t has all but the events. INPUTS_LOAD: it is something else.
 */
int inputs_stretches(struct trace **t, struct insight **in, const struct opts *o);
/* Of such a store, the newest steps: their events, and since when. */
int inputs_window(struct trace **t, const struct opts *o, uint64_t *from_ns, uint64_t *to_ns);

/* Says of each damaged file where it broke and what was lost. */
void inputs_say_damage(const struct trace *t);

/* The bar on a terminal while `path` is read; an import_progress_fn. */
int inputs_progress(void *arg, const char *path, uint64_t done, uint64_t size);
void inputs_progress_end(void);
