/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as kubelet's side of HTTP/2, as the answer within, and as aon-collect's notes of it: lines of three names, or nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/grpc.h"
#include "ident/pods.h"
#include "ident/word.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const void *data, size_t len)
{
	char *text = NULL, out[96], ns[PODS_NAME], pod[PODS_NAME];
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return;
	pods_lines(data, len, f);
	fclose(f);
	for (const char *c = text; *c; c++)
		if (!ident_char(*c, false) && *c != ' ' && *c != '\n')
			abort();
	pods_devices(text, "a", "b", out, sizeof(out));
	pods_owner(text, "c", ns, pod);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char ns[PODS_NAME], pod[PODS_NAME], out[96], *text = malloc(size + 1);
	struct grpc g = { 0 };
	const uint8_t *message;
	size_t len, half = size / 2;

	if (grpc_take(&g, data, half) == 0 && grpc_take(&g, data + half, size - half) == 0 &&
	    grpc_message(&g, &message, &len) == 0)
		look(message, len);
	if (g.say_len > sizeof(g.say))
		abort();
	grpc_fini(&g);
	look(data, size);
	if (text) {
		memcpy(text, data, size);
		text[size] = '\0';
		pods_devices(text, "a", "b", out, sizeof(out));
		pods_owner(text, "c", ns, pod);
		free(text);
	}
	return 0;
}
