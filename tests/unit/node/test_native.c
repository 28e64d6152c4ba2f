/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native stacks: children of this test block deep in calls, and what is read from outside is
 * compared with what they say of themselves.
 */
#include <alloca.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "stacks/native.h"
#include "stacks/symbols.h"
#include "t.h"

#define FRAMES 128u
#define STACK  (32u << 10)

/* Between the child and the test. */
struct shared {
	void *said[FRAMES]; /* of backtrace() */
	int n;
	pid_t tid;
};
static struct shared *shared;
static int block[2]; /* nobody writes */

static volatile int sink;

/* --- the child --- */

static inline __attribute__((always_inline)) void inlined(void)
{
	char c;

	shared->tid = gettid();
	shared->n = backtrace(shared->said, FRAMES);
	sink = (int)read(block[0], &c, 1); /* here it stays */
}

static __attribute__((noinline)) void leaf(void)
{
	inlined();
	sink++;
}

static __attribute__((noinline)) void deep(int n);

/* Its frame is counted from RBP. */
static __attribute__((noinline)) void with_alloca(int n)
{
	char *p = alloca((size_t)(n * 24 + 16));

	memset(p, n, (size_t)(n * 24 + 16));
	sink += p[n];
	deep(n - 1);
	sink += p[n];
}

/* Its stack is aligned anew: the CFA is an expression. */
static __attribute__((noinline)) void aligned(int n)
{
	char __attribute__((aligned(128))) b[128];

	memset(b, n, sizeof(b));
	__asm__ volatile("" : : "r"(b) : "memory");
	deep(n - 1);
	sink += b[n];
}

static __attribute__((noinline)) void deep(int n)
{
	if (n <= 0)
		leaf();
	else if (n % 3 == 0)
		with_alloca(n);
	else if (n % 3 == 1)
		aligned(n);
	else
		deep(n - 1);
	sink++;
}

static void on_signal(int sig)
{
	(void)sig;
	deep(7);
}

static __attribute__((noinline)) void by_signal(int n)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	sink += n;
}

static int compare(const void *a, const void *b)
{
	(void)a, (void)b;
	deep(4);
	return 0;
}

/* Through a library. */
static __attribute__((noinline)) void by_qsort(int n)
{
	int v[2] = { n, 1 };

	qsort(v, 2, sizeof(v[0]), compare);
	sink += v[0];
}

static void *of_thread(void *arg)
{
	deep(5);
	return arg;
}

static void by_thread(int n)
{
	pthread_t t;

	pthread_create(&t, NULL, of_thread, NULL);
	pthread_join(t, NULL);
	sink += n;
}

static pid_t start(void (*fn)(int), int arg)
{
	pid_t pid;

	shared->n = 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(arg);
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- the look from outside --- */

struct seen {
	struct native_frame f[FRAMES];
	size_t n;
	enum native_end end;
};

/* SP and PC of a thread that is in read(). */
static bool blocked(pid_t pid, struct native_regs *r)
{
	uint64_t until = clock_mono_ms() + 20000;
	unsigned long long sp, pc;
	char path[64], line[256];
	long nr;

	do {
		bool is = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid,
			 (int)shared->tid);
		f = fopen(path, "re");
		if (f && fgets(line, sizeof(line), f))
			is = sscanf(line, "%ld %*s %*s %*s %*s %*s %*s %llx %llx", &nr, &sp, &pc) ==
				     3 &&
			     nr == 0 && shared->n;
		if (f)
			fclose(f);
		if (is) {
			*r = (struct native_regs){ .known = NATIVE_BLOCKED };
			r->value[NATIVE_SP] = sp;
			r->value[NATIVE_PC] = pc;
			return true;
		}
		usleep(1000);
	} while (clock_mono_ms() < until);
	return false;
}

static void look(struct native_target *t, pid_t pid, const struct native_regs *r, size_t bytes,
		 bool stays, struct seen *out)
{
	static char mem[STACK];
	struct iovec here = { mem, bytes };
	struct iovec there = { (void *)(uintptr_t)r->value[NATIVE_SP], bytes };
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
	struct native_copy c = { .base = r->value[NATIVE_SP], .mem = mem, .stays = stays };

	c.len = n > 0 ? (size_t)n : 0;
	out->n = native_unwind(t, r, &c, out->f, FRAMES, &out->end);
}

/* backtrace() counts from its caller; from outside, read() is the first, once or inlined. */
static bool agrees(const struct seen *s)
{
	size_t own = s->n, said = (size_t)shared->n;

	if (said < 4 || own < said)
		return false;
	/* The innermost of `said` had not read yet, and a sanitizer has a frame of its own. */
	for (size_t i = 1; i + 1 < said; i++)
		if ((uint64_t)(uintptr_t)shared->said[said - i] - 1 != s->f[own - i].pc &&
		    (uint64_t)(uintptr_t)shared->said[said - i] != s->f[own - i].pc)
			return false;
	return true;
}

static size_t scanned(const struct seen *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->f[i].flags & FRAME_SCANNED ? 1 : 0;
	return n;
}

static void say(const struct seen *s)
{
	for (size_t i = 0; i < s->n; i++)
		printf("# %zu: %llx module %u offset %llx flags %u\n", i,
		       (unsigned long long)s->f[i].pc, s->f[i].module,
		       (unsigned long long)s->f[i].offset, s->f[i].flags);
	for (int i = 0; i < shared->n; i++)
		printf("# said %d: %p\n", i, shared->said[i]);
}

static void chains(struct native *n)
{
	static const struct {
		const char *what;
		void (*fn)(int);
		int arg;
	} rows[] = {
		{ "calls, with alloca and aligned stacks", deep, 20 },
		{ "a signal handler and who it interrupted", by_signal, 1 },
		{ "a thread", by_thread, 1 },
		{ "a library's function that calls back", by_qsort, 1 },
	};

	for (size_t i = 0; i < T_LEN(rows); i++) {
		pid_t pid = start(rows[i].fn, rows[i].arg);
		struct native_target *t;
		struct native_regs r;
		struct seen s = { .n = 0 };
		bool ok = !native_target_new(&t, n, pid, -1) && blocked(pid, &r);

		if (ok)
			look(t, pid, &r, STACK, true, &s);
		/* RBP is not known until a function has saved it. */
		ok = ok && s.end == NATIVE_WHOLE && agrees(&s) && scanned(&s) <= 1;
		T_OK(ok, "%s: as backtrace() has it, %zu frames", rows[i].what, s.n);
		if (!ok)
			say(&s);
		native_target_free(t);
		end(pid);
	}
}

/* --- names --- */

static size_t find(struct native *n, const struct seen *s, const char *name,
		   struct native_name out[8])
{
	for (size_t i = 0; i < s->n; i++) {
		size_t k = native_name(n, &s->f[i], out, 8);

		if (!strcmp(out[k - 1].name, name))
			return k;
	}
	return 0;
}

static void names(struct native *n)
{
	pid_t pid = start(deep, 2);
	struct native_name name[8];
	struct native_module mod;
	struct native_target *t;
	struct native_regs r;
	struct seen s = { .n = 0 };
	size_t k;

	if (native_target_new(&t, n, pid, -1) || !blocked(pid, &r))
		exit(1);
	look(t, pid, &r, STACK, true, &s);
	T_OK(find(n, &s, "read", name) && find(n, &s, "deep", name) && find(n, &s, "main", name),
	     "functions of libc and of the program by name");
	k = find(n, &s, "leaf", name);
	if (k < 2) {
		printf("# no libdw: no sources\n");
	} else {
		T_OK(!strcmp(name[0].name, "inlined") && name[0].flags == FRAME_INLINE &&
			     strstr(name[0].file, "test_native.c") && name[0].line > 30 &&
			     !name[1].flags && name[1].line > name[0].line,
		     "an inlined function and its line, then the one that it is in: %s:%u, %s:%u",
		     name[0].name, name[0].line, name[1].name, name[1].line);
	}
	T_OK(!native_module(n, s.f[s.n - 1].module, &mod) && strstr(mod.file, "native"),
	     "the module is this test: %s", mod.file);
	T_OK(native_module(n, 0, &mod) == -2 && native_module(n, 77u << 20, &mod) == -2,
	     "no module, or one that is not known: refused");
	/* Short copies are cut, and say so; with the process at hand they are read on. */
	look(t, pid, &r, 64, false, &s);
	T_OK(s.end == NATIVE_CUT && s.n < (size_t)shared->n, "64 bytes of the stack: cut");
	look(t, pid, &r, 64, true, &s);
	T_OK(s.end == NATIVE_WHOLE && agrees(&s), "and whole if more can be read");
	native_target_free(t);
	end(pid);
}

static void vdso(struct native *n)
{
	struct native_name name[2];
	struct native_target *t;
	struct native_regs r = { .known = NATIVE_BLOCKED };
	uint64_t stack[64] = { 0 };
	struct native_copy c = { .base = (uintptr_t)stack, .mem = stack, .len = sizeof(stack) };
	struct native_frame f[4];

	if (native_target_new(&t, n, getpid(), -1))
		exit(1);
	r.value[NATIVE_PC] = native_symbol(t, "[vdso]", "__vdso_clock_gettime", NULL);
	r.value[NATIVE_SP] = c.base;
	T_OK(r.value[NATIVE_PC] && native_unwind(t, &r, &c, f, 4, NULL) == 1 &&
		     native_name(n, f, name, 2) && strstr(name[0].name, "clock_gettime"),
	     "the vdso has a name: %s", name[0].name);
	T_OK(native_symbol(t, "native", "sink", NULL) == (uintptr_t)&sink, "a symbol's address");
	T_OK(!native_symbol(t, "native", "no_such_symbol", NULL), "and none that is not there");
	native_target_free(t);
}

/* A process that writes anything at all onto its stack. */
static void nonsense(struct native *n)
{
	static uint64_t mem[2048];
	struct native_copy c = { .mem = mem, .len = sizeof(mem) };
	uint64_t seed = 1, most = 0;
	struct native_target *t;
	struct seen s;

	if (native_target_new(&t, n, getpid(), -1))
		exit(1);
	for (int round = 0; round < 300; round++) {
		struct native_regs r = { .known = NATIVE_ALL };
		uint64_t t0 = clock_mono_ns();

		for (size_t i = 0; i < T_LEN(mem) + NATIVE_REGS; i++) {
			uint64_t v;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			v = seed >> 62 == 0   ? (uintptr_t)deep + (seed >> 50) % 4096
			    : seed >> 62 == 1 ? (uintptr_t)mem + (seed >> 45) % sizeof(mem)
			    : seed >> 62 == 2 ? seed
					      : (uintptr_t)read + (seed >> 50) % 4096;
			if (i < T_LEN(mem))
				mem[i] = v;
			else
				r.value[i - T_LEN(mem)] = v;
		}
		c.base = round % 7 ? (uintptr_t)mem : UINT64_MAX - sizeof(mem) / 2;
		r.value[NATIVE_SP] = c.base + 8 * (seed >> 60);
		r.value[NATIVE_PC] = round % 2 ? (uintptr_t)deep + 20 : mem[0];
		s.n = native_unwind(t, &r, &c, s.f, FRAMES, &s.end);
		if (s.n > FRAMES)
			exit(1);
		t0 = clock_mono_ns() - t0;
		most = t0 > most ? t0 : most;
	}
	T_OK(most < 2000000000ull, "a stack of nonsense ends: %llu us at most",
	     (unsigned long long)most / 1000);
	native_target_free(t);
}

/* --- files --- */

/*
 * A library with all of its symbols, and the same stripped, with its local ones packed: what one
 * calls `hidden` is not the function before it in the other.
 */
static void tables(const char *dir)
{
	static const struct {
		const char *file, *has;
	} rows[] = { { "library", "hidden" },
#ifdef AON_LZMA
		     { "packed", "hidden" }
#else
		     { "packed", NULL }
#endif
	};
	uint64_t hidden = 0;

	for (size_t i = 0; i < T_LEN(rows); i++) {
		char path[4096], name[64] = "";
		struct symbols s;
		struct image img;
		int fd, err;

		snprintf(path, sizeof(path), "%s/%s", dir, rows[i].file);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || image_open(&img, fd) || symbols_read(&s, &img))
			exit(1);
		hidden = i ? hidden : symbols_find(&img, "hidden");
		err = symbols_name(&s, &img, hidden + 3, name, sizeof(name));
		T_OK(hidden && (rows[i].has ? !err && !strcmp(name, rows[i].has) : err == -ENOENT),
		     "%s: the local function is '%s'", rows[i].file, name);
		T_OK(symbols_find(&img, "deep") && img.id_len == 20, "and it has a build-id");
		symbols_fini(&s);
		image_fini(&img);
	}
}

/* The same program without symbols: its stack is as deep, and no function of it has a name. */
static void stripped(struct native *n)
{
	char path[] = "/tmp/aon-test-native-XXXXXX", cmd[128], line[16];
	struct native_target *t;
	struct native_regs r;
	struct seen s = { .n = 0 };
	int fd = mkstemp(path), said[2];
	struct native_name name[2];
	bool named = false;
	pid_t pid;

	snprintf(cmd, sizeof(cmd), "strip -o %s /proc/%d/exe 2>/dev/null", path, (int)getpid());
	if (fd < 0 || close(fd) < 0 || system(cmd) != 0 || chmod(path, 0700) < 0 ||
	    pipe(said) < 0) {
		T_OK(true, "stripped # SKIP no strip");
		unlink(path);
		return;
	}
	pid = fork();
	if (pid == 0) {
		dup2(said[1], 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, "child", NULL);
		_exit(1);
	}
	shared->tid = pid;
	shared->n = read(said[0], line, sizeof(line)) > 0;
	if (native_target_new(&t, n, pid, -1))
		exit(1);
	/* It may still be in the write that said so, or on its way down. */
	for (int i = 0; i < 1000 && s.n <= 15; i++) {
		s = (struct seen){ .n = 0 };
		if (!blocked(pid, &r))
			exit(1);
		look(t, pid, &r, STACK, true, &s);
		usleep(s.n <= 15 ? 10000 : 0);
	}
	for (size_t i = 0; i + 1 < s.n; i++) {
		struct native_module m;

		native_name(n, &s.f[i], name, 1);
		named |= !native_module(n, s.f[i].module, &m) && strstr(m.file, "aon-test") &&
			 *name[0].name;
	}
	T_OK(s.end == NATIVE_WHOLE && s.n > 15 && !named,
	     "stripped: %zu frames, none with a name that is not its own", s.n);
	native_target_free(t);
	end(pid);
	unlink(path);
}

/* A copy of this program in which deep() is called `name`, mapped; its path is `path`. */
static void map_copy(char *path, const char *name)
{
	static char all[64u << 20];
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	ssize_t size = read(from, all, sizeof(all));
	struct image img = { .loads = 0 };

	for (char *at = all; size > 0 && (at = memmem(at, (size_t)(all + size - at), "\0deep", 6));)
		memcpy(++at, name, 4);
	if (size <= 0 || write(to, all, (size_t)size) != size || image_open(&img, to))
		t_skip_all("this program cannot be copied");
	for (size_t i = 0; i < img.loads; i++)
		if (img.load[i].exec)
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, to,
			     (off_t)(img.load[i].offset & ~4095ull));
	image_fini(&img);
	close(from);
}

/* Who writes a library with the build-id of another one has written its own. */
static void pretends(struct native *n)
{
	char honest[] = "/tmp/honest.XXXXXX", evil[] = "/tmp/pretends.XXXXXX";
	uint32_t a = 0, b = 0;
	struct native_target *t;

	map_copy(honest, "deep");
	map_copy(evil, "evil");
	if (native_target_new(&t, n, getpid(), -1))
		t_skip_all("no memory");
	T_OK(native_symbol(t, "pretends.", "evil", &b) && native_symbol(t, "honest.", "deep", &a) &&
		     a != b,
	     "two files with one build-id are two modules");
	native_target_free(t);
	unlink(honest);
	unlink(evil);
}

/* A process names its files: memory for names is bounded whatever it does. */
static void long_paths(struct native *n)
{
	char top[] = "/tmp/native.XXXXXX", part[201], rm[64];
	int here = open(".", O_RDONLY | O_DIRECTORY), file[2];
	struct native_target *t;
	size_t before;

	memset(part, 'x', 200);
	part[200] = '\0';
	if (!mkdtemp(top) || chdir(top))
		t_skip_all("no folder can be made");
	for (int i = 0; i < 19 && !mkdir(part, 0700) && !chdir(part); i++)
		;
	file[0] = open("a", O_RDWR | O_CREAT, 0600);
	file[1] = open("b", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 2000; i++)
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file[i % 2], 0);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	if (native_target_new(&t, n, getpid(), -1) || native_maps(t))
		t_skip_all("no memory");
	before = mallinfo2().uordblks + mallinfo2().hblkhd - before;
	T_OK(before > 100000 && before < 3u << 20, "2,000 long paths: %zu KiB", before >> 10);
	native_target_free(t);
	if (fchdir(here))
		t_skip_all("no way back");
	snprintf(rm, sizeof(rm), "rm -rf %s", top);
	T_OK(!system(rm), "all is tidy again");
	close(here);
}

static int child(void)
{
	if (write(1, "there\n", 6) < 0)
		return 1;
	deep(10);
	return 0;
}

/* --- with Python's --- */

static void mixed(void)
{
	static const struct {
		const char *native, *python, *want; /* E: the loop; e: the outermost of its loop */
	} rows[] = {
		{ "nnEnE", "pee", "nnppnp" }, { "nE", "e", "np" },    { "n", "pe", "npp" },
		{ "", "pp", "pp" },           { "nnn", "", "nnn" },   { "nE", "", "n" },
		{ "EE", "ee", "pp" },         { "nEE", "pp", "npp" }, { "nEnEn", "e", "npnn" },
	};

	for (size_t i = 0; i < T_LEN(rows); i++) {
		struct native_mixed out[16];
		size_t nn = strlen(rows[i].native), np = strlen(rows[i].python), n;
		bool eval[8], entry[8];
		char got[17];

		for (size_t k = 0; k < nn; k++)
			eval[k] = rows[i].native[k] == 'E';
		for (size_t k = 0; k < np; k++)
			entry[k] = rows[i].python[k] == 'e';
		n = native_mix(eval, nn, entry, np, out, 16);
		for (size_t k = 0; k < n; k++)
			got[k] = out[k].python ? 'p' : 'n';
		got[n] = '\0';
		T_OK(!strcmp(got, rows[i].want), "native %s and Python %s are %s", rows[i].native,
		     rows[i].python, got);
		T_OK(native_mix(eval, nn, entry, np, out, 1) <= 1, "and no more than fit");
	}
}

int main(int argc, char *argv[])
{
	struct native *n;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	t_skip_all("a sanitizer's read() stands between, and its allocator counts nothing; the "
		   "fuzz target has both");
#endif
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || pipe(block) < 0 || native_new(&n))
		return 1;
	shared->n = backtrace(shared->said, FRAMES); /* loads what it needs */
	if (argc > 1 && !strcmp(argv[1], "child"))
		return child();
	chains(n);
	names(n);
	stripped(n);
	if (argc > 1)
		tables(argv[1]);
	vdso(n);
	nonsense(n);
	pretends(n);
	long_paths(n);
	mixed();
	native_free(n);
	return t_done();
}
