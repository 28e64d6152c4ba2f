/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - kernel, cores and memory, from /proc and /sys. */
#include "validate/node.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "validate/node_files.h"

/* --- kernel --- */

/* The word in brackets: "always [madvise] never". */
static void chosen(const struct node_files *n, const char *key, const char *path)
{
	char text[256], *open, *close;

	if (node_slurp(n, path, text, sizeof(text), NULL) && (open = strchr(text, '[')) &&
	    (close = strchr(open, ']')))
		facts_set(n->f, key, "%.*s", (int)(close - open - 1), open + 1);
}

static void count_entry(const struct node_files *n, const char *path, const char *name, void *arg)
{
	(void)n, (void)path, (void)name;
	++*(unsigned *)arg;
}

static void iommu(const struct node_files *n)
{
	char line[4096] = "", type[64];
	unsigned groups = 0;

	node_slurp(n, "/proc/cmdline", line, sizeof(line), NULL);
	node_each(n, "/sys/kernel/iommu_groups", "", count_entry, &groups);
	if (!groups)
		facts_set(n->f, "kernel/iommu", "off");
	else if (strstr(line, "iommu=pt") || strstr(line, "iommu.passthrough=1"))
		facts_set(n->f, "kernel/iommu", "passthrough");
	else if (node_slurp(n, "/sys/kernel/iommu_groups/0/type", type, sizeof(type), NULL))
		facts_set(n->f, "kernel/iommu", "%s",
			  !strcmp(type, "identity") ? "passthrough" : "on");
}

static void find_irqbalance(const struct node_files *n, const char *path, const char *name,
			    void *arg)
{
	char comm[32];

	if (isdigit((unsigned char)*name) && node_beside(n, path, "comm", comm, sizeof(comm)) &&
	    !strcmp(comm, "irqbalance"))
		*(bool *)arg = true;
}

/* Without what is a node's own: its disks, its addresses, where it was booted from. */
static void cmdline(const struct node_files *n)
{
	static const char *const own[] = { "BOOT_IMAGE=", "BOOTIF=", "root=",    "resume=",
					   "initrd=",     "ip=",     "nfsroot=", "hostname=" };
	char line[4096], kept[FACT_VALUE - 1] = "", *rest = line, *word;

	if (!node_slurp(n, "/proc/cmdline", line, sizeof(line), NULL))
		return;
	while ((word = strsep(&rest, " \t"))) {
		size_t used = strlen(kept);
		bool mine = !*word;

		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			mine |= !strncmp(word, own[i], strlen(own[i]));
		if (!mine)
			snprintf(kept + used, sizeof(kept) - used, "%s%s", used ? " " : "", word);
	}
	facts_set(n->f, "kernel/cmdline", "%s", kept);
}

static void kernel(const struct node_files *n)
{
	bool balances = false;

	node_copy(n, "kernel/release", "/proc/sys/kernel/osrelease");
	cmdline(n);
	node_copy(n, "kernel/numa_balancing", "/proc/sys/kernel/numa_balancing");
	node_copy(n, "kernel/zone_reclaim", "/proc/sys/vm/zone_reclaim_mode");
	node_copy(n, "kernel/clocksource",
		  "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	node_copy(n, "hostname", "/proc/sys/kernel/hostname");
	node_copy(n, "bios/version", "/sys/class/dmi/id/bios_version");
	node_copy(n, "bios/date", "/sys/class/dmi/id/bios_date");
	node_copy(n, "board/name", "/sys/class/dmi/id/board_name");
	node_copy(n, "board/vendor", "/sys/class/dmi/id/sys_vendor");
	node_copy(n, "board/product", "/sys/class/dmi/id/product_name");
	iommu(n);
	node_each(n, "/proc", "", find_irqbalance, &balances);
	facts_set(n->f, "service/irqbalance", "%s", balances ? "yes" : "no");
}

/* --- cores and memory --- */

static void worst_governor(const struct node_files *n, const char *path, const char *name,
			   void *arg)
{
	char text[64], *out = arg;

	(void)name;
	if (node_beside(n, path, "cpufreq/scaling_governor", text, sizeof(text)) &&
	    (!*out || !strcmp(out, "performance")))
		snprintf(out, 64, "%s", text);
}

/* The longest way back from an idle state that is not turned off. */
static void idle_exit(const struct node_files *n, const char *path, const char *name, void *arg)
{
	double off = 0, us, *most = arg;

	(void)name;
	node_beside_number(n, path, "disable", &off);
	if (off == 0 && node_beside_number(n, path, "latency", &us) && us > *most)
		*most = us;
}

static void add_file(const struct node_files *n, const char *path, const char *file, double *sum)
{
	double v;

	if (node_beside_number(n, path, file, &v))
		*sum = (*sum < 0 ? 0 : *sum) + v;
}

static void throttles(const struct node_files *n, const char *path, const char *name, void *arg)
{
	(void)name;
	add_file(n, path, "thermal_throttle/core_throttle_count", arg);
}

static void edac(const struct node_files *n, const char *path, const char *name, void *arg)
{
	double *sum = arg;

	(void)name;
	add_file(n, path, "ue_count", &sum[0]);
	add_file(n, path, "ce_count", &sum[1]);
}

/* A line of /proc/cpuinfo: "model name	: AMD EPYC". */
static void cpu_line(const struct node_files *n, const char *text, const char *word,
		     const char *key)
{
	const char *at = strstr(text, word), *end;

	at = at ? strchr(at, ':') : NULL;
	end = at ? strchr(at, '\n') : NULL;
	if (end)
		facts_set(n->f, key, "%.*s", (int)(end - at - 2), at + 2);
}

static void cpu_model(const struct node_files *n)
{
	char *text = malloc(65536);

	if (text && node_slurp(n, "/proc/cpuinfo", text, 65536, NULL)) {
		cpu_line(n, text, "model name", "cpu/model");
		cpu_line(n, text, "microcode", "cpu/microcode");
	}
	free(text);
}

static double kib_of(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? num_front_real(at + strlen(word), NULL) : 0;
}

/* Huge pages that are set aside and that nobody has taken are memory that is lost. */
static void meminfo(const struct node_files *n)
{
	char text[8192];
	double page, total;

	if (!node_slurp(n, "/proc/meminfo", text, sizeof(text), NULL))
		return;
	total = kib_of(text, "MemTotal:");
	page = kib_of(text, "Hugepagesize:");
	if (total > 0)
		facts_set(n->f, "memory/total_gib", "%.0f", total / 1048576);
	if (page > 0)
		facts_set(n->f, "memory/hugepages_idle_percent", "%.0f",
			  100 * page *
				  (kib_of(text, "HugePages_Free:") -
				   kib_of(text, "HugePages_Rsvd:")) /
				  (total > 0 ? total : page));
}

static void turbo(const struct node_files *n)
{
	double v;

	if (node_number(n, "/sys/devices/system/cpu/intel_pstate/no_turbo", &v))
		facts_set(n->f, "cpu/turbo", "%s", v != 0 ? "off" : "on");
	else if (node_number(n, "/sys/devices/system/cpu/cpufreq/boost", &v))
		facts_set(n->f, "cpu/turbo", "%s", v != 0 ? "on" : "off");
}

static void cores(const struct node_files *n)
{
	double throttled = -1, exit_us = -1, ecc[2] = { -1, -1 };
	char governor[64] = "";

	cpu_model(n);
	turbo(n);
	node_copy(n, "cpu/online", "/sys/devices/system/cpu/online");
	node_copy(n, "cpu/smt", "/sys/devices/system/cpu/smt/control");
	node_copy(n, "numa/nodes", "/sys/devices/system/node/online");
	node_each(n, "/sys/devices/system/cpu", "cpu", worst_governor, governor);
	if (*governor)
		facts_set(n->f, "cpu/governor", "%s", governor);
	node_each(n, "/sys/devices/system/cpu/cpu0/cpuidle", "state", idle_exit, &exit_us);
	if (exit_us >= 0)
		facts_set(n->f, "cpu/idle_exit_us", "%.0f", exit_us);
	node_each(n, "/sys/devices/system/cpu", "cpu", throttles, &throttled);
	if (throttled >= 0)
		facts_set(n->f, "cpu/throttles", "%.0f", throttled);
	chosen(n, "memory/thp", "/sys/kernel/mm/transparent_hugepage/enabled");
	chosen(n, "memory/thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
	node_copy(n, "memory/hugepages", "/proc/sys/vm/nr_hugepages");
	meminfo(n);
	node_each(n, "/sys/devices/system/edac/mc", "mc", edac, ecc);
	if (ecc[0] >= 0)
		facts_set(n->f, "memory/uncorrected", "%.0f", ecc[0]);
	if (ecc[1] >= 0)
		facts_set(n->f, "memory/corrected", "%.0f", ecc[1]);
}

void node_facts(struct facts *f, const char *root)
{
	struct node_files n = { f, root };

	kernel(&n);
	cores(&n);
	node_memory(&n);
	node_devices(&n);
}
