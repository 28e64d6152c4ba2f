/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.h - reads devices from a file's text, in the format that aon roofline --json and measure
 * write.
 *
 *	{ "schema": "aon.devices/1", "devices": [
 *	    { "key": "MY_GPU", "name": "as its driver says it", "like": "H100_SXM",
 *	      "memory_Bps": 3.0e12, "tensor_flops": { "bf16": 9.0e14 } } ] }
 *
 * "like" is a device that is known: what is not said is as there. The fields are those of
 * gpu_field.tbl.h; one that is not known is an error, for it is a typing mistake.
 */
#pragma once

#include <stddef.h>

#include "theory/gpu.h"

#define DEVICES_SCHEMA "aon.devices/1"
#define DEVICES_BYTES  (1u << 20) /* of a file */

struct devices_why {
	size_t line; /* 0: of the file as a whole */
	char text[240];
};

/* How many there are, or -EINVAL and why. `out` has room for GPU_ADDED. */
int devices_parse(struct gpu *out, const char *text, size_t len, struct devices_why *why);

/* Adds the devices of a file's text (gpu_add). How many, or -errno and why. */
int devices_add(const char *text, size_t len, struct devices_why *why);
