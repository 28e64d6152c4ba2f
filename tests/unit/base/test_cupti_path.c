/* SPDX-License-Identifier: Apache-2.0 */
/* test_cupti_path.c - which libcupti is tried first, by what a process has loaded. */
#include <string.h>

#include "abi/cupti_path.h"
#include "t.h"

static struct cupti_view view(const char *const *paths)
{
	struct cupti_view v = { .driver = false };

	for (; *paths; paths++)
		cupti_see(&v, *paths);
	return v;
}

/* The candidates, one after the other, with a space behind each. */
static const char *all(const struct cupti_view *v)
{
	static char text[4096];
	char path[CUPTI_PATH];

	text[0] = '\0';
	for (unsigned n = 0; n < 64 && cupti_candidate(v, n, path, sizeof(path)); n++)
		strcat(strcat(text, path), " ");
	return text;
}

static void is(const char *const *paths, const char *expected, const char *what)
{
	struct cupti_view v = view(paths);

	T_OK(!strcmp(all(&v), expected), "%s", what);
	if (strcmp(all(&v), expected) != 0)
		printf("# %s\n", all(&v));
}

static void orders(void)
{
	const char *wheel[] = { "/v/lib/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12",
				"/usr/lib/libcuda.so.1", NULL };
	const char *cu13[] = { "/v/site-packages/nvidia/cu13/lib/libcudart.so.13", NULL };
	const char *toolkit[] = { "/usr/local/cuda/lib64/libcudart.so.11.0", NULL };
	const char *jax[] = { "/v/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so", NULL };
	const char *none[] = { "/lib/libc.so.6", NULL };
	struct cupti_view v;

	is(wheel,
	   "/v/lib/site-packages/nvidia/cuda_runtime/lib/libcupti.so.12 "
	   "/v/lib/site-packages/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12 "
	   "/v/lib/site-packages/nvidia/cuda_runtime/lib/../extras/CUPTI/lib64/libcupti.so.12 "
	   "/v/lib/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12 libcupti.so.12 ",
	   "wheels of CUDA 12: beside the runtime, never another major version");
	is(cu13,
	   "/v/site-packages/nvidia/cu13/lib/libcupti.so.13 "
	   "/v/site-packages/nvidia/cu13/lib/../../cuda_cupti/lib/libcupti.so.13 "
	   "/v/site-packages/nvidia/cu13/lib/../extras/CUPTI/lib64/libcupti.so.13 "
	   "/v/site-packages/nvidia/cu13/lib/libcupti.so.13 libcupti.so.13 ",
	   "wheels of CUDA 13: in one folder");
	is(toolkit,
	   "/usr/local/cuda/lib64/libcupti.so.11.8 "
	   "/usr/local/cuda/lib64/../../cuda_cupti/lib/libcupti.so.11.8 "
	   "/usr/local/cuda/lib64/../extras/CUPTI/lib64/libcupti.so.11.8 libcupti.so.11.8 ",
	   "a toolkit");
	is(jax,
	   "/v/site-packages/nvidia/cu13/lib/libcupti.so.13 "
	   "/v/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12 "
	   "/v/site-packages/nvidia/cuda_cupti/lib/libcupti.so.11.8 "
	   "libcupti.so.13 libcupti.so.12 libcupti.so.11.8 ",
	   "a runtime that is linked statically: the packages first, then the loader");
	is(none, "libcupti.so.13 libcupti.so.12 libcupti.so.11.8 ", "nothing: the loader");
	v = view(none);
	v.driver_most = 12;
	T_OK(!strcmp(all(&v), "libcupti.so.12 libcupti.so.11.8 "),
	     "none that is newer than the driver");
}

static void facts(void)
{
	const char *paths[] = { "/a/libcupti.so.12", "/b/libcuda.so.535.1", "/a/libcudart.so.13",
				"/c/libcupti.so.13", NULL };
	struct cupti_view v = view(paths);
	char long_path[2 * CUPTI_PATH], path[CUPTI_PATH];

	T_OK(!strcmp(v.loaded, "/a/libcupti.so.12") && v.driver && v.major == 13,
	     "the first libcupti, the driver, the runtime's version");
	T_OK(cupti_major("/x/libcupti.so") == 0 && cupti_major("libcupti.so.11.8") == 11 &&
		     cupti_major("/y.so.9/libcudart.so.12.4.127") == 12,
	     "major versions");
	memset(long_path, 'x', sizeof(long_path));
	long_path[0] = '/';
	strcpy(long_path + sizeof(long_path) - 20, "/libcudart.so.12");
	memset(&v, 0, sizeof(v));
	cupti_see(&v, long_path);
	T_OK(!v.cudart[0] && v.major == 12, "a path that is too long is no folder");
	T_OK(cupti_candidate(&v, 0, path, sizeof(path)) && !strcmp(path, "libcupti.so.12"),
	     "then the loader is asked");
	T_OK(!cupti_candidate(&v, 0, path, 5), "no room, no candidate");
}

int main(void)
{
	orders();
	facts();
	return t_done();
}
