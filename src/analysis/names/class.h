/* SPDX-License-Identifier: Apache-2.0 */
/* class.h - what a name means: the class of a kernel, the kind of a call or range. */
#pragma once

#include <stdint.h>

#include "model/trace.h"

enum kclass {
#define CLASS(ID, word, people) CLASS_##ID,
#include "names/class.tbl.h"
	CLASSES,
};

enum call {
	CALL_OTHER,
	CALL_SYNC, /* waits for the GPU */
	CALL_LAUNCH,
	CALL_COPY,
	CALL_COPY_WAITS, /* returns when the copy is done */
	CALL_MEMSET,
	CALL_ALLOC,
	CALL_LOAD,          /* loads code, or sets the device up */
	CALL_CAPTURE_BEGIN, /* from here on a graph is captured */
	CALL_CAPTURE_END,
	CALL_CAPTURE, /* makes a graph */
};

enum range_kind {
	RANGE_OTHER,
	RANGE_INPUT,
	RANGE_MEMORY,
	RANGE_MODULE,
	RANGE_COMPILE,
	RANGE_CHECKPOINT,
	RANGE_GC,
	RANGE_PROFILER,
	RANGE_ALLOC, /* takes no time, but for the set-up of a device */
};

/* What a kernel or a module does in a mixture of experts. */
enum experts {
	EXPERTS_NONE,
	EXPERTS_WORK, /* the experts' own work */
	EXPERTS_MEET, /* tokens are sent to experts of other ranks, or back */
};

extern const char *const class_word[CLASSES];   /* for programs */
extern const char *const class_people[CLASSES]; /* for people */

/* The classes of a trace's names, found on first use and kept. */
struct names;

/* t may be NULL: for those of texts alone. */
int names_new(struct names **out, const struct trace *t);
void names_free(struct names *n);

/* By the kernel's own name; what stands in its template's arguments counts only where that says
 * nothing. */
enum kclass names_kernel(struct names *n, uint32_t name);
/* Of an operator or an annotation of the framework; CLASSES: it says nothing. */
enum kclass names_operator(struct names *n, uint32_t name);
enum experts names_experts(struct names *n, uint32_t name);
/* The class of an operator inside another one; CLASSES: none. */
enum kclass class_inside(enum kclass outer, enum kclass inner);
/* The class of a kernel that an operator launched; CLASSES: none did. */
enum kclass class_launched(enum kclass kernel, enum kclass operator);
enum call names_call(struct names *n, uint32_t name);
enum range_kind names_range(struct names *n, uint32_t name);
/* Of no trace: */
enum kclass names_kernel_text(const struct names *n, const char *name);
/* Of work of a device, by its enum event_kind and name. n may be NULL: kernels are others then. */
enum kclass names_work_text(const struct names *n, uint32_t kind, const char *name);
enum call names_call_text(const struct names *n, const char *name);
enum range_kind names_range_text(const struct names *n, const char *name);
