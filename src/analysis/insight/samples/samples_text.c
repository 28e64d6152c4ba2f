/* SPDX-License-Identifier: Apache-2.0 */
/* samples_text.c - frames and states as people read them; see samples.h. */
#include <stdio.h>
#include <string.h>

#include "insight/insight.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *function_of(const struct trace *t, const struct stack_frame *f)
{
	return f->name ? trace_text(t, f->name) : f->file ? "?" : "(no frame)";
}

/* "dataset.py:42", "libc.so.6". */
static const char *place_of(const struct trace *t, const struct stack_frame *f, char *out,
			    size_t cap)
{
	const char *file = f->file ? base_name(trace_text(t, f->file)) : "";

	if (f->line)
		snprintf(out, cap, "%.120s:%u", file, f->line);
	else
		snprintf(out, cap, "%.120s", file);
	return out;
}

char *frame_called(const struct trace *t, const struct stack_frame *f, char out[FRAME_LABEL])
{
	char place[160];

	place_of(t, f, place, sizeof(place));
	if (*place)
		snprintf(out, FRAME_LABEL, "%.90s (%s)", function_of(t, f), place);
	else
		snprintf(out, FRAME_LABEL, "%.200s", function_of(t, f));
	return out;
}

char *frame_placed(const struct trace *t, const struct stack_frame *f, char out[FRAME_LABEL])
{
	char place[160];

	place_of(t, f, place, sizeof(place));
	snprintf(out, FRAME_LABEL, "%s%s%.90s", place, *place ? " " : "", function_of(t, f));
	return out;
}

char *frame_inlined(const struct trace *t, const struct sample_blame *b, char out[FRAME_LABEL])
{
	*out = '\0';
	if (b->into.name)
		snprintf(out, FRAME_LABEL, ", inlined in %.90s", function_of(t, &b->into));
	return out;
}

char *blame_called(const struct trace *t, const struct sample_blame *b, char out[BLAME_CODE])
{
	char code[FRAME_LABEL], into[FRAME_LABEL];

	snprintf(out, BLAME_CODE, "%s%s", frame_called(t, &b->frame, code),
		 frame_inlined(t, b, into));
	return out;
}

/* Where the name of a module begins: behind site-packages, or behind lib/python3.x. */
static const char *module_of(const char *path)
{
	static const char *const root[] = { "/site-packages/", "/dist-packages/" };
	const char *at;

	for (size_t i = 0; i < sizeof(root) / sizeof(root[0]); i++)
		if ((at = strstr(path, root[i])))
			return at + strlen(root[i]);
	at = strstr(path, "/lib/python");
	at = at ? strchr(at + strlen("/lib/python"), '/') : NULL;
	return at ? at + 1 : base_name(path);
}

char *frame_library(const struct trace *t, const struct stack_frame *f, char out[FRAME_LABEL])
{
	const char *file = f->file ? module_of(trace_text(t, f->file)) : "";
	size_t len = strlen(file);

	if (f->kind != FRAME_PYTHON || !len) {
		snprintf(out, FRAME_LABEL, "%.200s", function_of(t, f));
		return out;
	}
	if (len > 3 && !strcmp(file + len - 3, ".py"))
		len -= 3;
	if (len > 9 && !strncmp(file + len - 9, "/__init__", 9))
		len -= 9;
	snprintf(out, FRAME_LABEL, "%.*s.%.90s", (int)(len > 120 ? 120 : len), file,
		 function_of(t, f));
	for (size_t i = 0; i < len && i < 120; i++)
		if (out[i] == '/')
			out[i] = '.';
	return out;
}

const char *sample_state_people(enum sample_state s)
{
	static const char *const text[SAMPLE_STATES] = {
		[SAMPLE_NONE] = "in a state that is not known",
		[SAMPLE_RUNNING] = "running",
		[SAMPLE_RUNNABLE] = "waiting for a CPU",
		[SAMPLE_THROTTLED] = "throttled by its CPU quota",
		[SAMPLE_GIL] = "waiting for the GIL",
		[SAMPLE_LOCK] = "waiting for a lock",
		[SAMPLE_IO] = "waiting for a file or disk",
		[SAMPLE_FAULT] = "waiting for memory (page faults)",
		[SAMPLE_SLEEP] = "sleeping",
		[SAMPLE_WAIT] = "waiting for a socket, pipe, child or device",
		[SAMPLE_SYSCALL] = "in a system call",
	};

	return s < SAMPLE_STATES ? text[s] : text[0];
}

char *blame_text(const struct trace *t, const struct sample_blame *b, const struct share *all,
		 char out[BLAME_LABEL])
{
	char code[BLAME_CODE], work[FRAME_LABEL];

	blame_called(t, b, code);
	if (b->worker.pid)
		snprintf(out, BLAME_LABEL, "in %s, %swaiting for worker %llu: %s", code,
			 b->s.share < 0.9 * all->share ? "mostly " : "",
			 (unsigned long long)b->worker.pid,
			 frame_called(t, &b->worker.frame, work));
	else if (b->held)
		snprintf(out, BLAME_LABEL, "waiting for the GIL, held in %s", code);
	else
		snprintf(out, BLAME_LABEL, "in %s, %s%s", code,
			 b->s.share < 0.9 * all->share ? "mostly " : "",
			 sample_state_people(b->state));
	return out;
}
