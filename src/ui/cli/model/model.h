/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - shared by the models of `aon model`. */
#pragma once

#include "base/json.h"
#include "cli/core/out.h"
#include "theory/gpu.h"

/* Models on `g` what the options ask, prints it. CLI_OK, or another after an error message. */
typedef int model_fn(const struct opts *o, const struct gpu *g);

#define MODEL(name, ...) model_fn model_##name;
#include "cli/model/model.tbl.h"

/* The whole number given for `id`, if one was: *out is untouched else. CLI_OK or CLI_USAGE. */
int model_size(const struct opts *o, enum opt_id id, uint64_t *out);

/* The same, and it has to be given. */
int model_need(const struct opts *o, enum opt_id id, uint64_t *out);

/* The same of what fits 32 bits, if it was given. */
int model_u32(const struct opts *o, enum opt_id id, uint32_t *out);

/* --net, in bytes a second, if it was given. */
int model_net(const struct opts *o, double *Bps);

/* A type of numbers, by gpu_type_word or as PyTorch, XLA and people write it. */
int model_type(const struct opts *o, enum opt_id id, enum gpu_type *out);

/* An error of a model in words. Returns the code to exit with. */
int model_failed(int err, const struct gpu *g, enum gpu_type type);

/* {"schema", "model", "device": ...; the caller adds to it and ends it. */
void model_json(struct json *j, const char *model, const struct gpu *g);
