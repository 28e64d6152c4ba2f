/* SPDX-License-Identifier: Apache-2.0 */
/* test_torch_work.c - works of process groups, from what torch has in memory when one begins. */
#include <pthread.h>
#include <string.h>

#include "probe/torch/torch.h"
#include "t.h"

#define NAME_AT   160 /* in a RecordFunction of torch 2.15 */
#define SEQ_AT    200
#define INPUT_AT  208
#define HANDLE_AT 312
#define NUMEL_AT  152 /* in a TensorImpl */
#define THREADS   4
#define EACH      2000

struct torch_abi torch;

/* --- what libaon would do --- */

static const uint32_t gate = ~0u;
const uint32_t *aon_gate_ = &gate;

static char names[64][64];
static uint32_t name_count, track_count, lost_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct got {
	uint64_t group, sequence, bytes;
	uint32_t name;
} got[THREADS * EACH + 512];
static size_t gots;

uint32_t aon_name(const char *text)
{
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < name_count && strcmp(names[i], text); i++)
		;
	if (i == name_count && i < 64)
		snprintf(names[name_count++], sizeof(names[0]), "%s", text);
	pthread_mutex_unlock(&lock);
	return i;
}

uint32_t aon_track(uint32_t device, uint32_t context, uint64_t stream, const char *name)
{
	(void)device;
	(void)context;
	(void)stream;
	aon_name(name);
	return __atomic_add_fetch(&track_count, 1, __ATOMIC_RELAXED);
}

void aon_act_emit(const struct aon_act *a)
{
	pthread_mutex_lock(&lock);
	got[gots++] = (struct got){ a->group, a->sequence, a->bytes, a->name };
	pthread_mutex_unlock(&lock);
}

void aon_lost(uint32_t why, uint64_t n)
{
	(void)why;
	lost_count += (uint32_t)n;
}

void aon_heartbeat_collective(uint64_t communicator, uint64_t sequence)
{
	(void)communicator;
	(void)sequence;
}

uint32_t thread_track(struct torch_thread *t)
{
	return t->track;
}

/* --- what torch would have --- */

struct rf {
	_Alignas(16) uint8_t b[512];
};

struct ivalue {
	const void *payload;
	uint32_t tag;
};

static void put(void *at, size_t off, uint64_t v)
{
	memcpy((uint8_t *)at + off, &v, sizeof(v));
}

static void make_rf(struct rf *rf, const char *title, uint64_t handle, const struct ivalue *v,
		    size_t n)
{
	memset(rf, 0, sizeof(*rf));
	put(rf, NAME_AT, (uintptr_t)title);
	put(rf, NAME_AT + 8, strlen(title));
	put(rf, SEQ_AT, UINT64_MAX);
	put(rf, INPUT_AT, (uintptr_t)v);
	put(rf, INPUT_AT + 8, n);
	put(rf, HANDLE_AT, handle);
}

static void make_tensor(uint8_t impl[176], uint64_t numel, uint16_t dtype)
{
	memset(impl, 0, 176);
	put(impl, NUMEL_AT, numel);
	memcpy(impl + NUMEL_AT + 8, &dtype, sizeof(dtype));
}

static const struct record_function *of(const struct rf *rf)
{
	return (const struct record_function *)(const void *)rf;
}

static struct torch_thread thread_of(uint32_t tid)
{
	return (struct torch_thread){ .tid = tid };
}

/* --- cases --- */

static const char title[] = "gloo:all_reduce", barrier[] = "gloo:barrier", sends[] = "gloo:send";

static void test_layout(void)
{
	/* movzbl 0x140(%rdi),%eax; ret */
	static const uint8_t code[] = { 0x0f, 0xb6, 0x87, 0x40, 0x01, 0, 0, 0xc3 };
	struct torch_thread t = thread_of(10);
	uint8_t half[176], whole[176];
	struct ivalue v[2] = { { half, 1 }, { whole, 1 } };
	struct rf rf;

	torch.is_async = (bool (*)(const struct record_function *))(uintptr_t)code;
	work_learn_handle();
	make_tensor(half, 23757, 5);
	work_learn_tensor(half, 23757, 5);
	make_tensor(whole, 917, 4);
	work_learn_tensor(whole, 917, 4);
	make_rf(&rf, title, 1, v, 2);
	work_begin(&t, of(&rf), title, 1);
	T_OK(work_end(&t, of(&rf)) && gots == 1, "a work that begins and ends is one event");
	T_OK(got[0].bytes == 23757 * 2 + 917 * 8 &&
		     !strcmp(names[got[0].name], "gloo:all_reduce f16"),
	     "with the bytes of its tensors, and the type of the first");
	T_OK(!got[0].group && !got[0].sequence, "without a group it has no number");
	T_OK(!work_end(&t, of(&rf)), "what has not begun does not end");
}

static void test_groups(void)
{
	struct torch_thread main = thread_of(1), a = thread_of(11), b = thread_of(21);
	const uint32_t of_a[] = { 11, 12 }, of_b[] = { 21 };
	struct rf rf;

	gots = 0;
	work_group("0", 1, 4, of_a, 2);
	make_rf(&rf, sends, 2, NULL, 0);
	work_begin(&main, of(&rf), sends, 1);
	work_end(&main, of(&rf));
	T_OK(got[0].group && !got[0].sequence,
	     "a transfer is of the only group, and has no number");
	work_group("1", 0, 2, of_b, 1);
	for (int i = 0; i < 4; i++) {
		struct torch_thread *t = i % 2 ? &b : &a;

		make_rf(&rf, barrier, 3 + (uint64_t)i, NULL, 0);
		work_begin(t, of(&rf), barrier, 1);
		work_end(t, of(&rf));
	}
	T_OK(got[1].group == got[3].group && got[2].group == got[4].group &&
		     got[1].group != got[2].group && got[1].sequence == 1 && got[2].sequence == 1 &&
		     got[3].sequence == 2 && got[4].sequence == 2,
	     "each group has its numbers, by the thread");
	T_OK(!strcmp(names[aon_name("gloo 0 1/4")], "gloo 0 1/4") && track_count >= 2,
	     "a thread's lane is named after its group");
	make_rf(&rf, barrier, 9, NULL, 0);
	work_begin(&main, of(&rf), barrier, 1);
	work_end(&main, of(&rf));
	T_OK(!got[5].group, "with two groups another thread's work is of none");
}

static void test_order(void)
{
	struct torch_thread a = thread_of(11), b = thread_of(12);
	struct rf first, second;

	gots = 0;
	make_rf(&first, title, 100, NULL, 0);
	make_rf(&second, barrier, 101, NULL, 0);
	work_begin(&b, of(&second), barrier, 1);
	work_begin(&a, of(&first), title, 2);
	work_end(&b, of(&second));
	work_end(&a, of(&first));
	T_OK(got[0].sequence == got[1].sequence + 1,
	     "who was called earlier has the lower number, though it begins later");
}

static void test_full(void)
{
	static struct rf rf[300];
	struct torch_thread a = thread_of(11);

	gots = 0;
	for (size_t i = 0; i < 300; i++) {
		make_rf(&rf[i], title, 200 + i, NULL, 0);
		work_begin(&a, of(&rf[i]), title, 1);
	}
	for (size_t i = 0; i < 300; i++)
		work_end(&a, of(&rf[i]));
	T_OK(gots == 256 && lost_count == 44, "more than there is room for are counted as lost");
}

static void *worker(void *arg)
{
	const uint32_t tid = (uint32_t)(uintptr_t)arg;
	struct torch_thread t = thread_of(tid);

	for (uint64_t i = 0; i < EACH; i++) {
		struct rf rf;

		make_rf(&rf, title, 1000 + i, NULL, 0);
		work_begin(&t, of(&rf), title, 1);
		work_end(&t, of(&rf));
	}
	return NULL;
}

static void test_threads(void)
{
	static uint8_t seen[THREADS * EACH + 1];
	const uint32_t tids[THREADS] = { 31, 32, 33, 34 };
	pthread_t t[THREADS];
	size_t twice = 0;

	gots = 0;
	work_group("many", 0, 1, tids, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)tids[i]);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (size_t i = 0; i < gots; i++)
		twice += got[i].sequence > THREADS * EACH || seen[got[i].sequence]++;
	T_OK(gots == THREADS * EACH && !twice, "threads of a group give every number once");
}

int main(void)
{
	test_layout();
	test_groups();
	test_order();
	test_full();
	test_threads();
	work_forget();
	return t_done();
}
