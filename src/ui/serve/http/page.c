/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - the files of the page, embedded by the build. */
#include "serve/http/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http/blob.h"
#include "serve/serve.h"

static const char missing[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>aon</title>"
	"<h1>This aon was built without its page.</h1>"
	"<p>Build it with npm: <code>tools/setup web &amp;&amp; make web &amp;&amp; make</code>."
	"<p>The API is here: <a href=\"api/v1/runs\">api/v1/runs</a>, described by "
	"<a href=\"api/v1/openapi.json\">api/v1/openapi.json</a>.\n";

int blob_answer(struct answer *a, const struct blob_file *b)
{
	a->body = malloc(b->len);
	if (!a->body)
		return -ENOMEM;
	memcpy(a->body, b->bytes, b->len);
	a->len = b->len;
	a->type = b->type;
	a->gzipped = true;
	return 0;
}

static const struct blob_file *find(const char *target)
{
	size_t n = strcspn(target, "?");

	if (n == 1 && *target == '/') {
		target = "/index.html";
		n = strlen(target);
	}
	for (const struct blob_file *b = blob_page; b->path; b++)
		if (strlen(b->path) == n && !strncmp(b->path, target, n))
			return b;
	return NULL;
}

bool page_has(const char *target)
{
	return find(target) != NULL;
}

bool page_answer(struct answer *a, const char *target)
{
	const struct blob_file *b = find(target);

	*a = (struct answer){ .status = 200, .fd = -1 };
	if (b) {
		if (blob_answer(a, b) < 0)
			answer_error(a, 500, "Out of memory.", "");
		/* Vite puts a hash of the content into these names. */
		a->immutable = !strncmp(b->path, "/assets/", 8);
		return true;
	}
	if (strcspn(target, "?") != 1)
		return false;
	a->type = "text/html; charset=utf-8";
	a->body = strdup(missing);
	a->len = a->body ? sizeof(missing) - 1 : 0;
	return true;
}
