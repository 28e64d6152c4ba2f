/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - chooses the reader for a file, walks folders, and finds the rank of each file. */
#include "import/import.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "import/priv.h"

#define FOLDER_MAX 65536

int import_say(struct import_why *why, int err, const char *fmt, ...)
{
	va_list ap;

	if (!why)
		return err;
	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return err;
}

void import_broke(const struct importing *im, uint64_t at, const char *fmt, ...)
{
	struct trace_file *f = importing_file(im);
	va_list ap;

	if (f->broke_at != UINT64_MAX)
		return;
	f->broke_at = at;
	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
}

bool import_damaged(const struct trace *t)
{
	for (size_t i = 0; i < t->files; i++)
		if (t->file[i].broke_at != UINT64_MAX || t->file[i].lost)
			return true;
	return false;
}

/* "34.83.195.179": behind a word like "worker_" it is a machine, not a rank. */
static bool is_address(const char *s)
{
	int dots = 0;

	for (; isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1])); s++)
		dots += *s == '.';
	return dots == 3;
}

/* "rank-34.Jul_15.json", "rank_3", "worker7_step_12": the number behind the word. */
static int32_t rank_of_name(const char *path)
{
	static const char *const words[] = { "rank", "worker" };
	const char *name = path + strlen(path), *p;

	while (name > path && name[-1] == '/') /* of a folder */
		name--;
	while (name > path && name[-1] != '/')
		name--;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		for (p = strcasestr(name, words[i]); p; p = strcasestr(p + 1, words[i])) {
			const char *q = p + strlen(words[i]);

			q += *q == '-' || *q == '_' || *q == '.' || *q == '=';
			if (isdigit((unsigned char)*q) && !is_address(q) &&
			    (p == name || !isalpha((unsigned char)p[-1]))) {
				unsigned long v = num_front(q, NULL);

				return v <= INT32_MAX ? (int32_t)v : TRACE_NO_RANK;
			}
		}
	}
	return TRACE_NO_RANK;
}

enum form {
	FORM_NONE,
	FORM_EMPTY,
	FORM_JSON,
	FORM_ROCPROF,
	FORM_PROTON,
	FORM_MSGPACK,
	FORM_ET,
	FORM_SQLITE,
	FORM_XPLANE,
	FORM_PERFETTO,
	FORM_PARQUET,
	FORM_NSYS_TABLE,
	FORM_ARROW,
};

/* The first key of the object, or of the first object of the array, at s. */
static bool first_key(const char *s, size_t len, const char *key)
{
	const char *end = s + len, *p = memchr(s, '"', len);
	size_t n = strlen(key);

	return p && (size_t)(end - p) > n + 1 && !memcmp(p + 1, key, n) && p[n + 1] == '"';
}

static enum form form_of_json(const char *s, size_t len)
{
	if (*s == '{' && first_key(s, len, "rocprofiler-sdk-tool"))
		return FORM_ROCPROF;
	if (*s == '{' && first_key(s, len, "schema") && memmem(s, len, "\"nodes\"", 7))
		return FORM_ET;
	if (*s == '[' && (first_key(s, len, "children") || first_key(s, len, "frame") ||
			  first_key(s, len, "metrics")))
		return FORM_PROTON;
	return FORM_JSON;
}

/* An array of maps whose first key is "frame". */
static bool is_msgpack(const char *s, size_t len)
{
	return len > 8 && (s[0] & 0xf0) == 0x90 && (s[1] & 0xf0) == 0x80 &&
	       !memcmp(s + 2,
		       "\xa5"
		       "frame",
		       6);
}

static enum form form_of(const char *s, size_t len, const char *path)
{
	size_t i = 0, n = strlen(path);

	if (!len)
		return FORM_EMPTY;
	if (len >= 16 && !memcmp(s, "SQLite format 3", 16))
		return FORM_SQLITE;
	if (len >= 4 && !memcmp(s, "PAR1", 4))
		return nsys_is_table(path) ? FORM_NSYS_TABLE : FORM_PARQUET;
	if (len >= 6 && !memcmp(s, "ARROW1", 6))
		return FORM_ARROW;
	if (is_msgpack(s, len))
		return FORM_MSGPACK;
	if (perfetto_is(s, len))
		return FORM_PERFETTO;
	if ((n > 3 && !strcmp(path + n - 3, ".pb")) || (n > 6 && !strcmp(path + n - 6, ".pb.gz")))
		return FORM_XPLANE;
	if (len >= 3 && !memcmp(s, "\xef\xbb\xbf", 3))
		i = 3;
	while (i < len && (isspace((unsigned char)s[i]) || s[i] == ','))
		i++;
	/* A newline is also the tag of XSpace.planes: then a length and a plane's id or name. */
	if (i < len && (s[i] == '{' || s[i] == '[' || s[i] == '/'))
		return form_of_json(s + i, len - i);
	return s[0] == '\n' ? FORM_XPLANE : FORM_NONE;
}

/* Formats that are known, but whose content is no trace that aon could read: what to give it. */
static int refuse(const struct importing *im, enum form form)
{
	static const char *const whys[] = {
		[FORM_EMPTY] = "empty",
		[FORM_MSGPACK] = "sums of Triton's Proton as MessagePack, which aon does not read: "
				 "proton.finalize(output_format=\"hatchet\") writes JSON",
		[FORM_PARQUET] = "a parquet file that is no table of an nsys export; aon reads the "
				 "folder that this makes: nsys export --type parquetdir "
				 "REPORT.nsys-rep",
		[FORM_NSYS_TABLE] = "one table of an nsys export; give aon its whole folder",
		[FORM_ARROW] = "an Arrow file, which aon does not read; export the nsys report as: "
			       "nsys export --type parquetdir REPORT.nsys-rep",
		[FORM_NONE] = "not a trace (expected Chrome or Kineto JSON, an export of nsys, "
			      "rocprofv3's JSON or rocpd, a Perfetto trace, or XPlane)",
	};

	return import_say(im->why, form == FORM_EMPTY ? -ENODATA : -EMEDIUMTYPE, "%s: %s", im->path,
			  whys[form]);
}

static int import_source(const struct importing *im, struct source *src, bool file)
{
	const char *s = "";
	ssize_t n = source_peek(src, &s);
	enum form form;

	if (n < 0)
		return import_say(im->why, n == -EBADMSG ? -EMEDIUMTYPE : (int)n, "%s: %s",
				  im->path, n == -EBADMSG ? source_why(src) : strerror((int)-n));
	form = form_of(s, (size_t)n, im->path);
	switch (form) {
	case FORM_JSON:
		return kineto_import(im, src);
	case FORM_ROCPROF:
		return rocprof_import(im, src);
	case FORM_PROTON:
		return proton_import(im, src);
	case FORM_ET:
		return et_import(im, src);
	case FORM_SQLITE:
		return sqlite_import(im, src, file && !source_gzip(src));
	case FORM_PERFETTO:
		return perfetto_import(im, src);
	case FORM_XPLANE:
		return xplane_import(im, src);
	default:
		return refuse(im, form);
	}
}

/* A file that gave nothing, or (1) only added to others, leaves no row behind; what it named stays. */
static int settle(struct trace *t, const struct importing *im, int err)
{
	struct trace_file *f = importing_file(im);

	if (err) {
		free(f->path);
		t->files--;
		return err < 0 ? err : 0;
	}
	if (f->rank == TRACE_NO_RANK)
		f->rank = rank_of_name(im->path);
	return 0;
}

/* `err`: of opening the source, which is closed here. */
static int import_opened(struct importing im, struct source *src, int err, bool file)
{
	err = err ? err : trace_file_add(im.t, im.path, &im.file);
	if (err < 0)
		import_say(im.why, err, "%s: %s", im.path, strerror(-err));
	else
		err = settle(im.t, &im, import_source(&im, src, file));
	source_close(src);
	return err;
}

static int import_file(struct trace *t, const char *path, const struct import_opts *o,
		       struct import_why *why)
{
	struct importing im = { .t = t, .path = path, .o = o, .why = why };
	struct source *src = NULL;
	int err = source_open(&src, path);

	return import_opened(im, src, err, strcmp(path, "-") != 0);
}

int import_bytes(struct trace *t, const char *path, const void *bytes, size_t len,
		 const struct import_opts *o, struct import_why *why)
{
	struct importing im = { .t = t, .path = path, .o = o, .why = why };
	struct source *src = NULL;
	int err = source_open_bytes(&src, bytes, len);

	return import_opened(im, src, err, false);
}

/* The tables of an nsys export are one trace. */
static int import_tables(struct trace *t, const char *path, const struct import_opts *o,
			 struct import_why *why)
{
	struct importing im = { .t = t, .path = path, .o = o, .why = why };
	int err = trace_file_add(t, path, &im.file);

	if (err < 0)
		return import_say(why, err, "%s: %s", path, strerror(-err));
	return settle(t, &im, nsys_import_folder(&im));
}

/* A file, or a folder that is one trace. -EMEDIUMTYPE: neither. */
static int import_entry(struct trace *t, const char *path, const struct import_opts *o,
			struct import_why *why)
{
	struct stat sb;

	if (!stat(path, &sb) && S_ISREG(sb.st_mode) && !nsys_is_table(path))
		return import_file(t, path, o, why);
	if (!stat(path, &sb) && S_ISDIR(sb.st_mode) && nsys_is_folder(path))
		return import_tables(t, path, o, why);
	return -EMEDIUMTYPE;
}

/* Files that are no traces are passed over as long as one is. */
static int import_folder(struct trace *t, const char *path, const struct import_opts *o,
			 struct import_why *why)
{
	struct dirent **entry;
	struct import_why other = { "" };
	int n = scandir(path, &entry, NULL, versionsort), err = 0;
	const char *slash = *path && path[strlen(path) - 1] == '/' ? "" : "/";
	unsigned good = 0;

	if (n < 0)
		return import_say(why, -errno, "%s: %s", path, strerror(errno));
	if (nsys_is_folder(path)) {
		err = import_tables(t, path, o, &other);
		good += !err;
		err = err == -EMEDIUMTYPE ? 0 : err;
	}
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (!err && i < FOLDER_MAX && entry[i]->d_name[0] != '.' &&
		    asprintf(&file, "%s%s%s", path, slash, entry[i]->d_name) > 0) {
			err = import_entry(t, file, o, &other);
			good += !err;
			if (err == -EMEDIUMTYPE || err == -ENODATA)
				err = 0;
		}
		free(file);
		free(entry[i]);
	}
	free(entry);
	if (err)
		return import_say(why, err, "%s", other.text);
	return good ? 0
		    : import_say(why, -EMEDIUMTYPE, "%s: a folder with no trace in it%s%s", path,
				 other.text[0] ? ": " : "", other.text);
}

int import_path(struct trace *t, const char *path, const struct import_opts *o,
		struct import_why *why)
{
	struct stat sb;

	if (strcmp(path, "-") && !stat(path, &sb) && S_ISDIR(sb.st_mode))
		return import_folder(t, path, o, why);
	return import_file(t, path, o, why);
}
