/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - see device.h. */
#include "gpuuse/device.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"

#define TEXT 4096u

/* "card12" of "card" is 12; -1: it is not of that form ("card0-HDMI-A-1"). */
static int32_t number_of(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	uint32_t v;

	if (strncmp(name, prefix, n) != 0 || num_u32(name + n, 0, INT32_MAX, &v) < 0)
		return -1;
	return (int32_t)v;
}

int gpu_device_bus(const struct gpu_devices *g, const char *bus)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (*bus && !strcasecmp(g->d[i].bus, bus))
			return (int)i;
	return -1;
}

int gpu_device_dri(const struct gpu_devices *g, const char *node)
{
	int32_t render = number_of(node, "renderD");

	for (uint32_t i = 0; i < g->n; i++)
		if (!strcmp(g->d[i].name, node) || (render >= 0 && g->d[i].render == render))
			return (int)i;
	return -1;
}

int gpu_device_minor(const struct gpu_devices *g, int32_t minor)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (minor >= 0 && g->d[i].minor == minor)
			return (int)i;
	return -1;
}

int gpu_device_kfd(const struct gpu_devices *g, uint32_t id)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (id && g->d[i].kfd == id)
			return (int)i;
	return -1;
}

static struct gpu_device *add(struct gpu_devices *g)
{
	if (g->n == GPU_DEVICES)
		return NULL;
	g->d[g->n] = (struct gpu_device){ .render = -1, .minor = -1 };
	return &g->d[g->n++];
}

/* --- /sys/class/drm --- */

static void load_dri(struct gpu_devices *g, const char *root, bool render)
{
	char path[PATH_MAX], link[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/sys/class/drm", root) >= (int)sizeof(path))
		return;
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		int32_t number = number_of(e->d_name, render ? "renderD" : "card");
		struct gpu_device *d;
		const char *bus;
		ssize_t n;
		int at;

		if (number < 0 || snprintf(path, sizeof(path), "%s/sys/class/drm/%s/device", root,
					   e->d_name) >= (int)sizeof(path))
			continue;
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		bus = strrchr(link, '/');
		bus = bus ? bus + 1 : link;
		at = gpu_device_bus(g, bus);
		d = at >= 0 ? &g->d[at] : add(g);
		if (!d)
			break;
		if (at < 0) {
			snprintf(d->name, sizeof(d->name), "%.15s", e->d_name);
			snprintf(d->bus, sizeof(d->bus), "%.39s", bus);
		}
		if (render)
			d->render = number;
	}
	if (dir)
		closedir(dir);
}

/* --- /sys/class/kfd: a node of its topology that has a gpu_id --- */

static uint64_t property(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, name, n) && p[n] == ' ')
			return num_front(p + n, NULL);
	}
	return 0;
}

static void load_kfd_node(struct gpu_devices *g, const char *dir, const char *node)
{
	char path[PATH_MAX], text[TEXT], bus[GPU_BUS];
	uint64_t id, at;
	int i;

	if (snprintf(path, sizeof(path), "%s/%s/gpu_id", dir, node) >= (int)sizeof(path) ||
	    file_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return;
	id = num_front(text, NULL);
	if (!id || id > UINT32_MAX)
		return; /* a CPU */
	if (snprintf(path, sizeof(path), "%s/%s/properties", dir, node) >= (int)sizeof(path) ||
	    file_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return;
	at = property(text, "location_id");
	snprintf(bus, sizeof(bus), "%04x:%02x:%02x.%x",
		 (unsigned)(property(text, "domain") & 0xffff), (unsigned)(at >> 8 & 0xff),
		 (unsigned)(at >> 3 & 0x1f), (unsigned)(at & 7));
	i = gpu_device_bus(g, bus);
	if (i < 0) {
		/* A partition: of the GPU at function 0. */
		bus[strlen(bus) - 1] = '0';
		i = gpu_device_bus(g, bus);
	}
	if (i >= 0 && !g->d[i].kfd) {
		g->d[i].kfd = (uint32_t)id;
	} else {
		struct gpu_device *d = add(g);

		if (!d)
			return;
		snprintf(d->name, sizeof(d->name), "kfd%.12s", node);
		d->kfd = (uint32_t)id;
	}
}

static void load_kfd(struct gpu_devices *g, const char *root)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes", root) >=
	    (int)sizeof(path))
		return;
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (number_of(e->d_name, "") >= 0)
			load_kfd_node(g, path, e->d_name);
	if (dir)
		closedir(dir);
}

/* --- /proc/driver/nvidia/gpus: numbered by their place on the bus, as NVML does --- */

static int by_bus(const void *a, const void *b)
{
	return strcmp(((const struct gpu_device *)a)->bus, ((const struct gpu_device *)b)->bus);
}

/* What stands behind "key:" and blanks, to the line's end. */
static void field(const char *text, const char *key, char *out, size_t cap)
{
	const char *at = strstr(text, key);

	at = at ? at + strlen(key) : "";
	at += strspn(at, " \t");
	snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
}

static void load_nvidia(struct gpu_devices *g, const char *root)
{
	char dir_path[PATH_MAX], path[PATH_MAX], text[TEXT], minor[16];
	uint32_t first = g->n;
	struct dirent *e;
	DIR *dir;

	if (snprintf(dir_path, sizeof(dir_path), "%s/proc/driver/nvidia/gpus", root) >=
	    (int)sizeof(dir_path))
		return;
	dir = opendir(dir_path);
	while (dir && (e = readdir(dir))) {
		struct gpu_device *d;
		uint32_t v;

		if (e->d_name[0] == '.' || strlen(e->d_name) >= GPU_BUS ||
		    snprintf(path, sizeof(path), "%s/%s/information", dir_path, e->d_name) >=
			    (int)sizeof(path) ||
		    file_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
			continue;
		d = add(g);
		if (!d)
			break;
		snprintf(d->bus, sizeof(d->bus), "%.39s", e->d_name);
		snprintf(d->driver, sizeof(d->driver), "nvidia");
		field(text, "GPU UUID:", d->uuid, sizeof(d->uuid));
		field(text, "Device Minor:", minor, sizeof(minor));
		if (!num_u32(minor, 0, INT32_MAX, &v))
			d->minor = (int32_t)v;
	}
	if (dir)
		closedir(dir);
	qsort(g->d + first, g->n - first, sizeof(g->d[0]), by_bus);
	for (uint32_t i = first; i < g->n; i++)
		snprintf(g->d[i].name, sizeof(g->d[i].name), "nvidia%u", i - first);
}

void gpu_devices_load(struct gpu_devices *g, const char *root)
{
	g->n = 0;
	load_dri(g, root, false);
	load_dri(g, root, true);
	load_kfd(g, root);
	load_nvidia(g, root);
}
