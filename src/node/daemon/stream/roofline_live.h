/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline_live.h - what limits the kernels of a window, by their names and geometries, and its
 * copies, by their names and bytes.
 *
 * Each name and each geometry is parsed when the store first sees it, each pair once; a window only
 * adds the mean time. Pairs beyond the table's size are not judged. Used by the drain thread only.
 */
#pragma once

#include <stdint.h>

#include "model/process.h"
#include "model/rollup.h"

struct judge;
struct gpu;

/* gpu: NULL: not known; borrowed. */
int judge_new(struct judge **out, const struct gpu *gpu);
void judge_free(struct judge *j); /* NULL is allowed */

const struct gpu *judge_gpu(const struct judge *j);

/* Adds a name or geometry of the store. */
void judge_name(struct judge *j, uint32_t id, const char *text);
void judge_geo(struct judge *j, uint32_t id, const struct geo *g);

/* A kernel of that geometry was seen to do the work of such an operator. If it is seen to do other
 * work as well, its work is unknown again. */
struct op_known;
void judge_learn(struct judge *j, uint32_t name, uint32_t geo, const struct op_known *o);
/* The kernel ran for the same operator as a longer one. */
void judge_helps(struct judge *j, uint32_t name, uint32_t geo);

/* Fills the verdicts of its kernels and copies. */
void judge_window(struct judge *j, const struct window *w);

/* The GPUs of this node, as NVIDIA's driver describes them in a folder each; NULL: none, one that
 * is not known, or several kinds. *gpus: how many there are, known or not. */
const struct gpu *judge_node(const char *dir, uint32_t *gpus);
/* The same of AMD's driver, by their units and memory. */
const struct gpu *judge_node_amd(const char *dir, uint32_t *gpus);
