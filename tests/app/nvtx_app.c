/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_app - a stranger's program with the public NVTX 3 header, which knows nothing of aon.
 *
 *	nvtx_app calls | threads N PAIRS | fork CHILDREN PAIRS | dynamic N | both N | ids N | texts |
 *	         mixed | signals PAIRS
 *
 * Tells in a line of JSON what it did: {"faults": wrong return values, "injected": 0 or 1}.
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter.h"

static int faults;
static int injected; /* without an injection every answer of NVTX is 0 or -2 */

#define CHECK(cond)                                                        \
	do {                                                               \
		if (injected && !(cond)) {                                 \
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond); \
			faults++;                                          \
		}                                                          \
	} while (0)

static nvtxEventAttributes_t event(const char *text)
{
	nvtxEventAttributes_t e;

	memset(&e, 0, sizeof(e));
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = text;
	return e;
}

static nvtxEventAttributes_t registered(nvtxStringHandle_t h)
{
	nvtxEventAttributes_t e = event(NULL);

	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = h;
	return e;
}

/* Every call of the default domain, in every form. */
static void core(void)
{
	nvtxEventAttributes_t e = event("ex"), st = event("start ex"), w = event(NULL),
			      none = event(NULL);
	nvtxRangeId_t a, b, c;

	w.messageType = NVTX_MESSAGE_TYPE_UNICODE;
	w.message.unicode = L"weit \u00e9 \U0001f600";
	none.messageType = NVTX_MESSAGE_UNKNOWN;
	CHECK(nvtxRangePushA("a") == 0);
	CHECK(nvtxRangePushW(L"w \u4e16") == 1);
	CHECK(nvtxRangePushEx(&e) == 2);
	CHECK(nvtxRangePushEx(&w) == 3);
	CHECK(nvtxRangePushEx(&none) == 4);
	for (int i = 4; i >= 0; i--)
		CHECK(nvtxRangePop() == i);
	CHECK(nvtxRangePop() < 0);
	a = nvtxRangeStartA("start a");
	b = nvtxRangeStartW(L"start w");
	c = nvtxRangeStartEx(&st);
	CHECK(a && b && c && a != b && b != c && a != c);
	nvtxRangeEnd(b);
	nvtxRangeEnd(a);
	nvtxRangeEnd(c);
	nvtxMarkA("mark a");
	nvtxMarkW(L"mark w");
	nvtxMarkEx(&e);
	nvtxNameCategoryA(7, "seven");
	nvtxNameCategoryW(8, L"eight");
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main one");
	nvtxNameOsThreadW((uint32_t)syscall(SYS_gettid), L"main two");
}

/* A value of every basic type, on a range and on a mark. */
static void payloads(void)
{
	nvtxEventAttributes_t e = event("paid");

	for (int type = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64; type <= NVTX_PAYLOAD_TYPE_FLOAT; type++) {
		e.category = 7;
		e.payloadType = type;
		e.payload.ullValue = 0;
		if (type == NVTX_PAYLOAD_TYPE_DOUBLE)
			e.payload.dValue = 2.5;
		else if (type == NVTX_PAYLOAD_TYPE_FLOAT)
			e.payload.fValue = 2.5f;
		else if (type == NVTX_PAYLOAD_TYPE_INT32)
			e.payload.iValue = -5;
		else if (type == NVTX_PAYLOAD_TYPE_INT64)
			e.payload.llValue = -5;
		else
			e.payload.uiValue = 40;
		nvtxRangePushEx(&e);
		nvtxMarkEx(&e);
		nvtxRangePop();
	}
}

static void domains(void)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("lib"), w = nvtxDomainCreateW(L"weit");
	nvtxStringHandle_t s = nvtxDomainRegisterStringA(d, "string"),
			   t = nvtxDomainRegisterStringW(w, L"schnur");
	nvtxEventAttributes_t e = event("plain"), st = event("start"), r = registered(s),
			      q = registered(t);
	nvtxResourceAttributes_t res;
	nvtxSyncUserAttributes_t sync;
	nvtxRangeId_t id;

	CHECK(d && w && s && t && d != w && s != t);
	CHECK(nvtxDomainRangePushEx(d, &r) == 0); /* levels are by domain */
	CHECK(nvtxRangePushA("in lib") == 0);
	CHECK(nvtxDomainRangePushEx(d, &e) == 1);
	CHECK(nvtxDomainRangePushEx(w, &q) == 0);
	CHECK(nvtxDomainRangePop(w) == 0);
	CHECK(nvtxDomainRangePop(w) < 0);
	CHECK(nvtxDomainRangePop(d) == 1);
	CHECK(nvtxRangePop() == 0);
	CHECK(nvtxDomainRangePop(d) == 0);
	id = nvtxDomainRangeStartEx(d, &st);
	CHECK(id);
	nvtxDomainRangeEnd(d, id);
	nvtxDomainMarkEx(w, &q);
	nvtxDomainNameCategoryA(d, 1, "one");
	nvtxDomainNameCategoryW(d, 2, L"two");
	memset(&res, 0, sizeof(res));
	res.version = NVTX_VERSION;
	res.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
	res.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
	res.identifier.pValue = &res;
	res.messageType = NVTX_MESSAGE_TYPE_ASCII;
	res.message.ascii = "thing";
	nvtxDomainResourceDestroy(nvtxDomainResourceCreate(d, &res));
	memset(&sync, 0, sizeof(sync));
	sync.version = NVTX_VERSION;
	sync.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
	nvtxDomainSyncUserDestroy(nvtxDomainSyncUserCreate(d, &sync));
	nvtxDomainDestroy(w);
	nvtxInitialize(NULL);
}

/* Two domains whose ranges overlap on one thread: each ends its own. */
static void overlap(void)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("left"), w = nvtxDomainCreateA("right");
	nvtxEventAttributes_t e = event("x");
	struct timespec nap = { 0, 3000000 };

	CHECK(nvtxDomainRangePushEx(d, &e) == 0);
	CHECK(nvtxDomainRangePushEx(w, &e) == 0);
	CHECK(nvtxDomainRangePop(d) == 0);
	nanosleep(&nap, NULL);
	CHECK(nvtxDomainRangePop(w) == 0);
}

static void *pairs(void *arg)
{
	long n = (long)arg;

	for (long i = 0; i < n; i++) {
		CHECK(nvtxRangePushA("outer") == 0);
		CHECK(nvtxRangePushA("inner") == 1);
		CHECK(nvtxRangePop() == 1);
		CHECK(nvtxRangePop() == 0);
	}
	return NULL;
}

static void threads(int n, long count)
{
	pthread_t t[64];

	for (int i = 0; i < n && i < 64; i++)
		pthread_create(&t[i], NULL, pairs, (void *)count);
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
}

static void forks(int n, long count)
{
	struct timespec nap = { 0, 300000000 };
	int status;

	pairs((void *)count);
	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			nvtxMarkA("first of a child"); /* it joins with this */
			nanosleep(&nap, NULL);
			pairs((void *)count);
			exit(faults != 0);
		}
		wait(&status);
		faults += status != 0;
	}
}

/* One buffer whose text changes: names go by the text, not by its address. */
static void dynamic(int n)
{
	char text[32];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "text %d", i % 10);
		nvtxRangePushA(text);
		nvtxRangePop();
	}
}

static void pair(const char *text)
{
	nvtxRangePushA(text);
	nvtxRangePop();
}

/*
 * Texts of every length, each at its own address, told twice and then changed: at the end, one
 * character less, one more. And texts whose end is the end of all memory.
 */
static void texts(int max)
{
	static char room[128][256];
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int len = 2; len < max && len < 128; len++) {
		char *text = room[len];

		memset(text, 'a', (size_t)len);
		pair(text);
		pair(text);
		text[len - 1] = 'b';
		pair(text);
		text[len - 1] = 0;
		pair(text);
		memset(text, 'a', (size_t)len + 1);
		pair(text);
	}
	if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE))
		exit(1);
	for (size_t len = 1; len < 40; len++) {
		char *text = page + 4095 - len;

		memset(text, 'e', len);
		pair(text);
		pair(text);
	}
}

/* Levels go by domain, whichever way domains are mixed, and however many there are. */
static void mixed(void)
{
	enum { MANY = 24 };
	nvtxDomainHandle_t d[MANY], lib = nvtxDomainCreateA("lib");
	nvtxEventAttributes_t e = event("x"), r = registered(nvtxDomainRegisterStringA(lib, "r"));
	char name[16];

	CHECK(nvtxRangePushA("x") == 0);
	CHECK(nvtxRangePushA("x") == 1);
	CHECK(nvtxDomainRangePushEx(lib, &r) == 0);
	CHECK(nvtxRangePushA("x") == 2);
	CHECK(nvtxDomainRangePushEx(lib, &r) == 1);
	CHECK(nvtxRangePop() == 2);
	CHECK(nvtxDomainRangePop(lib) == 1);
	CHECK(nvtxDomainRangePop(lib) == 0);
	CHECK(nvtxDomainRangePop(lib) < 0);
	CHECK(nvtxRangePop() == 1);
	CHECK(nvtxRangePop() == 0);
	CHECK(nvtxRangePop() < 0);
	CHECK(nvtxDomainRangePushEx(lib, &r) == 0); /* alone again */
	CHECK(nvtxDomainRangePushEx(lib, &r) == 1);
	CHECK(nvtxRangePop() < 0);
	CHECK(nvtxDomainRangePop(lib) == 1);
	CHECK(nvtxDomainRangePop(lib) == 0);
	CHECK(nvtxDomainRangePop(lib) < 0);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		d[i] = nvtxDomainCreateA(name);
		CHECK(nvtxDomainRangePushEx(d[i], &e) == 0 || i >= 14);
	}
	for (int i = MANY - 1; i >= 0; i--)
		CHECK(nvtxDomainRangePop(d[i]) == 0 || i >= 14);
	CHECK(nvtxRangePushA("x") == 0);
	CHECK(nvtxRangePop() == 0);
}

static volatile sig_atomic_t handled;

static void on_timer(int sig)
{
	(void)sig;
	nvtxMarkA("in a handler");
	handled++;
}

/* A handler that marks, in the middle of pushes and pops. */
static void signals(long n)
{
	struct itimerval every = { { 0, 100 }, { 0, 100 } }, none = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = on_timer, .sa_flags = SA_RESTART };

	pairs((void *)1L);
	nvtxMarkA("in a handler"); /* the text is known from here on */
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	pairs((void *)n);
	setitimer(ITIMER_REAL, &none, NULL);
	fprintf(stderr, "%d handled\n", (int)handled);
}

/* What nvtx_other.c counts: 7 calls a turn, and 3. */
static void both(int n)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("shared");
	nvtxEventAttributes_t e = registered(nvtxDomainRegisterStringA(d, "told"));
	nvtxRangeId_t id;

	for (int i = 0; i < n; i++) {
		id = nvtxRangeStartA("started");
		nvtxRangePushA("pushed");
		nvtxDomainRangePushEx(d, &e);
		nvtxMarkA("marked");
		nvtxDomainRangePop(d);
		nvtxRangePop();
		nvtxRangeEnd(id);
	}
	nvtxDomainDestroy(d);
}

/* Started here, ended there, in another order. */
static void ids(int n)
{
	nvtxRangeId_t id[1000];

	for (int i = 0; i < n && i < 1000; i++)
		id[i] = nvtxRangeStartA("started");
	for (int i = n < 1000 ? n - 1 : 999; i >= 0; i--)
		nvtxRangeEnd(id[i]);
}

/* A library with NVTX of its own comes and goes: each time it looks for an injection anew. */
static void cycles(int n, const char *path)
{
	for (int i = 0; i < n; i++) {
		void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void (*plug)(int) = lib ? (void (*)(int))dlsym(lib, "plug") : NULL;

		CHECK(plug != NULL);
		if (plug)
			plug(10);
		CHECK(lib && dlclose(lib) == 0);
		nvtxRangePushA("between");
		nvtxRangePop();
	}
}

/* From the filter on, whoever talks to a daemon kills the process. */
static void filtered(int n)
{
	static char out[4096];

	setvbuf(stdout, out, _IOFBF, sizeof(out));
	pairs((void *)1L);
	CHECK(put_on_filter() == 0);
	pairs((void *)(long)n);
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "locked in");
}

/* Until it is killed. */
static void storm(void)
{
	puts("{}");
	fflush(stdout);
	for (;;)
		threads(4, 100000);
}

int main(int argc, char *argv[])
{
	const char *how = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1;
	long count = argc > 3 ? atol(argv[3]) : 1;

	injected = getenv("NVTX_INJECTION64_PATH") != NULL;
#ifdef __SANITIZE_THREAD__
	nvtxInitialize(
		NULL); /* the header reads plainly what a first call on another thread writes */
#endif
	if (!strcmp(how, "calls")) {
		core();
		payloads();
		domains();
		overlap();
	} else if (!strcmp(how, "threads")) {
		threads(n, count);
	} else if (!strcmp(how, "fork")) {
		forks(n, count);
	} else if (!strcmp(how, "dynamic")) {
		dynamic(n);
	} else if (!strcmp(how, "texts")) {
		texts(120);
	} else if (!strcmp(how, "mixed")) {
		mixed();
	} else if (!strcmp(how, "signals")) {
		signals(n);
	} else if (!strcmp(how, "both")) {
		both(n);
	} else if (!strcmp(how, "ids")) {
		ids(n);
	} else if (!strcmp(how, "cycles")) {
		cycles(n, argv[3]);
	} else if (!strcmp(how, "filtered")) {
		filtered(n);
	} else if (!strcmp(how, "storm")) {
		storm();
	}
	printf("{\"faults\": %d, \"injected\": %d}\n", faults, injected);
	return faults != 0;
}
