/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_html.c - aon report --html: the page of aon serve in one file, with its answers inside.
 *
 * The answers are those of the API, by address, as one compressed JSON object, which web/src/api.ts
 * reads. Tiles are as fine as TILES_MAX allows. The file makes no network requests, and says so.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/json.h"
#include "cli/report/report_html.h"
#include "cli/core/serve_inputs.h"
#include "serve/http/page.h"
#include "serve/serve.h"
#include "tile/cell.h"

#define RUNS_MAX  8u
#define GZIP      31         /* zlib's window bits of the gzip format */
#define TILES_MAX (3u << 20) /* bytes, before they are compressed */
#define LEVEL_MIN 8u
#define LEVEL_MAX 54u
#define AT_ONCE   128u /* tracks in one question */

/* What the page asks of a run, and under which address it looks for the answer. */
static const struct {
	const char *key, *ask;
} part[] = {
	{ "overview", "overview" },
	{ "windows", "windows?n=240" },
	{ "telemetry", "telemetry?n=1000" },
	{ "kernels", "kernels?limit=1000" },
	{ "ops", "ops?limit=1000&group=op" },
	{ "ops?limit=5000&group=op", "ops?limit=1000&group=op" },
	{ "ops?limit=5000&group=module", "ops?limit=1000&group=module" },
	{ "steps", "steps?limit=5000" },
	{ "heat?measure=compute", "heat?measure=compute&h=96" },
	{ "heat?measure=dur", "heat?measure=dur&h=96" },
	{ "heat?measure=comm", "heat?measure=comm&h=96" },
	{ "heat?measure=idle", "heat?measure=idle&h=96" },
	{ "memory", "memory" },
	{ "findings", "findings" },
	{ "flame", "flame" },
	{ "roofline", "roofline" },
	{ "names", "names" },
};

static const char head[] =
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
	"'unsafe-inline'; style-src 'unsafe-inline'\">\n"
	"<meta name=\"color-scheme\" content=\"dark light\">\n<title>aon</title>\n<style>\n";

/* --- bytes --- */

static int put_base64(FILE *f, const unsigned char *p, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);
		char four[4] = { digit[v >> 18], digit[v >> 12 & 63],
				 i + 1 < n ? digit[v >> 6 & 63] : '=',
				 i + 2 < n ? digit[v & 63] : '=' };

		if (fwrite(four, 1, 4, f) != 4)
			return -EIO;
	}
	return 0;
}

/* All of `in`, unpacked or packed as gzip; owned by the caller. NULL: no memory, or not gzip. */
static unsigned char *unpacked(const unsigned char *in, size_t len, size_t *out)
{
	z_stream z = { .next_in = (unsigned char *)in, .avail_in = (uInt)len };
	size_t cap = 16 * len + 4096;
	unsigned char *p = malloc(cap);

	if (!p || inflateInit2(&z, GZIP) != Z_OK) {
		free(p);
		return NULL;
	}
	z.next_out = p;
	z.avail_out = (uInt)cap;
	if (inflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(p);
		p = NULL;
	}
	*out = z.total_out;
	inflateEnd(&z);
	return p;
}

static unsigned char *packed(const char *in, size_t len, size_t *out)
{
	z_stream z = { .next_in = (unsigned char *)in, .avail_in = (uInt)len };
	unsigned char *p = NULL;
	uLong cap;

	if (deflateInit2(&z, 9, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	cap = deflateBound(&z, len);
	p = malloc(cap);
	z.next_out = p;
	z.avail_out = (uInt)cap;
	if (p && deflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(p);
		p = NULL;
	}
	*out = z.total_out;
	deflateEnd(&z);
	return p;
}

/* --- answers --- */

struct saver {
	struct serve *s;
	struct viewer who;
	struct json j;
};

/* 200: *a is filled, to be ended. Others are none, and are not kept. */
static bool ask(struct saver *v, struct answer *a, const char *target)
{
	serve_ask(v->s, &v->who, target, a);
	if (a->status == 200 && a->body && a->fd < 0 && !a->gzipped)
		return true;
	answer_fini(a);
	return false;
}

/* The address of a part of a run, below that of the API; `run` may be NULL. */
static const char *address(char out[256], const char *api, const char *run, const char *what)
{
	snprintf(out, 256, "%s%s%s%s%s", api, run ? "run/" : "", run ? run : "", run ? "/" : "",
		 what);
	return out;
}

/* Keeps the answer under `key`. */
static void save(struct saver *v, const char *run, const char *key, const char *what)
{
	char target[256];
	struct answer a;

	if (!ask(v, &a, address(target, "/api/v1/", run, what)))
		return;
	json_raw(&v->j, address(target, "", run, key), a.body, a.len);
	answer_fini(&a);
}

/* --- tiles --- */

/* Tracks have the numbers from 1 on; so many are in the answer, which is kept. */
static size_t save_tracks(struct saver *v, const char *run)
{
	static const char mark[] = "\"base_level\"";
	char target[256];
	const char *p;
	struct answer a;
	size_t n = 0;

	if (!ask(v, &a, address(target, "/api/v1/", run, "tracks")))
		return 0;
	json_raw(&v->j, address(target, "", run, "tracks"), a.body, a.len);
	for (p = a.body; (p = memmem(p, a.len - (size_t)(p - a.body), mark, sizeof(mark) - 1)); p++)
		n++;
	answer_fini(&a);
	return n;
}

/* Is there a tile that a finer one would say more of? */
static bool has_cells(const char *p, size_t len)
{
	uint32_t n;

	for (size_t at = 0; at + 12 <= len; at += n) {
		memcpy(&n, p + at, sizeof(n));
		n = le32toh(n);
		if (p[at + 9] > 1)
			return true;
		if (n < 12)
			break;
	}
	return false;
}

/* The tiles of some tracks at one level, to `to`. Whether a finer level would say more. */
static bool put_tiles(struct saver *v, FILE *to, const char *run, uint32_t L, uint64_t last,
		      size_t first, size_t n)
{
	char target[128 + 6 * AT_ONCE];
	uint64_t next = 0;
	struct answer a;
	bool more = false;
	int len;

	do {
		len = snprintf(target, 128,
			       "/api/v1/run/%s/tiles?L=%" PRIu32 "&i=0-%" PRIu64 "&from=%" PRIu64
			       "&tracks=%zu",
			       run, L, last, next, first);
		for (size_t i = 1; i < n; i++)
			len += snprintf(target + len, 8, ",%zu", first + i);
		if (!ask(v, &a, target))
			return false;
		next = a.next;
		fwrite(a.body, 1, a.len, to);
		more |= has_cells(a.body, a.len);
		answer_fini(&a);
	} while (next);
	return more;
}

static int save_tiles(struct saver *v, const struct run *r)
{
	size_t tracks = save_tracks(v, r->id), len = 0, text_len = 0;
	uint64_t long_ns = r->t1 > r->t0 ? r->t1 - r->t0 : 1;
	uint32_t L = LEVEL_MIN;
	bool more = tracks > 0;
	char *bytes = NULL, *text = NULL, key[256];
	FILE *to = open_memstream(&bytes, &len);

	if (!to)
		return -ENOMEM;
	while (L < LEVEL_MAX && long_ns >> (L + TILE_SHIFT))
		L += 2;
	for (; more && L >= LEVEL_MIN && len < TILES_MAX && long_ns >> (L + TILE_SHIFT) < 256;
	     L -= 2) {
		more = false;
		for (size_t i = 1; i <= tracks; i += AT_ONCE)
			more |= put_tiles(v, to, r->id, L, long_ns >> (L + TILE_SHIFT), i,
					  tracks + 1 - i < AT_ONCE ? tracks + 1 - i : AT_ONCE);
		fflush(to); /* brings `len` up to date */
	}
	fclose(to);
	to = open_memstream(&text, &text_len);
	if (to) {
		put_base64(to, (unsigned char *)bytes, len);
		fclose(to);
		json_str(&v->j, address(key, "", r->id, "tiles"), text);
	}
	free(text);
	free(bytes);
	return to ? 0 : -ENOMEM;
}

static int save_all(struct saver *v)
{
	struct runs rs;
	int err = runs_load(&rs, v->s, &v->who);

	if (err < 0)
		return err;
	json_open(&v->j, NULL, '{');
	save(v, NULL, "runs", "runs");
	if (rs.n > RUNS_MAX)
		cli_say(CLI_OK, "of %zu runs the last %u are in the page", rs.n, RUNS_MAX);
	for (size_t i = 0; i < rs.n && i < RUNS_MAX && !err; i++) {
		for (size_t k = 0; k < sizeof(part) / sizeof(part[0]); k++)
			save(v, rs.run[i].id, part[k].key, part[k].ask);
		err = save_tiles(v, &rs.run[i]);
	}
	json_end(&v->j);
	runs_fini(&rs);
	return err;
}

/* --- the file --- */

/* A file of the page, as it is; -ENOENT: aon was built without its page. */
static int put_part(FILE *f, const char *path)
{
	struct answer a;
	unsigned char *p = NULL;
	size_t len = 0;
	int err = -ENOENT;

	if (page_answer(&a, path) && a.body && a.gzipped) {
		p = unpacked((unsigned char *)a.body, a.len, &len);
		err = !p ? -ENOMEM : fwrite(p, 1, len, f) == len ? 0 : -EIO;
	}
	answer_fini(&a);
	free(p);
	return err;
}

static int put_page(FILE *f, const char *json, size_t len)
{
	size_t n = 0;
	unsigned char *data = packed(json, len, &n);
	int err = data ? 0 : -ENOMEM;

	fputs(head, f);
	err = err ? err : put_part(f, "/app.css");
	fputs("</style>\n</head>\n<body>\n<script type=\"text/plain\" id=\"aon-data\">", f);
	err = err ? err : put_base64(f, data, n);
	fputs("</script>\n<script>\n", f);
	err = err ? err : put_part(f, "/app.js");
	fputs("</script>\n</body>\n</html>\n", f);
	free(data);
	return err;
}

static int write_file(const char *path, const char *json, size_t len)
{
	FILE *f = !strcmp(path, "-") ? stdout : fopen(path, "we");
	int err;

	if (!f)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
	err = put_page(f, json, len);
	if ((f == stdout ? fflush(f) : fclose(f)) < 0 && !err)
		err = -errno;
	if (err == -ENOENT)
		return cli_say(CLI_FAIL, "this aon was built without its page. Build it with npm: "
					 "tools/setup web && make");
	if (err < 0)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(-err));
	return CLI_OK;
}

int report_html(const struct opts *o, const char *path)
{
	struct saver v = { .who = { .all = true } };
	struct served from;
	char *json = NULL;
	size_t len = 0;
	FILE *f;
	int err = 0, rc = served_open(&from, o);

	v.s = from.s;
	if (rc == CLI_OK) {
		f = open_memstream(&json, &len);
		json_init(&v.j, f);
		err = f ? save_all(&v) : -ENOMEM;
		if (f && fclose(f) < 0 && !err)
			err = -ENOMEM;
		rc = err < 0 ? cli_say(CLI_FAIL, "%s", strerror(-err))
			     : write_file(path, json, len);
	}
	free(json);
	served_close(&from);
	return rc;
}
