/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - what frames are called; see native.h. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "stacks/native_priv.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int native_module(struct native *n, uint32_t module, struct native_module *out)
{
	struct module *m = module_get(n, module);

	if (!m)
		return -ENOENT;
	*out = (struct native_module){ .path = m->path,
				       .file = last_part(m->path),
				       .build_id = m->img.id,
				       .build_id_len = m->img.id_len };
	return 0;
}

static size_t lines_of(struct native *n, struct module *m, uint64_t vaddr, struct native_name *out,
		       size_t cap)
{
	int err, left = NATIVE_WAIT_MS - n->waited_ms;
	struct lines *l = left > 0 ? module_lines(n, m, &err) : NULL;
	uint64_t since = clock_mono_ms();
	size_t got = l ? lines_at(l, vaddr, out, cap, left) : 0;

	n->waited_ms += (int)(clock_mono_ms() - since);
	return got;
}

size_t native_name(struct native *n, const struct native_frame *f, struct native_name *out,
		   size_t cap)
{
	struct module *m = module_get(n, f->module);
	const struct symbols *s = m ? module_symbols(n, m) : NULL;
	size_t lines = m && cap > 1 ? lines_of(n, m, f->offset, out, cap) : 0;
	char name[NATIVE_NAME];

	if (!lines)
		out[lines++] = (struct native_name){ .line = 0 };
	/* The symbol has the whole name of the function. */
	if (s && !symbols_name(s, &m->img, f->offset, name, sizeof(name)))
		memcpy(out[lines - 1].name, name, sizeof(name));
	return lines;
}

uint64_t native_symbol(struct native_target *t, const char *like, const char *symbol,
		       uint32_t *module)
{
	uint64_t at, vaddr;

	if (!t->read_ns)
		native_maps(t);
	for (size_t i = 0; i < t->maps; i++) {
		struct mapping *map = &t->map[i];
		struct module *m;

		if (!strstr(last_part(t->paths + map->path), like))
			continue;
		m = module_at(t, map, map->start, &vaddr);
		at = m ? symbols_find(&m->img, symbol) : 0;
		if (!at)
			continue;
		if (module)
			*module = m->id;
		return map->start - vaddr + at;
	}
	return 0;
}
