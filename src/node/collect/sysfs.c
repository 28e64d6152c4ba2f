/* SPDX-License-Identifier: Apache-2.0 */
/* sysfs.c - files of /sys, found by the patterns of sysfs.tbl.h, kept open and read again. */
#include "collect/host.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/vec.h"
#include "model/telemetry.h"

#define FILES_MAX 8192u
#define KEYS_MAX  64u /* lines of a file */
#define CAPTURES  4u

struct row {
	const char *pattern, *metric;
	double scale;
	enum host_group group;
	const char *device, *labels;
	bool lines, starred;
};

static const struct row rows[] = {
#define NUMBER(pattern, metric, scale, group, device, labels) \
	{ pattern, metric, scale, HOST_##group, device, labels, false, false },
#define STARRED(pattern, metric, scale, group, device, labels) \
	{ pattern, metric, scale, HOST_##group, device, labels, false, true },
#define LINES(pattern, metric, scale, group, device, labels) \
	{ pattern, metric, scale, HOST_##group, device, labels, true, false },
#include "collect/sysfs.tbl.h"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct key {
	uint32_t hash, id;
	double scale;
};

struct file {
	uint64_t hash; /* of its path and row */
	const struct row *row;
	int fd;          /* owned */
	uint32_t id;     /* of the number */
	uint32_t scan;   /* in which it was last there */
	struct key *key; /* owned; KEYS_MAX, of lines */
	char device[SERIES_DEVICE_MAX + 1];
	char labels[SERIES_LABELS_MAX + 1];
};

struct sysfs {
	char root[PATH_MAX];
	struct file *file; /* owned */
	uint32_t files, scans;
	uint32_t rapl[8]; /* zones of a name so far, in this scan */
};

int sysfs_new(struct sysfs **out, const char *root)
{
	struct sysfs *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	snprintf(s->root, sizeof(s->root), "%s", root);
	*out = s;
	return 0;
}

static void file_fini(struct file *f)
{
	close(f->fd);
	free(f->key);
}

void sysfs_free(struct sysfs *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->files; i++)
		file_fini(&s->file[i]);
	free(s->file);
	free(s);
}

/* --- names --- */

struct found {
	const char *path; /* with the root */
	const char *at;   /* behind the root */
	struct word cap[CAPTURES];
	unsigned caps;
};

/* What each * stands for; "[0-9]*" stands for digits. False: it does not match so. */
static bool capture(const char *pattern, struct found *f)
{
	const char *p = f->at;

	f->caps = 0;
	while (*pattern) {
		bool digits = !strncmp(pattern, "[0-9]*", 6);
		size_t lit;

		if (!digits && *pattern != '*') {
			if (*pattern++ != *p++)
				return false;
			continue;
		}
		pattern += digits ? 6 : 1;
		lit = strcspn(pattern, "*[");
		if (f->caps == CAPTURES)
			return false;
		f->cap[f->caps].p = p;
		while (*p && *p != '/' && (!digits || isdigit((unsigned char)*p)) &&
		       (digits || !lit || strncmp(p, pattern, lit) != 0))
			p++;
		f->cap[f->caps].len = (size_t)(p - f->cap[f->caps].p);
		f->caps++;
	}
	return *p == '\0';
}

/* The first word of a file beside that one. */
static void read_beside(const struct found *f, const char *name, char *out, size_t cap)
{
	char path[PATH_MAX], buf[256];
	const char *slash = strrchr(f->path, '/');
	int n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - f->path), f->path, name);
	int fd = n < (int)sizeof(path) ? host_open("", path) : -1;
	ssize_t got = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	buf[got > 0 ? got : 0] = '\0';
	snprintf(out, cap, "%.*s", (int)strcspn(buf, "\n"), buf);
}

/* As node_exporter cleans names. */
static void clean(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	for (; *text && n + 1 < cap; text++) {
		unsigned char c = (unsigned char)tolower((unsigned char)*text);

		out[n++] = isalnum(c) || c == '_' || c == ':' ? (char)c : '_';
	}
	while (n && out[n - 1] == '_')
		n--;
	out[n] = '\0';
}

/* The chip's name as node_exporter makes it: its device's, or what it calls itself. */
static void hwmon_name(const struct found *f, char *out, size_t cap)
{
	char dir[PATH_MAX], link[PATH_MAX + 8], real[PATH_MAX], name[48], type[40];
	const char *slash = strrchr(f->path, '/');
	char *base;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - f->path), f->path);
	base = strrchr(dir, '/');
	if (base && !strcmp(base, "/device")) /* where old drivers have their sensors */
		*base = '\0';
	snprintf(link, sizeof(link), "%s/device", dir);
	if (realpath(link, real) && (base = strrchr(real, '/'))) {
		clean(name, sizeof(name), base + 1);
		*base = '\0';
		base = strrchr(real, '/');
		clean(type, sizeof(type), base ? base + 1 : "");
		if (*type && *name) {
			snprintf(out, cap, "%s_%s", type, name);
			return;
		}
	}
	read_beside(f, "name", real, sizeof(real));
	clean(out, cap, real);
	if (!*out && realpath(dir, real) && (base = strrchr(real, '/')))
		clean(out, cap, base + 1);
}

/* "package-0" is package 0; zones of a name without a number are counted. */
static void rapl_name(struct sysfs *s, const struct found *f, char *name, char *index)
{
	static const char *const zone[] = { "package", "core", "dram", "psys", "uncore" };
	char text[64], *dash;

	read_beside(f, "name", text, sizeof(text));
	dash = strrchr(text, '-');
	if (dash && isdigit((unsigned char)dash[1]))
		*dash++ = '\0';
	else
		dash = NULL;
	*name = '\0';
	for (unsigned i = 0; i < sizeof(zone) / sizeof(zone[0]); i++) {
		if (strcmp(zone[i], text) != 0)
			continue;
		snprintf(name, 64, "node_rapl_%s_joules_total", zone[i]);
		snprintf(index, SERIES_DEVICE_MAX + 1, "%u",
			 dash ? (unsigned)num_front_i64(dash, NULL) : s->rapl[i]);
		s->rapl[i]++;
	}
}

/* GPUs, accelerators, networks and NVMe: of the others nobody asks for the link. */
static bool pci_wanted(const struct found *f)
{
	char class[16];

	read_beside(f, "class", class, sizeof(class));
	return !strncmp(class, "0x03", 4) || !strncmp(class, "0x02", 4) ||
	       !strncmp(class, "0x0108", 6) || !strncmp(class, "0x12", 4);
}

static bool pci_name(const struct found *f, struct file *to)
{
	unsigned segment, bus, slot, function;
	char text[8];

	if (sscanf(f->cap[0].p, "%4x:%2x:%2x.%1x", &segment, &bus, &slot, &function) != 4 ||
	    !pci_wanted(f))
		return false;
	snprintf(to->device, sizeof(to->device), "%04x", segment);
	snprintf(text, sizeof(text), "%02x", bus);
	series_label(to->labels, "bus", text);
	snprintf(text, sizeof(text), "%02x", slot);
	series_label(to->labels, "device", text);
	snprintf(text, sizeof(text), "%x", function);
	series_label(to->labels, "function", text);
	return true;
}

/* Every {n} of a spec as what the n-th * stands for. */
static size_t fill(const struct found *f, const char *spec, size_t len, char *out, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < cap; i++) {
		unsigned k = i + 2 < len && spec[i] == '{' && spec[i + 2] == '}'
				     ? (unsigned)(spec[i + 1] - '1')
				     : CAPTURES;

		if (k >= f->caps) {
			out[n++] = spec[i];
			continue;
		}
		for (size_t c = 0; c < f->cap[k].len && n + 1 < cap; c++)
			out[n++] = f->cap[k].p[c];
		i += 2;
	}
	out[n] = '\0';
	return n;
}

/* A device's or label's value as the table writes it. */
static void value_of(const struct found *f, const char *spec, size_t len, char *out, size_t cap)
{
	static const char below[] = "/sys/fs/cgroup/";
	char name[128];

	if (len == 3 && !memcmp(spec, "dir", 3)) {
		const char *from = f->at + strlen(below), *slash = strrchr(f->at, '/');

		snprintf(out, cap, "%.*s", (int)(slash - from), from);
	} else if (len == 4 && !memcmp(spec, "path", 4)) {
		const char *slash = strrchr(f->path, '/');

		snprintf(out, cap, "%.*s", (int)(slash - f->path), f->path);
	} else if (len > 1 && *spec == '@') {
		fill(f, spec + 1, len - 1, name, sizeof(name));
		read_beside(f, name, out, cap);
	} else if (len && isdigit((unsigned char)spec[len - 1]) &&
		   (unsigned)(spec[len - 1] - '1') < f->caps) {
		struct word w = f->cap[spec[len - 1] - '1'];

		snprintf(out, cap, "%.*s%.*s", (int)len - 1, spec, (int)w.len, w.p);
	} else {
		fill(f, spec, len, out, cap);
	}
}

static void labels_of(const struct found *f, const char *spec, char *labels)
{
	while (*spec) {
		size_t len = strcspn(spec, ";"), key = strcspn(spec, "=");
		char name[32], value[SERIES_LABELS_MAX];

		if (key >= len)
			return;
		snprintf(name, sizeof(name), "%.*s", (int)key, spec);
		value_of(f, spec + key + 1, len - key - 1, value, sizeof(value));
		series_label(labels, name, value);
		spec += len + (spec[len] == ';');
	}
}

/* --- finding them --- */

static bool name_file(struct sysfs *s, const struct row *r, const struct found *f, struct file *to,
		      char metric[64])
{
	snprintf(metric, 64, "%s", r->metric);
	if (!strcmp(r->device, "pci"))
		return pci_name(f, to);
	if (!strcmp(r->device, "hwmon"))
		hwmon_name(f, to->device, sizeof(to->device));
	else if (!strcmp(r->device, "rapl"))
		rapl_name(s, f, metric, to->device);
	else
		value_of(f, r->device, strlen(r->device), to->device, sizeof(to->device));
	labels_of(f, r->labels, to->labels);
	return *metric && *to->device;
}

static struct file *find(struct sysfs *s, uint64_t hash)
{
	for (uint32_t i = 0; i < s->files; i++)
		if (s->file[i].hash == hash)
			return &s->file[i];
	return NULL;
}

static void add(struct sysfs *s, const struct row *r, const char *path, struct emit *e)
{
	struct found f = { .path = path, .at = path + strlen(s->root) };
	struct file to = { .hash = fnv_text(FNV_BASIS ^ (uint64_t)(r - rows), path),
			   .row = r,
			   .id = EMIT_NONE,
			   .scan = s->scans };
	struct file *old = find(s, to.hash);
	char metric[64];

	if (old) {
		old->scan = s->scans;
		return;
	}
	if (s->files == FILES_MAX || !capture(r->pattern, &f) || !name_file(s, r, &f, &to, metric))
		return;
	if (vec_more(&s->file, s->files, sizeof(*s->file)) < 0)
		return;
	to.fd = host_open("", path);
	if (to.fd < 0)
		return;
	if (r->lines)
		to.key = calloc(KEYS_MAX, sizeof(*to.key));
	emit_group(e, r->group);
	if (!r->lines)
		to.id = emit_series(e, metric, to.device, to.labels);
	if (r->lines ? !to.key : to.id == EMIT_NONE) {
		file_fini(&to);
		return;
	}
	s->file[s->files++] = to;
}

void sysfs_scan(struct sysfs *s, struct emit *e)
{
	char pattern[PATH_MAX];
	uint32_t kept = 0;

	s->scans++;
	memset(s->rapl, 0, sizeof(s->rapl));
	for (size_t i = 0; i < ROWS; i++) {
		glob_t g = { .gl_pathc = 0 };

		snprintf(pattern, sizeof(pattern), "%s%s", s->root, rows[i].pattern);
		if (glob(pattern, 0, NULL, &g) == 0)
			for (size_t k = 0; k < g.gl_pathc; k++)
				add(s, &rows[i], g.gl_pathv[k], e);
		globfree(&g);
	}
	for (uint32_t i = 0; i < s->files; i++) {
		if (s->file[i].scan == s->scans)
			s->file[kept++] = s->file[i];
		else
			file_fini(&s->file[i]);
	}
	s->files = kept;
}

/* --- reading them --- */

/* Keys of cgroups' files, of both versions. */
static bool cgroup_key(struct word key, const char **metric, double *scale)
{
	static const struct {
		const char *key, *metric;
		double scale;
	} map[] = {
		{ "usage_usec", "aon_cgroup_cpu_seconds_total", 1e-6 },
		{ "throttled_usec", "aon_cgroup_cpu_throttled_seconds_total", 1e-6 },
		{ "throttled_time", "aon_cgroup_cpu_throttled_seconds_total", 1e-9 },
		{ "nr_throttled", "aon_cgroup_cpu_throttled_periods_total", 1 },
		{ "oom_kill", "aon_cgroup_oom_kills_total", 1 },
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (word_is(key, map[i].key)) {
			*metric = map[i].metric;
			*scale = map[i].scale;
			return true;
		}
	return false;
}

/* `text` with the key in place of its {}; of "Active(anon):" Active_anon. */
static void put_key(const char *text, struct word key, char *out, size_t cap)
{
	const char *hole = strstr(text, "{}");
	size_t n = (size_t)snprintf(out, cap, "%.*s", hole ? (int)(hole - text) : (int)strlen(text),
				    text);

	for (size_t i = 0; hole && i < key.len && n + 1 < cap; i++)
		if (key.p[i] != ':' && key.p[i] != ')')
			out[n++] = key.p[i] == '(' ? '_' : key.p[i];
	if (hole && n < cap)
		snprintf(out + n, cap - n, "%s", hole + 2);
}

static void name_key(const struct file *f, struct key *k, struct word key, struct emit *e)
{
	char metric[80], labels[SERIES_LABELS_MAX + 1];
	const char *name = metric;

	k->hash = word_hash(key);
	k->id = EMIT_NONE;
	k->scale = f->row->scale;
	put_key(f->row->metric, key, metric, sizeof(metric));
	if (!strcmp(f->row->metric, "cgroup") && !cgroup_key(key, &name, &k->scale))
		return;
	put_key(f->labels, key, labels, sizeof(labels));
	if (metric_by_name(name))
		k->id = emit_series(e, name, f->device, labels);
}

static void poll_lines(struct file *f, struct text t, struct emit *e)
{
	for (uint32_t n = 0; t.p < t.end && n < KEYS_MAX; n++, text_line(&t)) {
		struct word key = text_word(&t);
		struct key *k = &f->key[n];
		double v;

		if (word_is(key, "Node")) {
			text_word(&t);
			key = text_word(&t);
		}
		if (k->hash != word_hash(key))
			name_key(f, k, key, e);
		if (k->id == EMIT_NONE || !text_number(&t, &v))
			continue;
		emit_count(e, k->id, v * (word_is(text_word(&t), "kB") ? 1024 : 1) * k->scale);
	}
}

/* Times 0.001 is not by 1000 where digits end. */
static double scaled(double v, double scale)
{
	return scale < 1 ? v / (double)(uint64_t)(1 / scale + 0.5) : v * scale;
}

/* Behind the colon of the line that has a star. */
static bool to_star(struct text *t)
{
	for (; t->p < t->end; text_line(t)) {
		const char *nl = memchr(t->p, '\n', (size_t)(t->end - t->p)),
			   *end = nl ? nl : t->end,
			   *colon = memchr(t->p, ':', (size_t)(end - t->p));

		if (colon && memchr(colon, '*', (size_t)(end - colon))) {
			t->p = colon + 1;
			return true;
		}
	}
	return false;
}

static void poll_number(const struct file *f, struct text t, struct emit *e)
{
	struct text again = t;
	double v;

	if (f->row->starred && !to_star(&t))
		return;
	if (text_number(&t, &v)) {
		if (v >= 0 || f->row->scale < 1) /* a speed of -1 is none */
			emit_count(e, f->id, scaled(v, f->row->scale));
	} else if (strstr(f->row->pattern, "operstate")) {
		emit_count(e, f->id, word_is(text_word(&again), "up"));
	}
}

void sysfs_poll(struct sysfs *s, struct emit *e, char *buf, unsigned due)
{
	struct text t;

	for (uint32_t i = 0; i < s->files; i++) {
		struct file *f = &s->file[i];

		if (!(due >> f->row->group & 1))
			continue;
		emit_group(e, f->row->group);
		if (!host_read(f->fd, buf, &t))
			continue;
		if (f->row->lines)
			poll_lines(f, t, e);
		else
			poll_number(f, t, e);
	}
}
