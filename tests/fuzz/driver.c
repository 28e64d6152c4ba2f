/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - runs a fuzz target without libFuzzer: its corpus, then mutations of it.
 *
 *	fuzz_NAME [-n inputs] [-s seed] FILE|DIRECTORY...
 *
 * Deterministic: the same seed and corpus give the same inputs. It is for `make check`, where
 * any compiler will do; `make fuzz` links the same targets with libFuzzer, which is guided by
 * coverage. An input that makes a sanitizer stop is left in the file crash-NAME.
 *
 * It ends after AON_FUZZ_S seconds of CPU (4 by default; 0: no limit, as in `make check-all`).
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define INPUT_MAX  65536u
#define CORPUS_MAX 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*fn)(void));

struct input {
	uint8_t *data;
	size_t size;
};

static struct input corpus[CORPUS_MAX];
static size_t corpus_len;
static uint64_t rng = 1;
static struct input now;
static char crash_path[256];

static void add_file(const char *path)
{
	static uint8_t buf[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	struct input *in = &corpus[corpus_len];

	if (!f || corpus_len == CORPUS_MAX) {
		if (f)
			fclose(f);
		return;
	}
	in->size = fread(buf, 1, sizeof(buf), f);
	in->data = malloc(in->size + 1);
	fclose(f);
	if (!in->data)
		return;
	memcpy(in->data, buf, in->size);
	corpus_len++;
}

static int add_path(const char *path)
{
	struct dirent **list;
	struct stat st;
	int n;

	if (stat(path, &st) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		add_file(path);
		return 0;
	}
	n = scandir(path, &list, NULL, alphasort); /* sorted, so that runs repeat */
	for (int i = 0; i < n; i++) {
		char full[4096];

		snprintf(full, sizeof(full), "%s/%s", path, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			add_file(full);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return n < 0 ? -1 : 0;
}

/* xorshift64* */
static uint64_t below(uint64_t n)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return n ? (rng * 0x2545f4914f6cdd1dull >> 16) % n : 0;
}

/* Values at which lengths, counts and offsets go wrong. */
static uint64_t edge(void)
{
	static const uint64_t v[] = { 0,        1,          2,          31,        32,
				      33,       127,        128,        255,       256,
				      4095,     4096,       65535,      65536,     0x7fffffff,
				      1u << 31, 0xffffffff, 1ull << 32, INT64_MAX, UINT64_MAX };

	return v[below(sizeof(v) / sizeof(v[0]))];
}

static size_t splice(uint8_t *p, size_t size)
{
	const struct input *o = &corpus[below(corpus_len)];
	size_t at = below(size + 1), from = below(o->size + 1);
	size_t len = below(o->size - from + 1);

	if (len > INPUT_MAX - at)
		len = INPUT_MAX - at;
	memcpy(p + at, o->data + from, len);
	return at + len > size ? at + len : size;
}

static size_t mutate_once(uint8_t *p, size_t size)
{
	uint64_t v = edge();
	size_t at = below(size), len = 1u << below(4);

	switch (below(7)) {
	case 0:
		if (size)
			p[at] ^= (uint8_t)(1u << below(8));
		return size;
	case 1:
		if (size)
			p[at] = (uint8_t)below(256);
		return size;
	case 2: /* an edge value, aligned as fields are */
		at &= ~(len - 1);
		if (at + len <= size)
			memcpy(p + at, &v, len);
		return size;
	case 3: /* cut */
		return size ? at : 0;
	case 4: /* remove a piece */
		len = below(size - at + 1);
		memmove(p + at, p + at + len, size - at - len);
		return size - len;
	case 5: /* repeat a piece */
		len = below(size - at + 1);
		if (size + len > INPUT_MAX)
			return size;
		memmove(p + at + len, p + at, size - at);
		return size + len;
	default:
		return splice(p, size);
	}
}

static void run(const uint8_t *data, size_t size)
{
	/* An exact allocation, so that one byte too far is seen. */
	now.data = malloc(size ? size : 1);
	if (!now.data)
		abort();
	memcpy(now.data, data, size);
	now.size = size;
	LLVMFuzzerTestOneInput(now.data, size);
	free(now.data);
	now.data = NULL;
}

static void save_crash(void)
{
	FILE *f = now.data ? fopen(crash_path, "wb") : NULL;

	if (!f)
		return;
	fwrite(now.data, 1, now.size, f);
	fclose(f);
	fprintf(stderr, "the input is in %s\n", crash_path);
}

static clock_t cpu_limit(void)
{
	const char *s = getenv("AON_FUZZ_S");

	return (clock_t)(s ? atoi(s) : 4) * CLOCKS_PER_SEC;
}

int main(int argc, char *argv[])
{
	static uint8_t buf[INPUT_MAX];
	unsigned long inputs = 20000, i = 0;
	clock_t limit = cpu_limit();
	const char *name = strrchr(argv[0], '/');

	snprintf(crash_path, sizeof(crash_path), "crash-%s", name ? name + 1 : argv[0]);
	for (int k = 1; k < argc; k++) {
		if (!strcmp(argv[k], "-n") && k + 1 < argc)
			inputs = strtoul(argv[++k], NULL, 10);
		else if (!strcmp(argv[k], "-s") && k + 1 < argc)
			rng = strtoull(argv[++k], NULL, 10) | 1;
		else if (add_path(argv[k]) < 0)
			return fprintf(stderr, "%s: cannot be read\n", argv[k]), 2;
	}
	if (!corpus_len)
		return fprintf(stderr, "usage: %s [-n inputs] [-s seed] CORPUS...\n", argv[0]), 2;
	__sanitizer_set_death_callback(save_crash);
	for (size_t k = 0; k < corpus_len; k++)
		run(corpus[k].data, corpus[k].size);
	for (; i < inputs && (!limit || clock() < limit); i++) {
		const struct input *in = &corpus[below(corpus_len)];
		size_t size = in->size;

		memcpy(buf, in->data, size);
		for (uint64_t n = 1 + below(6); n; n--)
			size = mutate_once(buf, size);
		run(buf, size);
	}
	printf("%zu inputs of the corpus, %lu mutations\n", corpus_len, i);
	for (size_t k = 0; k < corpus_len; k++)
		free(corpus[k].data);
	return 0;
}
