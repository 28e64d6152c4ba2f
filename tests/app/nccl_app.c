/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_app - plays NCCL to the library that NCCL_PROFILER_PLUGIN names: loads it with the first
 * communicator and closes it with the last, reads the mask at each operation, starts parents
 * unasked, calls from the threads that NCCL calls from.
 *
 *	nccl_app VERSION ops N            a communicator, N rounds of every operation
 *	nccl_app VERSION comms N ROUNDS   N communicators at once, each with its threads
 *	nccl_app VERSION cycle N          N times: first communicator to last
 *	nccl_app VERSION exhaust N        N collectives started and none stopped
 *	nccl_app VERSION fork N           N rounds, then N in a child
 *	nccl_app VERSION hostile          wrong handles, contexts, parents, twice
 *	nccl_app VERSION mask             an operation and the mask for every line of its input
 *
 * Tells every operation in a line of JSON, as it should be in the store.
 */
#include "nccl_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHANNELS 4u

static int version;
static int event_mask; /* NCCL's, one a process */
static void *lib;
static const struct profiler *prof;
static int faults, loads;
static int quiet;

struct comm {
	void *context;
	uint64_t hash;
	char name[16];
	int rank, ranks;
	uint64_t seq;
	uint64_t clock; /* host clock - its GPU's clock */
	FILE *out;
};

struct task {
	const char *func, *dtype, *algo, *proto;
	unsigned func_number, dtype_number, algo_number, proto_number;
	const char *name; /* as aon is to call it */
	size_t count, bytes;
};

/* clang-format off */
static const struct task colls[] = {
	{ "AllReduce",     "ncclBfloat16", "RING", "LL",     4, 9, 1, 0, "AllReduce bf16 RING LL",     1 << 20, 2 << 20 },
	{ "AllGather",     "ncclFloat32",  "TREE", "SIMPLE", 2, 7, 0, 2, "AllGather f32 TREE SIMPLE",  1000,    4000 },
	{ "ReduceScatter", "ncclFloat16",  "NVLS", "LL128",  3, 6, 4, 1, "ReduceScatter f16 NVLS LL128", 3000000000, 6000000000 },
	{ "Broadcast",     "ncclInt8",     "PAT",  "SIMPLE", 0, 0, 6, 2, "Broadcast i8 PAT SIMPLE",    7,       7 },
};
/* clang-format on */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static int mask_now(void)
{
	return __atomic_load_n(&event_mask, __ATOMIC_RELAXED);
}

static void check(int result)
{
	if (result)
		__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
}

/* --- loading --- */

static void load(void)
{
	const char *path = getenv("NCCL_PROFILER_PLUGIN");
	char symbol[32];

	if (lib || !path || !strcmp(path, "none"))
		return;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
	prof = lib ? dlsym(lib, symbol) : NULL;
	loads += prof != NULL;
}

static void unload(void)
{
	if (lib)
		dlclose(lib);
	lib = NULL;
	prof = NULL;
}

static void comm_init(struct comm *c, int number, int ranks)
{
	memset(c, 0, sizeof(*c));
	c->hash = 0xabcd000000000000ull + (uint64_t)number;
	c->rank = number % ranks;
	c->ranks = ranks;
	c->clock = 1000000000ull * (uint64_t)(number + 5);
	snprintf(c->name, sizeof(c->name), "c%d", number);
	if (!prof)
		return;
	if (version < 4)
		check(((init_1_fn *)(void *)prof->init)(&c->context, &event_mask));
	else if (version == 4)
		check(((init_4_fn *)(void *)prof->init)(&c->context, &event_mask, c->name, c->hash,
							1, ranks, c->rank, NULL));
	else
		check(((init_5_fn *)(void *)prof->init)(&c->context, c->hash, &event_mask, c->name,
							1, ranks, c->rank, NULL));
}

static void comm_end(struct comm *c)
{
	if (prof && c->context)
		check(prof->finalize(c->context));
}

/* --- events, as NCCL starts them --- */

union descr {
	struct v1 v1;
	struct v2 v2;
	struct v3 v3;
	struct v4 v4;
	struct v6 v6;
};

static void set_head(union descr *d, int type, void *parent, int rank)
{
	memset(d, 0, sizeof(*d));
	if (version < 5)
		d->v1.type = (uint8_t)type;
	else
		d->v6.type = (uint64_t)type;
	d->v6.parent = parent;
	d->v6.rank = rank;
}

static void *start(struct comm *c, union descr *d)
{
	void *handle = NULL;

	check(prof->start(c->context, &handle, d));
	return handle;
}

static void stop(void *handle)
{
	if (handle)
		check(prof->stop(handle));
}

#define SET_WORDS(to)                                    \
	do {                                             \
		(to).func = strcpy(words[0], t->func);   \
		(to).dtype = strcpy(words[1], t->dtype); \
		(to).algo = strcpy(words[2], t->algo);   \
		(to).proto = strcpy(words[3], t->proto); \
		(to).count = t->count;                   \
		(to).channels = CHANNELS;                \
		(to).seq = c->seq;                       \
	} while (0)

/* The words are gone after the call, to catch who keeps their addresses. */
static void *start_coll(struct comm *c, const struct task *t, void *group, void *api)
{
	char words[4][32];
	union descr d;
	void *handle;

	set_head(&d, COLL, version < 5 ? group : api, c->rank);
	if (version == 1) {
		d.v1.coll.hash = c->hash;
		d.v1.coll.seq = c->seq;
		d.v1.coll.func = (uint8_t)t->func_number;
		d.v1.coll.dtype = (uint8_t)t->dtype_number;
		d.v1.coll.algo = (uint8_t)t->algo_number;
		d.v1.coll.proto = (uint8_t)t->proto_number;
		d.v1.coll.count = t->count;
		d.v1.coll.channels = CHANNELS;
	} else if (version == 2) {
		d.v2.coll.hash = c->hash;
		SET_WORDS(d.v2.coll);
	} else if (version == 3) {
		d.v3.coll.hash = c->hash;
		SET_WORDS(d.v3.coll);
	} else if (version == 4) {
		struct coll_4 coll = { 0 };

		SET_WORDS(coll);
		memcpy(d.v4.bytes, &coll, sizeof(d.v4.bytes));
	} else {
		SET_WORDS(d.v6.coll);
		d.v6.coll.group = group;
	}
	handle = start(c, &d);
	memset(words, 'x', sizeof(words));
	return handle;
}

static void *start_p2p(struct comm *c, bool send, void *parent)
{
	const char *func = send ? "Send" : "Recv";
	int peer = send ? 3 : 11;
	union descr d;

	set_head(&d, P2P, parent, c->rank);
	if (version == 1) {
		d.v1.p2p.hash = c->hash;
		d.v1.p2p.func = send ? 6 : 7;
		d.v1.p2p.dtype = 7;
		d.v1.p2p.count = 25;
		d.v1.p2p.peer = peer;
	} else if (version < 4) {
		d.v3.p2p = (struct p2p_2){ .hash = c->hash,
					   .func = func,
					   .dtype = "ncclFloat32",
					   .count = 25,
					   .peer = peer };
	} else {
		struct p2p_4 p = { .func = func,
				   .dtype = "ncclFloat32",
				   .count = 25,
				   .peer = peer,
				   .channels = CHANNELS };

		*(version == 4 ? &d.v4.p2p : &d.v6.p2p) = p;
	}
	return start(c, &d);
}

static void *start_simple(struct comm *c, int type, void *parent)
{
	union descr d;

	set_head(&d, type, parent, c->rank);
	if (version >= 5 && type == COLL_API) {
		d.v6.coll_api.func = "AllReduce";
		d.v6.coll_api.captured = c->seq % 2;
	} else if (version >= 5 && type == P2P_API) {
		d.v6.p2p_api.func = "Send";
	}
	return start(c, &d);
}

/* --- a proxy thread's part of an operation --- */

static void proxy_op(struct comm *c, void *task, int mask, pid_t pid)
{
	union descr d;
	void *op, *step;
	size_t moved[2] = { 512, 0 };

	set_head(&d, PROXY_OP, task, c->rank);
	d.v6.proxy = (struct proxy_op){
		.pid = pid, .channel = 1, .peer = 2, .steps = 8, .chunk = 1024, .is_send = 1
	};
	op = start(c, &d);
	for (int i = 0; op && mask & PROXY_STEP && i < 2; i++) {
		set_head(&d, PROXY_STEP, op, c->rank);
		d.v6.step = i;
		step = start(c, &d);
		if (step)
			check(prof->state(step, STEP_SEND_WAIT, moved));
		stop(step);
	}
	stop(op);
}

/* Channels overlap; together they take from 1,000 to 5,000 ns of the GPU's clock. */
static void kernel(struct comm *c, void *task, uint64_t *gpu_start)
{
	uint64_t at = now_ns() - c->clock;
	void *handle[CHANNELS];
	union descr d;

	*gpu_start = at + 1000;
	while (now_ns() - c->clock < at + 6000)
		;
	for (unsigned i = 0; i < CHANNELS; i++) {
		set_head(&d, KERNEL_CH, task, 0);
		d.v6.kernel.channel = (uint8_t)i;
		if (version >= 4)
			d.v6.kernel.timer = at + 1000 + 100 * i;
		handle[i] = start(c, &d);
	}
	for (unsigned i = 0; i < CHANNELS; i++) {
		uint64_t end[2] = { at + 2000 + 1000 * i, 0 };

		if (handle[i] && version >= 4)
			check(prof->state(handle[i], KERNEL_CH_STOP, end));
		stop(handle[i]);
	}
}

struct proxy_job {
	struct comm *c;
	void *task;
	int mask;
	uint64_t gpu_start;
};

static void *proxy_main(void *arg)
{
	struct proxy_job *j = arg;

	if (j->mask & (PROXY_OP | PROXY_STEP))
		proxy_op(j->c, j->task, j->mask, getpid());
	if (j->mask & KERNEL_CH)
		kernel(j->c, j->task, &j->gpu_start);
	return NULL;
}

/* --- operations --- */

static void tell(const struct comm *c, const char *name, size_t bytes, uint64_t seq, uint64_t dur,
		 uint64_t from, uint64_t to)
{
	if (!quiet)
		printf("{\"name\":\"%s\",\"bytes\":%zu,\"seq\":%llu,\"hash\":%llu,\"dur\":%llu,"
		       "\"from\":%llu,\"to\":%llu}\n",
		       name, bytes, (unsigned long long)seq, (unsigned long long)c->hash,
		       (unsigned long long)dur, (unsigned long long)from, (unsigned long long)to);
}

/* One operation from its call to its kernel's end. The stop comes before the kernel. */
static void operate(struct comm *c, const struct task *t, bool send)
{
	const int tasks = COLL | P2P | PROXY_OP | PROXY_STEP | KERNEL_CH;
	struct proxy_job j = { .c = c, .mask = mask_now() };
	void *group_api = NULL, *api = NULL, *group = NULL, *launch = NULL;
	uint64_t from = now_ns(), dur = 0;
	pthread_t proxy;
	int mask = j.mask;

	if (!prof || !(mask & tasks))
		return;
	if (version >= 5) { /* parents come unasked */
		group_api = start_simple(c, GROUP_API, NULL);
		api = start_simple(c, t ? COLL_API : P2P_API, group_api);
		stop(api);
		if (mask & KERNEL_LAUNCH)
			launch = start_simple(c, KERNEL_LAUNCH, group_api);
	}
	group = start_simple(c, GROUP, NULL);
	j.task = t ? start_coll(c, t, group, api) : start_p2p(c, send, version < 5 ? group : api);
	stop(j.task);
	stop(group);
	stop(launch);
	stop(group_api);
	stop(api); /* NCCL forgets to forget this one */
	if (mask & (PROXY_OP | PROXY_STEP | KERNEL_CH)) {
		pthread_create(&proxy, NULL, proxy_main, &j);
		pthread_join(proxy, NULL);
	}
	if (mask & KERNEL_CH && version >= 4) {
		dur = 4000;
		from = j.gpu_start + c->clock;
	}
	if (t)
		tell(c, t->name, t->bytes, c->seq++, dur, from, now_ns());
	else
		tell(c, send ? "Send f32 to 3" : "Recv f32 from 11", 100, 0, dur, from, now_ns());
}

static void ce(struct comm *c)
{
	uint64_t from = now_ns();
	union descr d;
	void *h;

	if (!prof || version < 6 || !(mask_now() & CE_COLL))
		return;
	set_head(&d, CE_COLL, NULL, c->rank);
	d.v6.ce.seq = c->seq;
	d.v6.ce.func = "AllGather";
	d.v6.ce.dtype = "ncclFloat64";
	d.v6.ce.sync = "MC";
	d.v6.ce.count = 10;
	h = start(c, &d);
	stop(h);
	tell(c, "AllGather f64 CE MC", 80, c->seq++, 0, from, now_ns());
}

static void rounds(struct comm *c, int n)
{
	for (int r = 0; r < n; r++) {
		for (size_t i = 0; i < sizeof(colls) / sizeof(colls[0]); i++)
			operate(c, &colls[i], false);
		operate(c, NULL, true);
		operate(c, NULL, false);
		ce(c);
	}
}

/* --- plays --- */

struct comm_job {
	struct comm c;
	int rounds, number, ranks;
};

static void *comm_main(void *arg)
{
	struct comm_job *j = arg;

	comm_init(&j->c, j->number, j->ranks);
	rounds(&j->c, j->rounds);
	comm_end(&j->c);
	return NULL;
}

static void play_comms(int n, int r)
{
	struct comm_job *job = calloc((size_t)n, sizeof(*job));
	pthread_t *thread = calloc((size_t)n, sizeof(*thread));

	load();
	for (int i = 0; i < n; i++) {
		job[i].rounds = r;
		job[i].number = i;
		job[i].ranks = n;
	}
	comm_main(&job[0]); /* joins; to do so on many threads at once is libaon's test */
	for (int i = 1; i < n; i++)
		pthread_create(&thread[i], NULL, comm_main, &job[i]);
	for (int i = 1; i < n; i++)
		pthread_join(thread[i], NULL);
	unload();
	free(thread);
	free(job);
}

static void play_ops(int n)
{
	struct comm c;

	load();
	comm_init(&c, 1, 8);
	rounds(&c, n);
	comm_end(&c);
	unload();
}

static void play_exhaust(int n)
{
	void **handle = calloc((size_t)n, sizeof(*handle));
	int got = 0;
	struct comm c;

	load();
	comm_init(&c, 1, 8);
	quiet = 1;
	operate(&c, &colls[0], false); /* joins */
	for (int i = 0; prof && i < n; i++) {
		handle[i] = start_coll(&c, &colls[0], NULL, NULL);
		got += handle[i] != NULL;
	}
	for (int i = 0; prof && i < n; i++)
		stop(handle[i]);
	printf("{\"given\":%d}\n", got);
	operate(&c, &colls[0], false);
	comm_end(&c);
	unload();
	free(handle);
}

static void play_fork(int n)
{
	struct comm c;
	pid_t child;
	int status;

	load();
	comm_init(&c, 1, 8);
	rounds(&c, n);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		quiet = 1;
		rounds(&c, n);
		comm_end(&c);
		_exit(faults != 0);
	}
	waitpid(child, &status, 0);
	faults += status != 0;
	rounds(&c, n);
	comm_end(&c);
	unload();
}

/* What NCCL would not do, or does in one version only. Nothing of it may hurt. */
static void play_hostile(void)
{
	struct comm c, none = { 0 };
	void *h, *foreign = &c;
	union descr d;

	load();
	if (!prof)
		return;
	comm_init(&c, 1, 8);
	check(prof->stop(NULL));
	check(prof->state(NULL, NET_UPDATE, NULL));
	check(prof->finalize(NULL));
	check(prof->finalize(&foreign)); /* no context of theirs */
	check(start_coll(&none, &colls[0], NULL, NULL) != NULL);
	for (int type = 0; type < 40; type++) {
		set_head(&d, 1 << (type % 31), (void *)(uintptr_t)0xdead0001, 0);
		h = type == 1 || type == 2 || type == 12 ? NULL : start(&c, &d);
		if (h && h != (void *)1)
			stop(h);
	}
	h = start_coll(&c, &colls[0], NULL, NULL);
	stop(h);
	stop(h); /* twice */
	check(prof->state(h, KERNEL_CH_STOP, &d));
	for (uintptr_t i = 0; i < 64; i++) {
		check(prof->stop((void *)((uintptr_t)0x9e3779b97f4a7c15ull * i)));
		check(prof->stop((void *)i));
		check(prof->state((void *)(i << 32 | i), STEP_SEND_WAIT, &d));
	}
	__atomic_store_n(&event_mask, ~0, __ATOMIC_RELAXED);
	proxy_op(&c, (void *)0x100000001, ~0, getpid() + 1); /* PXN: another's parent */
	h = start_coll(&c, &colls[1], NULL, NULL);
	tell(&c, colls[1].name, colls[1].bytes, c.seq, 0, 0, now_ns());
	comm_end(&c);
	stop(h); /* after the end */
	check(start_coll(&c, &colls[0], NULL, NULL) != NULL && 0);
	unload();
}

/* The end of input ends it. */
static void play_mask(void)
{
	char line[64];
	struct comm c;

	load();
	comm_init(&c, 1, 8);
	quiet = 1;
	while (fgets(line, sizeof(line), stdin)) {
		operate(&c, &colls[0], false);
		printf("{\"mask\":%d,\"seq\":%llu}\n", mask_now(), (unsigned long long)c.seq - 1);
		fflush(stdout);
	}
	comm_end(&c);
	unload();
}

int main(int argc, char *argv[])
{
	const char *play = argc > 2 ? argv[2] : "";
	int a = argc > 3 ? atoi(argv[3]) : 1, b = argc > 4 ? atoi(argv[4]) : 1;

	version = argc > 1 ? atoi(argv[1]) : 0;
	if (version < 1 || version > 6)
		return 2;
	if (!strcmp(play, "ops"))
		play_ops(a);
	else if (!strcmp(play, "comms"))
		play_comms(a, b);
	else if (!strcmp(play, "cycle"))
		for (int i = 0; i < a; i++)
			play_ops(1);
	else if (!strcmp(play, "exhaust"))
		play_exhaust(a);
	else if (!strcmp(play, "fork"))
		play_fork(a);
	else if (!strcmp(play, "hostile"))
		play_hostile();
	else if (!strcmp(play, "mask"))
		play_mask();
	else
		return 2;
	printf("{\"faults\":%d,\"loads\":%d,\"mask\":%d}\n", faults, loads, mask_now());
	return faults != 0;
}
