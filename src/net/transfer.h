/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.h - shared by fetch.c and http.c: a strict curl handle, errors, an answer's bytes. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of an answer, at most `max`, with room for `pad` more behind them. */
struct transfer_body {
	char *data; /* owned */
	size_t len, cap, max, pad;
	bool too_long; /* there was more */
};

/* Whether they are there now. */
bool transfer_add(struct transfer_body *b, const char *bytes, size_t n);

/*
 * A handle without proxy, redirects, .netrc, signals and old TLS, for these protocols; ended by curl_easy_cleanup().
 * `words` gets what libcurl says of a failure. NULL: libcurl does not start.
 */
CURL *transfer_new(const char *protocols, uint32_t connect_ms, char words[CURL_ERROR_SIZE]);

/* 0 or -errno, as http.h and fetch.h list them. */
int transfer_error(CURLcode rc);
