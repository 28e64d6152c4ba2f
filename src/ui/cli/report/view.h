/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - a trace, its findings, and where they are shown, for report and why. */
#pragma once

#include "cli/core/out.h"
#include "insight/find/finding.h"
#include "read/json.h"

struct view {
	struct trace *t;     /* owned */
	struct insight *in;  /* owned */
	struct findings *fs; /* owned; NULL: of a table alone */
	struct out out;
	const struct opts *o; /* borrowed */
};

enum view_by {
	VIEW_ALL,
	VIEW_KERNEL,
	VIEW_CLASS,
	VIEW_OP,
	VIEW_MODULE,
	VIEW_STEP,
	VIEW_RANK,
	VIEW_STREAM,
	VIEW_EVENTS /* all, and the events themselves */
};

/* Reads the operands. CLI_OK, or the exit status after an error message. `by`: a table of classes,
 * steps, ranks or streams alone needs less, and of a large store no events are kept then
 * (in->parted) unless they are asked for. */
int view_open(struct view *v, const struct opts *o, enum view_by by);
void view_close(struct view *v);
/* What to exit with once all is shown: damaged input is reported, and shown. */
int view_exit(const struct view *v);

/* aon report */
void view_text(const struct view *v);
void view_table(const struct view *v, enum view_by by, size_t fold);

/* Copies and collectives compared with their links; nothing where there are none. */
void view_traffic(const struct view *v, size_t fold);

/* aon roofline STORE|TRACE...: what limits kernels; what to exit with. */
int view_roofline(const struct opts *o);

/* aon report --memory: what to exit with. */
int report_memory(const struct opts *o);

/* Operators or modules by their time on the host; false: there are none. */
bool view_host_table(const struct view *v, enum insight_host_by by, size_t fold);

/* The input: "worker0.json.gz 2 x NVIDIA H100 6 steps in 1.05 s". */
void view_head(const struct view *v);
/* How many steps were recorded, if some were unsampled; otherwise nothing. */
void view_recorded(const struct view *v);
/* The costliest finding in a sentence. */
void view_verdict(const struct view *v);
/* `text` below `label`, wrapped at the width, its lines under each other. */
void view_wrap(const struct out *out, const char *label, const char *text);
/* A sentence of a finding, safe to print and with the sign for micro where there is one. */
char *view_clean(const struct out *out, char *buf, size_t cap, const char *text);
/* How to name the same input again, in a command to copy. */
char *view_operands(const struct view *v, char *buf, size_t cap);
