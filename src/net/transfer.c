/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - see transfer.h. */
#include "net/transfer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static void init(void)
{
	ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

bool transfer_add(struct transfer_body *b, const char *bytes, size_t n)
{
	if (n > b->max - b->len) {
		b->too_long = true;
		return false;
	}
	if (vec_room(&b->data, &b->cap, b->len + n + b->pad + 1, 1) < 0)
		return false;
	memcpy(b->data + b->len, bytes, n);
	b->len += n;
	return true;
}

CURL *transfer_new(const char *protocols, uint32_t connect_ms, char words[CURL_ERROR_SIZE])
{
	CURL *c;

	pthread_once(&once, init);
	c = ready ? curl_easy_init() : NULL;
	if (!c)
		return NULL;
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, protocols);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, words);
	return c;
}

/* clang-format off */
static const struct {
	CURLcode rc;
	int err;
} errors[] = {
	{ CURLE_OK,                       0 },
	{ CURLE_COULDNT_CONNECT,          ECONNREFUSED },
	{ CURLE_COULDNT_RESOLVE_HOST,     EHOSTUNREACH },
	{ CURLE_OPERATION_TIMEDOUT,       ETIMEDOUT },
	{ CURLE_PEER_FAILED_VERIFICATION, EKEYREJECTED },
	{ CURLE_SSL_PINNEDPUBKEYNOTMATCH, EKEYREJECTED },
	{ CURLE_SSL_CERTPROBLEM,          EKEYREJECTED },
	{ CURLE_SSL_CACERT_BADFILE,       EKEYREJECTED },
	{ CURLE_SSL_CONNECT_ERROR,        EKEYREJECTED },
	{ CURLE_SEND_ERROR,               ECONNRESET },
	{ CURLE_RECV_ERROR,               ECONNRESET },
	{ CURLE_GOT_NOTHING,              ECONNRESET },
	{ CURLE_PARTIAL_FILE,             ECONNRESET },
	{ CURLE_FILESIZE_EXCEEDED,        EFBIG },
	{ CURLE_ABORTED_BY_CALLBACK,      ECANCELED },
	{ CURLE_OUT_OF_MEMORY,            ENOMEM },
	{ CURLE_WRITE_ERROR,              ENOMEM }, /* what had no other reason */
};
/* clang-format on */

int transfer_error(CURLcode rc)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].rc == rc)
			return -errors[i].err;
	return -EPROTO;
}
