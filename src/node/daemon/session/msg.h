/* SPDX-License-Identifier: Apache-2.0 */
/* msg.h - messages of processes: received with their descriptors, and checked. */
#pragma once

#include <stddef.h>

#include "abi/msg.h"

union msg {
	struct aon_msg_head head;
	struct aon_msg_hello hello;
	struct aon_msg_note note;
};

/*
 * Copies the part of a message that this build knows, with its texts terminated. -EPROTO: not
 * a message, or too short for its type. A type that is not known gives its head only.
 */
int msg_check(union msg *out, const void *data, size_t len);

struct msg_fds {
	int fd[AON_MSG_FDS]; /* owned by the receiver */
	unsigned n;
};
void msg_fds_close(struct msg_fds *f);

/*
 * One message from a non-blocking socket. Returns 0; -EAGAIN: none there; -EPIPE: the peer is
 * gone; -EPROTO: it broke the rules (descriptors that came with it are closed).
 */
int msg_recv(int sock, union msg *out, struct msg_fds *fds);

/* Sends, or -errno at once: nobody waits for a process that does not read. */
int msg_send(int sock, const void *msg, size_t len, const int *fd, unsigned fds);
