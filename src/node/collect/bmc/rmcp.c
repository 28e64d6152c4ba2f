/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rmcp.c - the packets of RMCP+: sealed ones of a session, plain ones before it.
 *
 *	RMCP 06 00 ff 07 | 06, payload's type, session u32, sequence u32, length u16 | payload
 *	                 | padding ff.., its length, 07 | HMAC of all from 06 on
 *
 * A sealed payload is a random IV and the message, padded with 01 02 .. and their number, in AES-CBC-128.
 */
#include "collect/bmc/rmcp.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "collect/bmc/rmcp_priv.h"

#define HEAD   16u /* RMCP and session */
#define SEALED 0xc0u
#define BLOCK  16u

static const uint8_t rmcp[4] = { 0x06, 0x00, 0xff, 0x07 };

bool rmcp_hmac(bool sha256, const uint8_t *key, size_t key_len, const uint8_t *data, size_t len,
	       uint8_t out[32])
{
	unsigned n = 32;

	return HMAC(sha256 ? EVP_sha256() : EVP_sha1(), key, (int)key_len, data, len, out, &n) !=
	       NULL;
}

static size_t put_head(uint8_t *out, uint8_t type, uint32_t session, uint32_t seq, size_t len)
{
	memcpy(out, rmcp, sizeof(rmcp));
	out[4] = 0x06;
	out[5] = type;
	put32(out + 6, session);
	put32(out + 10, seq);
	out[14] = (uint8_t)len;
	out[15] = (uint8_t)(len >> 8);
	return HEAD;
}

size_t rmcp_plain(uint8_t *out, uint8_t type, const uint8_t *payload, size_t len)
{
	put_head(out, type, 0, 0, len);
	memcpy(out + HEAD, payload, len);
	return HEAD + len;
}

/* AES-CBC-128 of whole blocks, in either direction. */
static bool aes(bool encrypt, const uint8_t *key, const uint8_t *iv, const uint8_t *in,
		uint8_t *out, size_t len)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n = 0;
	bool fine = c && EVP_CipherInit_ex(c, EVP_aes_128_cbc(), NULL, key, iv, encrypt) &&
		    EVP_CIPHER_CTX_set_padding(c, 0) &&
		    EVP_CipherUpdate(c, out, &n, in, (int)len) && n == (int)len;

	EVP_CIPHER_CTX_free(c);
	return fine;
}

size_t rmcp_seal(uint8_t *out, const struct rmcp_keys *k, uint32_t session, uint32_t seq,
		 const uint8_t *iv, const uint8_t *msg, size_t len)
{
	uint8_t text[IPMI_DATA + BLOCK], mac[32];
	size_t pad = (BLOCK - (len + 1) % BLOCK) % BLOCK, n = len + pad + 1, at;

	if (len > IPMI_DATA)
		return 0;
	memcpy(text, msg, len);
	for (size_t i = 0; i < pad; i++)
		text[len + i] = (uint8_t)(i + 1);
	text[n - 1] = (uint8_t)pad;
	put_head(out, SEALED, session, seq, BLOCK + n);
	memcpy(out + HEAD, iv, BLOCK);
	if (!aes(true, k->k2, iv, text, out + HEAD + BLOCK, n))
		return 0;
	at = HEAD + BLOCK + n;
	pad = (4 - (at - 4 + 2) % 4) % 4;
	memset(out + at, 0xff, pad);
	out[at + pad] = (uint8_t)pad;
	out[at + pad + 1] = 0x07;
	at += pad + 2;
	if (!rmcp_hmac(k->sha256, k->k1, k->hash, out + 4, at - 4, mac))
		return 0;
	memcpy(out + at, mac, k->icv);
	return at + k->icv;
}

int rmcp_unseal(uint8_t msg[IPMI_DATA], const struct rmcp_keys *k, uint32_t session,
		const uint8_t *p, size_t len)
{
	uint8_t mac[32], text[512];
	size_t n, body;

	if (len < HEAD + 2 * BLOCK + 2 + k->icv || len > 512 || memcmp(p, rmcp, sizeof(rmcp)) ||
	    p[4] != 0x06 || p[5] != SEALED || get32(p + 6) != session)
		return -EBADMSG;
	n = p[14] | (size_t)p[15] << 8;
	body = len - k->icv;
	if (n < 2 * BLOCK || n % BLOCK || HEAD + n + 2 > body ||
	    !rmcp_hmac(k->sha256, k->k1, k->hash, p + 4, body - 4, mac) ||
	    CRYPTO_memcmp(mac, p + body, k->icv))
		return -EBADMSG;
	n -= BLOCK;
	if (!aes(false, k->k2, p + HEAD, p + HEAD + BLOCK, text, n) || text[n - 1] >= BLOCK ||
	    (size_t)text[n - 1] + 1 > n)
		return -EBADMSG;
	n -= text[n - 1] + 1u;
	if (n > IPMI_DATA)
		return -EBADMSG;
	memcpy(msg, text, n);
	return (int)n;
}

int rmcp_payload(const uint8_t *p, size_t len, uint8_t type, const uint8_t **out)
{
	size_t n;

	if (len < HEAD || memcmp(p, rmcp, sizeof(rmcp)) || p[4] != 0x06 || p[5] != type)
		return -EBADMSG;
	n = p[14] | (size_t)p[15] << 8;
	if (n > len - HEAD)
		return -EBADMSG;
	*out = p + HEAD;
	return (int)n;
}
