/* SPDX-License-Identifier: Apache-2.0 */
/* alarms.h - alarms of aond's detectors, from a store's journal. */
#pragma once

#include <limits.h>

#include "base/json.h"
#include "cli/core/out.h"
#include "store/store.h"

/* The newest `last` of them as lines, the oldest first; returns how many there are, or -errno. */
long alarms_text(struct store *st, const struct out *out, size_t last);
/* All, as the array "alarms" of the open object. */
int alarms_json(struct json *j, struct store *st);

/* Of a report: the newest few, and how to see the others; nothing where there are none. */
void alarms_brief(struct store *st, const struct out *out, const char *path);
/* The store that the operands of a command name, if they name one, and name nothing else. */
struct store *alarms_store(const struct opts *o, char path[PATH_MAX]);
