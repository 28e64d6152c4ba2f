/* SPDX-License-Identifier: Apache-2.0 */
/* node_files.h - small files of /proc and /sys below a root, as facts. */
#pragma once

#include <stdint.h>

#include "validate/facts.h"

struct node_files {
	struct facts *f;
	const char *root; /* "" is this node's own */
};

/* Up to cap - 1 bytes of a file: false if there is none. With `len` as they are, else without the end of the line. */
bool node_slurp(const struct node_files *n, const char *path, char *out, size_t cap, size_t *len);
bool node_number(const struct node_files *n, const char *path, double *out);
void node_copy(const struct node_files *n, const char *key, const char *path);
/* The same of a file beside others. */
bool node_beside(const struct node_files *n, const char *path, const char *file, char *out,
		 size_t cap);
bool node_beside_number(const struct node_files *n, const char *path, const char *file,
			double *out);

/* Each entry of a folder whose name begins with `prefix`. */
typedef void node_entry_fn(const struct node_files *n, const char *path, const char *name,
			   void *arg);
void node_each(const struct node_files *n, const char *folder, const char *prefix,
	       node_entry_fn *fn, void *arg);

/* --- bytes of firmware: any --- */

struct dimms {
	unsigned n, slots;
	unsigned slowest, could; /* MT/s that they run at, and that they could */
};
void node_dimms(struct dimms *d, const uint8_t *p, size_t len); /* of SMBIOS */

/* Devices read, and those strictly ordered; bridges with ACS, and those that redirect. */
struct node_config {
	unsigned looked, strict, bridges, redirects;
};
void node_config(struct node_config *sum, const uint8_t *c, size_t len, bool bridge); /* of PCI */

void node_memory(const struct node_files *n);  /* DIMMs, as the firmware's tables have them */
void node_devices(const struct node_files *n); /* PCIe, networks, InfiniBand, NVMe, drivers */
