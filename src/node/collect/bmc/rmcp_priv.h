/* SPDX-License-Identifier: Apache-2.0 */
/* rmcp_priv.h - shared by rmcp.c (packets) and rmcp_session.c (sessions). */
#pragma once

#include "collect/bmc/rmcp.h"

static inline void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* `out` gets 32 bytes or, of SHA-1, 20. */
bool rmcp_hmac(bool sha256, const uint8_t *key, size_t key_len, const uint8_t *data, size_t len,
	       uint8_t out[32]);
size_t rmcp_plain(uint8_t *out, uint8_t type, const uint8_t *payload, size_t len);

/* By the kernel's device. */
int ipmi_dev_open(const char *path);
int ipmi_dev_do(int fd, const struct ipmi_ask *ask, uint32_t timeout_ms, uint8_t answer[IPMI_DATA],
		uint8_t *code);
