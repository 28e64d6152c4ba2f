/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipmi_dev.c - stands in for the kernel's IPMI driver, by LD_PRELOAD: ioctl()s of any descriptor, answered by a BMC
 * with three sensors. Before each answer there is one to a question of somebody else's, which is nobody's here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/ipmi.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#define SENSORS 3u
#define RECORD  64u

int ioctl(int fd, unsigned long what, ...);

static struct {
	long id;
	unsigned char data[80];
	unsigned short len;
	int left; /* messages that wait: the stranger's, then ours */
} answer;

/* A full record of a temperature: "Temp 1" is 21, "Temp 2" 22, ... */
static unsigned short record(unsigned i, unsigned char *r)
{
	memset(r, 0, RECORD);
	r[0] = (unsigned char)(i + 1);
	r[2] = 0x51;
	r[3] = 1;
	r[4] = 48 + 6 - 5;
	r[5] = 0x20;
	r[7] = (unsigned char)(i + 1);
	r[8] = 7;
	r[9] = 1;
	r[10] = 0x7f;
	r[11] = 0x68;
	r[12] = 1;
	r[13] = 1;
	r[21] = 1;
	r[24] = 1;
	r[47] = 0xc0 | 6;
	memcpy(r + 48, "Temp 1", 6);
	r[53] = (unsigned char)('1' + i);
	return 54;
}

static void get_record(const unsigned char *ask, unsigned char *out, unsigned short *len)
{
	unsigned i = ask[2] ? ask[2] - 1u : 0, next = i + 1 < SENSORS ? i + 2 : 0xffff;
	unsigned char r[RECORD];
	unsigned short n = i < SENSORS ? record(i, r) : 0, from = ask[4], want = ask[5];

	if (from >= n) {
		out[0] = 0xcb;
		return;
	}
	want = want > n - from ? (unsigned short)(n - from) : want;
	out[1] = (unsigned char)next;
	out[2] = (unsigned char)(next >> 8);
	memcpy(out + 3, r + from, want);
	*len = (unsigned short)(3 + want);
}

static int send_command(const struct ipmi_req *q)
{
	unsigned char *out = answer.data;
	const unsigned char *ask = q->msg.data;

	memset(&answer, 0, sizeof(answer));
	answer.id = q->msgid;
	answer.left = 2;
	answer.len = 1;
	switch (q->msg.netfn << 8 | q->msg.cmd) {
	case 0x0a20: /* repository info */
		out[1] = 0x51;
		out[2] = SENSORS;
		answer.len = 15;
		break;
	case 0x0a22: /* reservation */
		out[1] = 1;
		answer.len = 3;
		break;
	case 0x0a23:
		get_record(ask, out, &answer.len);
		break;
	case 0x042d: /* reading */
		out[1] = (unsigned char)(20 + ask[0]);
		out[2] = 0xc0;
		answer.len = 4;
		break;
	default:
		out[0] = 0xc1;
	}
	return 0;
}

static int receive(struct ipmi_recv *r)
{
	if (!answer.left--) {
		errno = EAGAIN;
		return -1;
	}
	r->recv_type = IPMI_RESPONSE_RECV_TYPE;
	r->msgid = answer.left ? answer.id + 1000 : answer.id;
	r->msg.data_len = answer.len;
	memcpy(r->msg.data, answer.data, answer.len);
	return 0;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long what, ...)
{
	int (*next)(int, unsigned long, ...);
	va_list ap;
	void *arg;

	va_start(ap, what);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (what == IPMICTL_SEND_COMMAND)
		return send_command(arg);
	if (what == IPMICTL_RECEIVE_MSG_TRUNC)
		return receive(arg);
	*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	return next(fd, what, arg);
}
