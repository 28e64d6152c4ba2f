/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - see thread.h. */
#include "sample/thread.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/num.h"
#include "sample/guard.h"
#include "stacks/pyfind.h"
#include "stacks/rights.h"

#define AGAIN_NS 1000000000ull /* what was not there is looked for again after */
#define OTHERS   4u
#define WAIT_MAX_NS \
	(32 * AGAIN_NS) /* for an interpreter: most programs that have none never will */
#define STACKS   4096.0 /* new ones of a process at once, */
#define STACKS_S 2.0    /* and further ones a second */
#define PAGE     4096u
#define STACK    8u /* pages of a stack that are copied */
/* Numbers of processes go round: between two uses of one there are tens of thousands of forks, which
 * take longer than this. */
#define SOON_NS 1000000ull

struct process {
	pid_t pid;
	int pidfd; /* owned; -1: the kernel has none */
	uid_t uid;
	bool narrow;          /* a program of 32 bits: its system calls have other numbers */
	struct python *py;    /* owned; NULL: none, or not known yet */
	uint64_t py_ns;       /* when it was looked for, */
	uint64_t py_wait_ns;  /* and how long not again */
	uint64_t asyncio_ns;  /* when its tasks' layout was looked for */
	uint64_t until_ns;    /* a look that is not done by then is given up */
	bool late;            /* it was */
	uint64_t seed;        /* of hashes of its names */
	uint32_t inner;       /* its own number in its PID namespace */
	struct python_id *id; /* owned: its threads that run Python */
	size_t ids;
	uint64_t ids_ns;
	struct map outer; /* a thread's number in the namespace -> in ours */
	uint64_t outer_ns;
	struct state_quota quota;
	struct native_target *native; /* owned; NULL: no memory */
	double stacks;                /* new ones that it may have, */
	uint64_t stacks_ns;           /* at this time */
	struct thread other[OTHERS];  /* .of NULL: free */
	uint32_t next_other;
};

/* --- numbers --- */

/* The last number of NSpid: as the thread's own namespace counts. 0: it is gone. */
static uint32_t inner_of(pid_t pid, pid_t tid)
{
	char path[64], line[512];
	uint32_t v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	f = fopen(path, "re");
	while (f && !v && fgets(line, sizeof(line), f)) {
		char *last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');

		v = last ? (uint32_t)num_front(last, NULL) : 0;
	}
	if (f)
		fclose(f);
	return v;
}

static void map_numbers(struct process *p)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	map_fini(&p->outer);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	d = opendir(path);
	while (d && p->outer.used < PYTHON_THREADS && (e = readdir(d))) {
		pid_t tid = e->d_name[0] == '.' ? 0 : (pid_t)num_front_i64(e->d_name, NULL);
		uint32_t inner = tid ? inner_of(p->pid, tid) : 0;

		if (inner)
			map_put(&p->outer, inner, (uint64_t)tid);
	}
	if (d)
		closedir(d);
}

/* From the namespace's number to ours; 0: not known. */
static pid_t outer_of(struct process *p, uint32_t inner, uint64_t now_ns)
{
	pid_t tid;

	if (p->inner == (uint32_t)p->pid) /* the same namespace, or one that says so */
		return (pid_t)inner;
	tid = (pid_t)map_get(&p->outer, inner);
	if (!tid && now_ns - p->outer_ns > AGAIN_NS) {
		p->outer_ns = now_ns;
		map_numbers(p);
		tid = (pid_t)map_get(&p->outer, inner);
	}
	return tid;
}

/* --- processes --- */

static uid_t owner_of(pid_t pid)
{
	struct stat st = { .st_uid = 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) < 0 ? 0 : st.st_uid;
}

/* Of its program; false if that cannot be read: whether it can be sampled shows when its memory is. */
static bool is_32_bit(pid_t pid)
{
	unsigned char head[EI_NIDENT] = { 0 };
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	rights_search(true);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	rights_search(false);
	if (fd < 0)
		return false;
	if (read(fd, head, sizeof(head)) < (ssize_t)sizeof(head))
		head[EI_CLASS] = ELFCLASSNONE;
	close(fd);
	return head[EI_CLASS] == ELFCLASS32;
}

int process_new(struct process **out, struct native *n, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	p->uid = owner_of(pid);
	p->narrow = is_32_bit(pid);
	p->seed = native_seed(n);
	p->py_wait_ns = AGAIN_NS;
	p->stacks = STACKS;
	p->inner = inner_of(pid, pid);
	p->id = malloc(PYTHON_THREADS * sizeof(*p->id));
	if (!p->inner || !p->id) {
		int err = p->id ? -ESRCH : -ENOMEM;

		if (p->pidfd >= 0)
			close(p->pidfd);
		free(p->id);
		free(p);
		return err;
	}
	quota_open(&p->quota, pid);
	native_target_new(&p->native, n, pid, -1);
	*out = p;
	return 0;
}

void process_free(struct process *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < OTHERS; i++)
		thread_close(&p->other[i]);
	quota_close(&p->quota);
	if (p->pidfd >= 0)
		close(p->pidfd);
	map_fini(&p->outer);
	native_target_free(p->native);
	python_free(p->py);
	free(p->id);
	free(p);
}

pid_t process_pid(const struct process *p)
{
	return p->pid;
}

bool process_gone(const struct process *p)
{
	struct pollfd f = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && poll(&f, 1, 0) > 0;
}

uid_t process_uid(const struct process *p)
{
	return p->uid;
}

struct python *process_python(struct process *p)
{
	return p->py;
}

bool process_new_stack(struct process *p, uint64_t now_ns)
{
	double more = p->stacks_ns ? (double)(now_ns - p->stacks_ns) * 1e-9 * STACKS_S : 0;

	p->stacks = p->stacks + more < STACKS ? p->stacks + more : STACKS;
	p->stacks_ns = now_ns;
	if (p->stacks < 1)
		return false;
	p->stacks -= 1;
	return true;
}

/* Memory that is slow, as a program can make its own, is not waited for all through a look. */
static size_t read_in_time(void *arg, const struct python_piece *piece, size_t n)
{
	struct process *p = arg;

	p->late |= clock_mono_ns() > p->until_ns;
	return p->late ? 0 : python_readv(&p->pid, piece, n);
}

static void begin_look(struct process *p, uint64_t now_ns)
{
	p->until_ns = now_ns + GUARD_LOOK_NS;
	p->late = false;
}

/* Its interpreter is another after an exec. */
static void find_python(struct process *p, uint64_t now_ns)
{
	struct python_opts o;

	if (p->py_ns && now_ns - p->py_ns < p->py_wait_ns)
		return;
	p->py_ns = now_ns;
	p->narrow = is_32_bit(p->pid);
	python_free(p->py);
	p->py = NULL;
	p->ids = 0;
	if (!python_find(p->pid, read_in_time, p, &o)) {
		o.seed = p->seed;
		python_new(&p->py, &o);
	}
	if (p->native)
		native_maps(p->native);
	p->py_wait_ns = p->py                         ? AGAIN_NS
			: p->py_wait_ns < WAIT_MAX_NS ? 2 * p->py_wait_ns
						      : WAIT_MAX_NS;
}

/* -EAGAIN: they were looked for just now. */
static int list_threads(struct process *p, uint64_t now_ns)
{
	if (!p->py)
		find_python(p, now_ns);
	if (!p->py)
		return -ENOENT;
	if (p->ids_ns && now_ns - p->ids_ns < AGAIN_NS)
		return -EAGAIN;
	p->ids_ns = now_ns;
	p->ids = python_threads(p->py, p->id, PYTHON_THREADS);
	if (!p->ids) /* an interpreter without a thread is none any more */
		find_python(p, now_ns);
	return 0;
}

size_t process_threads(struct process *p, uint64_t now_ns, pid_t *out, size_t cap)
{
	size_t n = 0;

	begin_look(p, now_ns);
	list_threads(p, now_ns);
	for (size_t i = 0; i < p->ids && n < cap; i++) {
		pid_t tid = outer_of(p, p->id[i].tid, now_ns);

		if (tid > 0)
			out[n++] = tid;
	}
	return n;
}

struct thread *process_other(struct process *p, pid_t tid)
{
	struct thread *t;

	for (size_t i = 0; i < OTHERS; i++)
		if (p->other[i].of && p->other[i].tid == tid)
			return &p->other[i];
	t = &p->other[p->next_other++ % OTHERS];
	thread_close(t);
	thread_open(t, p, tid);
	return t;
}

/* --- threads --- */

void thread_open(struct thread *t, struct process *of, pid_t tid)
{
	*t = (struct thread){ .of = of, .tid = tid };
	state_open(&t->state, of->pid, tid);
}

void thread_close(struct thread *t)
{
	if (t->of)
		state_close(&t->state);
	t->of = NULL;
}

/* Finds its state in the interpreter, if that may be there by now. */
static bool find_thread(struct thread *t, uint64_t now_ns)
{
	struct process *p = t->of;
	const struct python_id *id = NULL;

	if (t->missed_ns && now_ns - t->missed_ns < AGAIN_NS)
		return false;
	if (!t->inner)
		t->inner =
			p->inner == (uint32_t)p->pid ? (uint32_t)t->tid : inner_of(p->pid, t->tid);
	if (p->py && !t->found_ns)
		id = python_thread_of(p->py, p->id, p->ids, t->inner, 0);
	if (!id && list_threads(p, now_ns) != -ENOENT && p->py)
		id = python_thread_of(p->py, p->id, p->ids, t->inner, 0);
	t->missed_ns = id ? 0 : now_ns;
	t->found_ns = now_ns;
	if (id)
		python_thread(p->py, id, &t->py);
	return id != NULL;
}

/* The stack of a thread that sleeps, by pages: it ends somewhere. */
struct stack_copy {
	unsigned char mem[STACK * PAGE];
	struct python_piece piece[STACK];
	size_t pieces, read;
};

static void lay_stack(struct stack_copy *c, uint64_t sp)
{
	uint64_t at = sp, end = (sp & ~(uint64_t)(PAGE - 1)) + STACK * PAGE;

	for (c->pieces = 0; at < end; c->pieces++) {
		uint64_t next = (at | (PAGE - 1)) + 1;

		c->piece[c->pieces] =
			(struct python_piece){ at, c->mem + (at - sp), (size_t)(next - at) };
		at = next;
	}
	c->read = 0;
}

/* Its Python frames, and in the same read its stack. */
static void look_python(struct thread *t, uint64_t now_ns, struct stack_copy *c,
			struct python_sample *out)
{
	struct process *p = t->of;
	int err;

	out->n = 0;
	out->flags = 0;
	out->gil = out->holder = 0;
	if (!p->py)
		t->py.id.state = 0;
	if (!t->py.id.state && !find_thread(t, now_ns)) {
		c->read = read_in_time(p, c->piece, c->pieces);
		return;
	}
	err = python_sample(p->py, &t->py, c->piece, c->pieces, &c->read, out);
	if (err)
		out->n = 0;
	if (err == -ENOENT &&
	    now_ns - t->found_ns > AGAIN_NS) /* it may be in another interpreter */
		t->py.id.state = 0;
	if (err == -ESTALE) { /* its state is gone: with it the thread, or the whole interpreter */
		t->py.id.state = 0;
		p->ids = 0;
	}
}

/* Where a task waits while the loop idles: another one at each look. */
static void look_task(struct thread *t, uint64_t now_ns, struct look *out)
{
	struct process *p = t->of;

	out->task.n = 0;
	t->tasks_ns = 0;
	if (!out->now.blocked || !out->py.n || !python_idles(p->py, &out->py, now_ns))
		return;
	if (python_needs_asyncio(p->py) && now_ns - p->asyncio_ns > AGAIN_NS) {
		p->asyncio_ns = now_ns;
		python_asyncio(p->py, python_find_asyncio(p->pid));
	}
	python_tasks(p->py, &t->py, &out->py, hash_mix(p->seed, now_ns) >> 32, &out->task, 1);
	t->tasks_ns = now_ns;
}

static void look_native(struct thread *t, const struct stack_copy *c, struct look *out)
{
	struct native_regs r = { .known = NATIVE_BLOCKED };
	struct native_copy copy = { .base = out->now.sp, .mem = c->mem };
	enum native_end end;

	out->natives = 0;
	if (!c->read || !t->of->native)
		return;
	for (size_t i = 0; i < c->read; i++)
		copy.len += c->piece[i].n;
	r.value[NATIVE_SP] = out->now.sp;
	r.value[NATIVE_PC] = out->now.pc;
	out->natives = native_unwind(t->of->native, &r, &copy, out->native, STACK_FRAMES_MAX, &end);
	if (end != NATIVE_WHOLE && !out->py.n)
		out->py.flags |= SAMPLE_CUT;
}

static pid_t holder_of(struct thread *t, uint64_t state, uint64_t now_ns)
{
	struct process *p = t->of;

	for (int again = 0; state && again < 2; again++) {
		for (size_t i = 0; i < p->ids; i++)
			if (p->id[i].state == state)
				return outer_of(p, p->id[i].tid, now_ns);
		if (list_threads(p, now_ns))
			break;
	}
	return 0;
}

int thread_look(struct thread *t, uint64_t now_ns, struct look *out)
{
	static struct stack_copy c; /* large; the sampler is one thread */
	uint64_t before = clock_mono_ns();
	int err = state_look(&t->state, &t->of->quota, now_ns, &out->now);

	if (err)
		return err;
	if (t->of->narrow && (t->of->narrow = is_32_bit(t->of->pid))) /* it may have exec'ed */
		return -ENOEXEC;
	begin_look(t->of, before);
	out->holder = 0;
	/* Who waits for the GIL may have another one to wait for. */
	out->same = out->now.same && t->last.id && t->last.state != SAMPLE_GIL &&
		    (!t->tasks_ns || now_ns - t->tasks_ns < AGAIN_NS); /* other tasks wait, too */
	if (out->same)
		return 0;
	c.pieces = c.read = 0;
	if (out->now.blocked)
		lay_stack(&c, out->now.sp);
	look_python(t, now_ns, &c, &out->py);
	look_task(t, now_ns, out);
	if (t->of->late)
		return -ETIMEDOUT;
	look_native(t, &c, out);
	out->detail = out->now.nr >= 0 ? (uint32_t)out->now.nr : 0;
	if (state_is_gil(&out->now, out->py.gil, out->py.gil_bytes)) {
		out->now.state = SAMPLE_GIL;
		out->holder = holder_of(t, out->py.holder, now_ns);
		if (out->holder == t->tid)
			out->holder = 0;
		out->detail = (uint32_t)out->holder;
	}
	/* Memory is read by the number: was it still this process's? It was when its state was read. */
	return clock_mono_ns() - before > SOON_NS && process_gone(t->of) ? -ESRCH : 0;
}
