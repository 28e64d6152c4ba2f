/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_conf.h - gpu.conf: what `aon doctor --gpu` has proved about recording on this node's GPUs. The
 * CUDA probe reads it when it starts, and uses it with the driver and the CUPTI that it names only.
 *
 * Nothing here allocates: it is used in the app's process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_CONF_FILE  "/etc/aon/gpu.conf"
#define GPU_CONF_ENV   "AON_GPU_CONF" /* another file */
#define GPU_CONF_BYTES 4096u          /* a longer file is refused */

enum gpu_graphs { GPU_GRAPHS_NODE, GPU_GRAPHS_TEMPLATE, GPU_GRAPHS_WHOLE };
enum gpu_fidelity { GPU_FIDELITY_ALL, GPU_FIDELITY_HEARTBEAT };

struct gpu_conf {
#define TEXT(name, size)             char name[size];
#define NUM(name, least, most, none) uint32_t name;
#define WORD(name, words)            uint32_t name;
#include "abi/gpu_conf.tbl.h"
};

/* Everything as it is without a file. */
void gpu_conf_defaults(struct gpu_conf *g);
/* One setting; false: there is no such key, or it does not take that value. *g is as before then. */
bool gpu_conf_set(struct gpu_conf *g, const char *key, const char *value);
/* All of a file, over the defaults. 0, or the number of the first line that is wrong; *g has the
 * defaults then. Any bytes are allowed as input. */
unsigned gpu_conf_parse(struct gpu_conf *g, const char *text, size_t len);
/* 0; -ENOENT; -EINVAL: not such a file; or another -errno. */
int gpu_conf_read(struct gpu_conf *g, const char *path);
/* As the file has it. Returns the length, below `cap`. */
size_t gpu_conf_write(const struct gpu_conf *g, char *out, size_t cap);

/* The driver's build, "580.65.06"; "-" if the kernel has no such module. */
void gpu_conf_driver(char out[32]);
/* Whether what it says was proved for these. NULL, or why it is to be ignored. */
const char *gpu_conf_differs(const struct gpu_conf *g, const char *driver, uint32_t cuda,
			     uint32_t cupti);
