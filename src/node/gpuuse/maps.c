/* SPDX-License-Identifier: Apache-2.0 */
/* maps.c - see maps.h. */
#include "gpuuse/maps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_MAX (4u << 20) /* bytes: 40,000 mappings */

const char *const framework_name[FRAMEWORKS] = { "torch", "jax", "tensorflow" };

void maps_line(struct maps_seen *out, const char *line)
{
	static const struct {
		const char *part;
		enum framework is;
	} parts[] = {
		{ "/libtorch.so", FRAMEWORK_TORCH },
		{ "/libtorch_cpu.so", FRAMEWORK_TORCH },
		{ "/jaxlib/", FRAMEWORK_JAX },
		{ "/libtensorflow", FRAMEWORK_TENSORFLOW },
		{ "/_pywrap_tensorflow", FRAMEWORK_TENSORFLOW },
	};

	if (strstr(line, "/libaon.so") || strstr(line, "/libaon-"))
		out->aon = true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(line, parts[i].part))
			out->frameworks |= 1u << parts[i].is;
}

int maps_read(struct maps_seen *out, const char *root, pid_t pid)
{
	char path[PATH_MAX], line[PATH_MAX + 256];
	size_t all = 0;
	FILE *f;

	*out = (struct maps_seen){ 0 };
	if (snprintf(path, sizeof(path), "%s/proc/%d/maps", root, (int)pid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	for (; all < READ_MAX && fgets(line, sizeof(line), f); all += strlen(line))
		maps_line(out, line);
	fclose(f);
	return 0;
}

bool maps_is_python(const char *root, pid_t pid)
{
	char path[PATH_MAX], exe[PATH_MAX];
	const char *name;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/proc/%d/exe", root, (int)pid) >= (int)sizeof(path))
		return false;
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	name = strrchr(exe, '/');
	return name && !strncmp(name + 1, "python", 6);
}
