/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_smi.c - nvidia-smi: -q, -q -x, dmon, topo -m, nvlink -s; also several of them in one file, as people keep them.
 * The last report about a GPU counts.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "validate/gpus.h"
#include "validate/log_part.h"

enum how { TEXT, NUMBER, FLAG, FIRST };

static const struct row {
	size_t at, cap;
	enum how how;
	const char *q, *x;
} rows[] = {
#define SMI(field, how, q, x) \
	{ offsetof(struct gpu_seen, field), sizeof(((struct gpu_seen *)0)->field), how, q, x },
#include "validate/smi.tbl.h"
};

#define DEPTH 6u

struct smi {
	struct gpu_seen g[GPUS_MAX];
	unsigned n, now; /* now: the GPU that lines are about, from 1; 0: none */
	bool any;
	char section[DEPTH][48];
	unsigned depth;
};

static bool is_row(const char *row, const char *section, const char *key)
{
	size_t n = strcspn(row, "|");

	return !strcmp(row + n + 1, key) &&
	       (!n || (strlen(section) == n && !strncmp(row, section, n)));
}

static void take(struct gpu_seen *g, const struct row *r, const char *value)
{
	double v;

	if (r->how == TEXT) {
		if (strncmp(value, "N/A", 3))
			snprintf((char *)g + r->at, r->cap, "%s", value);
		return;
	}
	if (r->how == FLAG) {
		if (!strcmp(value, "Enabled") || !strcmp(value, "Yes") || !strcmp(value, "Active"))
			v = 1;
		else if (!strcmp(value, "Disabled") || !strcmp(value, "No") ||
			 !strcmp(value, "Not Active"))
			v = 0;
		else
			return;
	} else {
		value += *value == 'P'; /* P0 */
		if (!isdigit((unsigned char)*value))
			return;
		v = num_front_real(value, NULL);
	}
	if (r->how == FIRST) {
		double before;

		memcpy(&before, (char *)g + r->at, sizeof(before));
		if (isfinite(before))
			return;
	}
	memcpy((char *)g + r->at, &v, sizeof(v));
}

/* A pair of -q or of -x: `section` is the one that is right around it. */
static void pair(struct log *l, struct smi *s, bool xml, const char *section, const char *key,
		 const char *value)
{
	struct gpu_seen *g = s->now ? &s->g[s->now - 1] : NULL;

	if (!strcmp(key, xml ? "driver_version" : "Driver Version"))
		facts_set(l->f, "gpu/driver", "%.60s", value);
	if (!strcmp(key, xml ? "cuda_version" : "CUDA Version") && isdigit((unsigned char)*value))
		facts_set(l->f, "gpu/cuda", "%.20s", value);
	if (!g)
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is_row(xml ? rows[i].x : rows[i].q, section, key))
			take(g, &rows[i], value);
	if (is_row(xml ? "mig_mode|current_mig" : "MIG Mode|Current", section, key) &&
	    strncmp(value, "N/A", 3))
		snprintf(g->mig, sizeof(g->mig), "%s", strcmp(value, "Enabled") ? "off" : "on");
	if (!strcmp(section, xml ? "volatile" : "Volatile") && strstr(key, "ncorrectable") &&
	    isdigit((unsigned char)*value))
		g->uncorrected = (isfinite(g->uncorrected) ? g->uncorrected : 0) +
				 num_front_real(value, NULL);
}

/* The next GPU. What nvlink -s reported about it stays. */
static void begin_gpu(struct smi *s, const char *bus, size_t len)
{
	struct gpu_seen *g, before;

	s->now += s->now < GPUS_MAX;
	while (s->n < s->now)
		gpu_seen_init(&s->g[s->n++]);
	g = &s->g[s->now - 1];
	before = *g;
	gpu_seen_init(g);
	g->links = before.links;
	g->links_up = before.links_up;
	snprintf(g->bus, sizeof(g->bus), "%.*s", (int)(len < 31 ? len : 31), bus);
	s->any = true;
}

/* --- -q --- */

static void q_line(struct log *l, struct smi *s)
{
	size_t indent = strspn(l->line, " "), level = indent / 4;
	char *colon = strstr(l->line, " : "), *end;

	if (!indent && !strncmp(l->line, "GPU ", 4) && !colon &&
	    isxdigit((unsigned char)l->line[4]) && strchr(l->line, '.')) {
		begin_gpu(s, l->line + 4, strcspn(l->line + 4, " \r"));
		memset(s->section, 0, sizeof(s->section));
		return;
	}
	for (end = l->line + strlen(l->line); end > l->line && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	for (size_t i = level ? level - 1 : 0; i < DEPTH;
	     i++) /* it ended those that are not around it */
		s->section[i][0] = '\0';
	if (!colon) {
		if (level && level <= DEPTH)
			snprintf(s->section[level - 1], sizeof(s->section[0]), "%.47s",
				 l->line + indent);
		return;
	}
	for (end = colon; end > l->line && end[-1] == ' ';)
		end--;
	*end = '\0';
	pair(l, s, false, level >= 2 && level - 2 < DEPTH ? s->section[level - 2] : "",
	     l->line + indent, colon + 3);
}

/* --- nvlink -s, topo -m, dmon --- */

/* "\t Link 3: 26.562 GB/s", or <inactive>, of the GPU before. */
static bool nvlink_line(struct log *l, struct smi *s, unsigned *gpu)
{
	unsigned link, n;

	if (sscanf(l->line, "GPU %u: ", &n) == 1 && strstr(l->line, " (UUID: ") && n < GPUS_MAX) {
		*gpu = n + 1;
		return true;
	}
	if (!*gpu || sscanf(l->line, " Link %u:", &link) != 1)
		return false;
	while (s->n < *gpu)
		gpu_seen_init(&s->g[s->n++]);
	s->any = true;
	s->g[*gpu - 1].links = link + 1;
	if (!isfinite(s->g[*gpu - 1].links_up) || link == 0)
		s->g[*gpu - 1].links_up = 0;
	s->g[*gpu - 1].links_up += !strstr(l->line, "inactive");
	return true;
}

struct topo {
	char column[LOG_WORDS][16];
	unsigned columns;
};

/* Colours of a terminal are no words. */
static void plain(char *line)
{
	char *to = line;

	for (const char *p = line; *p; p++) {
		if (*p == '\033' && p[1] == '[') {
			p += strcspn(p, "m");
			if (!*p)
				break;
			continue;
		}
		*to++ = *p;
	}
	*to = '\0';
}

/* "GPU0\t X \tNV18\t0-19\t0": how GPU 0 gets to the others. */
static bool topo_line(struct log *l, struct topo *t)
{
	char *word[LOG_WORDS], key[64];
	unsigned n, from;

	plain(l->line);
	if (strstr(l->line, "CPU Affinity")) {
		n = log_words(l, word, "\t");
		t->columns = 0;
		for (unsigned i = 0; i < n; i++)
			snprintf(t->column[t->columns++], sizeof(t->column[0]), "%.15s", word[i]);
		return true;
	}
	if (!t->columns || sscanf(l->line, "GPU%u\t", &from) != 1)
		return false;
	n = log_words(l, word, "\t");
	for (unsigned i = 1; i < n && i <= t->columns; i++) {
		const char *to = t->column[i - 1], *way = word[i] + strspn(word[i], " ");
		unsigned other;

		if (sscanf(to, "GPU%u", &other) == 1 && other > from)
			snprintf(key, sizeof(key), "gpu/topology/%u-%u", from, other);
		else if (!strncmp(to, "NIC", 3) || !strncmp(to, "mlx5", 4))
			snprintf(key, sizeof(key), "gpu/topology/%u-%s", from, to);
		else if (!strcmp(to, "NUMA Affinity") && isdigit((unsigned char)*way))
			snprintf(key, sizeof(key), "gpu/%u/numa", from);
		else
			continue;
		facts_set(l->f, key, "%.*s", (int)strcspn(way, " "), way);
	}
	return true;
}

struct dmon {
	char column[LOG_WORDS][8];
	unsigned columns;
};

static void more(struct log *l, unsigned gpu, const char *what, double v)
{
	char key[FACT_KEY];
	double before;

	snprintf(key, sizeof(key), "log/dmon/%u/%s", gpu, what);
	if (!facts_number(l->f, key, &before) || v > before)
		log_set(l, v, "%s", key);
}

/* "# gpu    pwr  gtemp ...", its units, and rows; "-" is no value. -EBADMSG: a row that is none. */
static int dmon_line(struct log *l, struct dmon *d)
{
	char *word[LOG_WORDS];
	unsigned n;
	double gpu, v;

	if (!strncmp(l->line, "# gpu", 5) && strstr(l->line, "pwr")) {
		n = log_words(l, word, " \t\r#");
		for (d->columns = 0; d->columns < n; d->columns++)
			snprintf(d->column[d->columns], sizeof(d->column[0]), "%.7s",
				 word[d->columns]);
		return 0;
	}
	if (!d->columns || *l->line == '#')
		return 0;
	n = log_words(l, word, " \t\r");
	if (!n) {
		d->columns = 0; /* the table ended */
		return 0;
	}
	if (n < d->columns || !log_number(word[0], &gpu) || gpu < 0 || gpu >= GPUS_MAX)
		return log_bad(l,
			       "a GPU and %u columns of numbers, as the head of the table has them",
			       d->columns - 1);
	for (unsigned i = 1; i < d->columns; i++) {
		if (!log_number(word[i], &v))
			continue;
		if (!strcmp(d->column[i], "pwr"))
			more(l, (unsigned)gpu, "power_W_max", v);
		else if (!strcmp(d->column[i], "gtemp"))
			more(l, (unsigned)gpu, "temp_max", v);
		else if (!strcmp(d->column[i], "mtemp"))
			more(l, (unsigned)gpu, "memory_temp_max", v);
		else if (!strcmp(d->column[i], "pclk"))
			more(l, (unsigned)gpu, "sm_MHz_max", v);
		else if (!strcmp(d->column[i], "mclk"))
			more(l, (unsigned)gpu, "memory_MHz_max", v);
	}
	return 0;
}

/* --- the whole log --- */

static int finish(struct log *l, struct smi *s, bool other)
{
	if (s->any)
		gpus_put(l->f, s->g, s->n);
	return s->any || other ? 0
			       : log_bad(l, "\"GPU 00000000:00:00.0\" and what it has; the log "
					    "ends before the first");
}

int log_smi(struct log *l)
{
	struct smi *s = calloc(1, sizeof(*s));
	struct topo topo = { .columns = 0 };
	struct dmon dmon = { .columns = 0 };
	bool other = false, query = false;
	unsigned gpu = 0;
	int err = s ? 0 : log_bad(l, "memory");

	while (!err && log_next(l)) {
		if (strstr(l->line, "NVSMI LOG")) { /* of another moment: begins anew */
			query = true;
			s->now = 0;
			continue;
		}
		if (!strncmp(l->line, "####", 4))
			query = false;
		err = dmon_line(l, &dmon);
		other |= dmon.columns > 0;
		if (err || dmon.columns)
			continue;
		if (!query && (topo_line(l, &topo) || nvlink_line(l, s, &gpu)))
			other |= topo.columns > 0;
		else if (query)
			q_line(l, s);
	}
	err = err ? err : finish(l, s, other);
	free(s);
	return err;
}

/* --- -q -x --- */

/* The next tag: its name, and the text before it. False at the end. */
static bool next_tag(struct log *l, char *name, size_t cap, char *text, size_t text_cap)
{
	const char *open = memchr(l->p, '<', (size_t)(l->end - l->p)), *close;
	size_t n;

	if (!open || !(close = memchr(open, '>', (size_t)(l->end - open))))
		return false;
	n = (size_t)(open - l->p) < text_cap ? (size_t)(open - l->p) : text_cap - 1;
	memcpy(text, l->p, n);
	text[n] = '\0';
	for (const char *at = l->p; at < close; at++)
		l->at += *at == '\n';
	n = (size_t)(close - open - 1) < cap ? (size_t)(close - open - 1) : cap - 1;
	memcpy(name, open + 1, n);
	name[n] = '\0';
	l->p = close + 1;
	return true;
}

int log_smi_xml(struct log *l)
{
	struct smi *s = calloc(1, sizeof(*s));
	char name[128], text[160];
	bool ended = false, mig;
	int err;

	l->at = 1;
	while (s && next_tag(l, name, sizeof(name), text, sizeof(text))) {
		if (!*name || *name == '?' || *name == '!')
			continue;
		if (*name == '/') {
			if (s->depth)
				s->depth--;
			mig = false;
			for (unsigned i = 0; i < s->depth && i < DEPTH; i++)
				mig |= !strcmp(s->section[i], "mig_device");
			if (!mig && !strchr(text, '\n'))
				pair(l, s, true,
				     s->depth && s->depth <= DEPTH ? s->section[s->depth - 1] : "",
				     name + 1, text);
			ended |= !strcmp(name, "/nvidia_smi_log");
			continue;
		}
		if (!strncmp(name, "gpu id=\"", 8))
			begin_gpu(s, name + 8, strcspn(name + 8, "\""));
		if (name[strlen(name) - 1] == '/') /* <empty/> */
			continue;
		name[strcspn(name, " \t\r\n")] = '\0';
		if (s->depth < DEPTH)
			snprintf(s->section[s->depth], sizeof(s->section[0]), "%.47s", name);
		s->depth++;
	}
	err = !s || !ended ? log_bad(l, "</nvidia_smi_log>; the log is cut") : finish(l, s, false);
	free(s);
	return err;
}
