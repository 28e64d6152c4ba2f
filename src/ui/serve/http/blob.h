/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - files embedded in the program: the page, and the description of the API. */
#pragma once

#include <stddef.h>

struct answer;

struct blob_file {
	const char *path, *type; /* below the page's root; of HTTP */
	const unsigned char *bytes;
	size_t len;
};

extern const struct blob_file blob_openapi;
extern const struct blob_file blob_page[]; /* ends with one without a path */

/* A copy as the body. */
int blob_answer(struct answer *a, const struct blob_file *b);
