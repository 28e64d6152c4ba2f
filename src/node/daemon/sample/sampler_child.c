/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_child.c - aon-sample as a child of aond; see sampler.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/core/count.h"
#include "daemon/sample/sampler.h"
#include "stacks/find.h"

#define WAIT_MAX_S 64u
#define GOOD_NS    60000000000ull /* who lives so long is started again at once */
#define S          1000000000ull

static int spawn(struct sampler *s, const char *path)
{
	char *argv[] = { "aon-sample", "--run-dir", (char *)(uintptr_t)s->run_dir, NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	err = posix_spawn(&s->child, path, &fa, &attr, argv, (char *[]){ NULL });
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	if (err)
		s->child = 0;
	return -err;
}

static void start(struct sampler *s, uint64_t now)
{
	char path[PATH_MAX];
	int err = helper_find(path, "sample", "aon-sample");

	s->missing = err != 0;
	err = err ? err : spawn(s, path);
	if (err) {
		if (!s->missing)
			log_warn("aon-sample: %s", strerror(-err));
		s->wait_s = WAIT_MAX_S;
		s->next_ns = now + s->wait_s * S;
		return;
	}
	s->child_ns = now;
	count_add(COUNT_sampler_starts, 1);
}

static void reap(struct sampler *s, uint64_t now)
{
	int status;

	if (!s->child || waitpid(s->child, &status, WNOHANG) == 0)
		return;
	s->child = 0;
	if (now - s->child_ns > GOOD_NS)
		s->wait_s = 1;
	s->next_ns = now + s->wait_s * S;
	log_info("aon-sample has ended; again in %u s", s->wait_s);
	s->wait_s = s->wait_s * 2 < WAIT_MAX_S ? s->wait_s * 2 : WAIT_MAX_S;
}

void sampler_child(struct sampler *s, uint64_t now, bool on)
{
	reap(s, now);
	/* Where nobody is to be sampled, none is started; one that is there stays. */
	if (!s->child && s->targets && s->conn.fd < 0 && now >= s->next_ns && s->ours)
		start(s, now);
	else if (s->child && !on)
		kill(s->child, SIGTERM);
}

void sampler_child_end(struct sampler *s)
{
	if (!s->child)
		return;
	kill(s->child, SIGKILL);
	waitpid(s->child, NULL, 0);
	s->child = 0;
}
