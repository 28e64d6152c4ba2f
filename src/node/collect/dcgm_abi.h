/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dcgm_abi.h - the part of DCGM's public interface that aon uses (libdcgm 3 and 4 agree on it). It
 * is declared here so that aon builds without DCGM's headers. A struct carries its own size and
 * version.
 */
#pragma once

#include <stdint.h>

typedef uintptr_t dcgm_handle; /* groups of GPUs and of fields, too */

enum dcgm_return {
	DCGM_OK = 0,
	DCGM_NOT_SUPPORTED = -6,
	DCGM_NO_DATA = -14,
	DCGM_CONNECTION_NOT_VALID = -21,
	DCGM_MODULE_NOT_LOADED = -33,
	DCGM_IN_USE = -34,
	DCGM_PROFILING_NOT_SUPPORTED = -36,
	DCGM_PROFILING_LIBRARY_ERROR = -37,
	DCGM_PAUSED = -54,
};

#define DCGM_VERSION(type, n) ((unsigned)sizeof(type) | (unsigned)(n) << 24)
#define DCGM_DEVICES          32u
#define DCGM_ALL_GPUS         0x7fffffffu
#define DCGM_ENTITY_GPU       1u
#define DCGM_LIVE             1u /* read it now, from the driver */

struct dcgm_connect {
	unsigned version, persist, timeout_ms, is_unix;
};

struct dcgm_embedded {
	unsigned version, mode; /* mode 1: it collects by itself */
	dcgm_handle handle;     /* out */
	const char *log;
	int severity;
	unsigned denied, deny[10];
};

struct dcgm_entity {
	unsigned group, id;
};

struct dcgm_value {
	unsigned version, group, id;
	unsigned short field, type; /* type: 'd' double, 'i' and 't' int64, 's' text */
	int status;
	unsigned unused;
	int64_t t_us; /* since 1970 */
	union {
		int64_t i;
		double d;
		char text[256];
		char bytes[4096];
	} value;
};
_Static_assert(sizeof(struct dcgm_value) == 4128, "as DCGM has it");

struct dcgm_prof_groups {
	unsigned version, unused, gpu, groups;
	struct {
		unsigned short major, minor; /* of one major only one minor at a time */
		unsigned fields;
		unsigned short field[64];
	} group[10];
};
_Static_assert(sizeof(struct dcgm_prof_groups) == 16 + 10 * 136, "as DCGM has it");
