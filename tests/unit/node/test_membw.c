/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/emit.h"
#include "collect/membw.h"
#include "t.h"

static const struct {
	const char *name, *format;
	uint64_t value, want;
	bool ok;
} cases[] = {
	/* clang-format off */
	{ "bits in the middle",        "config:8-15",        0x03, 0x300, true  },
	{ "a single bit",              "config:18",          1,    1 << 18, true },
	{ "all of it",                 "config:0-63",        ~0ull, ~0ull, true },
	{ "a value that is too large", "config:0-3",         16,   0, false },
	{ "another word",              "config1:0-7",        1,    0, false },
	{ "two pieces",                "config:0-7,32-35",   1,    0, false },
	{ "from behind",               "config:9-3",         1,    0, false },
	{ "beyond the end",            "config:60-64",       1,    0, false },
	{ "nothing",                   "",                   1,    0, false },
	/* clang-format on */
};

static char root[] = "/tmp/aon-membw-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + sizeof(root); (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	f = fopen(full, "we");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* As the kernel has two memory controllers of a machine with two packages. */
static void tree(void)
{
#define D "/sys/bus/event_source/devices/uncore_imc_"
	for (int i = 0; i < 2; i++) {
		char path[160];
#define PUT(file, text) (snprintf(path, sizeof(path), D "%d/" file, i), put(path, text))
		PUT("type", i ? "15\n" : "14\n");
		PUT("cpumask", "0,24\n");
		PUT("format/event", "config:0-7\n");
		PUT("format/umask", "config:8-15\n");
		PUT("events/cas_count_read", "event=0x04,umask=0x03\n");
		PUT("events/cas_count_read.scale", "6.103515625e-5\n");
		PUT("events/cas_count_read.unit", "MiB\n");
		PUT("events/cas_count_write", "event=0x04,umask=0x0c\n");
		PUT("events/cas_count_write.scale", "6.103515625e-5\n");
		PUT("events/cas_count_write.unit", "MiB\n");
	}
	put("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
	put("/sys/devices/system/cpu/cpu24/topology/physical_package_id", "1\n");
}

static int opened, wrong, refuse;

/* Lines of 64 bytes: 1,000 read on package 0 by each controller, 10 times that on the other; a tenth written. */
static int count(uint32_t type, uint64_t config, int cpu)
{
	uint64_t n = (cpu ? 1000000 : 100000) / (config == 0xc04 ? 10 : 1);
	int fd = memfd_create("count", MFD_CLOEXEC);

	opened++;
	wrong += (type != 14 && type != 15) || (config != 0x304 && config != 0xc04) ||
		 (cpu != 0 && cpu != 24);
	if (refuse) {
		close(fd);
		return -refuse;
	}
	return write(fd, &n, sizeof(n)) == sizeof(n) ? fd : -EIO;
}

static void counted(struct emit *e)
{
	char *text = NULL, buf[256];
	size_t n;
	FILE *f = open_memstream(&text, &n);
	struct membw *m;

	emit_print(e, f);
	emit_begin(e, 1);
	T_OK(membw_new(&m, root, count, e) == 0 && opened == 8 && !wrong,
	     "each controller of each package is opened as it describes itself");
	membw_poll(m, e);
	emit_end(e);
	fflush(f);
	T_OK(strstr(text,
		    "aon_memory_bandwidth_bytes_total{package=\"0\",kind=\"read\"} 13000000") &&
		     strstr(text, "{package=\"1\",kind=\"read\"} 128000000") &&
		     strstr(text, "{package=\"1\",kind=\"write\"} 13000000"),
	     "bytes of a package are those of its controllers together");
	T_OK(!membw_why(m, buf, sizeof(buf)), "then there is no reason why not");
	membw_free(m);
	fclose(f);
	free(text);
}

static void refused(struct emit *e)
{
	struct membw *m;
	char buf[256];

	refuse = EACCES;
	T_OK(membw_new(&m, root, count, e) == 0 && membw_why(m, buf, sizeof(buf)) &&
		     strstr(buf, "CAP_PERFMON"),
	     "counters that may not be read are said, with what is needed");
	membw_free(m);
	T_OK(membw_new(&m, "/nowhere", count, e) == 0 && membw_why(m, buf, sizeof(buf)) &&
		     strstr(buf, "uncore_imc"),
	     "so is a kernel without any");
	membw_free(m);
	opened = 0;
	T_OK(membw_new(&m, root, NULL, e) == 0 && membw_why(m, buf, sizeof(buf)),
	     "another root has no counters of this machine");
	membw_free(m);
}

int main(void)
{
	struct emit *e;
	char command[64];

	for (size_t i = 0; i < T_LEN(cases); i++) {
		uint64_t config = 0;

		T_OK(membw_bits(cases[i].format, cases[i].value, &config) == cases[i].ok &&
			     config == cases[i].want,
		     "%s", cases[i].name);
	}
	if (!mkdtemp(root) || emit_new(&e) < 0)
		return 1;
	tree();
	counted(e);
	refused(e);
	emit_free(e);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	T_OK(system(command) == 0, "cleaned up");
	return t_done();
}
