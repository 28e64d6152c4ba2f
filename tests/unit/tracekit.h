/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracekit.h - a trace from a few lines of text, for tests.
 *
 *	file RANK                                  what follows is of this rank (0 unless told)
 *	op|user|py|module TID START DUR ID NAME    a range; ID: External id or 0
 *	step TID START DUR NUMBER
 *	api|sync TID START DUR CORR EXT NAME
 *	kernel|memset|wait|gua DEVICE STREAM START DUR CORR NAME
 *	copy DEVICE STREAM START DUR CORR BYTES DIR[p]   DIR of AON_COPY_*; p: pageable
 *	counter TID START VALUE NAME
 *	sample DEVICE START VALUE NAME             a counter of a device; VALUE is a real number
 *	stack FRAME...                             the next stack: 1, 2, ...; innermost frame first:
 *	                                           FUNCTION@FILE:LINE, ! behind the program's own code,
 *	                                           ~ before native code
 *	at TID START DUR STATE STACK [DETAIL [FLAGS]]   a sample, by the numbers of sample.tbl.h
 *
 * Times are nanoseconds. A line that cannot be read aborts.
 */
#ifndef AON_TRACEKIT_H
#define AON_TRACEKIT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/trace.h"

struct kit {
	struct trace *t;
	uint32_t file, process;
};

static inline void kit_must(int ok, const char *line)
{
	if (ok)
		return;
	fprintf(stderr, "tracekit: %s\n", line);
	abort();
}

static inline uint32_t kit_name(struct kit *k, const char *s)
{
	uint32_t id = 0;

	kit_must(trace_name(k->t, s, strlen(s), &id) == 0, s);
	return id;
}

static inline void kit_file(struct kit *k, int rank)
{
	char path[32];

	snprintf(path, sizeof(path), "rank%d.json", rank);
	kit_must(trace_file_add(k->t, path, &k->file) == 0, path);
	k->t->file[k->file].rank = rank;
	kit_must(trace_process(k->t, k->file, 100 + (uint64_t)(rank + 1), &k->process) == 0, path);
}

static inline void kit_add(struct kit *k, struct event *e, int device, uint64_t stream)
{
	struct trace_track l = { .process = k->process, .device = TRACK_HOST, .stream = stream };

	if (device >= 0)
		kit_must(trace_device(k->t, k->process, (uint32_t)device, &l.device) == 0,
			 "device");
	kit_must(trace_track(k->t, &l, &e->track) == 0, "lane");
	kit_must(trace_add(k->t, e, 0) == 0, "event");
}

static inline int kit_host(struct kit *k, const char *line, const char *word, const char *rest)
{
	static const struct {
		const char *word;
		uint8_t kind;
		uint64_t a;
	} kind[] = {
		{ "op", EVENT_RANGE, TRACE_OP },     { "user", EVENT_RANGE, TRACE_USER },
		{ "py", EVENT_RANGE, TRACE_PYTHON }, { "api", EVENT_API, 0 },
		{ "sync", EVENT_SYNC, 0 },           { "module", EVENT_RANGE, TRACE_MODULE },
	};
	unsigned long tid, start, dur, id = 0, ext = 0;
	struct event e = { 0 };
	char name[256] = "";

	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		if (strcmp(word, kind[i].word))
			continue;
		if (kind[i].kind == EVENT_RANGE)
			kit_must(sscanf(rest, "%lu %lu %lu %lu %255[^\n]", &tid, &start, &dur, &id,
					name) == 5,
				 line);
		else
			kit_must(sscanf(rest, "%lu %lu %lu %lu %lu %255[^\n]", &tid, &start, &dur,
					&id, &ext, name) == 6,
				 line);
		e.kind = kind[i].kind;
		e.a = kind[i].a;
		e.b = ext;
		e.start_ns = start;
		e.dur_ns = dur;
		e.corr = (uint32_t)id;
		e.name = kit_name(k, name);
		kit_add(k, &e, -1, tid);
		return 1;
	}
	return 0;
}

static inline int kit_gpu(struct kit *k, const char *line, const char *word, const char *rest)
{
	unsigned long stream, start, dur, corr, bytes = 0;
	struct event e = { 0 };
	char name[256] = "";
	int device;

	if (!strcmp(word, "copy")) {
		kit_must(sscanf(rest, "%d %lu %lu %lu %lu %lu %255[^\n]", &device, &stream, &start,
				&dur, &corr, &bytes, name) == 7,
			 line);
		e.kind = EVENT_COPY;
		e.a = bytes;
		e.b = strchr(name, 'p') ? TRACE_PAGEABLE : 0;
		e.flags = (uint8_t)(atoi(name) << EVENT_COPY_SHIFT);
		e.name = kit_name(k, "Memcpy");
	} else if (!strcmp(word, "kernel") || !strcmp(word, "memset") || !strcmp(word, "wait") ||
		   !strcmp(word, "gua")) {
		kit_must(sscanf(rest, "%d %lu %lu %lu %lu %255[^\n]", &device, &stream, &start,
				&dur, &corr, name) == 6,
			 line);
		e.kind = *word == 'k'   ? EVENT_KERNEL
			 : *word == 'm' ? EVENT_MEMSET
			 : *word == 'w' ? EVENT_SYNC
					: EVENT_RANGE;
		e.a = *word == 'g' ? TRACE_GPU_USER : 0;
		e.name = kit_name(k, name);
	} else {
		return 0;
	}
	e.start_ns = start;
	e.dur_ns = dur;
	e.corr = (uint32_t)corr;
	kit_add(k, &e, device, stream);
	return 1;
}

static inline void kit_stack(struct kit *k, const char *rest)
{
	struct stack_frame f[STACK_FRAMES_MAX] = { 0 };
	char word[128], name[64], file[64];
	uint32_t id;
	size_t n = 0;
	int used;

	for (; sscanf(rest, " %127s%n", word, &used) == 1; rest += used) {
		const char *w = word + (*word == '~');

		kit_must(sscanf(w, "%63[^@]@%63[^:]:%u", name, file, &f[n].line) == 3, rest);
		f[n].kind = *word == '~' ? FRAME_NATIVE : FRAME_PYTHON;
		f[n].flags = word[strlen(word) - 1] == '!' ? FRAME_USER : 0;
		f[n].name = kit_name(k, name);
		f[n++].file = kit_name(k, file);
	}
	kit_must(trace_stack_add(k->t, f, n, &id) == 0, rest);
}

static inline void kit_sample(struct kit *k, const char *line, const char *rest)
{
	unsigned long tid, start, dur, stack;
	unsigned state, detail = 0, flags = 0;
	struct event e = { .kind = EVENT_SAMPLE };

	kit_must(sscanf(rest, "%lu %lu %lu %u %lu %u %u", &tid, &start, &dur, &state, &stack,
			&detail, &flags) >= 5,
		 line);
	e.start_ns = start;
	e.dur_ns = dur;
	e.a = stack;
	e.b = sample_b((enum sample_state)state, (uint8_t)flags, detail);
	kit_add(k, &e, -1, tid);
}

static inline void kit_line(struct kit *k, const char *line)
{
	unsigned long tid, start, dur, number;
	double real;
	char word[16], name[256];
	int used = 0, rank;

	if (sscanf(line, " %15s %n", word, &used) != 1)
		return;
	if (sscanf(line, " file %d", &rank) == 1) {
		kit_file(k, rank);
		return;
	}
	if (!k->t->files)
		kit_file(k, 0);
	if (!strcmp(word, "stack") || !strcmp(word, "at")) {
		if (*word == 's')
			kit_stack(k, line + used);
		else
			kit_sample(k, line, line + used);
		return;
	}
	if (kit_host(k, line, word, line + used) || kit_gpu(k, line, word, line + used))
		return;
	if (sscanf(line, " step %lu %lu %lu %lu", &tid, &start, &dur, &number) == 4) {
		struct event e = {
			.kind = EVENT_STEP, .start_ns = start, .dur_ns = dur, .a = number
		};

		kit_add(k, &e, -1, tid);
		return;
	}
	if (sscanf(line, " counter %lu %lu %lu %255[^\n]", &tid, &start, &number, name) == 4) {
		struct event e = { .kind = EVENT_COUNTER, .start_ns = start, .a = number };

		e.name = kit_name(k, name);
		kit_add(k, &e, -1, tid);
		return;
	}
	if (sscanf(line, " sample %lu %lu %lf %255[^\n]", &tid, &start, &real, name) == 4) {
		struct event e = { .kind = EVENT_COUNTER, .flags = EVENT_FLOAT, .start_ns = start };

		memcpy(&e.a, &real, sizeof(e.a));
		e.name = kit_name(k, name);
		kit_add(k, &e, (int)tid, UINT64_MAX);
		return;
	}
	kit_must(0, line);
}

/* The trace of these lines, sealed; trace_free() it. */
static inline struct trace *kit_trace(const char *text)
{
	struct kit k = { 0 };
	char line[512];

	kit_must(trace_new(&k.t) == 0, "trace_new");
	while (*text) {
		size_t n = strcspn(text, "\n;");

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		kit_line(&k, line);
		text += n + (text[n] != '\0');
	}
	kit_must(trace_seal(k.t) == 0, "trace_seal");
	return k.t;
}

#endif /* AON_TRACEKIT_H */
