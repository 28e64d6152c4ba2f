/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_windows.c - sums over time, from rollups: the whole run, however long, in an answer of
 * bounded size.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "names/class.h"
#include "model/rollup.h"
#include "serve/api/api.h"
#include "store/store.h"

#define WINDOWS_DEFAULT 600u
#define WINDOWS_MOST    2000u

struct bin {
	uint64_t compute_ns, comm_ns, memory_ns, kernels, copies, steps, step_ns;
};

struct sums {
	struct serve *s;
	struct store *st;
	const struct names *names;
	uint64_t from_ns, width_ns;
	struct bin *bin; /* owned */
	size_t bins;
	/* owned, by the store's name: 1 + whether it communicates; 0: not looked up yet */
	uint8_t *class;
	size_t classes;
};

/* Whether a kernel is communication, judged by its name. */
static bool is_comm(struct sums *x, uint32_t name)
{
	if (vec_room0(&x->class, &x->classes, (size_t)name + 1, 1) < 0)
		return false;
	if (!x->class[name])
		x->class[name] = 1 + (names_kernel_text(x->names, store_name_text(x->st, name)) ==
				      CLASS_COMM);
	return x->class[name] == 2;
}

static void add_rollup(struct sums *x, struct bin *b, const struct rollup *r)
{
	switch (r->kind) {
	case EVENT_KERNEL:
	case EVENT_COLLECTIVE:
		if (r->kind == EVENT_COLLECTIVE || is_comm(x, r->name))
			b->comm_ns += r->total_ns;
		else
			b->compute_ns += r->total_ns;
		b->kernels += r->count;
		break;
	case EVENT_COPY:
	case EVENT_MEMSET:
		b->memory_ns += r->total_ns;
		b->copies += r->count;
		break;
	case EVENT_STEP:
		b->steps += r->count;
		b->step_ns += r->total_ns;
		break;
	default:
		break;
	}
}

static int on_window(void *arg, const struct window *w)
{
	struct sums *x = arg;
	uint64_t since = w->start_ns > x->from_ns ? w->start_ns - x->from_ns : 0;
	size_t at = since / x->width_ns;

	for (uint32_t i = 0; i < w->rows && at < x->bins; i++)
		add_rollup(x, &x->bin[at], &w->row[i]);
	return 0;
}

static void bins_json(struct json *j, const struct sums *x, uint64_t t0)
{
	json_u64(j, "width_ns", x->width_ns);
	json_open(j, "windows", '[');
	for (size_t i = 0; i < x->bins; i++) {
		const struct bin *b = &x->bin[i];

		json_object(j, NULL, J_U64("t", x->from_ns + i * x->width_ns - t0),
			    J_U64("compute_ns", b->compute_ns), J_U64("comm_ns", b->comm_ns),
			    J_U64("memory_ns", b->memory_ns), J_U64("kernels", b->kernels),
			    J_U64("copies", b->copies), J_U64("steps", b->steps),
			    J_U64("step_ns", b->step_ns));
	}
	json_close(j);
}

int api_windows(struct ask *q, struct json *j)
{
	static const struct trace no_trace;
	struct sums x = { .s = q->s, .st = q->run.src->st };
	uint64_t t0, t1, most = WINDOWS_DEFAULT, span;
	struct names *names = NULL;
	struct store_filter f = { .processes = 1 };
	int err;

	if (ask_range(q, &t0, &t1) < 0 || ask_number(q, "n", 1, WINDOWS_MOST, &most) < 0)
		return -EINVAL;
	span = q->run.t1 - q->run.t0 + 1;
	t0 = t0 < span ? t0 : span;
	t1 = t1 < span ? t1 : span;
	x.from_ns = q->run.t0 + t0;
	x.width_ns = WINDOW_NS * ((t1 - t0) / WINDOW_NS / most + 1);
	x.bins = (t1 - t0 + x.width_ns - 1) / x.width_ns;
	x.bin = calloc(x.bins + 1, sizeof(*x.bin));
	err = x.bin ? names_new(&names, &no_trace) : -ENOMEM;
	x.names = names;
	f.from_ns = x.from_ns;
	f.to_ns = q->run.t0 + t1;
	for (size_t i = 0; i < q->run.processes && !err; i++) {
		f.process = &q->run.process[i].id;
		err = store_each_window(x.st, &f, on_window, &x);
	}
	if (!err)
		bins_json(j, &x, q->run.t0);
	names_free(names);
	free(x.bin);
	free(x.class);
	return err;
}
