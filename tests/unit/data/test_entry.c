/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the journal: what is written is read, sentences are as ever, and lines of old stores give their fields. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/entry.h"
#include "t.h"

/* --- tables --- */

/* {who} and {means} are made of other fields. */
static bool is_name(const char *name, size_t len)
{
	for (int f = 0; f < FIELDS; f++)
		if (strlen(entry_fields[f].name) == len && !memcmp(entry_fields[f].name, name, len))
			return true;
	return (len == 3 && !memcmp(name, "who", 3)) || (len == 5 && !memcmp(name, "means", 5));
}

static void test_tables(void)
{
	for (int k = 0; k < ENTRY_KINDS; k++) {
		const char *s = entry_kinds[k].sentence;
		bool good = true;

		for (const char *at = s; *at; at++) {
			if (*at == '{' || (at[0] == '[' && at[1] == '?'))
				good &= is_name(at + 1 + (*at == '['),
						strcspn(at + 1 + (*at == '['), ":}= "));
			good &= *at != '{' || strchr(at, '}');
			good &= *at != '[' || strchr(at, ']');
		}
		for (int o = 0; o < k; o++)
			good &= entry_kinds[o].number != entry_kinds[k].number;
		T_OK(good, "%s: its sentence names fields, and its number is its own",
		     entry_kinds[k].word);
	}
	for (int f = 0; f < FIELDS; f++)
		for (int o = 0; o < f; o++)
			if (entry_fields[o].number == entry_fields[f].number ||
			    entry_fields[f].number < 2)
				T_OK(false, "%s: its number is its own", entry_fields[f].name);
}

/* --- there and back --- */

static void fill(struct journal_entry *e, enum entry_kind kind)
{
	static const uint8_t list[] = { 1, 2, 3, 7 };

	*e = (struct journal_entry){ .wall_ns = 42, .kind = kind };
	for (int i = 0; i < FIELDS; i++) {
		enum entry_field f = (enum entry_field)i;

		switch (entry_fields[i].type) {
		case ENTRY_T_UINT:
		case ENTRY_T_FLAG:
			entry_u(e, f,
				f == FIELD_XID    ? 79
				: f == FIELD_SHED ? 1
						  : 1000ull * entry_fields[i].number);
			break;
		case ENTRY_T_INT:
			entry_i(e, f, -1500000000);
			break;
		case ENTRY_T_REAL:
			entry_f(e, f, 0.25);
			break;
		case ENTRY_T_TEXT:
			entry_s(e, f, entry_fields[i].name);
			break;
		case ENTRY_T_UINTS:
			entry_list(e, f, list, sizeof(list));
			break;
		case ENTRY_T_TEXTS:
			entry_list(e, f, "f\0g", 4);
			break;
		}
	}
}

static void test_back(void)
{
	static uint8_t bytes[ENTRY_BYTES];
	char was[ENTRY_TEXT], is[ENTRY_TEXT], *a, *b;
	struct journal_entry e, back;
	bool good = true;

	for (int k = 0; k < ENTRY_KINDS; k++) {
		size_t n;

		fill(&e, (enum entry_kind)k);
		n = entry_encode(&e, bytes);
		good &= entry_decode(&back, bytes, n) == 0 && back.kind == e.kind &&
			back.have == e.have &&
			!strcmp(entry_line(&e, was), entry_line(&back, is)) && *was;
		a = entry_object(&e);
		b = entry_object(&back);
		good &= a && b && !strcmp(a, b) && !strchr(was, '{') && !strchr(was, '?');
		free(a);
		free(b);
	}
	T_OK(good, "every kind with every field is read as it was written");
	T_OK(entry_decode(&back, "\x08\x7f\xf8\x0f\x01", 5) == 0 && back.kind == ENTRY_LINE &&
		     !strcmp(entry_what(&back), "unknown"),
	     "a kind and a field of a version to come are skipped");
	T_OK(entry_decode(&back, "\x08\x07\x2a\x02xy", 6) == -EBADMSG, "a text has its end");
	T_OK(entry_decode(&back, "\x08\x07\x28\x01", 4) == -EBADMSG, "and is no number");
}

/* --- sentences --- */

static const struct {
	enum entry_kind kind;
	uint64_t have;
	const char *line;
} lines[] = {
#define F(ID) (1ull << FIELD_##ID)
	/* clang-format off */
	{ ENTRY_STEP_SLOWER, F(RANK) | F(JOB) | F(PID) | F(WAS_NS) | F(IS_NS), "step_slower: rank 4000, job job, pid 3000: steps take 13.0 us instead of 12.0 us" },
	{ ENTRY_KERNEL, F(PID) | F(WAS_NS) | F(IS_NS) | F(KERNEL), "kernel_slower: pid 3000: kernel takes 13.0 us instead of 12.0 us" },
	{ ENTRY_GPU_IDLE, F(PID) | F(WAS_SHARE) | F(IS_SHARE), "gpu_idle: pid 3000: its GPUs are busy 25 % of the time instead of 25 %" },
	{ ENTRY_HANG, F(PID) | F(QUIET_NS) | F(STEP), "hang: pid 3000: nothing has moved for 11.0 us, in step 26000" },
	{ ENTRY_HANG_STACKS, F(RANKS) | F(JOB) | F(FRAMES) | F(FRAMES_MORE), "hang_stacks: ranks 1-3,7 of job job: f <- g <- 37000 more" },
	{ ENTRY_HANG_STACKS, F(ERROR) | F(JOB), "hang_stacks: no stacks of job job: error" },
	{ ENTRY_HANG_STACKS, F(RANKS) | F(WHY), "hang_stacks: ranks 1-3,7: no stack: why" },
	{ ENTRY_XID, F(DEVICE) | F(XID) | F(LINE), "xid: device: Xid 79, the GPU has fallen off the bus (line)" },
	{ ENTRY_ECC, F(DEVICE) | F(PID) | F(LINE), "ecc: device, pid 3000: line" },
	{ ENTRY_CAPTURE, F(NUMBER) | F(MS) | F(BEFORE_MS) | F(UID) | F(PIDS), "number 41000, 24000 ms and 25000 ms before, for user 6000, of pid 1, 2, 3, 7" },
	{ ENTRY_CLOCK, F(MOVED_NS), "wall clock moved by -1.500 s" },
	{ ENTRY_BUDGET_CPU, F(SHED) | F(LIMIT), "events are only rolled up (cpu_percent 22000)" },
	{ ENTRY_SET, F(JOB) | F(SETTING) | F(VALUE) | F(UID), "job job: setting = value, set by uid 6000" },
	/* clang-format on */
};

static void test_lines(void)
{
	char text[ENTRY_TEXT];
	struct journal_entry e;

	for (size_t i = 0; i < T_LEN(lines); i++) {
		const char *want = lines[i].line;

		fill(&e, lines[i].kind);
		e.have = lines[i].have;
		T_OK(!strcmp(entry_line(&e, text), want), "%s", text);
	}
}

/* --- lines of before --- */

static const struct {
	const char *what, *text, *object;
	enum entry_kind kind;
} old[] = {
	/* clang-format off */
	{ "alarm", "hang: rank 1, job j9, pid 26030: nothing has moved", "{\"pid\":26030,\"rank\":1,\"job\":\"j9\"}", ENTRY_HANG },
	{ "alarm", "hang: pid 7: nothing has moved", "{\"pid\":7}", ENTRY_HANG },
	{ "alarm", "hang: job a, pid 5: x, pid 77: it", "{}", ENTRY_HANG },
	{ "alarm", "xid: 0000:3b:00, pid 26083: Xid 79, it", "{}", ENTRY_XID },
	{ "alarm", "hang_stacks: ranks 0-2,4 of job j: f (x:1) <- g", "{\"job\":\"j\",\"ranks\":[0,1,2,4],\"frames\":[\"f (x:1)\",\"g\"]}", ENTRY_HANG_STACKS },
	{ "alarm", "hang_stacks: and 3 groups more", "{\"ranks\":[],\"frames\":[]}", ENTRY_HANG_STACKS },
	{ "alarm", "hang_stacks: ranks 0-99999999: f", "{\"ranks\":[],\"frames\":[\"f\"]}", ENTRY_HANG_STACKS },
	{ "alarm", "what: ever", "{\"line\":\"what: ever\"}", ENTRY_LINE },
	{ "capture", "pid 7: tier full for 1 s, because of hang; kept: process 2 from 3 to 4",
	  "{\"process\":2,\"pid\":7,\"from_ns\":3,\"to_ns\":4,\"seconds\":1,\"why\":\"hang\"}", ENTRY_RAISED },
	{ "capture", "number 3, 2 steps and 0 ms before, for user 0, of pid 41, 42: x > 1 (pid 41: x 2)", "{\"pids\":[41,42]}", ENTRY_CAPTURE },
	{ "capture", "Kineto, 5 steps of pid 9, for user 0", "{\"pid\":9}", ENTRY_PROFILER },
	{ "capture", "500 ms of pid 9, asked by uid 0", "{\"pid\":9}", ENTRY_PROFILER },
	{ "start", "aond 1", "{\"line\":\"aond 1\"}", ENTRY_LINE },
	/* clang-format on */
};

static void test_old(void)
{
	char buf[ENTRY_OLD], text[ENTRY_TEXT], *object;
	struct journal_entry e;

	for (size_t i = 0; i < T_LEN(old); i++) {
		entry_from_line(&e, buf, old[i].what, old[i].text);
		object = entry_object(&e);
		T_OK(e.kind == old[i].kind && !strcmp(object, old[i].object) &&
			     !strcmp(entry_line(&e, text), old[i].text) &&
			     !strcmp(entry_what(&e), old[i].what),
		     "%s: %s", old[i].text, object);
		free(object);
	}
}

int main(void)
{
	test_tables();
	test_back();
	test_lines();
	test_old();
	return t_done();
}
