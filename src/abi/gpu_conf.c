/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_conf.c - see gpu_conf.h. Without stdio and the heap, because the CUDA probe links it. */
#include "abi/gpu_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRIVER_FILE "/sys/module/nvidia/version"
#define LINE_MOST   128u

enum { IS_TEXT, IS_NUM, IS_WORD };

static const struct row {
	const char *name;
	uint32_t type, at, size, least, most, none;
	const char *words;
} rows[] = {
#define AT(name)                     offsetof(struct gpu_conf, name)
#define TEXT(name, size)             { #name, IS_TEXT, AT(name), size, 0, 0, 0, "" },
#define NUM(name, least, most, none) { #name, IS_NUM, AT(name), 0, least, most, none, "" },
#define WORD(name, words)            { #name, IS_WORD, AT(name), 0, 0, 0, 0, words },
#include "abi/gpu_conf.tbl.h"
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint32_t *number(const struct gpu_conf *g, const struct row *r)
{
	return (uint32_t *)((char *)g + r->at);
}

void gpu_conf_defaults(struct gpu_conf *g)
{
	memset(g, 0, sizeof(*g));
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].type == IS_NUM)
			*number(g, &rows[i]) = rows[i].none;
	g->driver[0] = g->date[0] = g->why[0] = '-';
}

static bool set_text(struct gpu_conf *g, const struct row *r, const char *v)
{
	size_t len = strlen(v);

	if (!len || len >= r->size)
		return false;
	for (size_t i = 0; i < len; i++)
		if (v[i] <= ' ' || v[i] > '~')
			return false;
	memcpy((char *)g + r->at, v, len + 1);
	return true;
}

static bool set_num(struct gpu_conf *g, const struct row *r, const char *v)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; v[i] >= '0' && v[i] <= '9' && i < 9; i++)
		n = n * 10 + (uint64_t)(v[i] - '0');
	if (!i || v[i] || n < r->least || n > r->most)
		return false;
	*number(g, r) = (uint32_t)n;
	return true;
}

static size_t word_len(const char *words)
{
	const char *bar = strchr(words, '|');

	return bar ? (size_t)(bar - words) : strlen(words);
}

/* The n-th word of a list with bars. */
static const char *word(const char *words, uint32_t n)
{
	while (n-- && words[word_len(words)])
		words += word_len(words) + 1;
	return words;
}

static bool set_word(struct gpu_conf *g, const struct row *r, const char *v)
{
	const char *w = r->words;
	uint32_t n = 0;

	for (; strlen(v) != word_len(w) || strncmp(v, w, word_len(w)); n++) {
		if (!w[word_len(w)])
			return false;
		w += word_len(w) + 1;
	}
	*number(g, r) = n;
	return true;
}

bool gpu_conf_set(struct gpu_conf *g, const char *key, const char *value)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, key))
			return rows[i].type == IS_TEXT  ? set_text(g, &rows[i], value)
			       : rows[i].type == IS_NUM ? set_num(g, &rows[i], value)
							: set_word(g, &rows[i], value);
	return false;
}

/* "key = value", or nothing, or a comment. */
static bool take(struct gpu_conf *g, char *line)
{
	char *eq = strstr(line, " = ");

	if (!*line || *line == '#')
		return true;
	if (!eq)
		return false;
	*eq = '\0';
	return gpu_conf_set(g, line, eq + 3);
}

unsigned gpu_conf_parse(struct gpu_conf *g, const char *text, size_t len)
{
	char line[LINE_MOST];
	unsigned n = 0;

	gpu_conf_defaults(g);
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t part = end ? (size_t)(end - text) : len;

		n++;
		if (part < sizeof(line)) {
			memcpy(line, text, part);
			line[part] = '\0';
		}
		if (part >= sizeof(line) || strlen(line) != part || !take(g, line)) {
			gpu_conf_defaults(g);
			return n;
		}
		text += end ? part + 1 : part;
		len -= end ? part + 1 : part;
	}
	return 0;
}

/* A regular file, whole and at once. Its length, or -errno. */
static ssize_t whole(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat sb;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = fstat(fd, &sb) || !S_ISREG(sb.st_mode) ? -EINVAL : read(fd, buf, cap);
	if (n < 0 && n != -EINVAL)
		n = -errno;
	close(fd);
	return n;
}

int gpu_conf_read(struct gpu_conf *g, const char *path)
{
	char text[GPU_CONF_BYTES];
	ssize_t n = whole(path, text, sizeof(text));

	gpu_conf_defaults(g);
	if (n < 0)
		return (int)n;
	return (size_t)n == sizeof(text) || gpu_conf_parse(g, text, (size_t)n) ? -EINVAL : 0;
}

void gpu_conf_driver(char out[32])
{
	ssize_t n = whole(DRIVER_FILE, out, 31);

	out[n > 0 ? n : 0] = '\0';
	for (char *s = out; *s; s++)
		if (*s <= ' ' || *s > '~')
			*s = '\0';
	if (!*out)
		memcpy(out, "-", 2);
}

static size_t add(char *out, size_t cap, size_t at, const char *s, size_t len)
{
	for (size_t i = 0; i < len && at + 1 < cap; i++)
		out[at++] = s[i];
	out[at] = '\0';
	return at;
}

size_t gpu_conf_write(const struct gpu_conf *g, char *out, size_t cap)
{
	size_t at = 0;

	for (size_t i = 0; i < ROWS; i++) {
		const struct row *r = &rows[i];
		char digits[12], *d = digits + sizeof(digits) - 1;
		uint32_t v = r->type == IS_TEXT ? 0 : *number(g, r);
		const char *s = r->type == IS_TEXT ? (const char *)g + r->at : word(r->words, v);

		at = add(out, cap, at, r->name, strlen(r->name));
		at = add(out, cap, at, " = ", 3);
		*d = '\0';
		do
			*--d = (char)('0' + v % 10);
		while (v /= 10);
		if (r->type == IS_NUM)
			at = add(out, cap, at, d, strlen(d));
		else
			at = add(out, cap, at, s, r->type == IS_WORD ? word_len(s) : strlen(s));
		at = add(out, cap, at, "\n", 1);
	}
	return at;
}

const char *gpu_conf_differs(const struct gpu_conf *g, const char *driver, uint32_t cuda,
			     uint32_t cupti)
{
	if (strcmp(g->driver, driver) != 0 || g->cuda != cuda)
		return "it was proved for another driver";
	return g->cupti != cupti ? "it was proved for another CUPTI" : NULL;
}
