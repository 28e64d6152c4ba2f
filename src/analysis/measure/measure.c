/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - see measure.h. */
#include "measure/measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "measure/kernels.h"

#define REPS_MAX  (1u << 24)
#define EMPTY     500u /* kernels in a row, of which the time of one is taken */
#define FULL_NS   50e6 /* a round */
#define QUICK_NS  2e6
#define FULL_SET  (1ull << 30) /* the largest working set, unless four caches are more */
#define QUICK_SET (64ull << 20)
#define EXTRA     (16ull << 20) /* what the sums and the smallest sets take at most */
#define TEST_NS   5e6

struct run {
	struct backend *b;
	const struct measure_opts *o;
	double round_ns;
	uint32_t rounds;
};

static void tell(const struct run *r, const char *what)
{
	if (r->o->progress)
		r->o->progress(r->o->arg, what);
}

static int once(const struct run *r, const char *kernel, uint32_t groups, uint32_t n, uint32_t reps,
		double *ns)
{
	double from = (double)clock_mono_ns();
	int err = r->b->ops->launch(r->b, kernel, groups, n, reps);

	err = err ? err : r->b->ops->finish(r->b);
	*ns = fmax((double)clock_mono_ns() - from, 1);
	return err;
}

/* The best of some rounds, of fewer if they take long. */
static int best_of(const struct run *r, const char *kernel, uint32_t groups, uint32_t n,
		   uint32_t reps, double *best)
{
	double ns, all = 0;
	int err = 0;

	*best = INFINITY;
	for (uint32_t i = 0; i < r->rounds && !err && (i < 3 || all < 20 * r->round_ns); i++) {
		err = once(r, kernel, groups, n, reps, &ns);
		*best = fmin(*best, ns);
		all += ns;
	}
	return err;
}

/* Repeats within the kernel until its best takes half a round. Gives how many repetitions it
 * does a second. The first launch of all may compile: it does not count. */
static int rate(const struct run *r, const char *kernel, uint32_t groups, uint32_t n, double *out)
{
	uint32_t reps = 1;
	double ns;
	int err = once(r, kernel, groups, n, reps, &ns);

	while (!err) {
		err = best_of(r, kernel, groups, n, reps, &ns);
		if (ns >= r->round_ns / 2 || reps >= REPS_MAX)
			break;
		reps = (uint32_t)fmin(REPS_MAX, ceil(reps * fmin(16, fmax(2, r->round_ns / ns))));
	}
	*out = reps * 1e9 / ns;
	return err;
}

/* --- peaks --- */

static int peak(const struct run *r, enum gpu_type t, bool tensor, double *flops)
{
	struct backend *b = r->b;
	uint32_t groups = b->units * (b->cpu ? 4 : 16);
	struct variant v;
	char what[64];
	double reps;
	int err;

	*flops = 0;
	if (!b->ops->variant(b, t, tensor, &v))
		return 0;
	snprintf(what, sizeof(what), "peak of %s%s", gpu_type_word[t],
		 tensor ? ", tensor cores" : "");
	tell(r, what);
	err = b->ops->build(b, &v);
	err = err ? err : b->ops->buffer(b, (uint64_t)groups * b->group * 64 + 4096);
	err = err ? err : rate(r, "count", groups, 0, &reps);
	if (!err)
		*flops = reps * v.flops * KERNEL_CHAINS * KERNEL_STEPS * b->group * groups;
	return err;
}

static int peaks(const struct run *r, struct measure *m)
{
	int err = 0;

	for (int t = 0; t < GPU_TYPES && !err; t++) {
		err = peak(r, (enum gpu_type)t, false, &m->gpu.vector_flops[t]);
		err = err ? err : peak(r, (enum gpu_type)t, true, &m->gpu.tensor_flops[t]);
	}
	return err;
}

/* --- bandwidth --- */

static uint64_t largest_set(const struct run *r)
{
	const struct backend *b = r->b;
	uint64_t full = 4 * b->cache_bytes > FULL_SET ? 4 * b->cache_bytes : FULL_SET;
	uint64_t most = full;

	if (r->o->quick) /* of a CPU the last cache is too large for a quick look */
		most = b->cpu || 2 * b->cache_bytes < QUICK_SET ? QUICK_SET : 2 * b->cache_bytes;

	/* A triad has three of them, and the host's memory is also somebody else's. */
	while (most > 1u << 20 && (3 * most + EXTRA > b->buffer_max || 8 * most > b->memory_bytes))
		most /= 2;
	return most;
}

/* Words of each group for a working set, a multiple of what the loop reads at once. */
static uint32_t words(const struct backend *b, uint32_t groups, uint64_t bytes)
{
	uint32_t step = 4 * b->group;
	uint64_t n = bytes / groups / b->word / step;

	return (uint32_t)(n ? n : 1) * step;
}

static int read_level(const struct run *r, uint64_t bytes, struct measure_level *out)
{
	const struct backend *b = r->b;
	uint32_t groups = b->units * (b->cpu ? 1 : 4), n = words(b, groups, bytes);
	double reps;
	char what[64];
	int err;

	snprintf(what, sizeof(what), "reading %llu KiB", (unsigned long long)bytes >> 10);
	tell(r, what);
	err = rate(r, "read", groups, n, &reps);
	if (!err)
		*out = (struct measure_level){ (uint64_t)n * groups * b->word,
					       reps * n * groups * b->word };
	return err;
}

static int triad(const struct run *r, uint64_t bytes, double *Bps)
{
	const struct backend *b = r->b;
	uint32_t groups = b->units * (b->cpu ? 1 : 4), n = words(b, groups, bytes);
	double reps;
	int err;

	tell(r, "two read, one written");
	err = rate(r, "triad", groups, n, &reps);
	if (!err)
		*Bps = reps * 3 * n * groups * b->word;
	return err;
}

static int bandwidth(const struct run *r, struct measure *m)
{
	struct backend *b = r->b;
	uint64_t most = largest_set(r), least = (uint64_t)b->units * (b->cpu ? 8192 : 65536);
	struct variant v;
	int err;

	if (!b->ops->variant(b, GPU_FP32, false, &v))
		return -ENOTSUP;
	if (least > most) {
		snprintf(b->why, BACKEND_WHY, "its memory is too small");
		return -ENOMEM;
	}
	err = b->ops->build(b, &v);
	err = err ? err : b->ops->buffer(b, 3 * most + EXTRA);
	for (uint64_t bytes = least; !err && m->levels < MEASURE_LEVELS; bytes *= 2) {
		if (bytes + bytes / 2 > most)
			bytes = most;
		err = read_level(r, bytes, &m->level[m->levels++]);
		if (bytes == most)
			break;
	}
	err = err ? err : triad(r, most, &m->triad_Bps);
	m->fits_cache = most <= b->cache_bytes;
	return err;
}

/* Down by a quarter from `best`, and so is all that follows. */
static bool steps_down(const struct measure *m, size_t from, double best)
{
	for (size_t i = from; i < m->levels; i++)
		if (m->level[i].Bps > 0.75 * best)
			return false;
	return true;
}

size_t measure_steps(const struct measure *m, struct measure_level out[MEASURE_LEVELS])
{
	size_t n = 0;

	for (size_t i = 0; i < m->levels; i++) {
		if (!n || steps_down(m, i, out[n - 1].Bps))
			out[n++] = (struct measure_level){ 0, 0 };
		out[n - 1].Bps = fmax(out[n - 1].Bps, m->level[i].Bps);
		out[n - 1].bytes = m->level[i].bytes;
	}
	return n;
}

/* The bandwidth of the last cache, by the working set that fills half of that cache. */
static void summarize(const struct run *r, struct measure *m)
{
	const struct measure_level *last = &m->level[m->levels - 1];
	uint64_t cache = r->b->cache_bytes;

	m->gpu.memory_Bps = fmax(last->Bps, m->triad_Bps);
	m->gpu.l2_bytes = cache;
	for (size_t i = 0; i < m->levels && cache; i++)
		if (m->level[i].bytes <= cache / 2)
			m->gpu.l2_Bps = m->level[i].Bps;
}

/* --- the rest --- */

static int empty_kernels(const struct run *r, struct measure *m)
{
	double best = INFINITY, sync = INFINITY, from, ns;
	uint32_t many;
	int err = 0;

	tell(r, "empty kernels");
	for (uint32_t i = 0; i < 5 * r->rounds && !err; i++) {
		err = once(r, "empty", 1, 0, 0, &ns);
		sync = fmin(sync, ns);
	}
	many = (uint32_t)fmin(EMPTY, fmax(20, 5 * r->round_ns / sync));
	for (uint32_t i = 0; i < r->rounds && !err; i++) {
		from = (double)clock_mono_ns();
		for (uint32_t k = 0; k < many && !err; k++)
			err = r->b->ops->launch(r->b, "empty", 1, 0, 0);
		err = err ? err : r->b->ops->finish(r->b);
		best = fmin(best, ((double)clock_mono_ns() - from) / many);
	}
	m->gpu.launch_ns = best;
	m->sync_ns = sync;
	return err;
}

/* One way: the best of some rounds. */
static int copy_way(const struct run *r, bool in, double *Bps)
{
	uint64_t bytes = BACKEND_HOST < largest_set(r) ? BACKEND_HOST : largest_set(r);
	double best = INFINITY;
	int err = 0;

	for (uint32_t i = 0; i <= r->rounds && !err; i++) {
		double from = (double)clock_mono_ns();

		err = in ? r->b->ops->copy_in(r->b, bytes) : r->b->ops->copy_out(r->b, 0, bytes);
		best = fmin(best, fmax((double)clock_mono_ns() - from, 1));
	}
	*Bps = (double)bytes * 1e9 / best;
	return err;
}

static int copies(const struct run *r, struct measure *m)
{
	int err;

	tell(r, "copies from the host, and to it");
	err = copy_way(r, true, &m->gpu.pcie_Bps);
	return err ? err : copy_way(r, false, &m->out_Bps);
}

/* Of what stands in the host's memory of the backend, from element `at` on: how many are not what they should be. */
static uint32_t count_wrong(const float *c, uint64_t at, uint64_t count, uint32_t n)
{
	uint32_t wrong = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t row = (at + i) / n, col = (at + i) % n;

		wrong += c[i] != ((row ^ col) & 1 ? 2.0f : 2.5f) * (float)n;
	}
	return wrong;
}

static int gemm(const struct run *r, struct measure *m)
{
	struct backend *b = r->b;
	uint32_t n = b->cpu ? 512 : 2048, tracks = b->word / 4;
	uint32_t groups = n / KERNEL_ROWS * (n / tracks) / b->group;
	uint64_t all = (uint64_t)n * n, part = BACKEND_HOST / 4;
	double reps;
	int err;

	tell(r, "a product of matrices");
	err = b->ops->buffer(b, 3 * all * 4 + EXTRA);
	err = err ? err : b->ops->launch(b, "fill", 1024, n, 1);
	err = err ? err : rate(r, "gemm", groups, n, &reps);
	for (uint64_t at = 0; at < all && !err; at += part) {
		uint64_t count = all - at < part ? all - at : part;

		err = b->ops->copy_out(b, (2 * all + at) * 4, count * 4);
		m->gemm_wrong += err ? 0 : count_wrong(b->ops->host(b), at, count, n);
	}
	m->gemm_n = n;
	m->gemm_flops = err ? 0 : reps * 2 * (double)all * n;
	return err;
}

/* What cannot be measured by one kernel on one device is as of the table, where it is in it. */
static void from_table(struct gpu *g)
{
	const struct gpu *known;
	size_t i = 0;

	while ((known = gpu_at(i)) && !(gpu_source(known) && !strcmp(known->name, g->name)))
		i++;
	if (!known)
		return;
	g->link_Bps = known->link_Bps;
	for (int t = 0; t < GPU_TYPES; t++)
		if (g->tensor_flops[t] <= 0)
			g->tensor_flops[t] = known->tensor_flops[t];
}

static struct measure begin(const struct backend *b)
{
	struct measure m = { .gpu = { .key = "measured",
				      .cc = b->cc,
				      .sms = b->units,
				      .clock_mhz = b->clock_mhz,
				      .memory_mhz = b->memory_mhz,
				      .memory_bytes = b->memory_bytes,
				      .measured = true } };

	snprintf(m.gpu.name, sizeof(m.gpu.name), "%s", b->name);
	return m;
}

int measure_test(struct measure *out, struct backend *b, const struct measure_opts *o)
{
	struct measure_opts quick = { true, o->progress, o->arg };
	struct run r = { b, &quick, TEST_NS, 4 };
	struct measure m = begin(b);
	int err = peak(&r, GPU_BF16, true, &m.gpu.tensor_flops[GPU_BF16]);

	if (!err) /* last, so that its program is the one that the others use */
		err = peak(&r, GPU_FP32, false, &m.gpu.vector_flops[GPU_FP32]);
	err = err ? err : b->ops->buffer(b, 3 * largest_set(&r) + EXTRA);
	err = err ? err : read_level(&r, largest_set(&r), &m.level[m.levels++]);
	err = err ? err : triad(&r, largest_set(&r), &m.triad_Bps);
	err = err ? err : copies(&r, &m);
	err = err ? err : gemm(&r, &m);
	if (err)
		return err;
	summarize(&r, &m);
	*out = m;
	return 0;
}

int measure(struct measure *out, struct backend *b, const struct measure_opts *o)
{
	struct run r = { b, o, o->quick ? QUICK_NS : FULL_NS, o->quick ? 4 : 20 };
	struct measure m = begin(b);
	int err = peaks(&r, &m);

	err = err ? err : bandwidth(&r, &m);
	err = err ? err : empty_kernels(&r, &m);
	err = err ? err : copies(&r, &m);
	if (err)
		return err;
	summarize(&r, &m);
	from_table(&m.gpu);
	*out = m;
	return 0;
}
