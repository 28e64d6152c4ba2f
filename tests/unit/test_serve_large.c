/* SPDX-License-Identifier: Apache-2.0 */
/* A run that is too large to be loaded: what is answered of all of it, and what of a part. */
#include "serve/analysis.h"
#include "storekit.h"

#define BLOBS 20u
#define EACH  1000u

static void make_store(const char *path)
{
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 4242);
	uint32_t id;

	for (uint32_t i = 0; i < 7; i++) {
		char name[16];

		snprintf(name, sizeof(name), "kernel_%u", i);
		id = 2 + i;
		store_name(st, name, strlen(name), &id);
	}
	for (uint32_t i = 1; i <= 3; i++) {
		struct lane l = { .process = p.id,
				  .device = i < 3 ? 0 : LANE_HOST,
				  .stream = 7 + i };

		id = i;
		store_lane(st, &l, &id);
	}
	for (uint32_t i = 0; i < BLOBS; i++)
		if (kit_commit(st, &p, (uint64_t)i * EACH, EACH, 1) < 0)
			abort();
	store_close(st);
}

/* The answer for a view of the one run, owned by the caller. */
static char *ask(struct serve *s, const char *view)
{
	struct viewer root = { .all = true };
	struct runs rs;
	struct answer a;
	char target[128];

	if (runs_load(&rs, s, &root) < 0 || rs.n != 1)
		return NULL;
	snprintf(target, sizeof(target), "/api/v1/run/%s/%s", rs.run[0].id, view);
	runs_fini(&rs);
	serve_ask(s, &root, target, &a);
	return a.body;
}

static struct serve *open_serve(const char *path, uint32_t whole, uint32_t part)
{
	struct store_why why;
	struct serve *s;

	if (serve_new(&s) < 0 || serve_add(s, path, NULL, &why) < 0)
		abort();
	s->whole = whole;
	s->part = part;
	return s;
}

/* One number of all the numbers that members of that name have. */
static uint64_t mix_of(const char *body, const char *member)
{
	char key[64];
	uint64_t mix = 0;

	snprintf(key, sizeof(key), "\"%s\":", member);
	while (body && (body = strstr(body, key))) {
		body += strlen(key);
		mix = mix * 31 + strtoull(body, NULL, 10);
	}
	return mix;
}

static void compare(struct serve *all, struct serve *few, const char *view, const char *member)
{
	char *a = ask(all, view), *b = ask(few, view);

	T_OK(a && b && strstr(a, "\"partial\":false") && strstr(b, "\"partial\":false") &&
		     mix_of(a, member) && mix_of(a, member) == mix_of(b, member),
	     "%s of a large run are of all of it: %s", view, member);
	free(a);
	free(b);
}

int main(void)
{
	static const char *const part[] = { "findings", "steps", "flame", "ops", "overview" };
	struct serve *all, *few;
	const char *path;

	kit_begin();
	path = kit_path("large.db");
	make_store(path);
	all = open_serve(path, 1000000, 1000000);
	few = open_serve(path, 5000, 2000);
	compare(all, few, "devices", "busy_ns");
	compare(all, few, "devices", "gaps");
	compare(all, few, "kernels", "ns");
	compare(all, few, "kernels", "calls");
	for (size_t i = 0; i < T_LEN(part); i++) {
		char *a = ask(all, part[i]), *b = ask(few, part[i]);

		T_OK(a && strstr(a, "\"whole\":true") && b && strstr(b, "\"partial\":true") &&
			     strstr(b, "\"whole\":false"),
		     "%s of a large run say that they are of a part", part[i]);
		free(a);
		free(b);
	}
	T_OK(few->kept && few->kept->t->events && few->kept->t->events <= 3000,
	     "no more than the bound and a batch is loaded");
	T_OK(all->kept && all->kept->t->events == BLOBS * EACH, "of a small run all is");
	serve_free(all);
	serve_free(few);
	return kit_end();
}
