/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline_amd.c - reads the GPUs of a node from AMD's driver: a folder for each, in which
 * `properties` has the SIMD units (simd_count, simd_per_cu) and mem_banks the memory. A CPU has no
 * SIMD units there.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "daemon/stream/roofline_live.h"
#include "theory/gpu.h"

/* The number behind a word at the begin of a line; 0: none. */
static uint64_t number_of(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = text; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
		if (!strncmp(s, word, n) && s[n] == ' ')
			return num_front(s + n, NULL);
	return 0;
}

static uint64_t memory_of(int dir, const char *node)
{
	char path[300], text[4096];
	uint64_t most = 0, bytes;

	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%.255s/mem_banks/%d/properties", node, i);
		if (file_text(dir, path, text, sizeof(text)) <= 0)
			break;
		bytes = number_of(text, "size_in_bytes");
		most = bytes > most ? bytes : most;
	}
	return most;
}

/* False: a processor, or not readable. */
static bool read_node(int dir, const char *node, const struct gpu **out)
{
	char path[300], text[4096];
	uint64_t simds, each;

	snprintf(path, sizeof(path), "%.255s/properties", node);
	if (file_text(dir, path, text, sizeof(text)) <= 0)
		return false;
	simds = number_of(text, "simd_count");
	each = number_of(text, "simd_per_cu");
	if (!simds || !each || simds / each > UINT32_MAX)
		return false;
	*out = gpu_by_size((uint32_t)(simds / each), memory_of(dir, node));
	return true;
}

const struct gpu *judge_node_amd(const char *dir, uint32_t *gpus)
{
	const struct gpu *is = NULL, *one = NULL;
	DIR *d = opendir(dir);
	bool alike = true;
	struct dirent *e;

	*gpus = 0;
	while (d && (e = readdir(d))) {
		if (*e->d_name == '.' || !read_node(dirfd(d), e->d_name, &one))
			continue;
		alike = alike && one && (!is || is == one);
		is = one;
		++*gpus;
	}
	if (d)
		closedir(d);
	return alike ? is : NULL;
}
