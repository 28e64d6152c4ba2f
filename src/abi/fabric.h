/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric.h - the protocol between Kineto inside a PyTorch process and the node's daemon: dynolog's
 * "IPC fabric", over SOCK_DGRAM. The layout is dynolog's.
 *
 *	process                                aond
 *	req  {type, n, job, pids[n]}  ------>                     every 5 s
 *	                              <------  req  {settings}    or nothing in it; within 90 ms
 *	ctxt {gpu, pid, job}          ------>                     older ones, once
 *	                              <------  ctxt {how many}
 *	aon  {}                       ------>                     aon's own: is it an aond, and which?
 *	                              <------  aon  {run directory}
 *
 * A datagram is a head, then its body. The name is abstract, with the NUL that ends it; or a file
 * in the directory that KINETO_IPC_SOCKET_DIR names. Kineto ends its process if an answer comes
 * from a name of the other kind, or from another directory: such a sender gets no answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define FABRIC_NAME    "dynolog"
#define FABRIC_ENV_USE "KINETO_USE_DAEMON"
#define FABRIC_ENV_DIR "KINETO_IPC_SOCKET_DIR"
#define FABRIC_ENV_OUT "KINETO_ONDEMAND_TRACE_DIR" /* where a daemon may let it write; /tmp */
#define FABRIC_POLL_MS 5000u                       /* between two polls of a process */
#define FABRIC_WAIT_MS 90u                         /* how long the process waits for an answer */
#define FABRIC_TRACE   2 /* bit of a request's type: it can take a trace now */
#define FABRIC_TYPE    32u

struct fabric_head {
	uint64_t size; /* of the body */
	char type[FABRIC_TYPE];
};

struct fabric_ctxt {
	int32_t gpu, pid;
	int64_t job;
};

struct fabric_req {
	int32_t type, n;
	int64_t job; /* number of the Slurm job; 0: none */
		     /* int32_t pids[n]: itself and its ancestors, as it says */
};

_Static_assert(sizeof(struct fabric_head) == 40, "dynolog's layout");
_Static_assert(sizeof(struct fabric_ctxt) == 16, "dynolog's layout");
_Static_assert(sizeof(struct fabric_req) == 16, "dynolog's layout");

/* The address of `name`: abstract, or in `dir` when there is one. 0: it is too long. */
static inline socklen_t fabric_address(struct sockaddr_un *sa, const char *dir, const char *name)
{
	size_t at = offsetof(struct sockaddr_un, sun_path);
	int len;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	if (dir && *dir)
		len = snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/%s", dir, name);
	else
		len = 1 + snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "%s", name);
	if ((size_t)len + 1 > sizeof(sa->sun_path))
		return 0;
	return (socklen_t)(at + (size_t)len + 1);
}
