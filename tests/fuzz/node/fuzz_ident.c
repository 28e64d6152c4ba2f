/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a cgroup file, a site's file, kubelet's checkpoint and a list of GPUs: what comes out are
 * names of their length, or nothing. By the first byte. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "ident/cgroup.h"
#include "ident/gpus.h"
#include "ident/kubelet.h"
#include "ident/site.h"
#include "ident/word.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(const char *text, size_t cap)
{
	if (strnlen(text, cap) == cap)
		abort();
	for (; *text; text++)
		if (!ident_char(*text, true))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct node_ident n = { .host = "gpu-r7-n12" };
	struct gpus g = { .n = 1, .gpu = { { .uuid = "GPU-0" } } };
	struct cgroup_ident c;
	struct ident id = { 0 };
	struct site_why why;
	char out[96], *text;

	if (size < 1 || !(text = malloc(size + JSON_PAD)))
		return 0;
	memcpy(text, data + 1, size - 1);
	memset(text + size - 1, '"', JSON_PAD);
	cgroup_read(&c, text, size - 1);
	name(c.pod_uid, sizeof(c.pod_uid));
	name(c.container, sizeof(c.container));
	name(c.job, sizeof(c.job));
	if (site_read(&n, text, size - 1, &why) == 0) {
		name(n.cluster, sizeof(n.cluster));
		name(n.rack, sizeof(n.rack));
		name(n.nics, sizeof(n.nics));
	} else if (!*why.text || !why.line) {
		abort();
	}
	kubelet_devices(text, size - 1, "u", out, sizeof(out));
	name(out, sizeof(out));
	text[size - 1] = '\0';
	gpus_visible(&g, text, &id);
	if (strnlen(id.gpu_uuid, sizeof(id.gpu_uuid)) == sizeof(id.gpu_uuid))
		abort();
	free(text);
	return 0;
}
