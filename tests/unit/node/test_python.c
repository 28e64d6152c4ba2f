/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of Python's frames, over memory that is made up: one read a sample, and no lie believed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/pyfind.h"
#include "stacks/pylayout.h"
#include "t.h"

/* --- memory --- */

#define BASE    0x100000ull
#define BYTES   (256u << 10)
#define VERSION 0x030e02f0u /* 3.14.2 */

enum { RUNTIME = 0, INTERP = 0x1000, THREAD = 0x2000, GIL = 0x2800, CHUNK = 0x3000, OLD = 0x9000 };
enum { GEN = 0x7000, ENTRY = 0x7100, CODES = 0x10000, TEXTS = 0x20000, TLBC = 0x30000 };

static _Alignas(8) unsigned char mem[BYTES];
static uint32_t reads, pieces;

/* Offsets of a 3.14, and where _Py_DebugOffsets has them. */
static const struct {
	const char *name;
	uint32_t at, free_at; /* free_at: of a free-threaded one */
} offsets[] = {
	{ "interps", 1000, 1000 },  { "interp_next", 8, 8 },    { "threads", 16, 16 },
	{ "gc", 64, 64 },           { "collecting", 4, 4 },     { "gil", 32, 32 },
	{ "gil_holder", 208, 208 }, { "gil_locked", 216, 216 }, { "gil_state", 200, 200 },
	{ "next", 8, 8 },           { "interp", 16, 16 },       { "frame", 72, 72 },
	{ "self", 152, 152 },       { "id", 160, 160 },         { "chunk", 232, 232 },
	{ "previous", 8, 8 },       { "code", 0, 0 },           { "instr", 56, 56 },
	{ "locals", 80, 80 },       { "owner", 74, 78 },        { "filename", 112, 128 },
	{ "name", 128, 144 },       { "table", 136, 152 },      { "first", 68, 84 },
	{ "bytecode", 208, 232 },   { "tlbc", 0, 224 },         { "type", 8, 24 },
	{ "bytes_size", 16, 32 },   { "bytes", 32, 48 },        { "state", 32, 48 },
	{ "length", 16, 32 },       { "ascii", 40, 56 },        { "gen_frame", 72, 72 },
	{ "gen_state", 67, 67 },
};

static const struct {
	const char *name;
	uint32_t at;
} words[] = {
#define PY(name, v10, v11, v12, v13, v14, v15) { #name, v14 },
#include "stacks/python.tbl.h"
};

static bool free_threaded;

static uint32_t off(const char *name)
{
	for (size_t i = 0; i < T_LEN(offsets); i++)
		if (!strcmp(offsets[i].name, name))
			return free_threaded ? offsets[i].free_at : offsets[i].at;
	return PY_NONE;
}

static void put(uint64_t at, uint64_t v, size_t n)
{
	memcpy(mem + at, &v, n);
}

static void word(uint64_t at, uint64_t v)
{
	put(at, v, 8);
}

static size_t read_mem(void *arg, const struct python_piece *p, size_t n)
{
	size_t got = 0;

	(void)arg;
	reads++;
	for (; got < n; got++) {
		if (p[got].addr < BASE || p[got].addr - BASE > BYTES ||
		    p[got].n > BYTES - (p[got].addr - BASE))
			break;
		memcpy(p[got].to, mem + (p[got].addr - BASE), p[got].n);
		pieces++;
	}
	return got;
}

/* --- a program --- */

static uint64_t text_at, code_at;

static uint64_t text(const char *s)
{
	uint64_t at = text_at;

	word(at + off("length"), strlen(s));
	/* one byte a character, compact, ASCII */
	put(at + off("state"),
	    free_threaded ? 1u << 8 | 1u << 11 | 1u << 12 : 1u << 2 | 1u << 5 | 1u << 6, 4);
	memcpy(mem + at + off("ascii"), s, strlen(s));
	text_at += 256;
	return BASE + at;
}

/* Its first instruction is of line `line`, the next one of line + 1. */
static uint64_t code(const char *name, const char *file, uint32_t line, uint32_t framesize)
{
	uint64_t at = code_at, table = text_at;

	text_at += 256;
	word(table + off("bytes_size"), 6);
	memcpy(mem + table + off("bytes"), "\xd0\0\0\xd8\0\0", 6); /* units 1, +0; 1, +1 */
	word(at + off("type"), BASE + 0x40);
	word(at + off("filename"), text(file));
	word(at + off("name"), text(name));
	word(at + off("table"), BASE + table);
	put(at + off("first"), line, 4);
	put(at + off("first") + 8, framesize, 4);
	code_at += 1024;
	return BASE + at;
}

static void frame(uint64_t at, uint64_t of, uint64_t previous, uint32_t owner, uint32_t unit)
{
	word(at + off("code"), of | 1); /* with a tag */
	word(at + off("previous"), previous);
	word(at + off("instr"), of + off("bytecode") + 2 * unit);
	put(at + off("owner"), owner, 1);
}

#define SIZE 16u /* words of a frame */

static uint64_t module, outer, gen, leaf;

/* <module> in the first chunk; outer, and leaf that a generator called, in the second one. */
static void run(bool free_build)
{
	free_threaded = free_build;
	memset(mem, 0, sizeof(mem));
	text_at = TEXTS;
	code_at = CODES;
	memcpy(mem + RUNTIME, "xdebugpy", 8);
	word(RUNTIME + 8, VERSION);
	word(RUNTIME + 16, free_build);
	for (size_t i = 0; i < T_LEN(words); i++)
		if (words[i].at != PY_NONE)
			word(RUNTIME + 8 * words[i].at, off(words[i].name));
	word(RUNTIME + off("interps"), BASE + INTERP);
	word(INTERP + off("threads"), BASE + THREAD);
	word(INTERP + off("gil"), BASE + GIL);
	word(GIL + 8, BASE + THREAD);
	put(GIL + 16, 1, 4);
	word(THREAD + off("interp"), BASE + INTERP);
	word(THREAD + off("self"), 0x7777);
	word(THREAD + off("id"), 42);
	word(THREAD + off("chunk"), BASE + CHUNK);
	word(THREAD + off("chunk") + 8, BASE + CHUNK + 24 + 2 * 8 * SIZE);
	word(CHUNK, BASE + OLD);
	word(CHUNK + 8, 0x2000);
	word(OLD + 8, 0x1000);
	word(OLD + 16, 1 + SIZE);
	module = code("<module>", "/home/me/train.py", 1, SIZE);
	outer = code("outer", "/usr/lib/python3/dist-packages/lib.py", 10, SIZE);
	gen = code("gen", "/home/me/train.py", 20, SIZE);
	leaf = code("leaf", "/usr/lib/python3.14/json/decoder.py", 30, SIZE);
	frame(OLD + 32, module, 0, 0, 0);
	frame(CHUNK + 24, outer, BASE + ENTRY, 0, 1);
	frame(ENTRY, 0, BASE + OLD + 32, 3, 0);
	frame(GEN, gen, BASE + CHUNK + 24, 1, 1);
	frame(CHUNK + 24 + 8 * SIZE, leaf, BASE + GEN, 0, 0);
	word(THREAD + off("frame"), BASE + CHUNK + 24 + 8 * SIZE);
}

static struct python *py;
static struct python_thread thread;
static struct python_sample s;

static void begin(bool free_build)
{
	struct python_opts o = { .read = read_mem, .runtime = BASE, .version = VERSION };
	struct python_id id[4];

	python_free(py);
	py = NULL;
	run(free_build);
	T_OK(python_new(&py, &o) == 0, "an interpreter that says where its things are");
	T_OK(python_threads(py, id, 4) == 1 && id[0].tid == 42, "its thread is found");
	python_thread(py, &id[0], &thread);
}

static const char *names(void)
{
	static char out[256];
	struct python_place at;
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < s.n; i++) {
		python_place(py, &s.frame[i], 1, &at);
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s:%u%s%s", i ? " " : "",
				      at.name, at.line, s.frame[i].entry ? "^" : "",
				      at.user ? "!" : "");
		n = n < sizeof(out) ? n : sizeof(out) - 1;
	}
	return out;
}

static bool is(const char *want, uint8_t flags)
{
	int err = python_sample(py, &thread, NULL, 0, NULL, &s);

	if (!err && !strcmp(names(), want) && s.flags == flags)
		return true;
	printf("# %d %s, flags %u\n", err, names(), s.flags);
	return false;
}

#define WHOLE "leaf:30 gen:21! outer:11^ <module>:1!"

static void honest(bool free_build)
{
	begin(free_build);
	T_OK(is(WHOLE, 0), "frames of chunks, generators and behind calls of C, with their lines");
	T_OK(s.gil == BASE + GIL && s.holder == BASE + THREAD, "and who has the lock");
	reads = 0;
	T_OK(is(WHOLE, 0) && reads == 1, "from the second sample on by one read (%u)", reads);
	T_OK(python_bytes(py) > 1000, "it remembers code");
	python_forget(py);
	T_OK(!python_bytes(py) && is(WHOLE, 0), "and reads again what it was told to forget");
	put(INTERP + 64 + 4, 1, 4);
	T_OK(is(WHOLE, SAMPLE_GC), "garbage collection is seen");
	/* The next call needs another chunk. */
	memcpy(mem + OLD + 0x1000, mem + CHUNK, 0x1000);
	put(INTERP + 64 + 4, 0, 4);
	word(THREAD + off("chunk"), BASE + OLD);
	word(THREAD + off("chunk") + 8, BASE + OLD + 24 + 8 * (1 + SIZE));
	word(THREAD + off("frame"), BASE + OLD + 32);
	T_OK(is("<module>:1!", 0), "a chunk that was given back");
}

/* Thread-local bytecode: lines are counted from the start of the thread's own copy. */
static void own_bytecode(void)
{
	begin(true);
	word(TLBC, 2);
	word(TLBC + 8, leaf + off("bytecode"));
	word(TLBC + 16, BASE + TLBC + 0x100);
	word(leaf - BASE + off("tlbc"), BASE + TLBC);
	word(CHUNK + 24 + 8 * SIZE + off("instr"), BASE + TLBC + 0x102);
	T_OK(is("leaf:31 gen:21! outer:11^ <module>:1!", 0),
	     "free threading: the line of an instruction in a thread's own copy of the code");
}

#define TORN SAMPLE_UNCERTAIN

static void lies(void)
{
	begin(false);
	word(CHUNK + 24 + 8 * SIZE, BASE + 0x50);
	T_OK(is("outer:11^ <module>:1!", TORN),
	     "a frame that is overwritten is left out, with what is inside");
	begin(false);
	word(GEN, BASE + 0x50);
	T_OK(is("outer:11^ <module>:1!", TORN), "so is a generator that is gone");
	begin(false);
	frame(GEN, gen, BASE + GEN, 1, 1);
	python_sample(py, &thread, NULL, 0, NULL, &s);
	T_OK(s.n <= STACK_FRAMES_MAX, "a generator that calls itself ends (%zu frames)", s.n);
	begin(false);
	frame(CHUNK + 24, outer, BASE + CHUNK + 24 + 8 * SIZE, 0, 1);
	python_sample(py, &thread, NULL, 0, NULL, &s);
	T_OK(s.n <= 4 && s.flags & TORN, "frames in a circle end");
	begin(false);
	put(outer - BASE + off("first") + 8, 0x7fffffff, 4);
	python_sample(py, &thread, NULL, 0, NULL, &s);
	T_OK(s.n <= 4, "a frame longer than its chunk");
	begin(false);
	word(CHUNK + 8, UINT64_MAX);
	python_sample(py, &thread, NULL, 0, NULL, &s);
	T_OK(s.n <= 4, "a chunk larger than all memory");
	begin(false);
	word(CHUNK, BASE + CHUNK);
	python_sample(py, &thread, NULL, 0, NULL, &s);
	T_OK(s.n <= STACK_FRAMES_MAX, "chunks in a circle");
	begin(false);
	word(THREAD + off("next"), BASE + THREAD);
	T_OK(python_threads(py, (struct python_id[4]){ { 0 } }, 4) == 4, "threads in a circle");
}

static void gone(void)
{
	begin(false);
	is(WHOLE, 0);
	word(THREAD + off("id"), 43);
	T_OK(python_sample(py, &thread, NULL, 0, NULL, &s) == -ESTALE,
	     "a state that became another thread's is not this one");
	begin(false);
	is(WHOLE, 0);
	word(THREAD + off("frame"), 0);
	word(THREAD + off("chunk"), 0);
	T_OK(python_sample(py, &thread, NULL, 0, NULL, &s) == -ENOENT,
	     "a thread that runs no Python");
}

/* The address of a code object that was freed is another's. */
static void reused(void)
{
	struct python_frame f;
	struct python_place at;
	uint64_t again;

	begin(false);
	is(WHOLE, 0);
	f = s.frame[0];
	again = code("other", "/home/me/new.py", 70, SIZE);
	memcpy(mem + (leaf - BASE), mem + (again - BASE), 400);
	python_look_again(py, &f, 1, 10000000000ull);
	python_place(py, &f, 10000000000ull, &at);
	T_OK(!strcmp(at.name, "other") && at.line == 70 && at.user,
	     "code objects are looked at again: %s:%u", at.name, at.line);
	memset(mem + (leaf - BASE), 0, 400);
	python_look_again(py, &f, 1, 20000000000ull);
	python_place(py, &f, 20000000000ull, &at);
	T_OK(!strcmp(at.name, "?"), "what is gone has no name: %s", at.name);
}

static const struct {
	const char *path;
	bool user;
} paths[] = {
	{ "/home/me/train.py", true },
	{ "train.py", true },
	{ "<string>", true },
	{ "<frozen importlib._bootstrap>", false },
	{ "/usr/lib/python3.11/json/__init__.py", false },
	{ "/usr/lib/python3/dist-packages/torch/nn/module.py", false },
	{ "/opt/venv/lib/python3.12/site-packages/x.py", false },
	{ "/home/me/.pyenv/versions/3.11.7/lib/python3.11/queue.py", false },
	{ "/home/me/lib/python3stuff", true },
	{ "?", false },
};

/* A process may map as many files as it likes, and call them what it likes. */
static void many_interpreters(void)
{
	char path[] = "/tmp/python3.XXXXXX", page[4096] = "\177ELF\2";
	struct python_opts o;
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
		t_skip_all("no file can be made");
	for (size_t i = 0; i < 1000; i++)
		mmap(NULL, sizeof(page), PROT_READ, MAP_PRIVATE, fd, 0);
	reads = 0;
	python_find(getpid(), read_mem, NULL, &o);
	T_OK(reads > 0 && reads < 100, "files that only look like an interpreter: %u reads", reads);
	unlink(path);
	close(fd);
}

/* --- tasks of asyncio --- */

enum { SAYS = 0x8000, TASK1 = 0x8100, TASK2 = 0x8300, CORO1 = 0x8500, CORO2 = 0x8700 };
enum { CORO_TYPE = 0x8f00, TASKS = 880, NODE = 152, CORO = 128 };

/* A coroutine that waits, with one word on its stack. */
static void coro(uint64_t at, uint64_t of, uint64_t awaits)
{
	word(at + off("type"), BASE + CORO_TYPE);
	put(at + off("gen_state"), 0xff, 1);
	frame(at + off("gen_frame"), of, 0, 1, 1);
	word(at + off("gen_frame") + off("instr") + 8, BASE + at + 0x100);
	word(at + 0x100 - 8, awaits);
}

static void task(uint64_t at, uint64_t of, uint64_t next)
{
	word(at + CORO, BASE + of);
	word(at + NODE, BASE + next);
}

static size_t tasks_of(struct python_task *out, size_t cap)
{
	static const uint64_t said[13] = { 168,    136,   96,  108, 109, CORO, NODE,
					   225864, 10880, 936, 864, 872, TASKS };
	struct python_opts o = {
		.read = read_mem, .runtime = BASE, .version = VERSION, .coro_type = BASE + CORO_TYPE
	};

	python_free(py);
	py = NULL;
	python_new(&py, &o);
	memcpy(mem + SAYS, said, sizeof(said));
	python_asyncio(py, BASE + SAYS);
	return python_tasks(py, &thread, &s, 0, out, cap);
}

static void tasks(void)
{
	static struct python_task got[8];
	size_t n;

	begin(false);
	s.n = 0;
	word(THREAD + TASKS, BASE + TASK1 + NODE);
	task(TASK1, CORO1, TASK2 + NODE);
	task(TASK2, CORO2, THREAD + TASKS);
	coro(CORO1, outer, BASE + CORO2 + 1); /* with a tag */
	coro(CORO2, leaf, 0);
	n = tasks_of(got, 8);
	T_OK(n == 2 && got[0].n == 2 && got[0].frame[0].code == leaf &&
		     got[0].frame[1].code == outer && got[1].n == 1,
	     "tasks of a loop, each to its innermost await: %zu", n);
	T_OK(tasks_of(got, 1) == 1, "no more than are asked for");
	put(CORO2 + off("gen_state"), 1, 1);
	n = tasks_of(got, 8);
	T_OK(n == 1 && got[0].n == 1 && got[0].frame[0].code == outer,
	     "one that has ended waits for nothing");
	coro(CORO2, leaf, BASE + CORO2);
	task(TASK2, CORO2, TASK2 + NODE);
	n = tasks_of(got, 8);
	T_OK(n == 8 && got[1].n == PYTHON_AWAITS,
	     "a list and an await that lead to themselves end");
	word(TASK1 + CORO, 3);
	word(TASK2 + NODE, 5);
	T_OK(tasks_of(got, 8) == 1, "a coroutine that is none, a list that leads nowhere");
}

int main(void)
{
	tasks();
	honest(false);
	honest(true);
	own_bytecode();
	lies();
	gone();
	reused();
	many_interpreters();
	for (size_t i = 0; i < T_LEN(paths); i++)
		T_OK(python_is_user(paths[i].path) == paths[i].user, "%s is %s program's own",
		     paths[i].path, paths[i].user ? "the" : "not the");
	python_free(py);
	return t_done();
}
