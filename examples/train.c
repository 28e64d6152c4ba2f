/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.c - a small training loop on the CPU, annotated with libaon: what `make demo` watches.
 *
 *	train [steps]
 *
 * A perceptron with two hidden layers learns to copy a random linear teacher. One thread makes
 * the batches, two multiply matrices. The numbers it prints are the same in every run.
 */
#include <aon/aon.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, IN = 256, HIDDEN = 384, CLASSES = 16, LAYERS = 3, THREADS = 2, QUEUE = 2 };

struct batch {
	float x[BATCH * IN];
	int label[BATCH];
	uint64_t range; /* lasts from the loader's thread to the trainer's */
};

struct layer {
	int in, out;
	float *w, *gw;              /* in x out: weights and their gradient */
	float *y, *dy;              /* BATCH x out: what the layer gives, and its gradient */
	uint32_t fwd, bwd_w, bwd_x; /* interned names of its three multiplications */
};

static struct layer net[LAYERS];

static float noise(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return (float)((int64_t)*s >> 40) / (float)(1 << 23);
}

/* --- multiplication: rows are shared out to THREADS threads, the caller being one --- */

/* c[rows x n] = a[rows x k] * b[k x n]; strides let either factor be transposed. A transposed b
 * is walked by columns: the report shows what that costs. */
struct gemm {
	const float *a, *b;
	float *c;
	int rows, n, k, a_row, a_col, b_row, b_col;
	uint32_t name;
};

static struct gemm job;
static pthread_barrier_t begin, end;

static void gemm_part(const struct gemm *g, int part)
{
	int from = g->rows * part / THREADS, to = g->rows * (part + 1) / THREADS;

	aon_range_push_id(g->name);
	for (int i = from; i < to; i++) {
		float *c = g->c + i * g->n;

		memset(c, 0, sizeof(*c) * (size_t)g->n);
		for (int k = 0; k < g->k; k++) {
			float a = g->a[i * g->a_row + k * g->a_col];
			const float *b = g->b + k * g->b_row;

			for (int j = 0; j < g->n; j++)
				c[j] += a * b[j * g->b_col];
		}
	}
	aon_range_pop();
}

static void *worker(void *arg)
{
	int part = (int)(intptr_t)arg;

	for (;;) {
		pthread_barrier_wait(&begin);
		if (!job.c)
			return NULL;
		gemm_part(&job, part);
		pthread_barrier_wait(&end);
	}
}

static void gemm(const struct gemm *g)
{
	job = *g;
	pthread_barrier_wait(&begin);
	gemm_part(&job, 0);
	pthread_barrier_wait(&end);
}

/* --- the network --- */

static int layer_init(struct layer *l, int number, int in, int out, uint64_t *seed)
{
	size_t w = (size_t)in * (size_t)out, y = (size_t)BATCH * (size_t)out;
	char name[64];

	*l = (struct layer){ .in = in, .out = out };
	l->w = calloc(2 * w + 2 * y, sizeof(float));
	if (!l->w)
		return -1;
	l->gw = l->w + w;
	l->y = l->gw + w;
	l->dy = l->y + y;
	for (size_t i = 0; i < w; i++)
		l->w[i] = noise(seed) / sqrtf((float)in);
	snprintf(name, sizeof(name), "gemm fc%d forward %dx%dx%d", number, BATCH, out, in);
	l->fwd = aon_name(name);
	snprintf(name, sizeof(name), "gemm fc%d weights %dx%dx%d", number, in, out, BATCH);
	l->bwd_w = aon_name(name);
	snprintf(name, sizeof(name), "gemm fc%d inputs %dx%dx%d", number, BATCH, in, out);
	l->bwd_x = aon_name(name);
	return 0;
}

static void forward(const struct batch *b)
{
	AON_PUSH("forward");
	for (int i = 0; i < LAYERS; i++) {
		struct layer *l = &net[i];

		gemm(&(struct gemm){ i ? net[i - 1].y : b->x, l->w, l->y, BATCH, l->out, l->in,
				     l->in, 1, l->out, 1, l->fwd });
		for (int j = 0; i < LAYERS - 1 && j < BATCH * l->out; j++)
			l->y[j] = l->y[j] > 0 ? l->y[j] : 0;
	}
	AON_POP();
}

/* Softmax and cross entropy; leaves the gradient in the last layer's dy. */
static double loss(const struct batch *b)
{
	const struct layer *l = &net[LAYERS - 1];
	double sum = 0;

	AON_PUSH("loss");
	for (int i = 0; i < BATCH; i++) {
		const float *y = l->y + i * CLASSES;
		float max = y[0], z = 0;

		for (int j = 1; j < CLASSES; j++)
			max = y[j] > max ? y[j] : max;
		for (int j = 0; j < CLASSES; j++)
			z += expf(y[j] - max);
		sum += logf(z) - (y[b->label[i]] - max);
		for (int j = 0; j < CLASSES; j++)
			l->dy[i * CLASSES + j] =
				(expf(y[j] - max) / z - (j == b->label[i])) / BATCH;
	}
	AON_POP();
	return sum / BATCH;
}

static void backward(const struct batch *b)
{
	AON_PUSH("backward");
	for (int i = LAYERS - 1; i >= 0; i--) {
		struct layer *l = &net[i], *below = i ? l - 1 : NULL;

		gemm(&(struct gemm){ below ? below->y : b->x, l->dy, l->gw, l->in, l->out, BATCH, 1,
				     l->in, l->out, 1, l->bwd_w });
		if (!below)
			break;
		gemm(&(struct gemm){ l->dy, l->w, below->dy, BATCH, l->in, l->out, l->out, 1, 1,
				     l->out, l->bwd_x });
		for (int j = 0; j < BATCH * below->out; j++)
			below->dy[j] = below->y[j] > 0 ? below->dy[j] : 0;
	}
	AON_POP();
}

static void optimizer(float rate)
{
	AON_PUSH("optimizer");
	for (int i = 0; i < LAYERS; i++)
		for (int j = 0; j < net[i].in * net[i].out; j++)
			net[i].w[j] -= rate * net[i].gw[j];
	AON_POP();
}

/* --- data: a thread of its own, QUEUE batches ahead --- */

static struct batch queue[QUEUE];
static uint64_t made, used; /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

static void make_batch(struct batch *b, const float *teacher, uint64_t *seed)
{
	for (int i = 0; i < BATCH; i++) {
		float best = -INFINITY;

		for (int j = 0; j < IN; j++)
			b->x[i * IN + j] = noise(seed);
		for (int c = 0; c < CLASSES; c++) {
			float v = 0;

			for (int j = 0; j < IN; j++)
				v += b->x[i * IN + j] * teacher[c * IN + j];
			if (v > best) {
				best = v;
				b->label[i] = c;
			}
		}
	}
}

static void *loader(void *arg)
{
	static float teacher[CLASSES * IN];
	uint64_t seed = 7, steps = *(uint64_t *)arg;

	for (int i = 0; i < CLASSES * IN; i++)
		teacher[i] = noise(&seed);
	for (uint64_t n = 0; n < steps; n++) {
		struct batch *b = &queue[n % QUEUE];

		pthread_mutex_lock(&lock);
		while (made - used == QUEUE)
			pthread_cond_wait(&moved, &lock);
		pthread_mutex_unlock(&lock);

		b->range = aon_range_start("batch, from loader to trainer");
		AON_PUSH("load batch");
		make_batch(b, teacher, &seed);
		AON_POP();

		pthread_mutex_lock(&lock);
		made = n + 1;
		AON_COUNTER("batches ready", made - used);
		pthread_cond_broadcast(&moved);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static struct batch *next_batch(uint64_t n)
{
	AON_PUSH("wait for batch");
	pthread_mutex_lock(&lock);
	while (made <= n)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
	AON_POP();
	return &queue[n % QUEUE];
}

static void batch_done(struct batch *b, uint64_t n)
{
	aon_range_end(b->range);
	pthread_mutex_lock(&lock);
	used = n + 1;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

static void train(uint64_t steps)
{
	for (uint64_t n = 0; n < steps; n++) {
		struct batch *b;
		double cost;

		aon_step_begin(n);
		b = next_batch(n);
		forward(b);
		cost = loss(b);
		backward(b);
		optimizer(0.5f);
		batch_done(b, n);
		aon_counter_f64("loss", cost);
		aon_step_end(n);
		if (n % 50 == 49 || n + 1 == steps) {
			AON_MARK("progress", n, 0, 0);
			printf("step %4llu  loss %.4f\n", (unsigned long long)n + 1, cost);
		}
	}
}

int main(int argc, char *argv[])
{
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 200, seed = 1;
	int in[] = { IN, HIDDEN, HIDDEN, CLASSES };
	pthread_t load, work[THREADS];

	aon_join(500); /* not needed, but then the first step is seen, too */
	for (int i = 0; i < LAYERS; i++)
		if (layer_init(&net[i], i + 1, in[i], in[i + 1], &seed) < 0)
			return 1;
	pthread_barrier_init(&begin, NULL, THREADS);
	pthread_barrier_init(&end, NULL, THREADS);
	if (pthread_create(&load, NULL, loader, &steps))
		return 1;
	for (intptr_t i = 1; i < THREADS; i++)
		if (pthread_create(&work[i], NULL, worker, (void *)i))
			return 1;
	train(steps);
	job.c = NULL; /* the workers end */
	pthread_barrier_wait(&begin);
	for (int i = 1; i < THREADS; i++)
		pthread_join(work[i], NULL);
	pthread_join(load, NULL);
	for (int i = 0; i < LAYERS; i++)
		free(net[i].w);
	return 0;
}
