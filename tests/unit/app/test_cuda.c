/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA probe without a CUPTI: strides, records of every version, names, buffers, graphs. */
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "client/client.h"
#include "pool/pool.h"
#include "probe/cuda/cuda.h"
#include "probe/cuda/record.h"
#include "t.h"

#define RECORDS 64u
#define ROOM    65536u

#define BUFFER_KIB 16u

static uint16_t truth[CK_MAX]; /* what the library of the test believes */
static struct pool *pool;
static struct cuda *c;

/* --- a library that walks by `truth`, as CUPTI's own does --- */

static int walk(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + truth[get32(*record, 0) % CK_MAX] : buffer;
	uint32_t kind;

	if (at >= buffer + valid)
		return 12;
	kind = get32(at, 0);
	if (kind >= CK_MAX || !truth[kind])
		return 21;
	*record = at;
	return 0;
}

static int ask(uint32_t kind, uint32_t version, size_t *size)
{
	*size = kind < CK_MAX ? truth[kind] : 0;
	return version || !*size ? 21 : 0;
}

static int refuse(uint8_t *buffer, size_t valid, void **record)
{
	(void)buffer;
	(void)valid;
	(void)record;
	return CUPTI_UNKNOWN;
}

static const struct {
	const char *name;
	uint16_t kernel, copy, set, sync, graph, memory;
} versions[] = {
	/* clang-format off */
	{ "11.8", 200,  88,  88, 40, 48, 120 },
	{ "12.0", 208,  88,  88, 40, 48, 120 },
	{ "12.3", 208,  88,  88, 40, 56, 120 },
	{ "12.8", 208,  96,  88, 56, 56, 128 },
	{ "13.0", 216,  96,  88, 56, 56, 128 },
	{ "13.1", 224,  96,  88, 56, 56, 128 },
	{ "13.3", 232,  96,  88, 56, 56, 128 },
	{ "13.4", 248, 112, 104, 56, 56, 128 },
	{ "later", 264, 120, 112, 64, 64, 136 },
	/* clang-format on */
};

static void be_version(size_t v)
{
	memset(truth, 0, sizeof(truth));
	truth[CK_CONCURRENT_KERNEL] = truth[CK_KERNEL] = versions[v].kernel;
	truth[CK_MEMCPY] = versions[v].copy;
	truth[CK_MEMCPY2] = 96;
	truth[CK_MEMSET] = versions[v].set;
	truth[CK_SYNC] = versions[v].sync;
	truth[CK_GRAPH_TRACE] = versions[v].graph;
	truth[CK_MEMORY2] = versions[v].memory;
	truth[CK_DRIVER] = truth[CK_RUNTIME] = 40;
	truth[CK_EXTERNAL] = truth[CK_STREAM] = 24;
	truth[CK_DEVICE] = 176;
	truth[CK_CONTEXT] = 16;
	truth[60] = 40; /* a kind of the future */
}

static void strides(void)
{
	uint16_t got[CK_MAX];

	for (size_t v = 0; v < T_LEN(versions); v++) {
		be_version(v);
		stride_learn(got, walk, NULL);
		T_OK(!memcmp(got, truth, sizeof(got)), "%s: strides by walking", versions[v].name);
		stride_learn(got, refuse, ask);
		T_OK(!memcmp(got, truth, sizeof(got)), "%s: strides by asking", versions[v].name);
		T_OK(stride_usable(got), "%s is usable", versions[v].name);
	}
	T_OK(stride_learn(got, refuse, NULL) == 0 && !stride_usable(got),
	     "a library that tells nothing is not usable");
	truth[CK_CONCURRENT_KERNEL] = 176;
	stride_learn(got, walk, NULL);
	T_OK(!stride_usable(got), "nor one whose kernels lack fields");
}

/* --- records --- */

static uint8_t buffer[ROOM] __attribute__((aligned(8)));
static size_t filled;

static void put32(uint8_t *r, unsigned at, uint32_t v)
{
	memcpy(r + at, &v, sizeof(v));
}

static void put64(uint8_t *r, unsigned at, uint64_t v)
{
	memcpy(r + at, &v, sizeof(v));
}

/* A record of the kind, of the version's length, with garbage where no field of ours is. */
static uint8_t *record(uint32_t kind)
{
	uint8_t *r = buffer + filled;

	memset(r, 0xa5, truth[kind]);
	filled += truth[kind];
	put32(r, 0, kind);
	return r;
}

static void put_kernel(const char *name, uint64_t start, uint64_t end, uint32_t corr,
		       uint32_t graph)
{
	uint8_t *r = record(CK_CONCURRENT_KERNEL);
	uint16_t regs = 33;

	memcpy(r + K_REGS, &regs, sizeof(regs));
	put64(r, K_START, start);
	put64(r, K_END, end);
	put32(r, K_DEVICE, 3);
	put32(r, K_CONTEXT, 1);
	put32(r, K_STREAM, 7);
	for (unsigned i = 0; i < 6; i++)
		put32(r, K_GRID + 4 * i, i + 1);
	put32(r, K_SHM_STATIC, 128);
	put32(r, K_SHM_DYNAMIC, 256);
	put32(r, K_CORR, corr);
	put64(r, K_NAME, (uint64_t)(uintptr_t)name);
	put64(r, K_NODE, (uint64_t)graph << 32 | 5);
	put32(r, K_GRAPH, graph);
}

static void put_copy(uint32_t kind, uint64_t bytes)
{
	uint8_t *r = record(kind);

	r[C_KIND] = 1;
	r[C_SRC] = 1;
	r[C_DST] = 3;
	put64(r, C_BYTES, bytes);
	put64(r, C_START, 1000);
	put64(r, C_END, 3000);
	put32(r, C_DEVICE, 3);
	put32(r, C_CONTEXT, 1);
	put32(r, C_STREAM, 7);
	put32(r, kind == CK_MEMCPY2 ? P_CORR : C_CORR, 77);
	put32(r, kind == CK_MEMCPY2 ? P_GRAPH : C_GRAPH, 0);
	put32(r, P_SRC_DEVICE, kind == CK_MEMCPY2 ? 3 : 77);
	if (kind == CK_MEMCPY2)
		put32(r, P_DST_DEVICE, 4);
}

static union aon_rec got[4096];
static size_t units;

static void drain(void)
{
	static uint8_t buf[1 << 20];
	static struct pool_run run[64];
	bool more = true;
	size_t n;

	units = 0;
	while (more && !pool_drain(pool, buf, sizeof(buf), false, run, T_LEN(run), &n, &more))
		for (size_t i = 0; i < n; i++) {
			memcpy(got + units, run[i].rec, run[i].units * sizeof(got[0]));
			units += run[i].units;
		}
}

static uint64_t lost(enum aon_loss why)
{
	uint64_t by[AON_LOSS_APP_MAX];

	pool_lost(pool, by);
	return by[why];
}

static void decode_all(void)
{
	memcpy(c->stride, truth, sizeof(truth));
	client_gate_slow(); /* libaon closes it when it finds no daemon */
	decode(c, buffer, filled);
	drain();
}

static void decoded(void)
{
	static const char name[] = "kernel of the test";

	for (size_t v = 0; v < T_LEN(versions); v++) {
		const struct aon_rec_act *a = &got[0].act;
		uint64_t was = lost(AON_LOSS_UNTIMED);

		be_version(v);
		filled = 0;
		put_kernel(name, 1000, 2500, 4711, 0);
		record(60);
		put_kernel(name, 5000, 5000 + (5ull << 32), 4712, 9);
		put_copy(CK_MEMCPY, 6ull << 32);
		put_copy(CK_MEMCPY2, 4096);
		put_copy(CK_MEMSET, 512);
		put_kernel(name, 0, 0, 1, 0);
		put_kernel(name, 77, 0, 1, 0);
		decode_all();
		T_OK(units == 7 && a[0].kind == AON_K_KERNEL && a[0].dur == 1500 &&
			     a[0].corr == 4711 && a[0].name == aon_name(name) && a[0].start == 1000,
		     "%s: a kernel", versions[v].name);
		T_OK(a[1].len == 2 && a[1].flags & AON_F_LONG && got[2].word[0] == 5ull << 32 &&
			     got[2].word[2] == (9ull << 32 | 5),
		     "%s: a long kernel of a graph: its node, its true time", versions[v].name);
		T_OK(a[3].kind == AON_K_COPY && (a[3].flags & 15) == AON_COPY_HTOD &&
			     got[4].word[1] == 6ull << 32 && a[3].corr == 77 && a[3].dur == 2000,
		     "%s: a copy of 24 GiB", versions[v].name);
		T_OK(a[5].kind == AON_K_COPY && (a[5].flags & 15) == AON_COPY_PTOP &&
			     a[5].arg == 4096 && a[5].corr == 77 &&
			     a[5].name == aon_name("Memcpy PtoP (3 -> 4)"),
		     "%s: a copy between devices", versions[v].name);
		T_OK(a[6].kind == AON_K_MEMSET && a[6].arg == 512, "%s: a memset",
		     versions[v].name);
		T_OK(lost(AON_LOSS_UNTIMED) == was + 2,
		     "%s: what has no times is counted as seen, not as an instant",
		     versions[v].name);
		T_OK(units == 7 && a[7].kind == 0, "%s: and nothing more", versions[v].name);
		memset(got, 0, sizeof(got));
	}
}

static void others(void)
{
	uint8_t *r;
	const struct aon_rec_act *a = &got[0].act;

	be_version(3);
	filled = 0;
	r = record(CK_CONTEXT);
	put32(r, X_ID, 2);
	put32(r, X_DEVICE, 5);
	r[X_NULL_STREAM] = 11;
	r[X_NULL_STREAM + 1] = 0;
	r = record(CK_SYNC);
	put32(r, Y_TYPE, 3);
	put64(r, Y_START, 100);
	put64(r, Y_END, 300);
	put32(r, Y_CORR, 8);
	put32(r, Y_CONTEXT, 2);
	put32(r, Y_STREAM, 11);
	r = record(CK_GRAPH_TRACE);
	put32(r, G_CORR, 9);
	put64(r, G_START, 100);
	put64(r, G_END, 900);
	put32(r, G_DEVICE, 5);
	put32(r, G_GRAPH, 42);
	put32(r, G_CONTEXT, 2);
	put32(r, G_STREAM, 11);
	r = record(CK_MEMORY2);
	put32(r, M_OP, 2);
	put32(r, M_KIND, 3);
	put64(r, M_ADDRESS, 0x7f00000000);
	put64(r, M_BYTES, 1 << 20);
	put64(r, M_TIME, 500);
	put32(r, M_CORR, 10);
	put32(r, M_DEVICE, 5);
	put32(r, M_CONTEXT, 2);
	put32(r, M_STREAM, 11);
	r = record(CK_EXTERNAL);
	put64(r, E_ID, 0xabcdef);
	put32(r, E_CORR, 12);
	r = record(CK_RUNTIME);
	put32(r, A_CBID, 211);
	put64(r, A_START, 100);
	put64(r, A_END, 150);
	put32(r, A_TID, 4242);
	put32(r, A_CORR, 13);
	decode_all();
	T_OK(a[0].kind == AON_K_SYNC && a[0].dur == 200 &&
		     a[0].track == aon_track(5, 2, 11, "default"),
	     "a synchronisation is on its context's device, on the stream called default");
	T_OK(a[1].kind == AON_K_GRAPH && a[1].arg == 42 && a[1].dur == 800 && a[1].len == 1,
	     "a graph's launch is one record");
	T_OK(a[2].kind == AON_K_ALLOC && a[2].arg == 1 << 20 && (a[2].flags & 15) == AON_MEM_FREE &&
		     got[3].word[2] == 0x7f00000000,
	     "memory given back: bytes and address");
	T_OK(got[4].host.kind == AON_K_FLOW && got[4].host.a == 0xabcdef && got[4].host.b == 12 &&
		     got[4].host.x == 12,
	     "an id of the framework's, and the launch it belongs to");
	T_OK(a[5].kind == AON_K_API && a[5].track == aon_track_thread(4242) && a[5].corr == 13,
	     "a call is on its thread");
}

/* Whatever a buffer says, the walk ends, and inside of it. */
static void hostile(void)
{
	uint64_t was = lost(AON_LOSS_SOURCE);

	be_version(0);
	memcpy(c->stride, truth, sizeof(truth));
	memset(buffer, 0, sizeof(buffer));
	client_gate_slow();
	decode(c, buffer, sizeof(buffer));
	T_OK(lost(AON_LOSS_SOURCE) == was + 1, "kind 0: the walk ends, and it is counted");
	memset(buffer, 0xff, sizeof(buffer));
	decode(c, buffer, sizeof(buffer));
	T_OK(decode_count(c->stride, buffer, sizeof(buffer)) == 0, "a kind that nobody knows");
	filled = 0;
	put_kernel("cut", 1, 2, 3, 0);
	T_OK(decode_count(c->stride, buffer, filled - 1) == 0, "a record that is cut");
	T_OK(decode_count(c->stride, buffer, filled) == 1, "and one that is not");
	T_OK(decode_count(c->stride, buffer, 0) == 0 && decode_count(c->stride, buffer, 3) == 0,
	     "too short for a kind");
}

static void names(void)
{
	static char text[32] = "first";
	uint32_t first = name_of(c, text);

	T_OK(first && first == aon_name("first"), "a name by its text");
	strcpy(text, "second");
	T_OK(name_of(c, text) == first, "a pointer that is known is not read again");
	name_forget(c);
	T_OK(name_of(c, text) == aon_name("second"), "after a module came or went it is");
	T_OK(name_of(c, NULL) == 0, "no name");
}

/* --- buffers --- */

static void buffers(void)
{
	static uint8_t *lent[CUDA_BUFFERS_MAX], *extra[CUDA_DISCARDS];
	size_t size, max, twice = 0;
	uint32_t n = c->buffers, i;
	uint64_t was = lost(AON_LOSS_DISCARDED);
	uint8_t *more;

	be_version(0);
	memcpy(c->stride, truth, sizeof(truth));
	for (i = 0; i < n; i++) {
		buffer_request(c, &lent[i], &size, &max);
		for (uint32_t j = 0; j < i; j++)
			twice += lent[j] == lent[i];
	}
	T_OK(!twice && size == BUFFER_KIB << 10 && buffer_lent(c) == n,
	     "%u buffers, each lent once", n);
	for (i = 0; i < CUDA_DISCARDS; i++) {
		buffer_request(c, &extra[i], &size, &max);
		for (uint32_t j = 0; j < i; j++)
			twice += extra[j] == extra[i];
	}
	T_OK(!twice && size == CUDA_DISCARD_BYTES, "then small ones, each lent once");
	filled = 0;
	put_kernel("discarded", 1, 2, 3, 0);
	put_kernel("discarded", 1, 2, 3, 0);
	memcpy(extra[1], buffer, filled);
	buffer_complete(c, extra[1], filled);
	T_OK(lost(AON_LOSS_DISCARDED) == was + 2, "what was in it is lost, and counted by us");
	buffer_request(c, &more, &size, &max);
	T_OK(more == extra[1] && !more[0] && !more[filled - 1], "it is lent again, and is zero");
	c->api.version = 26;
	buffer_request(c, &more, &size, &max);
	T_OK(more && max == 1 && size == CUDA_DISCARD_BYTES,
	     "when there is none at all an old CUPTI gets one that nobody looks into");
	buffer_complete(c, more, 200);
	T_OK(lost(AON_LOSS_DISCARDED) == was + 3, "and its one record is counted");
	c->api.version = 27;
	buffer_request(c, &more, &size, &max);
	T_OK(!more && !size, "one that can take a refusal is refused");
	buffer_complete(c, lent[0], 0);
	buffer_request(c, &more, &size, &max);
	T_OK(more == lent[0], "a buffer that came back is lent again");
	buffer_complete(c, (uint8_t *)&size, 8);
	T_OK(buffer_lent(c) == n + CUDA_DISCARDS, "one that is not ours is left alone");
}

static void graphs(void)
{
	unsigned nodes = 0, many = 0;

	for (uint32_t i = 0; i < 1000; i++)
		nodes += graph_by_node(i);
	for (uint32_t i = 0; i < 1000000; i++)
		many += graph_by_node(i);
	T_OK(graph_by_node(0) && graph_by_node(1) && !graph_by_node(2),
	     "a graph is learnt at its first launches");
	T_OK(nodes >= 4 && nodes <= 8, "of 1,000 launches %u are looked at by node", nodes);
	T_OK(many > 200 && many < 300, "of 1,000,000 launches %u", many);
}

static int enabled[CK_MAX];

static int enable(int kind)
{
	enabled[kind]++;
	return 0;
}

static int disable(int kind)
{
	enabled[kind]--;
	return 0;
}

static void callbacks(void)
{
	uint64_t exec[2] = { 0x1234567, 0 };
	struct cupti_cb_data d = { .function = "cuLaunchKernel",
				   .symbol = "hung",
				   .correlation = 128 };
	struct cupti_resource_data res = { .descriptor = NULL };
	const struct aon_heartbeat *p = &aon_client.seg.head->heartbeat;
	unsigned whole = 0, turns = 0;
	int was = 0;

	launch_setup(c);
	launch_callback(c, CD_DRIVER, 307, &d);
	T_OK(p->launch == 0, "in a forked child nothing is written");
	c->on = 1;
	launch_callback(c, CD_DRIVER, 307, &d);
	T_OK(p->launch == (128ull << 32 | aon_name("hung")) && p->launch_tsc,
	     "a launch leaves its name and correlation where a hang does not hide them");
	d.correlation = 129;
	d.site = 1;
	launch_callback(c, CD_DRIVER, 307, &d);
	launch_callback(c, CD_DRIVER, 306, &d);
	launch_callback(c, CD_RUNTIME, 5000, &d);
	T_OK(p->launch >> 32 == 128, "the way out, other calls and unknown ones leave nothing");
	name_of(c, d.symbol);
	launch_callback(c, CD_RESOURCE, CR_MODULE_UNLOAD_STARTING, &res);
	T_OK(c->name_flush > 0, "a module that goes makes names forgotten");
	c->api.ActivityEnable = enable;
	c->api.ActivityDisable = disable;
	d = (struct cupti_cb_data){ .function = "cuGraphLaunch",
				    .params = exec,
				    .correlation = 200 };
	for (int i = 0; i < 1000; i++) {
		launch_callback(c, CD_DRIVER, 514, &d);
		whole += (unsigned)enabled[CK_GRAPH_TRACE];
		turns += enabled[CK_GRAPH_TRACE] != was;
		was = enabled[CK_GRAPH_TRACE];
	}
	T_OK(whole == 994 && turns == 9, "1,000 launches of a graph: %u whole, %u changes", whole,
	     turns);
	graph_gone(c, exec[0]);
	launch_callback(c, CD_DRIVER, 514, &d);
	T_OK(!enabled[CK_GRAPH_TRACE], "a graph that was destroyed is learnt anew");
	launch_callback(c, CD_DRIVER, 308, &d);
	T_OK(c->yields == 1, "cuProfilerStart() asks for room");
	c->on = 0;
}

/* A device whose clock has run away, either way. */
static void drift(void)
{
	struct cupti_cb_data d = { .function = "cuLaunchKernel", .symbol = "drift" };
	uint64_t now = clock_mono_ns();
	const struct aon_rec_act *a = &got[0].act;

	be_version(3);
	memset(&c->clock, 0, sizeof(c->clock));
	memset(c->ahead, 0, sizeof(c->ahead));
	filled = 0;
	put_kernel("drift", now + 5000000000u, now + 5000001000u, 1, 0);
	put_kernel("drift", now + 5000002000u, now + 5000003000u, 2, 0);
	decode_all();
	T_OK(a[0].start + a[0].dur <= clock_mono_ns() && a[0].dur == 1000 &&
		     a[1].start > a[0].start && a[1].start + a[1].dur <= clock_mono_ns(),
	     "nothing ends after its record came");
	c->on = 1;
	d.correlation = 6400;
	launch_callback(c, CD_DRIVER, 307, &d);
	c->on = 0;
	memset(c->ahead, 0, sizeof(c->ahead));
	filled = 0;
	put_kernel("drift", now - 9000000000u, now - 8999999000u, 6400, 0);
	decode_all();
	T_OK(a[0].start >= now && a[0].dur == 1000, "nothing begins before it was launched");
	memset(c->ahead, 0, sizeof(c->ahead));
}

static void texts(void)
{
	struct cuda_text t = { .len = 0 };

	text_num(&t, 0);
	text_add(&t, " ");
	text_num(&t, UINT64_MAX);
	T_OK(!strcmp(t.s, "0 18446744073709551615"), "numbers as text");
	for (int i = 0; i < 100; i++)
		text_add(&t, "longer");
	T_OK(t.len == sizeof(t.s) - 1 && strlen(t.s) == t.len, "a text that is cut has its end");
}

int main(void)
{
	struct pool_opts o = { .pool_bytes = 4 << 20, .chunk_bytes = 4096, .heap_bytes = 65536 };
	void *map;

	if (pool_new(&pool, &o))
		return 1;
	map = mmap(NULL, pool_bytes(pool), PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd(pool), 0);
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || c == MAP_FAILED || client_use(map, pool_bytes(pool)) ||
	    !buffer_setup(c, 1024, BUFFER_KIB))
		return 1;
	strides();
	decoded();
	others();
	hostile();
	names();
	buffers();
	graphs();
	callbacks();
	drift();
	texts();
	return t_done();
}
