/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in GPU (tests/sim) fails when it is told to, as the real one does. Each row runs a
 * program of its own: this one again, with settings, and compares the line that it prints.
 *
 *	test_standin_faults SIM      SIM: the build's tests/sim
 */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/cupti.h"
#include "t.h"

/* --- the program: starts the driver and a tool, launches 100 kernels, tells --- */

static void *cuda, *cupti;
static long records, untimed, order_wrong, first_ms = -1, last_ms;
static uint64_t last_start;

#define CALL(lib, name, args, ...) (((int(*) args)dlsym(lib, #name))(__VA_ARGS__))

static void request(uint8_t **buf, size_t *size, size_t *max)
{
	*buf = malloc(8192);
	*size = 8192;
	*max = 8;
}

static void look(const uint8_t *r)
{
	uint64_t start, end;

	memcpy(&start, r + 16, sizeof(start));
	memcpy(&end, r + 24, sizeof(end));
	records++;
	untimed += !start || !end;
	if (!start)
		return;
	order_wrong += start < last_start;
	last_start = start;
	last_ms = (long)(start / 1000000);
	if (first_ms < 0)
		first_ms = last_ms;
}

static void complete(CUcontext ctx, uint32_t stream, uint8_t *buf, size_t size, size_t valid)
{
	uint8_t *r = NULL;

	(void)ctx, (void)stream, (void)size;
	while (!CALL(cupti, cuptiActivityGetNextRecord, (uint8_t *, size_t, uint8_t **), buf, valid,
		     &r))
		look(r);
	free(buf);
}

static void callback(void *userdata, int domain, uint32_t cbid, const void *data)
{
	(void)userdata, (void)domain, (void)cbid, (void)data;
}

static int subscribe(char holder[64])
{
	struct subscriber_params p = {
		.size = 40, .name = "one", .old_name = holder, .old_size = 64, .multi = 1
	};
	struct client *c, *d;
	int err;

	if (!getenv("TEST_MULTI"))
		return CALL(cupti, cuptiSubscribe, (struct client **, callback_fn, void *), &c,
			    callback, NULL);
	err = CALL(cupti, cuptiSubscribe_v2,
		   (struct client **, callback_fn, void *, struct subscriber_params *), &c,
		   callback, NULL, &p);
	return err ? err
		   : CALL(cupti, cuptiSubscribe_v2,
			  (struct client **, callback_fn, void *, struct subscriber_params *), &d,
			  callback, NULL, &p);
}

static int program(const char *folder)
{
	char path[PATH_MAX], holder[64] = "";
	int init, sub = -1, enable = -1, launched = 0, last = 0;
	size_t dropped = 0;
	static CUcontext ctx; /* static, as what is not destroyed is reached from somewhere */
	static CUmodule mod;
	CUfunction f;

	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	cuda = dlopen(path, RTLD_NOW);
	snprintf(path, sizeof(path), "%s/libcupti.so", folder);
	cupti = dlopen(path, RTLD_NOW);
	if (!cuda || !cupti)
		return 1;
	init = CALL(cuda, cuInit, (unsigned), 0);
	if (!init) {
		sub = subscribe(holder);
		CALL(cupti, cuptiActivityRegisterCallbacks, (request_fn, complete_fn), request,
		     complete);
		enable = CALL(cupti, cuptiActivityEnable, (uint32_t), SIM_KERNEL);
		CALL(cuda, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &ctx, 0);
		CALL(cuda, cuCtxSetCurrent, (CUcontext), ctx);
		CALL(cuda, cuModuleLoadData, (CUmodule *, const void *), &mod, "anything");
		CALL(cuda, cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &f, mod,
		     "f");
	}
	for (int i = 0; !init && i < 100 && !last; i++) {
		last = CALL(cuda, cuLaunchKernel,
			    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			     unsigned, CUstream, void **, void **),
			    f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		launched += !last;
		if (i == 50 && !last) { /* a buffer is out, and some time goes by */
			CALL(cuda, cuCtxSynchronize, (void));
			CALL(cupti, cuptiActivityFlushAll, (uint32_t), 0);
			usleep(20000);
		}
	}
	if (!init) {
		CALL(cuda, cuCtxSynchronize, (void));
		CALL(cupti, cuptiActivityFlushAll, (uint32_t), 1);
		CALL(cupti, cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *),
		     NULL, 0, &dropped);
	}
	printf("init=%d subscribe=%d holder=%s enable=%d launched=%d last=%d records=%ld "
	       "dropped=%zu "
	       "untimed=%ld ordered=%d stepped=%d.\n",
	       init, sub, holder, enable, launched, last, records, dropped, untimed, !order_wrong,
	       last_ms - first_ms > 1000000);
	return 0;
}

/* --- the rows --- */

static const struct {
	const char *what, *level, *env[3], *want[2];
} rows[] = {
	/* clang-format off */
	{ "nothing is wrong", "129", { NULL },
	  { "init=0 subscribe=0 holder= enable=0 launched=100 last=0 records=100 dropped=0 untimed=0 ordered=1", NULL } },
	{ "there is no device", "129", { "SIM_DEVICES=0" }, { "init=100", NULL } },
	{ "the driver does not start", "129", { "SIM_INIT_ERROR=999" }, { "init=999", NULL } },
	{ "a call fails from its 41st on", "129", { "SIM_FAIL=cuLaunchKernel=700@41" }, { "launched=40 last=700 records=40", NULL } },
	{ "a device is lost at its 51st work", "129", { "SIM_LOST=0@51" }, { "launched=51 last=719 records=51", "untimed=1" } },
	{ "privileges are missing", "129", { "SIM_SUBSCRIBE_ERROR=35" }, { "subscribe=35", NULL } },
	{ "a kind is refused", "129", { "SIM_ENABLE_ERROR=10:27" }, { "enable=27", "records=0" } },
	{ "another kind is refused", "129", { "SIM_ENABLE_ERROR=1:27" }, { "enable=0", "records=100" } },
	{ "another tool holds CUPTI", "129", { "SIM_HOLDER=nsys" }, { "subscribe=39", NULL } },
	{ "and says who it is", "134", { "SIM_HOLDER=nsys", "TEST_MULTI=1" }, { "subscribe=39 holder=nsys", NULL } },
	{ "two that allow each other subscribe", "133", { "TEST_MULTI=1" }, { "subscribe=0", "enable=27" } },
	{ "not on an old driver", "133", { "TEST_MULTI=1", "SIM_DRIVER_VERSION=13020" }, { "subscribe=39", NULL } },
	{ "nor before 13.3", "132", { "TEST_MULTI=1" }, { "subscribe=39", NULL } },
	{ "every tenth record is dropped", "129", { "SIM_DROP=10" }, { "records=90 dropped=10", NULL } },
	{ "buffers come in the wrong order", "129", { "SIM_SHUFFLE=1", "SIM_KERNEL_NS=100000" }, { "records=100", "ordered=0" } },
	{ "the clock steps by an hour", "129", { "SIM_STEP=3600000000000@10", "SIM_KERNEL_NS=500000" }, { "records=100", "stepped=1" } },
	/* clang-format on */
};

static int run(char *self, const char *folder, const char *const *env, char *line, size_t len)
{
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(fd))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(fd[1], STDOUT_FILENO);
		for (int i = 0; i < 3 && env[i]; i++)
			putenv((char *)(uintptr_t)env[i]);
		execl(self, self, folder, "program", NULL);
		_exit(127);
	}
	close(fd[1]);
	n = read(fd[0], line, len - 1);
	line[n > 0 ? n : 0] = 0;
	close(fd[0]);
	waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char *argv[])
{
	char line[512], folder[PATH_MAX];

	if (argc == 3)
		return program(argv[1]);
	if (argc != 2)
		return 2;
	for (size_t i = 0; i < T_LEN(rows); i++) {
		int status;

		snprintf(folder, sizeof(folder), "%s/%s", argv[1], rows[i].level);
		status = run(argv[0], folder, rows[i].env, line, sizeof(line));
		T_OK(!status && strstr(line, rows[i].want[0]) &&
			     (!rows[i].want[1] || strstr(line, rows[i].want[1])),
		     "%s", rows[i].what);
		if (status || !strstr(line, rows[i].want[0]))
			printf("# status %d: %s", status, line);
	}
	return t_done();
}
