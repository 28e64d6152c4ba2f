/* SPDX-License-Identifier: Apache-2.0 */
/*
 * membw.c - memory traffic, from the counters of memory controllers (perf's uncore PMUs).
 *
 * A PMU describes itself in /sys/bus/event_source/devices: its number, the CPUs on which its
 * counters are read (one per package), how the words of an event form its configuration, and the
 * unit of a count. The counts of a package's controllers are added up. resctrl offers the same by
 * L3 domain, as files: sysfs.tbl.h.
 */
#include "collect/membw.h"

#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "collect/host.h"

#define COUNTERS 256u
#define PACKAGES 16u
#define DEVICES  "/sys/bus/event_source/devices"

static const struct {
	const char *pmu, *event;
	bool write;
} rows[] = {
	{ "uncore_imc*", "cas_count_read", false }, { "uncore_imc*", "cas_count_write", true },
	{ "uncore_imc*", "data_reads", false },     { "uncore_imc*", "data_writes", true },
	{ "uncore_imc_free*", "data_read", false }, { "uncore_imc_free*", "data_write", true },
};

struct counter {
	int fd; /* owned */
	unsigned package;
	bool write;
	double scale; /* bytes of a count */
};

struct membw {
	const char *root;
	membw_open_fn *open;
	struct counter counter[COUNTERS];
	unsigned n, pmus;
	int refused; /* errno of the first that could not be opened; 0: none */
	uint32_t series[PACKAGES][2];
};

static int perf_open(uint32_t type, uint64_t config, int cpu)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config };
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* --- what a PMU says of itself --- */

bool membw_bits(const char *format, uint64_t value, uint64_t *config)
{
	unsigned from, to;
	int n = 0;

	/* config1 and what is made of several pieces is not used by these events. */
	if (sscanf(format, "config:%u-%u%n", &from, &to, &n) != 2) {
		if (sscanf(format, "config:%u%n", &from, &n) != 1)
			return false;
		to = from;
	}
	if (from > to || to > 63 || (format[n] && format[n] != '\n') ||
	    (to - from < 63 && value >> (to - from + 1)))
		return false;
	*config |= value << from;
	return true;
}

static bool read_file(const struct membw *m, const char *pmu, const char *file, char *out,
		      size_t cap)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%.128s/%.200s", pmu, file);
	fd = host_open(m->root, path);
	if (fd < 0)
		return false;
	n = read(fd, out, cap - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return n > 0;
}

/* "event=0x04,umask=0x03" */
static bool config_of(const struct membw *m, const char *pmu, const char *event, uint64_t *config)
{
	*config = 0;
	while (*event) {
		size_t n = strcspn(event, ",");
		char name[64], file[80], format[64];
		unsigned long long value = 1;

		if (sscanf(event, "%63[^=,]=%lli", name, (long long *)&value) < 1)
			return false;
		snprintf(file, sizeof(file), "format/%s", name);
		if (!read_file(m, pmu, file, format, sizeof(format)) ||
		    !membw_bits(format, value, config))
			return false;
		event += n + (event[n] == ',');
	}
	return true;
}

static double bytes_of(const char *scale, const char *unit)
{
	double v = num_front_real(scale, NULL);

	if (!strcmp(unit, "MiB"))
		return v * 1048576;
	return strcmp(unit, "Bytes") && strcmp(unit, "") ? 0 : v;
}

static unsigned package_of(const struct membw *m, int cpu)
{
	char path[128], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		 cpu);
	fd = host_open(m->root, path);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	return (unsigned)num_front_i64(text, NULL) % PACKAGES;
}

static void add(struct membw *m, const char *pmu, const char *event, bool write)
{
	char text[256], cpus[256], scale[64] = "1", unit[32] = "", type[16], file[96];
	uint64_t config;
	const char *p = cpus;

	snprintf(file, sizeof(file), "events/%s", event);
	if (!read_file(m, pmu, file, text, sizeof(text)) || !config_of(m, pmu, text, &config) ||
	    !read_file(m, pmu, "type", type, sizeof(type)) ||
	    !read_file(m, pmu, "cpumask", cpus, sizeof(cpus)))
		return;
	snprintf(file, sizeof(file), "events/%s.scale", event);
	read_file(m, pmu, file, scale, sizeof(scale));
	snprintf(file, sizeof(file), "events/%s.unit", event);
	read_file(m, pmu, file, unit, sizeof(unit));
	m->pmus++;
	while (*p && m->n < COUNTERS && bytes_of(scale, unit) > 0) {
		int cpu = (int)num_front_i64(p, &p),
		    fd = m->open((uint32_t)num_front(type, NULL), config, cpu);

		if (fd >= 0)
			m->counter[m->n++] = (struct counter){ fd, package_of(m, cpu), write,
							       bytes_of(scale, unit) };
		else if (!m->refused)
			m->refused = -fd;
		p += strcspn(p, ",");
		p += *p == ',';
	}
}

/* --- the counters --- */

void membw_free(struct membw *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->n; i++)
		close(m->counter[i].fd);
	free(m);
}

int membw_new(struct membw **out, const char *root, membw_open_fn *fn, struct emit *e)
{
	struct membw *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->root = root;
	m->open = fn ? fn : perf_open;
	memset(m->series, 0xff, sizeof(m->series));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char pattern[512];
		glob_t g = { .gl_pathc = 0 };

		/* Counters of this machine are not those of another root. */
		if (*root && !fn)
			break;
		snprintf(pattern, sizeof(pattern), "%.256s" DEVICES "/%s", root, rows[i].pmu);
		if (glob(pattern, 0, NULL, &g) == 0)
			for (size_t k = 0; k < g.gl_pathc; k++)
				add(m, strrchr(g.gl_pathv[k], '/') + 1, rows[i].event,
				    rows[i].write);
		globfree(&g);
	}
	emit_group(e, HOST_MID);
	for (unsigned i = 0; i < m->n; i++) {
		const struct counter *c = &m->counter[i];
		char package[16];

		snprintf(package, sizeof(package), "%u", c->package);
		m->series[c->package][c->write] =
			emit_series(e, "aon_memory_bandwidth_bytes_total", package,
				    c->write ? "kind=\"write\"" : "kind=\"read\"");
	}
	*out = m;
	return 0;
}

const char *membw_why(const struct membw *m, char *buf, size_t cap)
{
	if (m->n)
		return NULL;
	if (m->refused)
		snprintf(buf, cap, "counters of memory controllers are there, but: %s%s",
			 strerror(m->refused),
			 m->refused == EACCES || m->refused == EPERM ? " (CAP_PERFMON is needed)"
								     : "");
	else
		snprintf(buf, cap,
			 "the kernel has no counters of memory controllers (" DEVICES
			 "/uncore_imc*)%s",
			 m->pmus ? " whose unit is known" : "");
	return buf;
}

void membw_poll(struct membw *m, struct emit *e)
{
	double sum[PACKAGES][2] = { { 0 } };
	bool bad[PACKAGES][2] = { { false } };

	for (unsigned i = 0; i < m->n; i++) {
		const struct counter *c = &m->counter[i];
		uint64_t count;

		if (pread(c->fd, &count, sizeof(count), 0) == sizeof(count) ||
		    read(c->fd, &count, sizeof(count)) == sizeof(count))
			sum[c->package][c->write] += (double)count * c->scale;
		else
			bad[c->package][c->write] = true;
	}
	emit_group(e, HOST_MID);
	for (unsigned p = 0; p < PACKAGES; p++)
		for (unsigned w = 0; w < 2; w++)
			if (m->series[p][w] != EMIT_NONE && !bad[p][w])
				emit_count(e, m->series[p][w], sum[p][w]);
}
