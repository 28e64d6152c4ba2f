/* SPDX-License-Identifier: Apache-2.0 */
/* big_store.c - writes the large store to a file, for benchmarks that are not in C. */
#include <stdio.h>
#include <string.h>

#include "lib/big.h"

int main(int argc, char *argv[])
{
	struct store_opts so = { .create = true };
	struct store_why why = { "" };
	struct store *st;
	int err = argc == 2 ? store_open_rw(&st, argv[1], &so, &why) : -1;

	if (err < 0) {
		fprintf(stderr, "big_store FILE: %s\n", err < -1 ? strerror(-err) : "one file");
		return 1;
	}
	big_fill(st, 2);
	store_close(st);
	return 0;
}
