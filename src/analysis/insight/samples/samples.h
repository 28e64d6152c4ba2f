/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - where threads were, by what their GPUs and steps waited for. Pure.
 *
 * A pass of insight.c adds samples up by thread, stack, state, part of the step, and why a GPU of
 * the process was idle then (idle.h). samples_blame() answers from these rows:
 *
 *	a share is the time that its samples stand for, of that of all that were asked for;
 *	its standard error is that of a proportion, for (sum of weights)^2 / sum of squares samples
 *
 * While a thread waits for the GIL, not its own frame is the cause, but that of the thread that
 * holds it: aon-sample samples that one, too (SAMPLE_HOLDER), and such samples count for the
 * thread that waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sample.h"
#include "names/part.h"

struct insight;
struct trace;

#define SAMPLES_ENOUGH 30u /* below that no share is given */

struct sample_row {
	uint32_t process, track;
	uint32_t stack; /* of the trace */
	uint32_t
		holder; /* of GIL: the holder's stack; of RUNNABLE: the name of its taker; 0: not known */
	uint8_t state, flags;
	uint8_t part; /* enum host_part */
	uint8_t gap;  /* enum idle_cause + 1 of the gap it was taken in; 0: in none */
	uint64_t count;
	double ns, ns2; /* what they stand for; the sum of squares */
};

struct samples {
	struct sample_row *row; /* owned; not of SAMPLE_HOLDER alone */
	size_t rows;
	uint64_t count; /* with those of holders */
	uint64_t first_ns, last_ns;
};

#define SAMPLES_ALL UINT32_MAX

/* What is asked for. */
struct samples_want {
	uint32_t process, track; /* SAMPLES_ALL: of any */
	uint32_t parts;          /* bits of enum host_part; 0: all */
	uint32_t causes;         /* bits of enum idle_cause: only in such gaps; 0: gaps or not */
};

#define SAMPLES_IN_GAPS 0x3fu /* causes: any */

struct share {
	double share, error; /* of 0..1; the standard error */
	uint64_t count;
};

/* A process that another one started, and its own code that it was in most. */
struct sample_worker {
	uint64_t pid; /* 0: none */
	struct stack_frame frame;
};

/* A function of the program, in one state. */
struct sample_blame {
	struct stack_frame frame; /* of its heaviest line; name 0: no frame is known */
	struct stack_frame in;    /* what it called most then: a library's; name 0: nothing */
	struct stack_frame into;  /* the function that it is inlined into; name 0: none */
	enum sample_state state;
	bool held;                   /* the frame is that of the GIL's holder */
	struct sample_worker worker; /* that it waits for */
	struct share s;
	double ns;
	uint32_t stack; /* the heaviest one */
};

/* A stack in one state. */
struct sample_stack {
	uint32_t stack;
	enum sample_state state;
	uint64_t count;
	double ns;
};

struct samples_sum {
	struct sample_blame *row; /* owned, the largest first */
	size_t rows;
	struct sample_stack *stack; /* owned, the largest first */
	size_t stacks;
	struct share state[SAMPLE_STATES];
	uint32_t taker; /* the process that ran most while it was RUNNABLE, by name; 0: not known */
	struct share took; /* and how much of that */
	uint64_t count;    /* of all */
	double ns, ns2;    /* of all */
};

/* 0 or -ENOMEM. samples_fini() it. */
int samples_blame(struct samples_sum *out, const struct insight *in, const struct samples_want *w);
void samples_fini(struct samples_sum *s);

static inline bool samples_enough(const struct samples_sum *s)
{
	return s->count >= SAMPLES_ENOUGH;
}

/* The function that takes most, in whichever state: its row of the state that it is in most, and its
 * share in all states. The sum has rows. */
const struct sample_blame *samples_first(const struct samples_sum *s, struct share *all);

/* The thread to speak of: the process's first if it was sampled, else that of most samples.
 * SAMPLES_ALL: none was sampled. */
uint32_t samples_thread(const struct insight *in, uint32_t process);

/* What the workers of a process do most. False: too little is known of any. */
bool samples_worker(const struct insight *in, uint32_t process, struct sample_worker *out);
/* Does a thread that waits in this stack wait for a worker? */
bool samples_waits_for_worker(const struct insight *in, uint32_t stack);

/* Adds the samples whose events are gone: where a whole store is asked for, and not what its gaps and steps
 * were. Their gaps have no cause but IDLE_OTHER, which stands for an idle GPU. -ENOMEM. */
int samples_add_rolled(struct insight *in);
/* One of them. False: of a thread that is sampled as a holder of the GIL alone. */
struct trace_rolled;
bool samples_rolled(const struct trace *t, const struct trace_rolled *r, struct sample_row *out);

/* Whether a row is among what is asked for. */
bool samples_wanted(const struct sample_row *r, const struct samples_want *w);

/* A file that is not the program's: of a framework, code that one made while it ran, a hook of aon. */
bool file_is_library(const char *file);

/* The share that `ns` of a sum is. */
struct share samples_share(const struct samples_sum *s, double ns, uint64_t count);

#define FRAME_LABEL 256u
#define BLAME_CODE  (FRAME_LABEL + 112u)

/* "__getitem__ (dataset.py:42)", "dataset.py:42 __getitem__", "PIL.Image.resize". */
char *frame_called(const struct trace *t, const struct stack_frame *f, char out[FRAME_LABEL]);
char *frame_placed(const struct trace *t, const struct stack_frame *f, char out[FRAME_LABEL]);
char *frame_library(const struct trace *t, const struct stack_frame *f, char out[FRAME_LABEL]);
/* Of the code that is to blame: ", inlined in step", or nothing; "dot (blas.c:7), inlined in step". */
char *frame_inlined(const struct trace *t, const struct sample_blame *b, char out[FRAME_LABEL]);
char *blame_called(const struct trace *t, const struct sample_blame *b, char out[BLAME_CODE]);

#define BLAME_LABEL (FRAME_LABEL + BLAME_CODE + 64u)

/* "in load_item (dataset.py:42), running", "waiting for the GIL, held in pickle (worker.py:5)", "in next
 * (train.py:3), waiting for worker 4712: load_item (dataset.py:42)"; "mostly running" where `all`, its share in all states, is more than that of this one. */
char *blame_text(const struct trace *t, const struct sample_blame *b, const struct share *all,
		 char out[BLAME_LABEL]);
/* "running", "waiting for the GIL": of a sentence. */
const char *sample_state_people(enum sample_state s);
