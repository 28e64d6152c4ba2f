/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.h - the reader of Chrome / Kineto JSON, in four parts:
 *
 *	kineto.c       the document: finds the rows, mends, counts
 *	kineto_row.c   one row as tokens, and the event it becomes
 *	kineto_shape.c an operator's sizes and types as one text
 *	kineto_place.c pids and tids as processes, devices and tracks; what metadata says of them
 */
#pragma once

#include "import/json_in.h"
#include "import/priv.h"

enum field {
#define ROW(ID, key) F_##ID,
#define ARG(ID, key) F_##ID,
#include "import/kineto.tbl.h"
	F_COUNT,
};
_Static_assert(F_COUNT <= 64, "a row remembers its fields in one word");

struct kineto_event {
	uint64_t have; /* bit of enum field */
	struct json_tok val[F_COUNT];
};

static inline bool kineto_has(const struct kineto_event *r, enum field f)
{
	return r->have >> f & 1;
}

/* The track of a row's pid and tid; direct-mapped. */
struct track_cache {
	uint64_t pid, stream;
	uint32_t device; /* TRACK_HOST: a thread */
	uint32_t track;  /* + 1; 0: free */
};

#define TRACK_CACHE 256u
#define META_MAX    65536u
#define DEVICE_MAX  64u

struct meta {
	uint64_t pid, tid;
	uint32_t name;
	bool process;
};

/* A process named "/device:GPU:0": how JAX and TensorFlow write a device. */
struct plane {
	uint64_t pid;
	uint32_t index;
};

enum plane_kind { PLANE_NONE, PLANE_STREAM, PLANE_DERIVED };

struct open_range {
	struct event e;
	uint32_t below; /* index + 1 of the one it lies on */
};

struct kineto_in {
	const struct importing *im;
	struct trace *t;
	struct json_in in;
	struct kineto_event row;
	struct track_cache cache[TRACK_CACHE];
	bool have_main, main_known; /* the process that the devices belong to */
	uint32_t main;
	uint64_t last_ns;
	bool fraction; /* a time finer than a microsecond was seen */
	struct meta *meta;
	size_t metas;
	struct open_range *open; /* of B without its E yet */
	size_t opens;
	uint32_t *top, free_open; /* by track: index + 1 */
	size_t top_cap;
	struct trace_device device[DEVICE_MAX]; /* as deviceProperties says */
	struct plane plane[DEVICE_MAX];
	size_t planes;
	struct {
		uint64_t pid, tid;
		enum plane_kind kind;
		bool known;
	} thread; /* of a plane: the last one asked for */
	size_t devices, first_track, first_device, first_comm;
	char text[TRACE_NAME_BYTES];
};

/* A step of json_in.h over the row at p: fills k->row. */
const char *kineto_read_row(struct kineto_in *k, const char *p);
/* Converts k->row: 1 an event, 0 not an event, -EBADMSG damaged, else -errno. */
int kineto_row(struct kineto_in *k);
int kineto_name(struct kineto_in *k, struct json_tok t, uint32_t *id);
/* Ranges that never ended. */
int kineto_finish(struct kineto_in *k);

/* The name of the row's shapes, as theory/op_work.h reads them; 0: it has none. */
int kineto_shapes(struct kineto_in *k, uint32_t *name);

int kineto_place_host(struct kineto_in *k, bool launches, uint32_t *track);
int kineto_place_device(struct kineto_in *k, struct json_tok device, struct json_tok stream,
			uint32_t *track);
int kineto_place_meta(struct kineto_in *k);
/* Is the row on a thread of a plane? Known once its names were read, which come first there. */
enum plane_kind kineto_place_plane(struct kineto_in *k);
/* Sets names and sizes of the file's processes, devices and tracks. */
int kineto_place_finish(struct kineto_in *k);
