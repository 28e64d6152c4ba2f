/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rmcp_session.c - a session of RMCP+: mutual authentication and session keys (RAKP, IPMI 2.0
 * 13.17).
 *
 *	K1, K2 = HMAC(SIK, 01.. and 02..)    SIK = HMAC(password, Rm Rc role name)
 */
#include <errno.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/bmc/rmcp_priv.h"

#define ROLE        0x02 /* a user: may read, and nothing else */
#define NAME_MAX_   16u
#define KEY_BYTES   20u
#define TRIES       3
#define OPEN_ASK    0x10
#define OPEN_ANSWER 0x11
#define RAKP1       0x12
#define RAKP2       0x13
#define RAKP3       0x14
#define RAKP4       0x15

struct ipmi {
	int fd;      /* owned */
	bool device; /* it is the kernel's */
	uint32_t timeout_ms;
	struct rmcp_keys keys;
	uint32_t mine, theirs, seq; /* sessions as each side calls them */
	uint8_t message;            /* number of the last, 6 bits */
	bool on;
};

struct login {
	uint8_t key[KEY_BYTES];
	uint8_t name[NAME_MAX_];
	uint8_t name_len;
	uint8_t rm[16], rc[16], guid[16];
};

/* --- before the session --- */

/* Sends, and waits for the answer of that type: its payload's length in `in`, or -ETIMEDOUT. */
static int trade(struct ipmi *i, uint8_t type, const uint8_t *ask, size_t len, uint8_t want,
		 uint8_t *in, size_t least)
{
	uint8_t packet[512], got[512];
	size_t n = rmcp_plain(packet, type, ask, len);
	const uint8_t *payload;

	for (int try = 0; try < TRIES; try++) {
		struct pollfd p = { .fd = i->fd, .events = POLLIN };

		if (send(i->fd, packet, n, 0) < 0)
			return -errno;
		while (poll(&p, 1, (int)i->timeout_ms / TRIES) > 0) {
			ssize_t r = recv(i->fd, got, sizeof(got), 0);
			int m;

			if (r < 0)
				return -errno;
			m = rmcp_payload(got, (size_t)r, want, &payload);
			if (m < 2 || payload[0] != ask[0])
				continue;
			if (payload[1]) /* its status says no */
				return payload[1] == 0x0d || payload[1] == 0x0f ||
						       payload[1] == 0x09
					       ? -EACCES
				       : payload[1] == 0x11 ? -ENOTSUP
							    : -EPROTO;
			if ((size_t)m < least)
				return -EPROTO;
			memcpy(in, payload, (size_t)m);
			return m;
		}
	}
	return -ETIMEDOUT;
}

static int open_session(struct ipmi *i, bool sha256)
{
	uint8_t ask[32] = { 1, ROLE }, in[512];
	const uint8_t alg[3] = { sha256 ? 3 : 1, sha256 ? 4 : 1, 1 };
	int n;

	put32(ask + 4, i->mine);
	for (uint8_t k = 0; k < 3; k++) {
		ask[8 + 8 * k] = k;
		ask[8 + 8 * k + 3] = 8;
		ask[8 + 8 * k + 4] = alg[k];
	}
	n = trade(i, OPEN_ASK, ask, sizeof(ask), OPEN_ANSWER, in, 36);
	if (n < 0)
		return n;
	if (get32(in + 4) != i->mine || in[16] != alg[0] || in[24] != alg[1] || in[32] != alg[2])
		return -ENOTSUP;
	i->theirs = get32(in + 8);
	i->keys = (struct rmcp_keys){ .sha256 = sha256,
				      .hash = sha256 ? 32 : 20,
				      .icv = sha256 ? 16 : 12 };
	return 0;
}

/* HMAC with the password, of up to six pieces one behind the other. */
struct piece {
	const void *p;
	size_t n;
};

static bool hash_of(const struct ipmi *i, const uint8_t *key, size_t key_len,
		    const struct piece *piece, size_t n, uint8_t out[32])
{
	uint8_t all[160];
	size_t at = 0;

	for (size_t k = 0; k < n; at += piece[k++].n)
		memcpy(all + at, piece[k].p, piece[k].n);
	return rmcp_hmac(i->keys.sha256, key, key_len, all, at, out);
}

static int rakp2(struct ipmi *i, struct login *l, const uint8_t role[2])
{
	uint8_t ask[28 + NAME_MAX_] = { 2 }, in[512], want[32], sids[8];
	struct piece pieces[] = { { sids, 8 },     { l->rm, 16 }, { l->rc, 16 },
				  { l->guid, 16 }, { role, 2 },   { l->name, l->name_len } };
	int n;

	put32(ask + 4, i->theirs);
	memcpy(ask + 8, l->rm, 16);
	ask[24] = role[0];
	ask[27] = l->name_len;
	memcpy(ask + 28, l->name, l->name_len);
	n = trade(i, RAKP1, ask, 28u + l->name_len, RAKP2, in, 40 + i->keys.hash);
	if (n < 0)
		return n;
	memcpy(l->rc, in + 8, 16);
	memcpy(l->guid, in + 24, 16);
	put32(sids, i->mine);
	put32(sids + 4, i->theirs);
	/* It knows the password as well: then it is who it should be. */
	if (!hash_of(i, l->key, KEY_BYTES, pieces, 6, want) ||
	    CRYPTO_memcmp(want, in + 40, i->keys.hash))
		return -EACCES;
	return 0;
}

static int rakp4(struct ipmi *i, struct login *l, const uint8_t role[2])
{
	uint8_t ask[8 + 32] = { 3 }, in[512], want[32], sik[32], sid[4];
	struct piece mine[] = { { l->rc, 16 }, { sid, 4 }, { role, 2 }, { l->name, l->name_len } };
	struct piece both[] = {
		{ l->rm, 16 }, { l->rc, 16 }, { role, 2 }, { l->name, l->name_len }
	};
	struct piece theirs[] = { { l->rm, 16 }, { sid, 4 }, { l->guid, 16 } };
	uint8_t ones[20], twos[20];
	int n;

	put32(ask + 4, i->theirs);
	put32(sid, i->mine);
	if (!hash_of(i, l->key, KEY_BYTES, mine, 4, ask + 8) ||
	    !hash_of(i, l->key, KEY_BYTES, both, 4, sik))
		return -EPROTO;
	n = trade(i, RAKP3, ask, 8 + i->keys.hash, RAKP4, in, 8 + i->keys.icv);
	if (n < 0)
		return n;
	put32(sid, i->theirs);
	if (!hash_of(i, sik, i->keys.hash, theirs, 3, want) ||
	    CRYPTO_memcmp(want, in + 8, i->keys.icv))
		return -EACCES;
	memset(ones, 1, sizeof(ones));
	memset(twos, 2, sizeof(twos));
	n = rmcp_hmac(i->keys.sha256, sik, i->keys.hash, ones, sizeof(ones), i->keys.k1) &&
	    rmcp_hmac(i->keys.sha256, sik, i->keys.hash, twos, sizeof(twos), i->keys.k2);
	explicit_bzero(sik, sizeof(sik));
	return n ? 0 : -EPROTO;
}

static int log_in(struct ipmi *i, const struct ipmi_opts *o, bool sha256)
{
	struct login l = { .name_len = (uint8_t)strlen(o->user) };
	uint8_t role[2] = { ROLE | 0x10, l.name_len }, level = ROLE, answer[IPMI_DATA], code;
	struct ipmi_ask ask = { .netfn = 0x06, .cmd = 0x3b, .data = { level }, .len = 1 };
	int err;

	if (strlen(o->user) > NAME_MAX_ || strlen(o->password) > KEY_BYTES)
		return -EACCES;
	memcpy(l.name, o->user, l.name_len);
	memcpy(l.key, o->password, strlen(o->password));
	if (getrandom(&i->mine, sizeof(i->mine), 0) != sizeof(i->mine) ||
	    getrandom(l.rm, sizeof(l.rm), 0) != sizeof(l.rm))
		return -EIO;
	i->mine |= 1; /* 0 is none */
	err = open_session(i, sha256);
	err = err ? err : rakp2(i, &l, role);
	err = err ? err : rakp4(i, &l, role);
	explicit_bzero(&l, sizeof(l));
	if (err)
		return err;
	i->on = true;
	i->seq = 0;
	err = ipmi_do(i, &ask, answer, &code);
	return err < 0 && err != -EREMOTEIO ? err : 0;
}

static int reach(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *found, *a;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &found))
		return -EHOSTUNREACH;
	for (a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd < 0 ? -EHOSTUNREACH : fd;
}

int ipmi_open(struct ipmi **out, const struct ipmi_opts *o)
{
	struct ipmi *i = calloc(1, sizeof(*i));
	int err;

	if (!i)
		return -ENOMEM;
	i->device = o->device;
	i->timeout_ms = o->timeout_ms;
	i->fd = o->device ? ipmi_dev_open(o->device) : reach(o->host, o->port);
	err = i->fd < 0 ? i->fd : 0;
	if (!err && !i->device) {
		err = log_in(i, o, true);
		if (err == -ENOTSUP || err == -EPROTO) /* an older one */
			err = log_in(i, o, false);
	}
	if (err) {
		ipmi_close(i);
		return err;
	}
	*out = i;
	return 0;
}

void ipmi_close(struct ipmi *i)
{
	struct ipmi_ask ask = { .netfn = 0x06, .cmd = 0x3c, .len = 4 };
	uint8_t answer[IPMI_DATA], code;

	if (!i)
		return;
	if (i->on) {
		put32(ask.data, i->theirs);
		i->timeout_ms = 300;
		ipmi_do(i, &ask, answer, &code);
	}
	if (i->fd >= 0)
		close(i->fd);
	explicit_bzero(i, sizeof(*i));
	free(i);
}

/* --- in the session --- */

static uint8_t sum_of(const uint8_t *p, size_t n)
{
	uint8_t sum = 0;

	while (n--)
		sum = (uint8_t)(sum + *p++);
	return (uint8_t)-sum;
}

static size_t message_of(const struct ipmi *i, const struct ipmi_ask *ask, uint8_t *m)
{
	m[0] = 0x20;
	m[1] = (uint8_t)(ask->netfn << 2 | ask->lun);
	m[2] = sum_of(m, 2);
	m[3] = 0x81;
	m[4] = (uint8_t)(i->message << 2);
	m[5] = ask->cmd;
	memcpy(m + 6, ask->data, ask->len);
	m[6 + ask->len] = sum_of(m + 3, 3 + ask->len);
	return 7 + ask->len;
}

/* The data of the answer to `ask`, if this is it: its length, or -EAGAIN. */
static int answer_of(const struct ipmi *i, const struct ipmi_ask *ask, const uint8_t *m, int n,
		     uint8_t *answer, uint8_t *code)
{
	if (n < 8 || m[1] >> 2 != (ask->netfn | 1) || m[4] >> 2 != i->message || m[5] != ask->cmd ||
	    sum_of(m, 2) != m[2] || sum_of(m + 3, (size_t)n - 4) != m[n - 1])
		return -EAGAIN;
	*code = m[6];
	memcpy(answer, m + 7, (size_t)n - 8);
	return *code ? -EREMOTEIO : n - 8;
}

static int wait_for(struct ipmi *i, const struct ipmi_ask *ask, uint8_t *answer, uint8_t *code)
{
	struct pollfd p = { .fd = i->fd, .events = POLLIN };
	uint8_t got[512], m[IPMI_DATA];

	while (poll(&p, 1, (int)i->timeout_ms / TRIES) > 0) {
		ssize_t r = recv(i->fd, got, sizeof(got), 0);
		int n;

		if (r < 0)
			return -errno;
		n = rmcp_unseal(m, &i->keys, i->mine, got, (size_t)r);
		n = n < 0 ? -EAGAIN : answer_of(i, ask, m, n, answer, code);
		if (n != -EAGAIN)
			return n;
	}
	return -ETIMEDOUT;
}

int ipmi_do(struct ipmi *i, const struct ipmi_ask *ask, uint8_t answer[IPMI_DATA], uint8_t *code)
{
	uint8_t m[64], packet[512], iv[16];
	int err = -ETIMEDOUT;

	*code = 0;
	if (i->device)
		return ipmi_dev_do(i->fd, ask, i->timeout_ms, answer, code);
	i->message = (i->message + 1) & 0x3f;
	for (int try = 0; try < TRIES && err == -ETIMEDOUT; try++) {
		size_t n;

		if (getrandom(iv, sizeof(iv), 0) != sizeof(iv))
			return -EIO;
		n = rmcp_seal(packet, &i->keys, i->theirs, ++i->seq, iv, m, message_of(i, ask, m));
		if (!n || send(i->fd, packet, n, 0) < 0)
			return n ? -errno : -EPROTO;
		err = wait_for(i, ask, answer, code);
	}
	return err;
}
