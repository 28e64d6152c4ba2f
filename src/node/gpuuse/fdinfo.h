/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fdinfo.h - what /proc/PID/fdinfo/FD says of an open file of /dev/dri.
 *
 * The kernel's Documentation/gpu/drm-usage-stats.rst describes the text: "drm-KEY: VALUE [UNIT]", a
 * line each. All drivers share the parser; which keys are there differs:
 *
 *	amdgpu, i915, nouveau, v3d   drm-engine-E: N ns
 *	xe                           drm-cycles-E and drm-total-cycles-E: busy and elapsed ticks of E
 *	msm, panfrost, panthor       drm-engine-E, drm-cycles-E and drm-maxfreq-E: N Hz
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDINFO_NAME    24u /* bytes of a name, with its NUL */
#define FDINFO_ENGINES 16u /* kinds; xe has 6, amdgpu 9 */
#define FDINFO_REGIONS 8u  /* xe has 5, one for each tile more */

/* Of a region of memory. MEMORY is the older word for RESIDENT. */
enum fdinfo_kind {
	FDINFO_RESIDENT,
	FDINFO_TOTAL,
	FDINFO_SHARED,
	FDINFO_PURGEABLE,
	FDINFO_ACTIVE,
	FDINFO_MEMORY,
	FDINFO_KINDS
};

struct fdinfo_engine {
	char name[FDINFO_NAME];
	bool has_ns, has_cycles, has_total;
	uint64_t ns, cycles, total; /* total: ticks that passed meanwhile */
	uint64_t max_hz;            /* 0: not said */
	uint32_t capacity;          /* engines of that kind */
};

struct fdinfo_region {
	char name[FDINFO_NAME];
	uint8_t has; /* a bit for each kind */
	uint64_t bytes[FDINFO_KINDS];
};

struct fdinfo {
	char driver[FDINFO_NAME], pdev[FDINFO_NAME]; /* pdev: its place on the PCI bus; "": none */
	bool has_client;
	uint64_t client;                 /* several files of one client have the same numbers */
	uint32_t engines, regions, left; /* left: lines over the bounds */
	struct fdinfo_engine engine[FDINFO_ENGINES];
	struct fdinfo_region region[FDINFO_REGIONS];
};

/* 0, or -ENOMSG: no DRM driver wrote that. Lines that are none are skipped. */
int fdinfo_parse(struct fdinfo *out, const char *text, size_t len);

/* What the client takes of a region: what is resident, else what the driver says instead. */
uint64_t fdinfo_bytes(const struct fdinfo_region *r);
/* Whether the region is the GPU's own memory, not the host's. */
bool fdinfo_is_local(const struct fdinfo_region *r);

/* Whether the name of an engine or region is fit to be a label: letters, digits, - _ and dots. */
bool fdinfo_name_ok(const char *name);
extern const char *const fdinfo_kind_name[FDINFO_KINDS];
