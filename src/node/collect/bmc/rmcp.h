/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rmcp.h - commands of IPMI to a BMC: over the network by RMCP+ (IPMI 2.0), or by the kernel's device.
 *
 * Only what is needed to read: a user's rights, RAKP with HMAC-SHA256 or HMAC-SHA1, AES-CBC-128 and integrity
 * always (cipher suites 17 and 3). A BMC that wants less is not talked to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPMI_DATA 256u /* bytes of a command or an answer, at most */

struct ipmi;

struct ipmi_opts {
	const char *host, *port; /* or */
	const char *device;      /* "/dev/ipmi0"; NULL: over the network */
	const char *user, *password;
	uint32_t timeout_ms; /* of an answer, tries with it */
};

/* -EACCES: it does not take user and password; -ETIMEDOUT, -EPROTO, -ENOTSUP: no cipher suite that is safe. */
int ipmi_open(struct ipmi **out, const struct ipmi_opts *o);
void ipmi_close(struct ipmi *i); /* NULL is allowed */

struct ipmi_ask {
	uint8_t netfn, lun, cmd;
	uint8_t data[32];
	size_t len;
};

/*
 * How many bytes of `answer` (IPMI_DATA) it said behind the completion code, -EREMOTEIO: the code is not 0
 * (*code has it), -ETIMEDOUT, -EPROTO.
 */
int ipmi_do(struct ipmi *i, const struct ipmi_ask *ask, uint8_t answer[IPMI_DATA], uint8_t *code);

/* --- for tests and the fuzzer --- */

struct rmcp_keys {
	bool sha256;
	uint8_t k1[32], k2[32];
	size_t hash, icv; /* bytes of the hash, and of the part that is sent */
};

/* A message of the session into `out` (512 bytes): its length. `iv` has 16 bytes. */
size_t rmcp_seal(uint8_t *out, const struct rmcp_keys *k, uint32_t session, uint32_t seq,
		 const uint8_t *iv, const uint8_t *msg, size_t len);
/* What a message of the session holds: how many bytes of `msg`, or -EBADMSG. */
int rmcp_unseal(uint8_t msg[IPMI_DATA], const struct rmcp_keys *k, uint32_t session,
		const uint8_t *packet, size_t len);
/* The payload of a packet outside of a session: its length, or -EBADMSG. */
int rmcp_payload(const uint8_t *packet, size_t len, uint8_t type, const uint8_t **out);
