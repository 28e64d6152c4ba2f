/* SPDX-License-Identifier: Apache-2.0 */
/* roofline_measure.c - aon roofline measure: measures this device, and saves the result. */
#include "cli/model/roofline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/model/devices.h"
#include "cli/core/out.h"
#include "measure/measure.h"

static void progress(void *arg, const char *what)
{
	(void)arg;
	fprintf(stderr, "measuring: %s\n", what);
}

/* The device, and what a device has no place for. */
static void write_json(FILE *f, const struct measure *m)
{
	struct json j;

	json_begin(&j, f, DEVICES_SCHEMA);
	json_open(&j, "devices", '[');
	json_open(&j, NULL, '{');
	gpu_json(&j, &m->gpu);
	json_open(&j, "levels", '[');
	for (size_t i = 0; i < m->levels; i++) {
		json_object(&j, NULL, J_U64("bytes", m->level[i].bytes),
			    J_DOUBLE("Bps", m->level[i].Bps));
	}
	json_end(&j);
}

/* The directories that lead to it. */
static void make_way(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(part, 0755);
		*p = '/';
	}
}

/* Whole or not at all, and only what can be read again: commands would stumble over it. */
static int save(const struct measure *m, const char *path)
{
	char part[PATH_MAX + 8];
	struct devices_why why;
	FILE *f;
	bool ok;

	make_way(path);
	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "we");
	if (!f)
		return cli_say(CLI_FAIL, "%s: %s", part, strerror(errno));
	write_json(f, m);
	ok = !ferror(f);
	ok = !fclose(f) && ok;
	if (!ok)
		cli_say(CLI_FAIL, "%s: cannot be written", path);
	else if (devices_read(part, &why) < 0)
		ok = cli_say(false, "what was measured cannot be true: %s", why.text);
	else if (rename(part, path) < 0)
		ok = cli_say(false, "%s: %s", path, strerror(errno));
	if (!ok)
		unlink(part);
	return ok ? CLI_OK : CLI_FAIL;
}

static char *set_size(char out[FMT_LEN], uint64_t bytes)
{
	snprintf(out, FMT_LEN, "%llu %s", (unsigned long long)bytes >> (bytes >> 20 ? 20 : 10),
		 bytes >> 20 ? "MiB" : "KiB");
	return out;
}

static void print_levels(const struct measure *m, const struct out *out)
{
	static const struct col col[] = { COL_TEXT("Working set", 0), COL_NUM("read", 0),
					  COL_TEXT("", 0) };
	double most = 0;
	struct table t;
	char text[FMT_LEN], bar[128];

	for (size_t i = 0; i < m->levels; i++)
		most = m->level[i].Bps > most ? m->level[i].Bps : most;
	table_init(&t, col, sizeof(col) / sizeof(*col));
	t.unit[1] = "GB/s";
	for (size_t i = 0; i < m->levels; i++) {
		table_add(&t, "%s", set_size(text, m->level[i].bytes));
		table_add(&t, "%s", fmt_value(text, m->level[i].Bps / 1e9, 1));
		table_add(&t, "%s",
			  fmt_bar(bar, sizeof(bar), m->level[i].Bps / most, 24, out->ascii));
	}
	table_done(&t, out, 2);
}

/* Where the rate falls, a level of memory ends. */
static void print_steps(const struct measure *m, const struct out *out)
{
	struct measure_level step[MEASURE_LEVELS];
	size_t n = measure_steps(m, step);
	char a[FMT_LEN], b[FMT_LEN];

	for (size_t i = 0; i + 1 < n; i++)
		out_line(out, OUT_PLAIN, "  %-8s %s GB/s read, of up to %s", i ? "" : "caches",
			 fmt_value(a, step[i].Bps / 1e9, 1), set_size(b, step[i].bytes));
}

static char *flops(char out[2 * FMT_LEN], double v)
{
	char num[FMT_LEN];

	snprintf(out, 2 * FMT_LEN, "%s %s", fmt_value(num, v < 1e12 ? v / 1e9 : v / 1e12, 1),
		 v < 1e12 ? "GFLOPS" : "TFLOPS");
	return out;
}

static void print_peaks(const struct measure *m, const struct out *out)
{
	char v[2 * FMT_LEN], t[2 * FMT_LEN];

	for (int i = 0; i < GPU_TYPES; i++) {
		double vector = m->gpu.vector_flops[i], tensor = m->gpu.tensor_flops[i];

		if (vector > 0)
			out_line(out, OUT_PLAIN, "  %-8s %s", gpu_type_word[i], flops(v, vector));
		if (tensor > 0)
			out_line(out, OUT_PLAIN, "  %-8s %s with tensor cores", gpu_type_word[i],
				 flops(t, tensor));
	}
}

static void print_text(const struct opts *o, const struct measure *m, const struct backend *b,
		       const char *path)
{
	char a[FMT_LEN], c[FMT_LEN], clean[256];
	struct out out;

	out_init(&out, stdout, o);
	out_line(&out, OUT_BOLD, "%s, through %s %s",
		 fmt_clean(clean, sizeof(clean), b->name, out.ascii), b->ops->api, b->driver);
	fputc('\n', stdout);
	print_peaks(m, &out);
	fputc('\n', stdout);
	print_levels(m, &out);
	fputc('\n', stdout);
	print_steps(m, &out);
	out_line(&out, OUT_PLAIN, "  memory   %s GB/s read, %s GB/s two read and one written",
		 fmt_value(a, m->level[m->levels - 1].Bps / 1e9, 1),
		 fmt_value(c, m->triad_Bps / 1e9, 1));
	if (m->fits_cache)
		out_line(&out, OUT_WARN,
			 "           the largest set fits the cache (%s): memory itself may be "
			 "slower",
			 fmt_bytes(a, b->cache_bytes));
	out_line(&out, OUT_PLAIN, "  host     %s GB/s to the device",
		 fmt_value(a, m->gpu.pcie_Bps / 1e9, 1));
	out_line(&out, OUT_PLAIN, "  kernel   %s, one after the other; %s with waiting for it",
		 out_time(&out, a, sizeof(a), (uint64_t)m->gpu.launch_ns),
		 out_time(&out, c, sizeof(c), (uint64_t)m->sync_ns));
	fputc('\n', stdout);
	out_line(&out, OUT_PLAIN, "  kept as the device 'measured' in %s",
		 fmt_clean(clean, sizeof(clean), path, out.ascii));
	out_line(&out, OUT_COPY, "  aon roofline show measured");
}

/* As asked for, or CUDA where it is, else OpenCL. */
static int open_backend(const struct opts *o, struct backend **b)
{
	char why[BACKEND_WHY] = "", first[BACKEND_WHY] = "";
	int api = opt_choice(o, OPT_API, 2), err = -ENOENT;
	double index = 0;

	if (api < 0 || opt_number(o, OPT_INDEX, 0, 1000, &index) != CLI_OK)
		return CLI_USAGE;
	if (api != 0)
		err = cuda_open(b, (uint32_t)index, first);
	if (err && api != 1)
		err = opencl_open(b, (uint32_t)index, why);
	if (!err)
		return CLI_OK;
	if (api == 2)
		return cli_say(CLI_FAIL, "nothing to measure. CUDA: %s. OpenCL: %s.", first, why);
	return cli_say(CLI_FAIL, "%s: %s.", api ? "CUDA" : "OpenCL", api ? first : why);
}

int roofline_measure(const struct opts *o)
{
	struct measure_opts how = { .quick = o->val[OPT_QUICK], .progress = progress };
	struct backend *b = NULL;
	char path[PATH_MAX];
	struct measure m;
	int rc, err;

	if (o->val[OPT_OUTPUT_DEVICE])
		snprintf(path, sizeof(path), "%s", o->val[OPT_OUTPUT_DEVICE]);
	else
		devices_measured_path(path);
	if (!*path)
		return cli_say(CLI_FAIL, "no home directory to keep it in. Name a file: -o FILE");
	rc = open_backend(o, &b);
	if (rc != CLI_OK)
		return rc;
	err = measure(&m, b, &how);
	if (err)
		rc = cli_say(CLI_FAIL, "%s cannot be measured: %s", b->name,
			     *b->why ? b->why : strerror(-err));
	else
		rc = save(&m, path);
	if (rc == CLI_OK && o->val[OPT_JSON])
		write_json(stdout, &m);
	else if (rc == CLI_OK)
		print_text(o, &m, b, path);
	b->ops->close(b);
	return rc;
}
