/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - takes calls that one of torch's libraries makes (probe/got.h), all of them or none. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "probe/got.h"
#include "probe/torch/torch.h"

struct library_search {
	const char *lib;
	const struct got_place *want;
	size_t wants, must;
	int err;
	char path[512];
};

static int library_take_in(const struct dl_phdr_info *info, const struct library_search *s)
{
	int n;

	for (size_t i = 0; i < s->must; i++) {
		struct got_place look = { .name = s->want[i].name };

		if (got_take(info, &look, 1) <= 0)
			return -ENOSYS;
	}
	n = got_take(info, s->want, s->wants);
	return n < 0 ? n : 0;
}

static int library_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct library_search *s = arg;

	(void)size;
	if (!slash || strncmp(slash + 1, s->lib, strlen(s->lib)))
		return 0;
	strncpy(s->path, info->dlpi_name, sizeof(s->path) - 1);
	if (s->wants)
		s->err = library_take_in(info, s);
	return 1;
}

int library_take(const char *lib, const struct got_place *want, size_t n, size_t must)
{
	struct library_search s = { .lib = lib, .want = want, .wants = n, .must = must };

	return dl_iterate_phdr(library_look, &s) ? s.err : -ENOENT;
}

void *library_open(const char *lib)
{
	struct library_search s = { .lib = lib };

	if (!dl_iterate_phdr(library_look, &s))
		return NULL;
	return dlopen(s.path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}
