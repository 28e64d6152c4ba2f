/* SPDX-License-Identifier: Apache-2.0 */
/* metric.c - see metric.h. The host's half of CUPTI's profilers, which PM sampling and ranges share. */
#include "probe/cuda/metric.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/cuda/cupti.h"

/* --- memory, never the heap's --- */

void bytes_fini(struct pm_bytes *b)
{
	if (b->p)
		munmap(b->p, b->n);
	b->p = NULL;
}

int bytes_make(struct pm_bytes *b, size_t n)
{
	void *p = MAP_FAILED;

	bytes_fini(b);
	if (n)
		p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	b->n = n;
	b->p = p == MAP_FAILED ? NULL : p;
	return b->p ? 0 : CUPTI_OUT_OF_MEMORY;
}

/* --- functions --- */

bool metric_load(void *lib, void *api, const struct metric_fn *fn, size_t fns)
{
	for (size_t i = 0; i < fns; i++) {
		void *f = dlsym(lib, fn[i].name);

		if (!f)
			return false;
		memcpy((char *)api + fn[i].at, &f, sizeof(f));
	}
	return true;
}

bool metric_load_host(void *lib, struct metric_api *api)
{
	static const struct metric_fn fns[] = {
#define FN(name, type) { "cupti" #name, offsetof(struct metric_api, name) },
#include "probe/cuda/metric_fn.tbl.h"
	};

	return metric_load(lib, api, fns, sizeof(fns) / sizeof(fns[0]));
}

/* --- choosing --- */

int metric_chip(const struct metric_api *api, struct metric_set *s, uint32_t device)
{
	struct pm_init init = { .size = sizeof(init) };
	struct pm_chip chip = { .size = PM_SIZE(pm_chip, chip), .device = device };
	int err = api->ProfilerInitialize(&init);

	err = err ? err : api->DeviceGetChipName(&chip);
	s->chip = chip.chip;
	return err;
}

static void host_end(const struct metric_api *api, struct metric_set *s)
{
	struct pm_host_end p = { .size = sizeof(p), .host = s->host };

	if (s->host)
		api->ProfilerHostDeinitialize(&p);
	s->host = NULL;
}

static int config(const struct metric_api *api, struct metric_set *s, size_t *passes)
{
	struct pm_add add = { .size = PM_SIZE(pm_add, metrics),
			      .host = s->host,
			      .metric = s->metric,
			      .metrics = s->metrics };
	struct pm_config_size n = { .size = PM_SIZE(pm_config_size, bytes), .host = s->host };
	struct pm_config image = { .size = PM_SIZE(pm_config, image), .host = s->host };
	struct pm_passes p = { .size = PM_SIZE(pm_passes, passes) };
	int err = api->ProfilerHostConfigAddMetrics(&add);

	err = err ? err : api->ProfilerHostGetConfigImageSize(&n);
	err = err ? err : bytes_make(&s->config, n.bytes);
	if (err)
		return err;
	image.bytes = p.bytes = n.bytes;
	image.image = p.image = s->config.p;
	err = api->ProfilerHostGetConfigImage(&image);
	err = err ? err : api->ProfilerHostGetNumOfPasses(&p);
	*passes = p.passes;
	return err;
}

/* A host object and a config for the metrics that are listed. More than one pass cannot be sampled, and
 * would run a kernel again. */
static int schedule(const struct metric_api *api, struct metric_set *s)
{
	struct pm_host p = { .size = PM_SIZE(pm_host, host),
			     .type = s->type,
			     .chip = s->chip,
			     .avail = s->avail.p };
	size_t passes = 0;
	int err;

	host_end(api, s);
	err = api->ProfilerHostInitialize(&p);
	if (err)
		return err;
	s->host = p.host;
	err = config(api, s, &passes);
	return err ? err : passes == 1 ? 0 : CUPTI_INVALID_METRIC;
}

/* Names differ by chip: of each the first metric that fits beside the others. */
int metric_choose(const struct metric_api *api, struct metric_set *s,
		  const struct metric_name *name, size_t n)
{
	int err = 0;

	s->metrics = 0;
	for (size_t c = 0; c < n && s->metrics < METRICS_MAX; c++) {
		for (int i = 0; i < 2 && name[c].metric[i][0]; i++) {
			s->metric[s->metrics] = name[c].metric[i];
			s->which[s->metrics++] = (uint8_t)c;
			err = schedule(api, s);
			if (!err)
				break;
			s->metrics--;
			if (err != CUPTI_INVALID_METRIC && err != CUPTI_INVALID_PARAMETER)
				return err;
		}
	}
	if (!s->metrics)
		return err;
	return err ? schedule(api, s) : 0; /* the last one did not fit: without it */
}

/* --- reading --- */

int metric_values(const struct metric_api *api, const struct metric_set *s,
		  const struct pm_bytes *image, size_t at, double *value)
{
	struct pm_values v = { .size = PM_SIZE(pm_values, value),
			       .host = s->host,
			       .image = image->p,
			       .bytes = image->n,
			       .sample = at,
			       .metric = (const char **)s->metric,
			       .metrics = s->metrics,
			       .value = value };

	return api->ProfilerHostEvaluateToGpuValues(&v);
}

void metric_fini(const struct metric_api *api, struct metric_set *s)
{
	host_end(api, s);
	bytes_fini(&s->avail);
	bytes_fini(&s->config);
}
