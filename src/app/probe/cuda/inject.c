/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.c - entry and exit of the probe: the driver calls InitializeInjection() during cuInit().
 *
 * Another injection library that the user had set goes first; whatever it has taken stays its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/cuda/cuda.h"

#define JOIN_MS 20u /* that cuInit(), itself a tenth of a second, may wait for aond */

AON_API int InitializeInjection(void);

struct cuda *cuda;

void text_add(struct cuda_text *t, const char *s)
{
	size_t n = strnlen(s, sizeof(t->s) - 1 - t->len);

	memcpy(t->s + t->len, s, n);
	t->len += (uint32_t)n;
	t->s[t->len] = '\0';
}

void text_num(struct cuda_text *t, uint64_t n)
{
	char s[24], *at = s + sizeof(s) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	text_add(t, at);
}

static bool set_on(const char *name)
{
	const char *v = secure_getenv(name);

	return v && !strcmp(v, "1");
}

static bool set_off(const char *name)
{
	const char *v = secure_getenv(name);

	return v && !strcmp(v, "0");
}

static uint32_t set_number(const char *name, uint32_t unset)
{
	const char *v = secure_getenv(name);

	return v && *v ? (uint32_t)strtoul(v, NULL, 10) : unset;
}

static enum graph_policy policy(uint32_t proved)
{
	const char *v = secure_getenv(CUDA_ENV_GRAPHS);

	if (v && *v)
		return !strcmp(v, "template") ? GRAPH_TEMPLATE
		       : !strcmp(v, "graph")  ? GRAPH_WHOLE
					      : GRAPH_NODE;
	return proved == GPU_GRAPHS_TEMPLATE ? GRAPH_TEMPLATE
	       : proved == GPU_GRAPHS_WHOLE  ? GRAPH_WHOLE
					     : GRAPH_NODE;
}

/* Zeroed in a child: `on` is 0 there. */
static struct cuda *make(void)
{
	struct cuda *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (c == MAP_FAILED)
		return NULL;
	if (madvise(c, sizeof(*c), MADV_WIPEONFORK) < 0) {
		munmap(c, sizeof(*c));
		return NULL;
	}
	for (unsigned i = 0; i < CUDA_CONTEXTS; i++)
		c->context[i].device = UINT32_MAX;
	return c;
}

/* What was proved for this driver and this CUPTI. False: not to record at all. */
static bool proved(struct cuda *c, struct gpu_conf *g)
{
	const char *path = secure_getenv(GPU_CONF_ENV), *why;
	struct cuda_text t = { .len = 0 };
	char driver[32];
	int err = gpu_conf_read(g, path && *path ? path : GPU_CONF_FILE);

	if (err == -ENOENT)
		return true;
	gpu_conf_driver(driver);
	why = err ? "it cannot be read"
		  : gpu_conf_differs(g, driver, load_driver(), c->api.version);
	text_add(&t, why ? ", gpu.conf ignored: " : ", gpu.conf of ");
	text_add(&t, why ? why : g->date);
	memcpy(c->conf, t.s, t.len < sizeof(c->conf) ? t.len + 1 : 0);
	if (why)
		gpu_conf_defaults(g);
	return g->fidelity != GPU_FIDELITY_HEARTBEAT;
}

/* A variable of the environment comes first. */
static bool configure(struct cuda *c, const struct gpu_conf *g)
{
	c->graphs = policy(g->graphs);
	c->late_ms = g->late_ms;
	c->launch_ns = g->launch_ns > CUDA_CALLBACK_NS ? g->launch_ns : CUDA_CALLBACK_NS;
	c->may_multi = set_on(CUDA_ENV_MULTI);
	c->hes = set_on(CUDA_ENV_HES);
	c->latency = set_on(CUDA_ENV_LATENCY);
	c->per_thread = set_on(CUDA_ENV_THREADS);
	c->cost = set_on(CUDA_ENV_COST);
	c->heartbeat = g->callbacks ? !set_off(CUDA_ENV_PULSE) : set_on(CUDA_ENV_PULSE);
	pm_setup(&c->pm, secure_getenv(CUDA_ENV_PM));
	range_setup(&c->counters, secure_getenv(CUDA_ENV_PM));
	c->graphs = c->heartbeat || c->graphs != GRAPH_TEMPLATE ? c->graphs : GRAPH_NODE;
	launch_setup(c);
	return buffer_setup(c, set_number(CUDA_ENV_KIB, CUDA_KIB),
			    set_number(CUDA_ENV_BUFFER, g->buffer_kib));
}

static void chain(void)
{
	const char *path = secure_getenv(CUDA_ENV_CHAIN);
	int (*init)(void);
	void *lib, *fn;

	if (!path || !*path)
		return;
	lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	/* Some images name libcupti itself, which would take the subscriber and keep it. */
	fn = lib && !dlsym(lib, "cuptiSubscribe") ? dlsym(lib, "InitializeInjection") : NULL;
	if (!fn || fn == (void *)InitializeInjection)
		return;
	memcpy(&init, &fn, sizeof(init));
	init();
}

/*
 * The last records, those of unfinished kernels as well, which are counted. In a child nothing;
 * and nothing when our thread is inside of CUPTI and does not come out.
 */
static void leave(void)
{
	struct cuda *c = cuda;
	int saved = errno;

	if (c && c->on && keep_stop(c) &&
	    atomic_load_explicit(&c->state, memory_order_acquire) == CUDA_ON) {
		pm_close(c);
		range_close(c);
		session_drain(c, c->late_ms);
		if (c->sub)
			c->api.Unsubscribe(c->sub);
		keep_cost(c);
	}
	errno = saved;
}

static void start(void)
{
	struct cuda *c = make();
	const char *why = c ? load_cupti(&c->api) : "no memory";
	struct gpu_conf conf;

	if (!why && c->api.GetVersion(&c->api.version))
		c->api.version = 0; /* its features are queried again when the probe subscribes */
	if (!why && !proved(c, &conf))
		why = "gpu.conf: a check of aon doctor --gpu failed, see its line why";
	if (!why && !configure(c, &conf))
		why = "no memory";
	if (why) {
		aon_join(JOIN_MS);
		aon_note("cuda", "off", why);
		return;
	}
	c->api.caps = load_caps(&c->api);
	c->on = 1;
	cuda = c;
	aon_join(JOIN_MS);
	neighbour_setup(c);
	keep_tick(c); /* now, because kinds that are enabled late cost seconds */
	atexit(leave);
	if (!keep_start(c) && c->api.ActivityFlushPeriod)
		c->api.ActivityFlushPeriod(CUDA_FLUSH_MS); /* less, but something */
}

AON_API int InitializeInjection(void)
{
	static _Atomic uint32_t begun; /* not wiped: a child has begun, too */
	int saved = errno;

	if (atomic_exchange_explicit(&begun, 1, memory_order_acq_rel))
		return 1;
	chain();
	if (!aon_claim("cuda"))
		start();
	errno = saved;
	return 1;
}
