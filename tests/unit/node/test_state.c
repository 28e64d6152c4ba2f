/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a thread that is sampled. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "sample/state.h"
#include "t.h"

static const struct {
	const char *text;
	int err;
	bool blocked;
	int32_t nr;
	uint64_t arg0, sp, pc;
} lines[] = {
	{ "running\n", 0, false, -1, 0, 0, 0 },
	{ "0 0x3 0x7ff4 0x20000 0x7ff5 0xffffffff 0x0 0x7ffd0ab242e8 0x7ff412e6f2ad\n", 0, true, 0,
	  3, 0x7ffd0ab242e8, 0x7ff412e6f2ad },
	{ "202 0x7f00 0x80 0x0 0x0 0x0 0x0 0x10 0x20\n", 0, true, 202, 0x7f00, 0x10, 0x20 },
	{ "-1 0x10 0x20\n", 0, true, -1, 0, 0x10, 0x20 },
	{ "202 0x", 0, true, 202, 0, 0, 0 },
	{ "", -1, false, 0, 0, 0, 0 },
	{ "walking\n", -1, false, 0, 0, 0, 0 },
};

static void texts(void)
{
	for (size_t i = 0; i < T_LEN(lines); i++) {
		struct state_now now;
		int err = state_parse(lines[i].text, &now);

		T_OK(!err == !lines[i].err &&
			     (err || (now.blocked == lines[i].blocked && now.nr == lines[i].nr &&
				      now.arg[0] == lines[i].arg0 && now.sp == lines[i].sp &&
				      now.pc == lines[i].pc)),
		     "line %zu is read as it is", i);
	}
}

static void locks(void)
{
	struct state_now now = { .blocked = true, .nr = SYS_futex, .arg = { 0x1050 } };

	T_OK(state_is_gil(&now, 0x1000, 208), "a futex in the lock of the interpreter");
	T_OK(!state_is_gil(&now, 0x1051, 208) && !state_is_gil(&now, 0x1000, 0x50) &&
		     !state_is_gil(&now, 0, 208),
	     "and one that is not");
	now.nr = SYS_read;
	T_OK(!state_is_gil(&now, 0x1000, 208), "nor what is no futex");
}

static void self(void)
{
	struct state_thread t;
	struct state_quota q;
	struct state_now now;

	state_open(&t, getpid(), getpid());
	quota_open(&q, getpid());
	T_OK(state_look(&t, &q, clock_mono_ns(), &now) == 0 && now.state != SAMPLE_NONE,
	     "a thread that reads its own state (%d)", now.state);
	state_close(&t);
	quota_close(&q);
	state_open(&t, getpid(), 1 << 29);
	T_OK(state_look(&t, &q, clock_mono_ns(), &now) == -3, "one that is not there");
	state_close(&t);
}

int main(void)
{
	texts();
	locks();
	self();
	return t_done();
}
