/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - files embedded in the program: the page, and the description of the API. */
#pragma once

#include <stddef.h>

struct answer;

struct blob_file {
	const char *path, *type; /* path below the page's root; HTTP content type */
	const unsigned char *bytes;
	size_t len;
};

extern const struct blob_file blob_openapi;
extern const struct blob_file blob_page[]; /* ends with an entry whose path is NULL */

/* Answers with a copy of the file. */
int blob_answer(struct answer *a, const struct blob_file *b);
