/* SPDX-License-Identifier: Apache-2.0 */
/* base_host.c - B7: Minder's distance between hosts, without its denoising network. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/baseline.h"
#include "lab/panel.h"

#define LASTS 32u /* steps: Minder asks for four minutes, longer than a case */
#define SLOW  8.0 /* steps that a value is averaged over */

struct hosts {
	struct panel p;
	double *value;   /* [series][host] */
	double *far;     /* by host: sum of distances to the others */
	uint32_t *lasts; /* by host: steps that it has been the odd one */
	uint32_t hosts;
};

static void hosts_close(void *state)
{
	struct hosts *h = state;

	if (h) {
		panel_fini(&h->p);
		free(h->value);
		free(h->far);
		free(h->lasts);
	}
	free(h);
}

static int hosts_open(void **state, uint32_t world)
{
	struct hosts *h = calloc(1, sizeof(*h));

	if (!h || panel_init(&h->p, world) < 0) {
		free(h);
		return -ENOMEM;
	}
	h->value = calloc((size_t)SERIES * world, sizeof(*h->value));
	h->far = calloc(world, sizeof(*h->far));
	h->lasts = calloc(world, sizeof(*h->lasts));
	if (!h->value || !h->far || !h->lasts) {
		hosts_close(h);
		return -ENOMEM;
	}
	*state = h;
	return 0;
}

static void average(struct hosts *h, const struct step_rec *rec, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t host = rec[i].host;

		if (host >= h->p.world)
			continue;
		h->hosts = host + 1 > h->hosts ? host + 1 : h->hosts;
		for (int s = 0; s < SERIES; s++) {
			double *v = &h->value[(size_t)s * h->p.world + host],
			       is = panel_value(&rec[i], (enum series)s);

			*v += (is - *v) / (*v > 0 ? SLOW * 8 : 1); /* eight ranks a host */
		}
	}
}

/* One metric: the host whose distances add up to three deviations above all others'. */
static int odd_one(struct hosts *h, int s)
{
	const double *v = &h->value[(size_t)s * h->p.world];
	double sum = 0, sum2 = 0, mean, deviation;
	int odd = -1;

	for (uint32_t a = 0; a < h->hosts; a++) {
		h->far[a] = 0;
		for (uint32_t b = 0; b < h->hosts; b++)
			h->far[a] += fabs(v[a] - v[b]);
		sum += h->far[a];
		sum2 += h->far[a] * h->far[a];
	}
	mean = sum / h->hosts;
	deviation = sqrt(fmax(sum2 / h->hosts - mean * mean, 0));
	for (uint32_t a = 0; a < h->hosts; a++)
		if (h->far[a] > mean + 3 * deviation && (odd < 0 || h->far[a] > h->far[odd]))
			odd = (int)a;
	return odd;
}

static int minder_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
		       void *arg)
{
	static const uint8_t kind[] = { 2, 8, 13, 19, 7, 0 };
	struct hosts *h = state;
	int odd = -1, s;

	if (!panel_take(&h->p, rec, n))
		return 0;
	average(h, rec, n);
	for (s = 0; s < SERIES && h->hosts > 2; s++) {
		odd = odd_one(h, s);
		if (odd >= 0)
			break;
	}
	for (uint32_t a = 0; a < h->hosts; a++)
		h->lasts[a] = (int)a == odd ? h->lasts[a] + 1 : 0;
	if (odd >= 0 && h->lasts[odd] >= LASTS)
		panel_say(say, arg, DIAG_HOST, (uint32_t)odd, kind[s], 0);
	return 0;
}

const struct diagnoser base_minder = { "B7",
				       "Minder: the host farthest from all others, for 32 steps",
				       hosts_open, minder_step, hosts_close };
