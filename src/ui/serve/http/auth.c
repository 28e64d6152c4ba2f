/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c - see auth.h. Every byte is untrusted. */
#include "serve/http/auth.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define TOKEN_MIN 16u

/* "localhost:8080" matches `name` with any port: the port may have been forwarded. */
static bool is_name(const char *host, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(host, name, n) != 0)
		return false;
	host += n;
	if (*host == ':') {
		size_t digits = strspn(host + 1, "0123456789");

		return digits && digits <= 5 && !host[1 + digits];
	}
	return !*host;
}

static bool host_ours(const struct auth *g, const char *host)
{
	static const char *const loopback[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
		if (is_name(host, loopback[i]))
			return true;
	return *g->host && is_name(host, g->host);
}

int auth_site(const struct auth *g, const struct auth_heads *h, const char **why)
{
	bool navigation = h->fetch_mode && !strcmp(h->fetch_mode, "navigate");

	*why = "";
	if (g->any_host)
		return 0;
	if (!h->host || !*h->host) {
		*why = "The request names no host.";
		return 400;
	}
	if (!host_ours(g, h->host)) {
		*why = "This is not that host. Open the address that aon serve printed.";
		return 403;
	}
	if (h->origin && (strncasecmp(h->origin, "http://", 7) != 0 ||
			  strcasecmp(h->origin + 7, h->host) != 0)) {
		*why = "The request comes from another site. Only aon's own page may ask.";
		return 403;
	}
	if (h->fetch_site && strcmp(h->fetch_site, "same-origin") != 0 &&
	    strcmp(h->fetch_site, "none") != 0 && !navigation) {
		*why = "The request comes from another site. Only aon's own page may ask.";
		return 403;
	}
	return 0;
}

int auth_change(const struct auth *g, const struct auth_heads *h, const char **why)
{
	bool same = h->fetch_site && !strcmp(h->fetch_site, "same-origin");

	if (g->any_host || h->authorization || h->origin || same)
		return 0;
	*why = "A change needs aon's own page, or the token as a header.";
	return 403;
}

bool auth_same(const char *a, const char *b)
{
	size_t n = strlen(b);
	uint8_t differ = strlen(a) != n;

	for (size_t i = 0; i < n; i++)
		differ |= (uint8_t)(a[differ ? 0 : i] ^ b[i]);
	return !differ;
}

/* Whether the cookies, "a=1; b=2", have ours with the right value. */
static bool cookie_is(const char *cookies, const char *name, const char *token)
{
	char value[TOKEN_BYTES];
	size_t n = strlen(name);

	while (*cookies) {
		size_t len = strcspn(cookies, ";");

		if (len > n + 1 && len - n - 1 < sizeof(value) && !strncmp(cookies, name, n) &&
		    cookies[n] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)(len - n - 1), cookies + n + 1);
			if (auth_same(value, token))
				return true;
		}
		cookies += len;
		cookies += strspn(cookies, "; \t");
	}
	return false;
}

bool auth_token(const struct auth *g, const struct auth_heads *h)
{
	if (h->authorization && !strncasecmp(h->authorization, "Bearer ", 7))
		return auth_same(h->authorization + 7, g->token);
	return h->cookie && cookie_is(h->cookie, g->cookie, g->token);
}

bool auth_good_token(const char *token)
{
	size_t n = strlen(token);

	if (n < TOKEN_MIN || n >= TOKEN_BYTES)
		return false;
	for (; *token; token++)
		if (!isalnum((unsigned char)*token) && *token != '-' && *token != '_')
			return false;
	return true;
}

int auth_new_token(char token[TOKEN_BYTES])
{
	uint8_t random[24];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	return 0;
}
