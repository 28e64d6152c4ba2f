/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubelet.c - see kubelet.h.
 *
 *	{"Data":{"PodDeviceEntries":[{"PodUID":"...","ContainerName":"c","ResourceName":"nvidia.com/gpu",
 *	 "DeviceIDs":{"0":["GPU-..."]},"AllocResp":"..."}],"RegisteredDevices":{}},"Checksum":1}
 *
 * DeviceIDs is a list before Kubernetes 1.20, and by NUMA node since.
 */
#include "ident/kubelet.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_read.h"
#include "ident/word.h"

struct want {
	const char *pod, *end;
	char *out;
	size_t cap;
};

static void add(const struct want *w, struct json_tok t)
{
	size_t n = strlen(w->out);
	char word[96];

	t = json_tok_text(t);
	ident_word(word, sizeof(word), t.s, t.len, true);
	if (!*word || n + strlen(word) + 2 > w->cap)
		return;
	if (n)
		w->out[n++] = ',';
	strcpy(w->out + n, word);
}

static void devices(const struct want *w, struct json_tok v)
{
	const char *p = v.s + 1;
	struct json_tok key, item;

	if (*v.s == '[')
		while (json_item(&p, w->end, &item))
			add(w, item);
	else if (*v.s == '{')
		while (json_pair(&p, w->end, &key, &item))
			if (*item.s == '[')
				devices(w, item);
}

static bool is_gpu(struct json_tok name)
{
	static const char *const word[] = { "gpu", "mig-" };

	name = json_tok_text(name);
	for (size_t i = 0; i < 2; i++)
		if (memmem(name.s, name.len, word[i], strlen(word[i])))
			return true;
	return false;
}

static void entry(const struct want *w, struct json_tok e)
{
	struct json_tok key, value, ids = { 0 };
	const char *p = e.s + 1;
	bool mine = false, gpu = false;

	if (*e.s != '{')
		return;
	while (json_pair(&p, w->end, &key, &value)) {
		if (json_tok_is(key, "PodUID"))
			mine = json_tok_is(json_tok_text(value), w->pod);
		else if (json_tok_is(key, "ResourceName"))
			gpu = is_gpu(value);
		else if (json_tok_is(key, "DeviceIDs"))
			ids = value;
	}
	if (mine && gpu && ids.s)
		devices(w, ids);
}

void kubelet_devices(const char *text, size_t len, const char *pod_uid, char *out, size_t cap)
{
	struct want w = { pod_uid, text + len, out, cap };
	struct json_tok key, value, key2, list, e;
	const char *p = json_space(text, w.end);

	*out = '\0';
	if (p >= w.end || *p++ != '{')
		return;
	while (json_pair(&p, w.end, &key, &value)) {
		const char *q = value.s + 1;

		if (!json_tok_is(key, "Data") || *value.s != '{')
			continue;
		while (json_pair(&q, w.end, &key2, &list)) {
			const char *r = list.s + 1;

			if (!json_tok_is(key2, "PodDeviceEntries") || *list.s != '[')
				continue;
			while (json_item(&r, w.end, &e))
				entry(&w, e);
		}
	}
}

int kubelet_load(const char *path, const char *pod_uid, char *out, size_t cap)
{
	char *text;
	size_t len;
	int err = file_regular(&text, &len, AT_FDCWD, path, 0, KUBELET_BYTES_MAX);

	*out = '\0';
	if (err < 0)
		return err;
	memset(text + len, '"', JSON_PAD);
	kubelet_devices(text, len, pod_uid, out, cap);
	free(text);
	return 0;
}
