/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - the channel to a process: its socket, its end, and the rate of its doorbell. */
#pragma once

#include <stdbool.h>

#include "base/proc.h"
#include "daemon/core/loop.h"

#define HELLO_NS      2000000000ull /* for saying HELLO */
#define DOORBELLS_MAX 1000u         /* in a second; then it is ignored until the next */
#define POLL_NS       20000000ull   /* between two looks at a process that cannot ring */
#define POLLS_IDLE    50u           /* looks that found nothing: then only the tick looks */
#define SECCOMP_ALL   64u           /* with more sessions than this, looked at every 10th tick */

struct channel {
	struct watch sock; /* fd owned; -1: the process has closed its end */
	struct watch pid;  /* pidfd, owned */
	struct proc_seccomp at_join;
	unsigned doorbells; /* in this second */
	unsigned idle;      /* polls that found nothing */
	bool deaf;          /* it rang too often: ignored until the next second */
	bool quiet;         /* it must make no system call: cannot ring */
	bool more;          /* there is more than one turn takes */
};
