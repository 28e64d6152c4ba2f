/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply.c - sends an answer: headers, compression, and no body if the client has the same one
 * already.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "base/vec.h"
#include "serve/http/http_priv.h"

#define COMPRESS_MIN 1400u /* about one packet */

/* The page loads and runs only what this server sends, and cannot be framed. */
#define CSP                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " \
	"font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "         \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

void http_heads(struct MHD_Response *r)
{
	static const char *const head[][2] = {
		{ "Content-Security-Policy", CSP },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Permissions-Policy", "camera=(), geolocation=(), microphone=()" },
	};

	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		MHD_add_response_header(r, head[i][0], head[i][1]);
}

/* Whether a list like "gzip;q=0.5, zstd" contains the word, and not with q=0. */
static bool accepts(const char *list, const char *word)
{
	size_t n = strlen(word);

	while (list && *list) {
		const char *end = list + strcspn(list, ",");
		const char *q = memmem(list, (size_t)(end - list), "q=0", 3);
		bool never = q && strspn(q + 3, ".0") == (size_t)(end - q - 3);

		if (!strncasecmp(list, word, n) && strchr(";, \t", list[n]))
			return !never;
		list = *end ? end + 1 + strspn(end + 1, " \t") : end;
	}
	return false;
}

static bool put(struct answer *a, char *to, size_t n)
{
	if (n >= a->len) {
		free(to);
		return false;
	}
	free(a->body);
	a->body = to;
	a->len = n;
	return true;
}

static bool gzip(struct answer *a)
{
	z_stream z = { .zalloc = NULL };
	size_t room;
	char *to;
	int rc;

	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	room = deflateBound(&z, a->len);
	to = malloc(room);
	z.next_in = (Bytef *)a->body;
	z.avail_in = (uInt)a->len;
	z.next_out = (Bytef *)to;
	z.avail_out = (uInt)room;
	rc = to ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	deflateEnd(&z);
	if (rc == Z_STREAM_END)
		return put(a, to, z.total_out);
	free(to);
	return false;
}

static bool zstd(struct answer *a)
{
	size_t room = ZSTD_compressBound(a->len), n;
	char *to = malloc(room);

	n = to ? ZSTD_compress(to, room, a->body, a->len, 1) : 0;
	if (to && !ZSTD_isError(n))
		return put(a, to, n);
	free(to);
	return false;
}

/* Embedded files are stored compressed. Decompresses one for a client that does not accept gzip. */
static bool gunzip(struct answer *a)
{
	z_stream z = { .zalloc = NULL };
	size_t room = 0, cap = 0;
	char *to = NULL;
	int rc;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return false;
	z.next_in = (Bytef *)a->body;
	z.avail_in = (uInt)a->len;
	do {
		if (vec_room(&to, &cap, room + 65536, 1) < 0) {
			rc = Z_MEM_ERROR;
			break;
		}
		z.next_out = (Bytef *)to + room;
		z.avail_out = 65536;
		rc = inflate(&z, Z_NO_FLUSH);
		room += 65536 - z.avail_out;
	} while (rc == Z_OK);
	inflateEnd(&z);
	if (rc != Z_STREAM_END) {
		free(to);
		return false;
	}
	free(a->body);
	a->body = to;
	a->len = room;
	a->gzipped = false;
	return true;
}

/* Compresses the body; the coding that was used, or NULL. */
static const char *compress_body(struct MHD_Connection *c, struct answer *a)
{
	const char *list = httpd_header(c, "Accept-Encoding");

	if (a->gzipped && accepts(list, "gzip"))
		return "gzip";
	if (a->gzipped && !gunzip(a))
		return NULL;
	if (!a->body || a->plain || a->len < COMPRESS_MIN || a->len > UINT32_MAX / 2)
		return NULL;
	if (accepts(list, "zstd") && zstd(a))
		return "zstd";
	if (accepts(list, "gzip") && gzip(a))
		return "gzip";
	return NULL;
}

static struct MHD_Response *response(struct answer *a, bool fresh)
{
	struct MHD_Response *r;
	struct stat sb;

	if (!fresh)
		return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
						       MHD_RESPMEM_PERSISTENT);
	if (a->fd >= 0) {
		if (fstat(a->fd, &sb) < 0)
			return NULL;
		r = MHD_create_response_from_fd64((uint64_t)sb.st_size, a->fd);
		if (r)
			a->fd = -1; /* MHD closes it */
		return r;
	}
	r = MHD_create_response_from_buffer(a->len, a->body, MHD_RESPMEM_MUST_FREE);
	if (r)
		a->body = NULL; /* MHD frees it */
	return r;
}

static void add_heads(struct MHD_Response *r, const struct answer *a, const char *coding,
		      const char *etag)
{
	char text[128];

	http_heads(r);
	if (a->type)
		MHD_add_response_header(r, "Content-Type", a->type);
	MHD_add_response_header(r, "Vary", "Accept-Encoding");
	MHD_add_response_header(r, "Cache-Control",
				a->immutable ? "private, max-age=31536000, immutable"
				: *etag      ? "private, no-cache"
					     : "no-store");
	if (*etag)
		MHD_add_response_header(r, "ETag", etag);
	if (coding)
		MHD_add_response_header(r, "Content-Encoding", coding);
	if (*a->file) {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", a->file);
		MHD_add_response_header(r, "Content-Disposition", text);
	}
	if (a->next) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)a->next);
		MHD_add_response_header(r, "Aon-Next", text);
	}
	if (a->status == 405)
		MHD_add_response_header(r, "Allow",
					a->takes_post ? "GET, HEAD, POST" : "GET, HEAD");
	if (a->status == 401)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"aon\"");
	if (a->retry_s) {
		snprintf(text, sizeof(text), "%u", a->retry_s);
		MHD_add_response_header(r, "Retry-After", text);
	}
}

enum MHD_Result http_reply(struct MHD_Connection *c, struct answer *a)
{
	const char *match = httpd_header(c, "If-None-Match"), *coding;
	char etag[24] = "";
	struct MHD_Response *r;
	enum MHD_Result rc;
	bool fresh = true;

	if (a->status == 200 && a->body)
		snprintf(etag, sizeof(etag), "\"%016llx\"",
			 (unsigned long long)XXH3_64bits(a->body, a->len));
	if (*etag && match && (strstr(match, etag) || !strcmp(match, "*")))
		fresh = false;
	coding = fresh ? compress_body(c, a) : NULL;
	if (coding) { /* the tag identifies the bytes, so each coding has its own */
		memmove(etag + 3, etag + 1, strlen(etag));
		memcpy(etag, "W/\"", 3);
	}
	r = response(a, fresh);
	if (!r) {
		answer_fini(a);
		return MHD_NO;
	}
	add_heads(r, a, coding, etag);
	rc = MHD_queue_response(c, fresh ? (unsigned)a->status : MHD_HTTP_NOT_MODIFIED, r);
	MHD_destroy_response(r);
	answer_fini(a);
	return rc;
}
