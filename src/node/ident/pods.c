/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods.c - see pods.h.
 *
 *	ListPodResourcesResponse { repeated PodResources pod_resources = 1; }
 *	PodResources { string name = 1; string namespace = 2; repeated ContainerResources containers = 3; }
 *	ContainerResources { string name = 1; repeated ContainerDevices devices = 2; }
 *	ContainerDevices { string resource_name = 1; repeated string device_ids = 2; }
 */
#include "ident/pods.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/pb.h"
#include "ident/word.h"

struct pod {
	char namespace[PODS_NAME], name[PODS_NAME];
	FILE *to;
};

typedef int field_fn(void *arg, const struct pb_field *f);

/* Every field that is bytes, in order. */
static int each(struct pb in, field_fn *fn, void *arg)
{
	struct pb_field f;
	int err = 0;

	while (!err && pb_next(&in, &f))
		if (f.wire == 2)
			err = fn(arg, &f);
	return err ? err : in.bad ? -EBADMSG : 0;
}

static void word(char *out, size_t cap, const struct pb *data, bool list)
{
	ident_word(out, cap, (const char *)data->p, (size_t)(data->end - data->p), list);
}

static bool is_gpu(const struct pb *name)
{
	size_t len = (size_t)(name->end - name->p);

	return memmem(name->p, len, "gpu", 3) || memmem(name->p, len, "mig-", 4);
}

static int find_gpu(void *arg, const struct pb_field *f)
{
	if (f->num == 1)
		*(bool *)arg = is_gpu(&f->data);
	return 0;
}

static int on_id(void *arg, const struct pb_field *f)
{
	const struct pod *p = arg;
	char device[96];

	if (f->num != 2)
		return 0;
	word(device, sizeof(device), &f->data, false);
	if (*device && *p->name && *p->namespace)
		fprintf(p->to, "%s %s %s\n", p->namespace, p->name, device);
	return 0;
}

static int on_container(void *arg, const struct pb_field *f)
{
	bool gpu = false;
	int err;

	if (f->num != 2)
		return 0;
	err = each(f->data, find_gpu, &gpu);
	return err || !gpu ? err : each(f->data, on_id, arg);
}

/* Names come before containers in none of them for sure: first these, then those. */
static int on_name(void *arg, const struct pb_field *f)
{
	struct pod *p = arg;

	if (f->num == 1)
		word(p->name, sizeof(p->name), &f->data, false);
	else if (f->num == 2)
		word(p->namespace, sizeof(p->namespace), &f->data, false);
	return 0;
}

static int on_part(void *arg, const struct pb_field *f)
{
	return f->num == 3 ? each(f->data, on_container, arg) : 0;
}

static int on_pod(void *arg, const struct pb_field *f)
{
	struct pod p = { .to = arg };
	int err;

	if (f->num != 1)
		return 0;
	err = each(f->data, on_name, &p);
	return err ? err : each(f->data, on_part, &p);
}

int pods_lines(const void *data, size_t len, FILE *to)
{
	struct pb in = { data, (const uint8_t *)data + len, false };

	return each(in, on_pod, to);
}

/* The next line of three words, each a name. */
static bool next(const char **text, char namespace[PODS_NAME], char pod[PODS_NAME], char device[96])
{
	while (**text) {
		const char *p = *text;
		size_t len = strcspn(p, "\n"), a = strcspn(p, " \n"),
		       b = a < len ? strcspn(p + a + 1, " \n") : 0;

		*text = p + len + (p[len] == '\n');
		if (a >= len || a + 1 + b >= len)
			continue;
		ident_word(namespace, PODS_NAME, p, a, false);
		ident_word(pod, PODS_NAME, p + a + 1, b, false);
		ident_word(device, 96, p + a + b + 2, len - a - b - 2, false);
		if (*namespace && *pod && *device)
			return true;
	}
	return false;
}

void pods_devices(const char *text, const char *namespace, const char *pod, char *out, size_t cap)
{
	char ns[PODS_NAME], name[PODS_NAME], device[96];
	size_t n = 0;

	*out = '\0';
	while (next(&text, ns, name, device)) {
		if (strcmp(ns, namespace) || strcmp(name, pod) || n + strlen(device) + 2 > cap)
			continue;
		if (n)
			out[n++] = ',';
		strcpy(out + n, device);
		n += strlen(device);
	}
}

bool pods_owner(const char *text, const char *device, char namespace[PODS_NAME],
		char pod[PODS_NAME])
{
	char id[96];

	while (next(&text, namespace, pod, id))
		if (!strcmp(id, device))
			return true;
	*namespace = *pod = '\0';
	return false;
}

char *pods_load(const char *path)
{
	char *text;
	size_t len;

	return file_regular(&text, &len, AT_FDCWD, path, O_NOFOLLOW, PODS_BYTES_MAX) ? NULL : text;
}
