/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - one request and its answer, over libcurl. */
#include "net/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "net/secret.h"
#include "net/transfer.h"

#define CONNECT_MS 5000u
#define TIMEOUT_MS 30000u
#define ANSWER_MAX (1u << 20)

struct http {
	CURL *curl; /* owned */
	bool tls;
	uint32_t timeout_ms;
	struct transfer_body body;
	char code[16];
	uint64_t sent, got; /* of this question */
	char error[CURL_ERROR_SIZE];
};

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct http *h = arg;

	return transfer_add(&h->body, data, n * size) ? n * size : 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	static const char name[] = "X-ClickHouse-Exception-Code:";
	struct http *h = arg;
	size_t at = sizeof(name) - 1, i = 0;

	n *= size;
	if (n <= at || strncasecmp(data, name, at))
		return n;
	while (at < n && data[at] == ' ')
		at++;
	for (; at < n && data[at] >= '0' && data[at] <= '9' && i + 1 < sizeof(h->code); at++)
		h->code[i++] = data[at];
	h->code[i] = '\0';
	return n;
}

/* What libcurl's own sums say of requests depends on whether a body went with its head. */
static int on_wire(CURL *curl, curl_infotype type, char *data, size_t len, void *arg)
{
	struct http *h = arg;

	(void)curl, (void)data;
	if (type == CURLINFO_HEADER_OUT || type == CURLINFO_DATA_OUT)
		h->sent += len;
	else if (type == CURLINFO_HEADER_IN || type == CURLINFO_DATA_IN)
		h->got += len;
	return 0;
}

static bool given(const char *s)
{
	return s && *s;
}

static int need_file(const char *path, struct net_why *why)
{
	if (!given(path) || access(path, R_OK) == 0)
		return 0;
	return why_say(why, -errno, "%s: %s", path, strerror(errno));
}

static int set_login(struct http *h, const struct http_opts *o, struct net_why *why)
{
	struct credentials c = { 0 };
	int err = 0;

	if (given(o->files.credentials))
		err = secret_load(&c, o->files.credentials, why);
	if (err)
		return err;
	if (!*c.user && given(o->user))
		snprintf(c.user, sizeof(c.user), "%s", o->user);
	if (*c.user || *c.password) {
		curl_easy_setopt(h->curl, CURLOPT_USERNAME, *c.user ? c.user : "default");
		curl_easy_setopt(h->curl, CURLOPT_PASSWORD, c.password);
	}
	secret_forget(&c);
	return 0;
}

static int set_tls(struct http *h, const struct http_opts *o, struct net_why *why)
{
	const struct http_files *f = &o->files;
	int err;

	if (given(f->cert) != given(f->key))
		return why_say(why, -EINVAL, "expected both a certificate and its key, or neither");
	err = need_file(f->ca, why);
	err = err ? err : need_file(f->cert, why);
	if (!err && given(f->key))
		err = secret_check(f->key, why);
	if (err)
		return err;
	if (given(f->ca))
		curl_easy_setopt(h->curl, CURLOPT_CAINFO, f->ca);
	if (given(f->cert)) {
		curl_easy_setopt(h->curl, CURLOPT_SSLCERT, f->cert);
		curl_easy_setopt(h->curl, CURLOPT_SSLKEY, f->key);
	}
	if (given(f->pin) && curl_easy_setopt(h->curl, CURLOPT_PINNEDPUBLICKEY, f->pin) != CURLE_OK)
		return why_say(why, -EINVAL, "expected a pinned key as sha256//BASE64");
	return 0;
}

static void set_limits(struct http *h, const struct http_opts *o)
{
	CURL *c = h->curl;

	curl_easy_setopt(c, CURLOPT_USERAGENT, "aon/" AON_VERSION);
	if (o->bytes_s)
		curl_easy_setopt(c, CURLOPT_MAX_SEND_SPEED_LARGE, (curl_off_t)o->bytes_s);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, h);
	curl_easy_setopt(c, CURLOPT_DEBUGFUNCTION, on_wire);
	curl_easy_setopt(c, CURLOPT_DEBUGDATA, h);
	curl_easy_setopt(c, CURLOPT_VERBOSE, 1L);
}

int http_new(struct http **out, const struct http_opts *o, struct net_why *why)
{
	struct http *h = calloc(1, sizeof(*h));
	int err;

	if (!h || !(h->curl = transfer_new(o->tls ? "https" : "http",
					   o->connect_ms ? o->connect_ms : CONNECT_MS, h->error))) {
		free(h);
		return why_say(why, -ENOMEM, "libcurl does not start");
	}
	h->tls = o->tls;
	h->timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_MS;
	h->body = (struct transfer_body){ .max = o->answer_max ? o->answer_max : ANSWER_MAX,
					  .pad = 1 };
	set_limits(h, o);
	err = set_login(h, o, why);
	err = err ? err : set_tls(h, o, why);
	if (err) {
		http_free(h);
		return err;
	}
	*out = h;
	return 0;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	free(h->body.data);
	free(h);
}

static void fill_answer(struct http *h, struct http_answer *a)
{
	long status = 0;

	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(h->curl, CURLINFO_TOTAL_TIME, &a->seconds);
	a->status = (int)status;
	if (h->body.data)
		h->body.data[h->body.len] = '\0';
	a->data = h->body.data ? h->body.data : "";
	a->len = h->body.len;
	a->sent = h->sent;
	a->got = h->got;
	memcpy(a->code, h->code, sizeof(a->code));
	/* Releases before 20.1 say it in their words alone. */
	if (!*a->code && a->status != 200 && !strncmp(a->data, "Code: ", 6))
		snprintf(a->code, sizeof(a->code), "%.*s", (int)strspn(a->data + 6, "0123456789"),
			 a->data + 6);
}

static int failed(const struct http *h, CURLcode rc, const char *host, struct net_why *why)
{
	const char *words = *h->error ? h->error : curl_easy_strerror(rc);

	if (h->body.too_long)
		return why_say(why, -EMSGSIZE, "%s: it answers with more than %zu bytes", host,
			       h->body.max);
	return why_say(why, transfer_error(rc), "%s: %s", host, words);
}

int http_do(struct http *h, const struct http_ask *q, struct http_answer *a, struct net_why *why)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
	char host[CLUSTER_HOST], *url;
	CURLcode rc;
	int err = 0;

	cluster_host(host, q->server);
	if (asprintf(&url, "%s://%s%s", h->tls ? "https" : "http", host, q->target) < 0) {
		curl_slist_free_all(headers);
		return why_say(why, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < HTTP_HEADERS && q->header[i]; i++)
		headers = curl_slist_append(headers, q->header[i]);
	h->body.len = 0;
	h->body.too_long = false;
	h->sent = h->got = 0;
	h->code[0] = h->error[0] = '\0';
	curl_easy_setopt(h->curl, CURLOPT_URL, url);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS,
			 (long)(q->timeout_ms ? q->timeout_ms : h->timeout_ms));
	if (q->body) {
		curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, q->body);
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
	} else {
		curl_easy_setopt(h->curl, CURLOPT_HTTPGET, 1L);
	}
	rc = curl_easy_perform(h->curl);
	memset(a, 0, sizeof(*a));
	fill_answer(h, a);
	if (rc != CURLE_OK)
		err = failed(h, rc, host, why);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	free(url);
	return err;
}

size_t http_escape(char *out, size_t cap, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			     (*c >= '0' && *c <= '9') || strchr("-_.~(),", *c);
		char part[3] = { plain ? (char)*c : '%', hex[*c >> 4], hex[*c & 15] };
		size_t len = plain ? 1 : 3;

		if (n + len < cap)
			memcpy(out + n, part, len);
		n += len;
	}
	if (cap)
		out[n < cap ? n : 0] = '\0';
	return n;
}
