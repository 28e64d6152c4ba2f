/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fleet.c - any bytes as the answers of a cluster's server, of both kinds, and as a cluster's address. */
#include <stdlib.h>
#include <string.h>

#include "fleet/priv.h"
#include "fleet/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_row(void *arg, const struct rowin_field *f)
{
	size_t *sum = arg;

	if (f[1].text[f[1].len] != '\0' || f[3].text[f[3].len] != '\0')
		abort();
	*sum += f[1].len + f[3].len;
	return 0;
}

static uint64_t rows_of(const uint8_t *data, size_t size, size_t piece, int *err)
{
	struct rowin r;
	size_t sum = 0;
	uint64_t rows;

	rowin_init(&r, "qsds", 1000, on_row, &sum);
	*err = 0;
	for (size_t at = 0; at < size && !*err; at += piece)
		*err = rowin_feed(&r, data + at, size - at < piece ? size - at : piece);
	if (sum > size)
		abort();
	rows = r.rows;
	rowin_fini(&r);
	return rows;
}

static int on_head(void *arg, const char *const *names, int cols)
{
	*(int *)arg = cols;
	for (int i = 0; i < cols; i++)
		if (strlen(names[i]) > SIZE_MAX / 2)
			abort();
	return 0;
}

static int on_values(void *arg, const struct fleet_value *v, int cols)
{
	if (cols != *(int *)arg)
		abort();
	for (int i = 0; i < cols; i++)
		if (v[i].type == FLEET_TEXT && v[i].text[v[i].len] != '\0')
			abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int cols = 0;
	struct fleet_sink sink = { on_head, on_values, &cols };
	size_t piece = size ? 1 + data[0] % 37 : 1;
	char *url = malloc(size + 1);
	struct fleet *f = NULL;
	int a, b;

	/* Pieces change nothing. */
	if (rows_of(data, size, size ? size : 1, &a) != rows_of(data, size, piece, &b) || a != b)
		abort();
	memcpy(url, data, size);
	url[size] = '\0';
	fleet_tsv(url, size, &sink);
	memcpy(url, data, size);
	if (!fleet_address(&f, url, NULL, NULL))
		fleet_close(f);
	free(url);
	return 0;
}
