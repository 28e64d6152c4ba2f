/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_path.c - the folders of wheels and toolkits, in the order in which they are tried. */
#include "abi/cupti_path.h"

#include <string.h>

/* The last part of the SONAME, newest first. 11.8 is the oldest that has the records we need. */
static const struct {
	int major;
	const char *suffix, *wheel; /* wheel: its folder below nvidia/ */
} versions[] = {
	{ 13, "13", "cu13" },
	{ 12, "12", "cuda_cupti" },
	{ 11, "11.8", "cuda_cupti" },
};

#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int cupti_major(const char *path)
{
	const char *so = strstr(base_of(path), ".so.");
	int n = 0;

	for (so = so ? so + 4 : ""; *so >= '0' && *so <= '9' && n < 1000; so++)
		n = n * 10 + *so - '0';
	return n;
}

static void keep(char to[CUPTI_PATH], const char *path, size_t len)
{
	if (to[0] || len >= CUPTI_PATH)
		return;
	memcpy(to, path, len);
	to[len] = '\0';
}

static void see_site(struct cupti_view *v, const char *path)
{
	const char *at = strstr(path, "/site-packages/");
	size_t len;

	at = at ? at : strstr(path, "/dist-packages/");
	if (!at || v->sites == CUPTI_SITES)
		return;
	len = (size_t)(at - path) + strlen("/site-packages");
	for (unsigned i = 0; i < v->sites; i++)
		if (!strncmp(v->site[i], path, len) && !v->site[i][len])
			return;
	keep(v->site[v->sites], path, len);
	v->sites += v->site[v->sites][0] != '\0';
}

void cupti_see(struct cupti_view *v, const char *path)
{
	const char *base = base_of(path);

	if (!strncmp(base, "libcuda.so", 10))
		v->driver = true;
	if (!strncmp(base, "libcudart.so", 12)) {
		keep(v->cudart, path, strlen(path));
		v->major = v->major ? v->major : cupti_major(path);
	}
	if (!strncmp(base, "libcupti.so", 11))
		keep(v->loaded, path, strlen(path));
	see_site(v, path);
}

static bool fits(const struct cupti_view *v, size_t i)
{
	if (v->major)
		return versions[i].major == v->major;
	return !v->driver_most || versions[i].major <= v->driver_most;
}

/* "DIR/MIDDLE/libcupti.so.12"; false: too long, which is no candidate. */
static bool join(char *out, size_t cap, const char *dir, size_t len, const char *middle,
		 const char *suffix)
{
	if (len + strlen(middle) + strlen("/libcupti.so.") + strlen(suffix) >= cap)
		return false;
	memcpy(out, dir, len);
	out[len] = '\0';
	strcat(out, middle);
	strcat(out, "/libcupti.so.");
	strcat(out, suffix);
	return true;
}

/* The count of candidates down to the wanted one. */
struct pick {
	unsigned left;
	char *out;
	size_t cap;
};

static bool offer(struct pick *p, const char *dir, size_t len, const char *middle,
		  const char *suffix)
{
	return join(p->out, p->cap, dir, len, middle, suffix) && !p->left--;
}

static bool beside_runtime(const struct cupti_view *v, size_t i, struct pick *p)
{
	size_t len = (size_t)(base_of(v->cudart) - v->cudart);

	if (len <= 1)
		return false;
	len--;
	return offer(p, v->cudart, len, "", versions[i].suffix) ||
	       offer(p, v->cudart, len, "/../../cuda_cupti/lib", versions[i].suffix) ||
	       offer(p, v->cudart, len, "/../extras/CUPTI/lib64", versions[i].suffix);
}

static bool in_sites(const struct cupti_view *v, size_t i, struct pick *p)
{
	char middle[48] = "/nvidia/";

	strcat(strcat(middle, versions[i].wheel), "/lib");
	for (unsigned s = 0; s < v->sites; s++)
		if (offer(p, v->site[s], strlen(v->site[s]), middle, versions[i].suffix))
			return true;
	return false;
}

bool cupti_candidate(const struct cupti_view *v, unsigned n, char *out, size_t cap)
{
	struct pick p = { n, out, cap };

	for (size_t i = 0; i < VERSIONS; i++)
		if (fits(v, i) && (beside_runtime(v, i, &p) || in_sites(v, i, &p)))
			return true;
	for (size_t i = 0; i < VERSIONS; i++) {
		if (!fits(v, i) || p.left--)
			continue;
		return join(out, cap, "", 0, "", versions[i].suffix) &&
		       memmove(out, out + 1, strlen(out)); /* a name, without the slash */
	}
	return false;
}
