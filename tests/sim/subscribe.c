/* SPDX-License-Identifier: Apache-2.0 */
/* subscribe.c - CUPTI's subscribers, their callbacks, and the way from the driver to them. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cupti.h"
#include "cupti_calls.h"

#define MULTI_FROM  133 /* several subscribers, if the driver can */
#define STATE_FROM  122
#define DRIVER_R610 13030

struct client sim_clients[CLIENTS];
const struct sim_driver *sim_drv;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards subscribing and wishes */
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *sim_fault(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

long long sim_fault_int(const char *name, long long unset)
{
	const char *s = sim_fault(name);

	return s ? strtoll(s, NULL, 0) : unset;
}

void sim_pause_ms(long long ms)
{
	if (ms > 0)
		nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* SIM_CRASH=call, SIM_HANG=call */
void sim_fault_call(const char *name)
{
	const char *crash = sim_fault("SIM_CRASH"), *hang = sim_fault("SIM_HANG");

	if (crash && !strcmp(crash, name))
		raise(SIGSEGV);
	while (hang && !strcmp(hang, name))
		pause();
}

static void client_init(struct client *c)
{
	pthread_mutex_init(&c->lock, NULL);
	c->full_end = &c->full;
	c->attr[A_PER_THREAD] = sim_level >= 123;
	c->attr[0] = 3200000;
	c->attr[1] = 8 << 20;
	c->attr[2] = 250;
	c->attr[6] = 3;
}

static void enter(struct sim_call *call);
static void leave(struct sim_call *call);
static void op(const struct sim_op *o);
static void resourced(uint32_t cbid, CUcontext ctx, CUstream stream, void *descriptor);
static void synced(uint32_t cbid, CUcontext ctx, CUstream stream);

static struct sim_tool tool = {
	.enter = enter, .leave = leave, .op = op, .resourced = resourced, .synced = synced
};

static void begin(void)
{
	CUresult (*table)(const void **, const CUuuid *);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	const void *t;

	for (int i = 0; i < CLIENTS; i++)
		client_init(&sim_clients[i]);
	if (!lib)
		return;
	*(void **)&table = dlsym(lib, "cuGetExportTable");
	if (table && !table(&t, (const CUuuid *)SIM_UUID))
		sim_drv = t;
}

/* Without a driver everything that needs one answers 999, as the real one does. */
int sim_cupti_start(void)
{
	pthread_once(&once, begin);
	return sim_drv ? OK : E_UNKNOWN;
}

bool sim_client_is(const struct client *c)
{
	return c > sim_clients && c < sim_clients + CLIENTS &&
	       ((const char *)c - (const char *)sim_clients) % (long)sizeof(*c) == 0 &&
	       GET(c->used);
}

static void set_bytes(uint8_t *to, const uint8_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		SET(to[i], from[i]);
}

void sim_cupti_wishes(void)
{
	uint64_t kinds = 0;
	uint8_t any[DOMAINS][SIM_CBIDS] = { 0 };
	bool graph = false, wanted = false;

	if (sim_cupti_start())
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &sim_clients[i];

		kinds |= GET(c->kinds) | sim_pm_kinds() | sim_range_kinds();
		if (GET(c->api_any[0]))
			kinds |= 1ull << SIM_DRIVER;
		if (GET(c->api_any[1]))
			kinds |= 1ull << SIM_RUNTIME;
		wanted |= GET(c->used) || kinds;
		graph |= GET(c->kinds) >> SIM_GRAPH_TRACE & 1 &&
			 (!GET(c->multi) || GET(c->attr[A_MULTI_GRAPH]));
		for (int d = 1; d < DOMAINS && GET(c->used); d++)
			for (int k = 0; k < SIM_CBIDS; k++)
				any[d][k] |= GET(c->on[d][k]);
	}
	set_bytes(tool.driver, any[D_DRIVER], sizeof(tool.driver));
	set_bytes(tool.runtime, any[D_RUNTIME], sizeof(tool.runtime));
	set_bytes(tool.resource, any[D_RESOURCE], sizeof(tool.resource));
	set_bytes(tool.sync, any[D_SYNC], sizeof(tool.sync));
	SET(tool.graph_trace, graph);
	SET(tool.kinds, kinds);
	if (wanted)
		sim_worker_start();
	sim_drv->attach(wanted ? &tool : NULL);
	pthread_mutex_unlock(&lock);
}

/*
 * SIM_STRICT: the name is valid in the callback only, in memory that is used again. It is the only
 * text that callbacks of launches may look at.
 */
static const char *lend_symbol(const char *symbol)
{
	static __thread char scratch[512];

	if (!sim_strict())
		return symbol;
	memset(scratch, symbol ? 0 : '?', sizeof(scratch) - 1);
	return symbol ? strncpy(scratch, symbol, sizeof(scratch) - 1) : NULL;
}

static void call_back(struct sim_call *call, int site)
{
	int domain = call->runtime ? D_RUNTIME : D_DRIVER;
	struct callback_data d = { .site = site,
				   .function = call->name,
				   .params = call->args,
				   .result = site ? &call->result : NULL,
				   .symbol = lend_symbol(call->symbol),
				   .context = call->ctx,
				   .context_id = call->ctx_id,
				   .corr = call->corr };

	for (int i = 1; i < CLIENTS; i++) {
		struct client *c = &sim_clients[i];

		if (!GET(c->used) || !GET(c->on[domain][call->cbid]))
			continue;
		d.shared = &call->shared[i];
		GET(c->fn)(GET(c->userdata), domain, call->cbid, &d);
	}
	lend_symbol(NULL);
}

static bool is_called_back(const struct sim_call *call)
{
	return GET((call->runtime ? tool.runtime : tool.driver)[call->cbid]);
}

static void enter(struct sim_call *call)
{
	if (is_called_back(call))
		call_back(call, 0);
	if (sim_wants(&tool, call->runtime ? SIM_RUNTIME : SIM_DRIVER))
		call->start = sim_drv->now();
}

static void leave(struct sim_call *call)
{
	if (call->start) {
		struct sim_op o = { .kind = call->runtime ? SIM_RUNTIME : SIM_DRIVER,
				    .corr = call->corr,
				    .start = call->start,
				    .end = sim_drv->now() };

		o.api.cbid = call->cbid;
		o.api.result = (uint32_t)call->result;
		o.api.tid = (uint32_t)syscall(SYS_gettid);
		op(&o);
	}
	if (is_called_back(call))
		call_back(call, 1);
}

static bool wants_api(const struct client *c, const struct sim_op *o)
{
	int d = o->kind == SIM_RUNTIME;

	return GET(c->api[d][o->api.cbid % SIM_CBIDS]);
}

static void op(const struct sim_op *o)
{
	struct sim_op own;

	sim_pm_saw(o);
	sim_range_saw(o);
	if (!sim_kind_is_device(o->kind) && o->start) {
		int64_t shift = sim_ts_shift();

		own = *o;
		own.start += (uint64_t)shift;
		own.end += (uint64_t)shift;
		o = &own;
	}
	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &sim_clients[i];

		if (o->kind == SIM_DRIVER || o->kind == SIM_RUNTIME) {
			if (!wants_api(c, o))
				continue;
			sim_externals(c, o->corr);
		} else if (!(GET(c->kinds) >> o->kind & 1)) {
			if (o->kind != SIM_KERNEL || !(GET(c->kinds) >> SIM_KERNEL_SERIAL & 1))
				continue;
		}
		sim_emit(c, o);
	}
}

static void resourced(uint32_t cbid, CUcontext ctx, CUstream stream, void *descriptor)
{
	struct resource_data d = { ctx, stream, descriptor };

	sim_strict_lock();
	for (int i = 1; i < CLIENTS; i++)
		if (GET(sim_clients[i].used) && GET(sim_clients[i].on[D_RESOURCE][cbid]))
			sim_clients[i].fn(sim_clients[i].userdata, D_RESOURCE, cbid, &d);
	sim_strict_unlock();
}

static void synced(uint32_t cbid, CUcontext ctx, CUstream stream)
{
	struct resource_data d = { ctx, stream, NULL };

	for (int i = 1; i < CLIENTS; i++)
		if (GET(sim_clients[i].used) && GET(sim_clients[i].on[D_SYNC][cbid]))
			sim_clients[i].fn(sim_clients[i].userdata, D_SYNC, cbid, &d);
}

void sim_state(uint32_t cbid, int result, const char *message)
{
	struct state_data d = { result, message };

	for (int i = 1; i < CLIENTS; i++)
		if (GET(sim_clients[i].used) && GET(sim_clients[i].on[D_STATE][cbid]))
			sim_clients[i].fn(sim_clients[i].userdata, D_STATE, cbid, &d);
}

static bool can_multi(void)
{
	return sim_level >= MULTI_FROM && sim_fault_int("SIM_DRIVER_VERSION", 13040) >= DRIVER_R610;
}

/* The one that is in the way, or NULL. SIM_HOLDER: a tool that is not in this process' CUPTI. */
static const char *holder(bool multi)
{
	if (sim_fault("SIM_HOLDER"))
		return sim_fault("SIM_HOLDER");
	for (int i = 1; i < CLIENTS; i++)
		if (GET(sim_clients[i].used) && !(multi && sim_clients[i].multi))
			return sim_clients[i].name;
	return NULL;
}

static void off(struct client *c)
{
	for (int d = 0; d < DOMAINS; d++)
		for (int k = 0; k < SIM_CBIDS; k++)
			SET(c->on[d][k], 0);
}

static int subscribe(struct client **out, callback_fn fn, void *userdata,
		     struct subscriber_params *p)
{
	bool multi = p && p->size >= 40 && p->multi && can_multi();
	struct client *c = NULL;
	const char *old;
	int err = sim_cupti_start();

	if (err || !out)
		return err ? err : E_PARAMETER;
	err = (int)sim_fault_int("SIM_SUBSCRIBE_ERROR", 0);
	if (err)
		return err;
	if (p && p->size >= 40 && p->multi && !multi)
		return E_MULTIPLE;
	pthread_mutex_lock(&lock);
	old = holder(multi);
	if (old && p && p->old_name && p->old_size)
		strncpy(p->old_name, old, p->old_size - 1)[p->old_size - 1] = 0;
	for (int i = 1; i < CLIENTS && !old && !c; i++)
		if (!GET(sim_clients[i].used))
			c = &sim_clients[i];
	if (c) {
		off(c);
		/* Atomic: calls for the subscriber before may still be on their way. */
		__atomic_store_n(&c->fn, fn, __ATOMIC_RELAXED);
		__atomic_store_n(&c->userdata, userdata, __ATOMIC_RELAXED);
		SET(c->multi, multi);
		strcpy(c->name, "CUPTI for ");
		strncat(c->name, p && p->name ? p->name : "unknown", 53);
		__atomic_store_n(&c->used, true, __ATOMIC_RELEASE); /* with its fn, to callers */
		*out = c;
	}
	pthread_mutex_unlock(&lock);
	sim_cupti_wishes();
	return c ? OK : E_MULTIPLE;
}

int cuptiSubscribe(struct client **out, callback_fn fn, void *userdata)
{
	return subscribe(out, fn, userdata, NULL);
}

int cuptiSubscribe_v2(struct client **out, callback_fn fn, void *userdata,
		      struct subscriber_params *p)
{
	return p && p->size >= 32 ? subscribe(out, fn, userdata, p) : E_PARAMETER;
}

int cuptiUnsubscribe(struct client *c)
{
	if (!sim_client_is(c))
		return E_PARAMETER;
	off(c);
	SET(c->kinds, 0);
	SET(c->used, false);
	sim_strict_reset();
	sim_cupti_wishes();
	return OK;
}

static bool valid_id(int domain, uint32_t cbid)
{
	static const uint32_t sizes[DOMAINS] = { 0, SIM_CBIDS, SIM_CBIDS, 24, 3, SIM_CBIDS, 4 };

	return domain >= 1 && domain < DOMAINS && cbid < sizes[domain] &&
	       (domain != D_STATE || sim_level >= STATE_FROM);
}

int cuptiEnableCallback(uint32_t enable, struct client *c, int domain, uint32_t cbid)
{
	if (!sim_client_is(c) || !valid_id(domain, cbid))
		return E_PARAMETER;
	SET(c->on[domain][cbid], enable != 0);
	sim_cupti_wishes();
	return OK;
}

int cuptiEnableDomain(uint32_t enable, struct client *c, int domain)
{
	if (!sim_client_is(c) || !valid_id(domain, 0))
		return E_PARAMETER;
	for (int k = 0; k < SIM_CBIDS; k++)
		SET(c->on[domain][k], enable != 0);
	sim_cupti_wishes();
	return OK;
}

int cuptiEnableAllDomains(uint32_t enable, struct client *c)
{
	int err = OK;

	for (int d = 1; d < DOMAINS && !err; d++)
		if (valid_id(d, 0))
			err = cuptiEnableDomain(enable, c, d);
	return err;
}

int cuptiGetCallbackState(uint32_t *enable, struct client *c, int domain, uint32_t cbid)
{
	if (!enable || !sim_client_is(c) || !valid_id(domain, cbid))
		return E_PARAMETER;
	*enable = GET(c->on[domain][cbid]);
	return OK;
}

int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name)
{
	if (!name || domain != D_DRIVER || sim_cupti_start())
		return E_PARAMETER;
	*name = sim_drv->call_name(cbid);
	return *name ? OK : E_PARAMETER;
}

/* Detaches from the process. The next call begins anew. */
int cuptiFinalize(void)
{
	if (sim_cupti_start())
		return OK;
	for (int i = 0; i < CLIENTS; i++) {
		SET(sim_clients[i].kinds, 0);
		SET(sim_clients[i].used, false);
		for (int d = 0; d < 2; d++)
			sim_api_records(&sim_clients[i], d, false);
	}
	sim_cupti_wishes();
	sim_worker_stop();
	return OK;
}
