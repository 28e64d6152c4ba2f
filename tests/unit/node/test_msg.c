/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of processes: checked before use, over a real socket with real descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/session/msg.h"
#include "t.h"

#define HELLO sizeof(struct aon_msg_hello)
#define LEAST AON_HELLO_LEAST
#define NOTE  sizeof(struct aon_msg_note)
#define HEAD  sizeof(struct aon_msg_head)

static const struct {
	const char *name;
	uint32_t magic;
	uint16_t type;
	uint16_t size;
	size_t len;
	int want;
} heads[] = {
	/* clang-format off */
	/* name                                 magic          type           size       len        want */
	{ "a HELLO of our length",              AON_MSG_MAGIC, AON_MSG_HELLO, HELLO,     HELLO,     0       },
	{ "a longer one, of a newer libaon",    AON_MSG_MAGIC, AON_MSG_HELLO, HELLO + 8, HELLO + 8, 0       },
	{ "a shorter one, of an older libaon",  AON_MSG_MAGIC, AON_MSG_HELLO, LEAST,     LEAST,     0       },
	{ "one that is too short",              AON_MSG_MAGIC, AON_MSG_HELLO, LEAST - 8, LEAST - 8, -EPROTO },
	{ "another magic",                      0x12345678,    AON_MSG_HELLO, HELLO,     HELLO,     -EPROTO },
	{ "a size above what came",             AON_MSG_MAGIC, AON_MSG_HELLO, HELLO + 8, HELLO,     -EPROTO },
	{ "a size below what came",             AON_MSG_MAGIC, AON_MSG_HELLO, HELLO,     HELLO + 8, -EPROTO },
	{ "a BELL",                             AON_MSG_MAGIC, AON_MSG_DOORBELL,  HEAD,      HEAD,      0       },
	{ "half a head",                        AON_MSG_MAGIC, AON_MSG_DOORBELL,  HEAD,      HEAD / 2,  -EPROTO },
	{ "nothing",                            AON_MSG_MAGIC, AON_MSG_DOORBELL,  HEAD,      0,         -EPROTO },
	{ "a NOTE",                             AON_MSG_MAGIC, AON_MSG_NOTE,  NOTE,      NOTE,      0       },
	{ "a short NOTE",                       AON_MSG_MAGIC, AON_MSG_NOTE,  NOTE - 1,  NOTE - 1,  -EPROTO },
	{ "an unknown type is let through",     AON_MSG_MAGIC, 999,           HEAD,      HEAD,      0       },
	{ "of any length that may be",          AON_MSG_MAGIC, 999, AON_MSG_MAX, AON_MSG_MAX,       0       },
	{ "too long",                           AON_MSG_MAGIC, 999, AON_MSG_MAX + 1, AON_MSG_MAX + 1, -EPROTO },
	/* clang-format on */
};

static void test_check(void)
{
	static char data[2 * AON_MSG_MAX];
	union msg m;

	for (size_t i = 0; i < T_LEN(heads); i++) {
		struct aon_msg_head h = { heads[i].magic, heads[i].type, heads[i].size };

		memset(data, 'x', sizeof(data));
		memcpy(data, &h, sizeof(h));
		T_OK(msg_check(&m, data, heads[i].len) == heads[i].want, "%s", heads[i].name);
	}
}

static void test_texts(void)
{
	struct aon_msg_hello h;
	struct aon_msg_note n;
	union msg m;

	memset(&h, 'x', sizeof(h));
	h.head = (struct aon_msg_head){ AON_MSG_MAGIC, AON_MSG_HELLO, sizeof(h) };
	T_OK(!msg_check(&m, &h, sizeof(h)) && strlen(m.hello.library) == sizeof(h.library) - 1 &&
		     strlen(m.hello.run) == sizeof(h.run) - 1 &&
		     strlen(m.hello.job) == sizeof(h.job) - 1 &&
		     strlen(m.hello.node) == sizeof(h.node) - 1,
	     "texts of a HELLO end, even if they do not");
	memset(&n, 'x', sizeof(n));
	n.head = (struct aon_msg_head){ AON_MSG_MAGIC, AON_MSG_NOTE, sizeof(n) };
	T_OK(!msg_check(&m, &n, sizeof(n)) && strlen(m.note.source) == sizeof(n.source) - 1 &&
		     strlen(m.note.state) == sizeof(n.state) - 1 &&
		     strlen(m.note.reason) == sizeof(n.reason) - 1,
	     "and those of a NOTE");
}

/* --- over a socket --- */

static const struct aon_msg_head doorbell = { AON_MSG_MAGIC, AON_MSG_DOORBELL, sizeof(doorbell) };

static void send_fds(int sock, const void *data, size_t len, unsigned n)
{
	union {
		char buf[CMSG_SPACE(32 * sizeof(int))];
		struct cmsghdr align;
	} ctl = { .buf = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		mh.msg_control = &ctl;
		mh.msg_controllen = CMSG_SPACE(n * sizeof(int));
		ctl.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS,
					      .cmsg_len = CMSG_LEN(n * sizeof(int)) };
		for (unsigned i = 0; i < n; i++)
			memcpy(CMSG_DATA(&ctl.align) + i * sizeof(int), &(int){ 0 }, sizeof(int));
	}
	if (sendmsg(sock, &mh, 0) < 0)
		perror("sendmsg");
}

/* The lowest free descriptor: rises when one leaks. */
static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void test_socket(void)
{
	struct msg_fds fds;
	union msg m;
	int sv[2], low;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sv) < 0)
		t_skip_all("no socketpair");
	low = lowest();
	T_OK(msg_recv(sv[0], &m, &fds) == -EAGAIN, "nothing there is -EAGAIN");
	send_fds(sv[1], &doorbell, sizeof(doorbell), 0);
	T_OK(!msg_recv(sv[0], &m, &fds) && m.head.type == AON_MSG_DOORBELL && !fds.n,
	     "a BELL arrives");
	send_fds(sv[1], &doorbell, sizeof(doorbell), 2);
	T_OK(!msg_recv(sv[0], &m, &fds) && fds.n == 2 && fcntl(fds.fd[0], F_GETFD) == FD_CLOEXEC,
	     "two descriptors arrive, closed on exec");
	msg_fds_close(&fds);
	send_fds(sv[1], &doorbell, sizeof(doorbell), 30);
	T_OK(msg_recv(sv[0], &m, &fds) == -EPROTO && !fds.n, "thirty break the rules");
	T_OK(lowest() == low, "and none of them stays open");
	send_fds(sv[1], "garbage", 7, 2);
	T_OK(msg_recv(sv[0], &m, &fds) == -EPROTO && lowest() == low,
	     "descriptors of garbage are closed");
	send_fds(sv[1], (char[AON_MSG_MAX + 64]){ 0 }, AON_MSG_MAX + 64, 0);
	T_OK(msg_recv(sv[0], &m, &fds) == -EPROTO, "a packet that is too long breaks the rules");
	T_OK(!msg_send(sv[0], &doorbell, sizeof(doorbell), sv, 2) && !msg_recv(sv[1], &m, &fds) &&
		     fds.n == 2,
	     "what we send arrives with its descriptors");
	msg_fds_close(&fds);
	close(sv[1]);
	T_OK(msg_recv(sv[0], &m, &fds) == -EPIPE, "a closed end is -EPIPE");
	T_OK(msg_send(sv[0], &doorbell, sizeof(doorbell), NULL, 0) == -EPIPE,
	     "and no signal kills us");
	close(sv[0]);
}

static void test_full_socket(void)
{
	int sv[2], err = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv) < 0)
		return;
	for (int i = 0; i < 100000 && !err; i++)
		err = msg_send(sv[0], &doorbell, sizeof(doorbell), NULL, 0);
	T_OK(err == -EAGAIN, "a peer that does not read holds nobody up");
	close(sv[0]);
	close(sv[1]);
}

int main(void)
{
	test_check();
	test_texts();
	test_socket();
	test_full_socket();
	return t_done();
}
