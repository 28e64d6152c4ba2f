/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside.c - the checks neighbours and fork: with the real probe, which AON_GPU_PROBE names, and an
 * aond that `aon doctor --gpu` has started for them.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpucheck/check.h"

#define LAUNCHES 300u
#define BACK_MS  4000u /* in which the probe must be back; it says a second */
#define FORKS    4u
#define TRACES   2u

void aon_gpu_check_injected(void);

static void launch_some(void *stream)
{
	for (unsigned i = 0; i < LAUNCHES; i++)
		driver_launch(cu.empty, stream);
	driver_wait();
}

static void leave_cupti(void)
{
	tool_enable(CK_CONCURRENT_KERNEL, false);
	tool.api.Unsubscribe(tool.sub);
	tool = (struct tool){ .buffer_bytes = tool.buffer_bytes };
}

/* A program with a profiler that finds CUPTI by itself and asks for room, as JAX's does by its hook. */
void arm_room(void)
{
	void *lib, *stream;
	void (*room_begin)(const char *) = NULL, (*room_end)(void) = NULL;

	driver_load();
	driver_init();
	driver_context();
	stream = driver_stream();
	launch_some(stream);
	lib = dlopen("libaon.so.0", RTLD_NOW | RTLD_NOLOAD);
	if (lib) {
		*(void **)&room_begin = dlsym(lib, "aon_room_begin");
		*(void **)&room_end = dlsym(lib, "aon_room_end");
	}
	number("probe", room_begin && room_end);
	if (!room_begin || !room_end)
		return;
	nap_ms(500); /* the probe flushes every 400 ms */
	tool_inject(TOOL_KERNELS, 65536);
	for (unsigned i = 0; i < TRACES; i++) {
		room_begin("aon doctor");
		aon_gpu_check_injected();
		number("refused", tool.open    ? 0
				  : tool.steps ? tool.step[tool.steps - 1].error
					       : -1);
		if (tool.open) {
			launch_some(stream);
			tool_await(CK_CONCURRENT_KERNEL, LAUNCHES);
			number(i ? "second" : "first", (int64_t)tool_kernels());
			leave_cupti();
		}
		room_end();
		for (unsigned ms = 0; ms < BACK_MS; ms += 100) {
			driver_launch(cu.empty, stream);
			nap_ms(100);
		}
		launch_some(stream);
	}
	number("launches", LAUNCHES * (1 + 2 * TRACES) + TRACES * (BACK_MS / 100));
}

/* --- profilers of frameworks, by Python; each prints how many kernels it saw --- */

static const char torch_text[] =
	"import sys\n"
	"try:\n"
	"    import torch\n"
	"    from torch.profiler import profile, ProfilerActivity as A\n"
	"    torch.cuda.is_available() or sys.exit(3)\n"
	"except ImportError:\n"
	"    sys.exit(3)\n"
	"x = torch.ones(64, device='cuda')\n"
	"def work():\n"
	"    for _ in range(300): x.add_(1)\n"
	"    torch.cuda.synchronize()\n"
	"work()\n"
	"for i in range(2):\n"
	"    with profile(activities=[A.CPU, A.CUDA]) as p: work()\n"
	"    n = sum(e.count for e in p.key_averages() if 'elementwise' in e.key)\n"
	"    print('first' if not i else 'second', n, flush=True)\n"
	"    work()\n";

static const char jax_text[] =
	"import sys, glob, gzip, json, tempfile\n"
	"try:\n"
	"    import jax, jax.numpy as np\n"
	"    any(d.platform == 'gpu' for d in jax.devices()) or sys.exit(3)\n"
	"except (ImportError, RuntimeError):\n"
	"    sys.exit(3)\n"
	"f = jax.jit(lambda x: np.sin(x) * 2)\n"
	"x = f(np.ones(4096)).block_until_ready()\n"
	"for i in range(2):\n"
	"    with tempfile.TemporaryDirectory() as d:\n"
	"        with jax.profiler.trace(d):\n"
	"            for _ in range(100): x = f(x)\n"
	"            x.block_until_ready()\n"
	"        g = glob.glob(d + '/**/*.trace.json.gz', recursive=True)[0]\n"
	"        e = json.load(gzip.open(g))['traceEvents']\n"
	"    n = sum('correlation_id' in e.get('args', {}) for e in e)\n"
	"    print('first' if not i else 'second', n, flush=True)\n";

/* What its profiler sees with the probe, and without. False: it is not here. */
static bool framework(const char *name, const char *text, bool *right)
{
	struct again with = { .python = text }, without = { .python = text };

	without.env[0][0] = "CUDA_INJECTION64_PATH";
	with.env[0][0] = "CUDA_INJECTION64_PATH";
	with.env[0][1] = getenv("AON_GPU_PROBE");
	if (!again(&without, name)) {
		fact(name, "not here with a GPU");
		return false;
	}
	*right = again(&with, name);
	for (int i = 0; i < 2; i++) {
		const char *key = i ? "second" : "first";

		*right &= again_number(&with, key, -1) == again_number(&without, key, -2);
	}
	fact(name, "%lld and %lld kernels of %lld and %lld",
	     (long long)again_number(&with, "first", -1),
	     (long long)again_number(&with, "second", -1),
	     (long long)again_number(&without, "first", -1),
	     (long long)again_number(&without, "second", -1));
	return true;
}

static void bad(const char *who)
{
	say("%s does not see its kernels beside the probe", who);
	setting("fidelity", "heartbeat");
	fix("fidelity=heartbeat: aon would damage what %s sees; before a trace: aon yield PID",
	    who);
	verdict(FAIL);
}

void check_neighbours(void)
{
	static const struct {
		const char *name, *text;
	} rows[] = { { "torch.profiler", torch_text }, { "jax.profiler", jax_text } };
	struct again a = { .env = { { "CUDA_INJECTION64_PATH", getenv("AON_GPU_PROBE") } } };
	char seen[96] = "a tool that asks for room";
	bool right = true;

	if (!getenv("AON_GPU_PROBE"))
		unknown("no libaon-cuda.so or no aond beside aon");
	if (!again(&a, "room")) {
		say("the program with a profiler beside the probe ended badly");
		setting("fidelity", "heartbeat");
		fix("fidelity=heartbeat: CUPTI fails when tools take turns");
		verdict(FAIL);
	}
	if (!again_number(&a, "probe", 0))
		unknown("the probe was not loaded into the program");
	fact("launched", "%lld", (long long)again_number(&a, "launches", 0));
	fact("seen_by_tool", "%lld and %lld of %u", (long long)again_number(&a, "first", -1),
	     (long long)again_number(&a, "second", -1), LAUNCHES);
	fact("kernels_least", "%u", LAUNCHES * (1 + TRACES));
	fact("kernels_most", "%u", LAUNCHES * (1 + TRACES) + TRACES * (BACK_MS / 100));
	if (again_number(&a, "first", -1) != LAUNCHES || again_number(&a, "second", -1) != LAUNCHES)
		bad("a tool that asks for room");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!framework(rows[i].name, rows[i].text, &right))
			continue;
		if (!right)
			bad(rows[i].name);
		snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), ", %s", rows[i].name);
	}
	say("complete beside the probe, twice: %s", seen);
}

/* --- fork --- */

void arm_nothing(void)
{
}

static void join_child(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		unknown("no process can be started");
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		say("a forked process ended by signal %d, status %d", WTERMSIG(status),
		    WEXITSTATUS(status));
		fix("fidelity=heartbeat: workers that are forked, such as a DataLoader's, crash");
		setting("fidelity", "heartbeat");
		verdict(FAIL);
	}
}

/* Workers as a DataLoader forks and spawns them, while kernels run. Either all end, or the limit does. */
void check_fork(void)
{
	char *argv[] = { (char *)"aon-gpu-check", (char *)"nothing", NULL };
	const char *probe = getenv("AON_GPU_PROBE");
	void *stream;

	if (!probe)
		unknown("no libaon-cuda.so or no aond beside aon");
	setenv("CUDA_INJECTION64_PATH", probe, 1);
	driver_load();
	driver_init();
	driver_context();
	stream = driver_stream();
	for (unsigned i = 0; i < 2 * FORKS; i++) {
		pid_t pid;

		for (unsigned k = 0; k < LAUNCHES; k++)
			driver_launch(cu.empty, stream);
		pid = fork();
		if (!pid && i % 2)
			execv("/proc/self/exe", argv);
		if (!pid)
			exit(i % 2 ? 127 : 0); /* by the handlers of exit(), as Python's workers */
		join_child(pid);
	}
	driver_wait();
	fact("launched", "%u", 2 * FORKS * LAUNCHES);
	fact("kernels_least", "%u", 2 * FORKS * LAUNCHES);
	fact("kernels_most", "%u", 2 * FORKS * LAUNCHES);
	say("%u forks and %u spawned processes ended, launches went on", FORKS, FORKS);
}
