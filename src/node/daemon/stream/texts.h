/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts.h - long texts of programs: reassembles their pieces, and analyses OpenCL sources.
 *
 * Texts are untrusted. Memory is bounded by TEXTS_OPEN texts of AON_TEXT_MAX bytes on the node,
 * time by the bytes that may be parsed: TEXTS_BURST at once, TEXTS_EACH more with every tick. Texts
 * above a bound are dropped and counted (texts_dropped).
 */
#pragma once

#include "agg/understand.h"

#define TEXTS_OPEN  8u         /* that have begun and not ended */
#define TEXTS_BURST (2u << 20) /* bytes: about a third of a second, of the worst texts */
#define TEXTS_EACH  (512u << 10)

struct texts;

/* Gets the mark of a kernel that was understood (theory/source_work.h). */
typedef void texts_fn(void *arg, const char *mark);

int texts_new(struct texts **out);
void texts_free(struct texts *t); /* NULL is allowed */

/* Takes a piece from `of`; the last piece of a text calls `fn` with the text's marks. */
void texts_take(struct texts *t, const void *of, const struct understand_text *p, texts_fn *fn,
		void *arg);
/* No more comes from `of`. */
void texts_drop(struct texts *t, const void *of);
/* Now and then: more may be read. */
void texts_tick(struct texts *t);
