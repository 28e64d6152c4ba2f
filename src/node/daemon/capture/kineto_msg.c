/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_msg.c - Kineto's datagrams: copied, checked, then used. */
#include <errno.h>

#include "daemon/capture/kineto.h"

static const char *const word[] = {
	[FABRIC_REQ] = "req",
	[FABRIC_CTXT] = "ctxt",
	[FABRIC_WHO] = "aon",
};

static int kind_of(const char type[FABRIC_TYPE], enum fabric_kind *out)
{
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		/* With its NUL; what stands behind that is not theirs to mean anything. */
		if (!memcmp(type, word[i], strlen(word[i]) + 1)) {
			*out = (enum fabric_kind)i;
			return 0;
		}
	}
	return -ENOMSG;
}

static int check_req(struct fabric_msg *m, const char *body, size_t len)
{
	struct fabric_req r;

	if (len < sizeof(r))
		return -EPROTO;
	memcpy(&r, body, sizeof(r));
	if (r.n < 0 || (size_t)r.n != (len - sizeof(r)) / sizeof(int32_t) ||
	    (len - sizeof(r)) % sizeof(int32_t))
		return -EPROTO;
	m->ready = r.type & FABRIC_TRACE;
	m->job = r.job;
	return 0;
}

static int check_ctxt(struct fabric_msg *m, const char *body, size_t len)
{
	struct fabric_ctxt c;

	if (len < sizeof(c))
		return -EPROTO;
	memcpy(&c, body, sizeof(c));
	m->job = c.job;
	return 0;
}

int fabric_check(struct fabric_msg *out, const void *data, size_t len)
{
	struct fabric_msg m = { 0 };
	struct fabric_head head;
	const char *body = data;
	int err;

	if (len < sizeof(head) || len > KINETO_PACKET)
		return -EPROTO;
	memcpy(&head, data, sizeof(head));
	body += sizeof(head);
	len -= sizeof(head);
	if (head.size != len)
		return -EPROTO;
	err = kind_of(head.type, &m.kind);
	if (!err && m.kind == FABRIC_REQ)
		err = check_req(&m, body, len);
	else if (!err && m.kind == FABRIC_CTXT)
		err = check_ctxt(&m, body, len);
	if (!err)
		*out = m;
	return err;
}

size_t fabric_answer(void *buf, size_t cap, enum fabric_kind kind, const void *body, size_t len)
{
	struct fabric_head head = { 0 };

	if (len > cap - sizeof(head))
		len = cap - sizeof(head);
	head.size = len;
	strcpy(head.type, word[kind]);
	memcpy(buf, &head, sizeof(head));
	if (len)
		memcpy((char *)buf + sizeof(head), body, len);
	return sizeof(head) + len;
}
