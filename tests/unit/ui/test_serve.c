/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "serve/http/auth.h"
#include "serve/kernel_rows.h"
#include "serve/http/url.h"
#include "t.h"

static int parse(struct url *u, char *room, const char *text)
{
	strcpy(room, text);
	return url_parse(u, room);
}

static void good_targets(void)
{
	static const struct {
		const char *text, *path, *key, *value;
	} c[] = {
		{ "/", "/", NULL, NULL },
		{ "/a/b?x=1", "/a/b", "x", "1" },
		{ "/a%20b?x=%3Cb%3E", "/a b", "x", "<b>" },
		{ "/a?x=1+2", "/a", "x", "1 2" },
		{ "/a+b?x", "/a+b", "x", "" },
		{ "/a?&&x=a%3Db&", "/a", "x", "a=b" },
		{ "/%E2%82%AC?%E2%82%AC=1", "/\xe2\x82\xac", "\xe2\x82\xac", "1" },
	};
	char room[URL_BYTES];
	struct url u;

	for (size_t i = 0; i < T_LEN(c); i++) {
		bool good = parse(&u, room, c[i].text) == 0 && !strcmp(u.path, c[i].path);

		if (good && c[i].key)
			good = url_get(&u, c[i].key) && !strcmp(url_get(&u, c[i].key), c[i].value);
		T_OK(good, "%s is a path and a query", c[i].text);
	}
}

static void bad_targets(void)
{
	static const char *const c[] = {
		"",
		"a",
		"*",
		"http://evil/",
		"/..",
		"/a/../b",
		"/a/%2e%2e/b",
		"/a%2fb",
		"/a%5cb",
		"/./a",
		"/%",
		"/%1",
		"/%zz",
		"/%00",
		"/a?x=%00",
		"/a?x=%",
		"/a?x=%ff",
		"/a?x=%0a",
		"/a?x=\x1b",
		"/%c0%ae",
		"/a?x=1&x=2",
		"/a?x=%ed%a0%80",
		"/a?x=%c2%80",
		"/a?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q&r&s&t&u&v&w&x&y&z&1&2&3&4&5&6&7&8",
	};
	char room[URL_BYTES];
	struct url u;

	for (size_t i = 0; i < T_LEN(c); i++)
		T_OK(parse(&u, room, c[i]) == -EINVAL && *u.why, "'%zu' is refused: %s", i, u.why);
}

static void lists(void)
{
	T_OK(!url_list("0,2,4-7") && url_listed("0,2,4-7", 5) && !url_listed("0,2,4-7", 3) &&
		     !url_listed("0,2,4-7", -1) && url_listed(NULL, -1),
	     "a list of ranks");
	T_OK(url_list("") && url_list("1,") && url_list(",1") && url_list("7-4") && url_list("a") &&
		     url_list("1-") && url_list("1234567890"),
	     "what is no list of ranks is refused");
}

static void sites(void)
{
	static const struct {
		const char *host, *origin, *site, *mode;
		int status;
	} c[] = {
		{ "127.0.0.1:80", NULL, NULL, NULL, 0 },
		{ "localhost:8080", "http://localhost:8080", "same-origin", "cors", 0 },
		{ "LOCALHOST", NULL, "none", "navigate", 0 },
		{ "[::1]:1", NULL, NULL, NULL, 0 },
		{ "node7:99", NULL, NULL, NULL, 0 },
		{ NULL, NULL, NULL, NULL, 400 },
		{ "", NULL, NULL, NULL, 400 },
		{ "evil.example", NULL, NULL, NULL, 403 },
		{ "localhost.evil.example", NULL, NULL, NULL, 403 },
		{ "127.0.0.1.evil.example:80", NULL, NULL, NULL, 403 },
		{ "127.0.0.1:80@evil", NULL, NULL, NULL, 403 },
		{ "127.0.0.1:", NULL, NULL, NULL, 403 },
		{ "localhost:8080", "http://evil.example", NULL, NULL, 403 },
		{ "localhost:8080", "http://localhost:8081", NULL, NULL, 403 },
		{ "localhost:8080", "https://localhost:8080", NULL, NULL, 403 },
		{ "localhost:8080", "null", NULL, NULL, 403 },
		{ "localhost:8080", NULL, "cross-site", "no-cors", 403 },
		{ "localhost:8080", NULL, "same-site", "cors", 403 },
		{ "localhost:8080", NULL, "cross-site", "navigate", 0 },
	};
	struct auth g = { .host = "node7" };
	const char *why;

	for (size_t i = 0; i < T_LEN(c); i++) {
		struct auth_heads h = { .host = c[i].host,
					.origin = c[i].origin,
					.fetch_site = c[i].site,
					.fetch_mode = c[i].mode };

		T_OK(auth_site(&g, &h, &why) == c[i].status, "host %s, origin %s: %d",
		     c[i].host ? c[i].host : "none", c[i].origin ? c[i].origin : "none",
		     c[i].status);
	}
}

static void tokens(void)
{
	struct auth g = { .token = "0123456789abcdef", .cookie = "aon_80" };
	char fresh[TOKEN_BYTES];

	T_OK(auth_token(&g, &(struct auth_heads){ .authorization = "Bearer 0123456789abcdef" }) &&
		     auth_token(&g,
				&(struct auth_heads){ .cookie = "a=1; aon_80=0123456789abcdef" }),
	     "the token is taken from a head or a cookie");
	T_OK(!auth_token(&g, &(struct auth_heads){ .authorization = "Bearer 0123456789abcde" }) &&
		     !auth_token(&g, &(struct auth_heads){ .authorization = "Bearer " }) &&
		     !auth_token(&g, &(struct auth_heads){ .authorization = "0123456789abcdef" }) &&
		     !auth_token(&g, &(struct auth_heads){ .cookie = "aon_81=0123456789abcdef" }) &&
		     !auth_token(&g, &(struct auth_heads){ .cookie = "aon_80=0123456789abcdeX" }) &&
		     !auth_token(&g,
				 &(struct auth_heads){ .cookie = "xaon_80=0123456789abcdef" }) &&
		     !auth_token(&g, &(struct auth_heads){ .host = NULL }),
	     "what is not the token is not taken for it");
	T_OK(auth_new_token(fresh) == 0 && auth_good_token(fresh) && strlen(fresh) == 48,
	     "a new token is a good one");
	T_OK(!auth_good_token("short") && !auth_good_token("with a blank 123456"),
	     "short ones and others are not");
}

static void shorts(void)
{
	static const struct {
		const char *name, *is;
	} c[] = {
		{ "void at::native::f<4, g<float> >(int, h)", "at::native::f" },
		{ "Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)" },
		{ "void (anonymous namespace)::k<int>(int*)", "k" },
		{ "gemm", "gemm" },
		{ "", "" },
		{ "(launch not seen)", "(launch not seen)" },
	};
	char out[128];

	for (size_t i = 0; i < T_LEN(c); i++)
		T_OK(!strcmp(krow_short(out, sizeof(out), c[i].name), c[i].is),
		     "%s is %s for short", c[i].name, out);
}

static bool trend_is(const struct krow *r, size_t part, uint64_t ns)
{
	for (size_t i = 0; i < ROW_PARTS; i++)
		if (r->trend[i] != (i == part ? ns : 0))
			return false;
	return true;
}

static uint64_t trend_sum(const struct krow *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ROW_PARTS; i++)
		sum += r->trend[i];
	return sum;
}

static void trends(void)
{
	struct krows rs = { .from_ns = 1000, .to_ns = 2600 };
	struct krow r[6] = { { .ns = 0 } };
	bool even = true;

	krow_trend(&rs, &r[0], 1250, 1260, 10);
	T_OK(trend_is(&r[0], 2, 10), "time is in the part that it was spent in");
	krow_trend(&rs, &r[1], 1000, 2600, 1600);
	for (size_t i = 0; i < ROW_PARTS; i++)
		even = even && r[1].trend[i] == 100;
	T_OK(even, "or in all of them");
	krow_trend(&rs, &r[2], 1050, 1350, 7);
	T_OK(trend_sum(&r[2]) == 7 && r[2].trend[1] >= r[2].trend[0], "none is lost by rounding");
	krow_trend(&rs, &r[3], 0, 10, 5);
	krow_trend(&rs, &r[4], 9000, UINT64_MAX, 6);
	T_OK(trend_is(&r[3], 0, 5) && trend_is(&r[4], ROW_PARTS - 1, 6),
	     "what is outside of the range is at its ends");
	rs = (struct krows){ .from_ns = 0, .to_ns = UINT64_MAX };
	krow_trend(&rs, &r[5], 0, UINT64_MAX, UINT64_MAX);
	T_OK(trend_sum(&r[5]) == UINT64_MAX, "a range may be as long as it is");
}

int main(void)
{
	trends();
	good_targets();
	bad_targets();
	lists();
	sites();
	tokens();
	shorts();
	return t_done();
}
