/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h - what the files of libaon-nvtx share, and the facts of NVTX's public ABI that they
 * need, so that no header of NVIDIA's is needed to build.
 *
 * inject.c  how NVTX finds us, and another injection through us
 * call.c    what happens in a call
 * push.c    in a push or a pop, the most frequent ones
 * name.h    the straight way to a name
 * handle.c  names, domains and registered strings
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- NVTX --- */

enum nvtx_module { NVTX_CORE = 1, NVTX_CORE2 = 5, NVTX_MODULES };
enum nvtx_text { NVTX_NONE, NVTX_ASCII, NVTX_WIDE, NVTX_REGISTERED };
enum nvtx_payload {
	NVTX_NO_PAYLOAD,
	NVTX_U64,
	NVTX_I64,
	NVTX_F64,
	NVTX_U32,
	NVTX_I32,
	NVTX_F32,
};

#define NVTX_NO_LEVEL     (-2) /* this range's level is not tracked */
#define NVTX_ET_CALLBACKS 1u

struct nvtx_event {
	uint16_t version;
	uint16_t size; /* of the caller's struct */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type; /* enum nvtx_payload */
	int32_t reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t text_type; /* enum nvtx_text */
	union {
		const char *ascii;
		const wchar_t *wide;
		void *registered;
	} text;
};

typedef void nvtx_fn(void); /* one of many types: cast before it is called */

struct nvtx_callbacks {
	size_t size;
	/* 1, and an array of pointers to NVTX's own function pointers */
	int (*table)(int module, nvtx_fn ****out, unsigned int *count);
};

typedef const void *nvtx_export_fn(uint32_t table);
typedef int nvtx_init_fn(nvtx_export_fn *get);

_Static_assert(sizeof(struct nvtx_event) == 48, "NVTX's ABI");
_Static_assert(offsetof(struct nvtx_event, payload) == 24, "NVTX's ABI");
_Static_assert(offsetof(struct nvtx_event, text) == 40, "NVTX's ABI");

/* A text of NVTX's: either kind, or none. */
struct nvtx_string {
	const char *ascii;
	const wchar_t *wide;
};

/* --- inject.c --- */

enum nvtx_call {
#define CALL(module, place, name) CALL_##name,
#include "probe/nvtx/calls.tbl.h"
	CALLS
};

/* The other injection's function for each call; NULL: none. */
extern _Atomic(nvtx_fn *) nvtx_theirs[CALLS];

/* --- call.c --- */
extern nvtx_fn *const nvtx_ours[CALLS]; /* calls theirs, too */

void nvtx_count_payload(uint32_t name, const struct nvtx_event *e);

static inline uint32_t category_of(const struct nvtx_event *e)
{
	return e && e->size >= sizeof(*e) ? e->category : 0;
}

static inline int32_t payload_of(const struct nvtx_event *e)
{
	return e && e->size >= sizeof(*e) ? e->payload_type : NVTX_NO_PAYLOAD;
}

/* --- push.c --- */
extern nvtx_fn *const nvtx_alone[CALLS]; /* for when there is no other; NULL: as nvtx_ours[] */

/* Their level, as NVTX answers it. */
int nvtx_push(struct nvtx_string s);
int nvtx_push_event(const void *domain, const struct nvtx_event *e);
int nvtx_pop(const void *domain);

/* --- handle.c --- */

#define NVTX_DOMAINS  64u
#define NVTX_TEXT_MAX 2048u /* of libaon's names, with its end */

/* Appends what fits `cap` with its end, as UTF-8; returns the new length. */
size_t nvtx_append(char *out, size_t len, size_t cap, struct nvtx_string s);

/* The id of "domain: text". Domain 0 is NVTX's default and has no prefix. */
uint32_t nvtx_name(uint32_t domain, struct nvtx_string s);
uint32_t nvtx_event_name(uint32_t domain, const struct nvtx_event *e);

/*
 * An app gets the other injection's handle where there is one, so that its own calls and NVTX's
 * extensions see it unchanged; else (NULL) a token of ours.
 */
void *nvtx_domain_create(struct nvtx_string name, void *theirs);
void *nvtx_string_register(uint32_t domain, struct nvtx_string text, void *theirs);
uint32_t nvtx_domain(const void *handle);
bool nvtx_is_ours(const void *handle); /* a token: not for the other injection */
