/* SPDX-License-Identifier: Apache-2.0 */
/* oom_text.h - the process of a run that ran out of memory: what held it and what to do, from the store's journal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "insight/live/answer.h"
#include "model/entry.h"
#include "store/store.h"

struct oom_ask {
	enum entry_field by; /* FIELD_PROCESS or FIELD_PID */
	const uint64_t *id;  /* borrowed */
	size_t n;
};

/* The newest that one of these processes did not survive, as an answer. False: there is none. */
bool oom_answer(struct short_answer *out, struct store *st, const struct oom_ask *ask);
/* The same as the object "out_of_memory", or null. */
void oom_json(struct json *j, struct store *st, const struct oom_ask *ask);
