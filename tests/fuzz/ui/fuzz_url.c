/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_url.c - the target and the headers of a request: url.h, auth.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "serve/http/auth.h"
#include "serve/http/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auth g = { .token = "0123456789abcdef", .cookie = "aon_1", .host = "node" };
	char *text = malloc(size + 1), *copy = malloc(size + 1);
	struct auth_heads h;
	const char *why;
	struct url u;

	memcpy(text, data, size);
	text[size] = '\0';
	strcpy(copy, text);
	h = (struct auth_heads){ copy, copy, copy, copy, copy, copy };
	(void)auth_site(&g, &h, &why);
	h.authorization = size % 2 ? copy : NULL;
	(void)auth_token(&g, &h);
	if (url_parse(&u, text) == 0) {
		uint64_t n;

		if (*u.path != '/' || strstr(u.path, "/../"))
			abort();
		for (size_t i = 0; i < u.args; i++) {
			if (url_get(&u, u.arg[i].key) != u.arg[i].value)
				abort();
			if (num_u64(u.arg[i].value, 0, 1000, &n) == 0 && n > 1000)
				abort();
			if (url_list(u.arg[i].value) == 0)
				(void)url_listed(u.arg[i].value, 5);
		}
	}
	free(text);
	free(copy);
	return 0;
}
