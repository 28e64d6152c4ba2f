/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c - the collectors' HTTP requests, over libcurl. */
#include "net/fetch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/transfer.h"

struct fetch {
	CURL *curl;            /* owned */
	char *base, *ca, *pin; /* owned */
	struct transfer_body body;
	uint32_t timeout_ms;
	struct fetch_answer *into; /* of the request under way */
	fetch_bytes_fn *fn;
	void *arg;
	const _Atomic bool *stop;
	int told; /* what fn returned */
	char why[CURL_ERROR_SIZE];
};

/* Keeps the value of a header if it is `name`; one that is too long is none. */
static void keep(char out[FETCH_HEADER], const char *name, const char *line, size_t n)
{
	size_t len = strlen(name);

	if (n <= len || strncasecmp(line, name, len) || line[len] != ':')
		return;
	for (line += len + 1, n -= len + 1; n && (*line == ' ' || *line == '\t'); line++)
		n--;
	while (n && (unsigned char)line[n - 1] <= ' ')
		n--;
	if (n >= FETCH_HEADER)
		return;
	memcpy(out, line, n);
	out[n] = '\0';
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
	struct fetch *f = arg;

	if (f->into) {
		keep(f->into->etag, "ETag", line, n * one);
		keep(f->into->token, "X-Auth-Token", line, n * one);
		keep(f->into->location, "Location", line, n * one);
	}
	return n * one;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *arg)
{
	struct fetch *f = arg;

	n *= one;
	if (!f->fn)
		return transfer_add(&f->body, bytes, n) ? n : 0;
	f->told = f->fn(f->arg, bytes, n);
	return f->told ? 0 : n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct fetch *f = arg;

	(void)a, (void)b, (void)c, (void)d;
	return f->stop && atomic_load_explicit(f->stop, memory_order_relaxed);
}

/* What stays the same from request to request. */
static void set_up(struct fetch *f, const struct fetch_opts *o)
{
	CURL *c = f->curl;
	bool check = !o->insecure && !o->pin;

	curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, check ? 1L : 0L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, check ? 2L : 0L);
	curl_easy_setopt(c, CURLOPT_MAXCONNECTS, 1L);
	curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 65536L);
	curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, f);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, f);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, o->stop ? 0L : 1L);
	if (f->ca)
		curl_easy_setopt(c, CURLOPT_CAINFO, f->ca);
	if (f->pin)
		curl_easy_setopt(c, CURLOPT_PINNEDPUBLICKEY, f->pin);
}

int fetch_new(struct fetch **out, const struct fetch_opts *o)
{
	struct fetch *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->body = (struct transfer_body){ .max = o->body_max, .pad = FETCH_PAD };
	f->timeout_ms = o->timeout_ms;
	f->stop = o->stop;
	f->curl = transfer_new("http,https", o->connect_ms, f->why);
	f->base = strdup(o->base);
	f->ca = o->ca_file ? strdup(o->ca_file) : NULL;
	f->pin = o->pin ? strdup(o->pin) : NULL;
	if (!f->curl || !f->base || !transfer_add(&f->body, "", 0) || !f->ca != !o->ca_file ||
	    !f->pin != !o->pin) {
		fetch_free(f);
		return -ENOMEM;
	}
	set_up(f, o);
	*out = f;
	return 0;
}

void fetch_free(struct fetch *f)
{
	if (!f)
		return;
	if (f->curl)
		curl_easy_cleanup(f->curl);
	free(f->base);
	free(f->ca);
	free(f->pin);
	free(f->body.data);
	free(f);
}

static int error_of(const struct fetch *f, CURLcode rc)
{
	if (rc == CURLE_WRITE_ERROR && f->body.too_long)
		return -EFBIG;
	if (rc == CURLE_WRITE_ERROR && f->told)
		return f->told;
	return transfer_error(rc);
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
	char line[FETCH_HEADER + 64];
	struct curl_slist *more;

	if (!value || !*value || strpbrk(value, "\r\n") ||
	    snprintf(line, sizeof(line), "%s: %s", name, value) >= (int)sizeof(line))
		return false;
	more = curl_slist_append(*list, line);
	explicit_bzero(line, sizeof(line));
	if (more)
		*list = more;
	return more != NULL;
}

static int perform(struct fetch *f, const struct fetch_ask *ask, const char *accept)
{
	struct curl_slist *list = NULL;
	char url[4096];
	CURLcode rc;

	if (snprintf(url, sizeof(url), "%s%s", f->base, ask->path) >= (int)sizeof(url))
		return -ENAMETOOLONG;
	f->why[0] = '\0';
	f->body.len = 0;
	f->body.too_long = false;
	f->told = 0;
	add_header(&list, "Accept", accept);
	add_header(&list, "OData-Version", "4.0");
	add_header(&list, "X-Auth-Token", ask->token);
	add_header(&list, "If-None-Match", ask->etag);
	if (ask->body)
		add_header(&list, "Content-Type", "application/json");
	curl_easy_setopt(f->curl, CURLOPT_URL, url);
	curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(f->curl, CURLOPT_USERNAME, ask->user);
	curl_easy_setopt(f->curl, CURLOPT_PASSWORD, ask->password);
	if (ask->body)
		curl_easy_setopt(f->curl, CURLOPT_COPYPOSTFIELDS, ask->body);
	else
		curl_easy_setopt(f->curl, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(f->curl, CURLOPT_CUSTOMREQUEST, ask->method);
	rc = curl_easy_perform(f->curl);
	curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(list);
	if (rc != CURLE_OK && !*f->why)
		snprintf(f->why, sizeof(f->why), "%s", curl_easy_strerror(rc));
	if (f->body.too_long)
		snprintf(f->why, sizeof(f->why), "the answer is larger than %zu MiB",
			 f->body.max >> 20);
	return error_of(f, rc);
}

int fetch_do(struct fetch *f, const struct fetch_ask *ask, struct fetch_answer *out)
{
	int err;

	*out = (struct fetch_answer){ 0 };
	f->into = out;
	f->fn = NULL;
	curl_easy_setopt(f->curl, CURLOPT_TIMEOUT_MS, (long)f->timeout_ms);
	curl_easy_setopt(f->curl, CURLOPT_LOW_SPEED_TIME, 0L);
	err = perform(f, ask, "application/json");
	f->into = NULL;
	if (err)
		return err;
	curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &out->status);
	out->body = f->body.data;
	out->len = f->body.len;
	memset(out->body + out->len, '"', FETCH_PAD);
	return 0;
}

int fetch_stream(struct fetch *f, const struct fetch_ask *ask, uint32_t quiet_s, fetch_bytes_fn *fn,
		 void *arg)
{
	f->fn = fn;
	f->arg = arg;
	curl_easy_setopt(f->curl, CURLOPT_TIMEOUT_MS, 0L);
	curl_easy_setopt(f->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(f->curl, CURLOPT_LOW_SPEED_TIME, (long)quiet_s);
	curl_easy_setopt(f->curl, CURLOPT_FAILONERROR, 1L);
	return perform(f, ask, "text/event-stream");
}

void fetch_urgent(struct fetch *f, uint32_t timeout_ms)
{
	f->stop = NULL;
	f->timeout_ms = timeout_ms;
}

const char *fetch_why(const struct fetch *f)
{
	return f->why;
}
