/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - kernel, cores, memory, PCIe, networks and InfiniBand, as /proc and /sys have them. */
#include "validate/node.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES      4096u /* of a folder, at most */
#define FAST_MBPS    25000 /* from there on a network card is for data */
#define CAP_PCIE     0x10
#define EXT_ACS      0x000d
#define ACS_REDIRECT 0x0cu /* request and completion redirect */

struct node {
	struct facts *f;
	const char *root;
};

/* Up to cap - 1 bytes of a file, without the end of its line: false if there is none. */
static bool slurp(const struct node *n, const char *path, char *out, size_t cap, size_t *len)
{
	char full[PATH_MAX];
	ssize_t r;
	int fd;

	if ((size_t)snprintf(full, sizeof(full), "%s%s", n->root, path) >= sizeof(full))
		return false;
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	r = read(fd, out, cap - 1);
	close(fd);
	if (r < 0)
		return false;
	if (len)
		*len = (size_t)r;
	out[r] = '\0';
	if (!len)
		while (r && isspace((unsigned char)out[r - 1]))
			out[--r] = '\0';
	return true;
}

static bool number(const struct node *n, const char *path, double *out)
{
	char text[64], *end;

	if (!slurp(n, path, text, sizeof(text), NULL) || !*text)
		return false;
	*out = strtod(text, &end);
	return end != text;
}

static void copy(const struct node *n, const char *key, const char *path)
{
	char text[FACT_VALUE];

	if (slurp(n, path, text, sizeof(text), NULL) && *text)
		facts_set(n->f, key, "%.200s", text);
}

/* Each entry of a folder whose name begins with `prefix`. */
typedef void entry_fn(const struct node *n, const char *path, const char *name, void *arg);

static void each(const struct node *n, const char *folder, const char *prefix, entry_fn *fn,
		 void *arg)
{
	char full[PATH_MAX], path[PATH_MAX];
	struct dirent *e;
	unsigned left = DEVICES;
	DIR *d;

	snprintf(full, sizeof(full), "%s%s", n->root, folder);
	d = opendir(full);
	while (d && left-- && (e = readdir(d)))
		if (*e->d_name != '.' && !strncmp(e->d_name, prefix, strlen(prefix)) &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < sizeof(path))
			fn(n, path, e->d_name, arg);
	if (d)
		closedir(d);
}

static bool beside(const struct node *n, const char *path, const char *file, char *out, size_t cap)
{
	char full[PATH_MAX];

	return (size_t)snprintf(full, sizeof(full), "%s/%s", path, file) < sizeof(full) &&
	       slurp(n, full, out, cap, NULL);
}

static bool beside_number(const struct node *n, const char *path, const char *file, double *out)
{
	char full[PATH_MAX];

	return (size_t)snprintf(full, sizeof(full), "%s/%s", path, file) < sizeof(full) &&
	       number(n, full, out);
}

/* --- kernel --- */

/* The word in brackets: "always [madvise] never". */
static void chosen(const struct node *n, const char *key, const char *path)
{
	char text[256], *open, *close;

	if (slurp(n, path, text, sizeof(text), NULL) && (open = strchr(text, '[')) &&
	    (close = strchr(open, ']')))
		facts_set(n->f, key, "%.*s", (int)(close - open - 1), open + 1);
}

static void count_entry(const struct node *n, const char *path, const char *name, void *arg)
{
	(void)n, (void)path, (void)name;
	++*(unsigned *)arg;
}

static void iommu(const struct node *n)
{
	char line[4096] = "", type[64];
	unsigned groups = 0;

	slurp(n, "/proc/cmdline", line, sizeof(line), NULL);
	each(n, "/sys/kernel/iommu_groups", "", count_entry, &groups);
	if (!groups)
		facts_set(n->f, "kernel/iommu", "off");
	else if (strstr(line, "iommu=pt") || strstr(line, "iommu.passthrough=1"))
		facts_set(n->f, "kernel/iommu", "passthrough");
	else if (slurp(n, "/sys/kernel/iommu_groups/0/type", type, sizeof(type), NULL))
		facts_set(n->f, "kernel/iommu", "%s",
			  !strcmp(type, "identity") ? "passthrough" : "on");
}

static void find_irqbalance(const struct node *n, const char *path, const char *name, void *arg)
{
	char comm[32];

	if (isdigit((unsigned char)*name) && beside(n, path, "comm", comm, sizeof(comm)) &&
	    !strcmp(comm, "irqbalance"))
		*(bool *)arg = true;
}

static void kernel(const struct node *n)
{
	bool balances = false;

	copy(n, "kernel/release", "/proc/sys/kernel/osrelease");
	copy(n, "kernel/cmdline", "/proc/cmdline");
	copy(n, "kernel/numa_balancing", "/proc/sys/kernel/numa_balancing");
	copy(n, "kernel/clocksource",
	     "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	copy(n, "hostname", "/proc/sys/kernel/hostname");
	copy(n, "bios/version", "/sys/class/dmi/id/bios_version");
	copy(n, "bios/date", "/sys/class/dmi/id/bios_date");
	copy(n, "board/name", "/sys/class/dmi/id/board_name");
	copy(n, "board/vendor", "/sys/class/dmi/id/sys_vendor");
	copy(n, "board/product", "/sys/class/dmi/id/product_name");
	iommu(n);
	each(n, "/proc", "", find_irqbalance, &balances);
	facts_set(n->f, "service/irqbalance", "%s", balances ? "yes" : "no");
}

/* --- cores and memory --- */

static void worst_governor(const struct node *n, const char *path, const char *name, void *arg)
{
	char text[64], *out = arg;

	(void)name;
	if (beside(n, path, "cpufreq/scaling_governor", text, sizeof(text)) &&
	    (!*out || !strcmp(out, "performance")))
		snprintf(out, 64, "%s", text);
}

/* The longest way back from an idle state that is not turned off. */
static void idle_exit(const struct node *n, const char *path, const char *name, void *arg)
{
	double off = 0, us, *most = arg;

	(void)name;
	beside_number(n, path, "disable", &off);
	if (off == 0 && beside_number(n, path, "latency", &us) && us > *most)
		*most = us;
}

static void throttles(const struct node *n, const char *path, const char *name, void *arg)
{
	double v;

	(void)name;
	if (beside_number(n, path, "thermal_throttle/core_throttle_count", &v))
		*(double *)arg = (*(double *)arg < 0 ? 0 : *(double *)arg) + v;
}

static void add_file(const struct node *n, const char *path, const char *file, double *sum)
{
	double v;

	if (beside_number(n, path, file, &v))
		*sum = (*sum < 0 ? 0 : *sum) + v;
}

static void edac(const struct node *n, const char *path, const char *name, void *arg)
{
	double *sum = arg;

	(void)name;
	add_file(n, path, "ue_count", &sum[0]);
	add_file(n, path, "ce_count", &sum[1]);
}

static void cpu_model(const struct node *n)
{
	char *text = malloc(65536), *at, *end;

	if (text && slurp(n, "/proc/cpuinfo", text, 65536, NULL)) {
		at = strstr(text, "model name");
		at = at ? strchr(at, ':') : NULL;
		end = at ? strchr(at, '\n') : NULL;
		if (end)
			facts_set(n->f, "cpu/model", "%.*s", (int)(end - at - 2), at + 2);
		at = strstr(text, "microcode");
		at = at ? strchr(at, ':') : NULL;
		end = at ? strchr(at, '\n') : NULL;
		if (end)
			facts_set(n->f, "cpu/microcode", "%.*s", (int)(end - at - 2), at + 2);
	}
	free(text);
}

static void cores(const struct node *n)
{
	double throttled = -1, exit_us = -1, ecc[2] = { -1, -1 }, kib;
	char governor[64] = "", text[8192], *at;

	cpu_model(n);
	copy(n, "cpu/online", "/sys/devices/system/cpu/online");
	copy(n, "cpu/smt", "/sys/devices/system/cpu/smt/control");
	copy(n, "numa/nodes", "/sys/devices/system/node/online");
	each(n, "/sys/devices/system/cpu", "cpu", worst_governor, governor);
	if (*governor)
		facts_set(n->f, "cpu/governor", "%s", governor);
	each(n, "/sys/devices/system/cpu/cpu0/cpuidle", "state", idle_exit, &exit_us);
	if (exit_us >= 0)
		facts_set(n->f, "cpu/idle_exit_us", "%.0f", exit_us);
	each(n, "/sys/devices/system/cpu", "cpu", throttles, &throttled);
	if (throttled >= 0)
		facts_set(n->f, "cpu/throttles", "%.0f", throttled);
	chosen(n, "memory/thp", "/sys/kernel/mm/transparent_hugepage/enabled");
	copy(n, "memory/hugepages", "/proc/sys/vm/nr_hugepages");
	if (slurp(n, "/proc/meminfo", text, sizeof(text), NULL) &&
	    (at = strstr(text, "MemTotal:")) && (kib = strtod(at + 9, NULL)) > 0)
		facts_set(n->f, "memory/total_gib", "%.0f", kib / 1048576);
	each(n, "/sys/devices/system/edac/mc", "mc", edac, ecc);
	if (ecc[0] >= 0)
		facts_set(n->f, "memory/uncorrected", "%.0f", ecc[0]);
	if (ecc[1] >= 0)
		facts_set(n->f, "memory/corrected", "%.0f", ecc[1]);
}

/* --- PCIe --- */

struct pcie {
	unsigned devices, narrow, strict, redirects, looked, bridges;
	char narrow_at[160];
};

static unsigned get16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

/* Relaxed ordering of a device, ACS of a bridge: from its configuration, as far as it can be read. */
static void config(const struct node *n, const char *path, bool bridge, struct pcie *sum)
{
	char full[PATH_MAX];
	uint8_t c[4096 + 1];
	size_t len = 0;
	unsigned at, hops = 0;

	snprintf(full, sizeof(full), "%s/config", path);
	if (!slurp(n, full, (char *)c, sizeof(c), &len) || len < 64)
		return;
	for (at = c[0x34] & 0xfc; at >= 0x40 && at + 10 <= len && hops++ < 48;
	     at = c[at + 1] & 0xfc)
		if (c[at] == CAP_PCIE && !bridge) {
			sum->looked++;
			sum->strict += !(get16(c + at + 8) & 0x10);
		}
	for (at = 0x100, hops = 0; bridge && at >= 0x100 && at + 8 <= len && hops++ < 96;
	     at = get16(c + at + 2) >> 4)
		if (get16(c + at) == EXT_ACS) {
			sum->bridges++;
			sum->redirects += (get16(c + at + 6) & ACS_REDIRECT) != 0;
			break;
		}
}

static void pcie_device(const struct node *n, const char *path, const char *name, void *arg)
{
	char class[32], vendor[32], device[32], key[64];
	struct pcie *sum = arg;
	double now, most;
	bool gpu, nic, bridge;

	if (!beside(n, path, "class", class, sizeof(class)))
		return;
	gpu = !strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4);
	nic = !strncmp(class, "0x02", 4);
	bridge = !strncmp(class, "0x0604", 6);
	sum->devices++;
	if (gpu || nic || bridge)
		config(n, path, bridge, sum);
	if (!gpu && !nic)
		return;
	if (beside(n, path, "vendor", vendor, sizeof(vendor)) &&
	    beside(n, path, "device", device, sizeof(device))) {
		snprintf(key, sizeof(key), "pcie/%.20s", name);
		facts_set(n->f, key, "%s %s:%s", gpu ? "GPU" : "NIC", vendor, device);
	}
	if (beside_number(n, path, "current_link_width", &now) &&
	    beside_number(n, path, "max_link_width", &most) && now > 0 && most > now && most < 64) {
		sum->narrow++;
		snprintf(sum->narrow_at + strlen(sum->narrow_at),
			 sizeof(sum->narrow_at) - strlen(sum->narrow_at), "%s%.20s",
			 sum->narrow > 1 ? " " : "", name);
	}
}

static void pcie(const struct node *n)
{
	struct pcie sum = { 0 };

	each(n, "/sys/bus/pci/devices", "", pcie_device, &sum);
	if (!sum.devices)
		return;
	facts_set(n->f, "pcie/degraded", "%u", sum.narrow);
	if (sum.narrow)
		facts_set(n->f, "pcie/degraded_at", "%s", sum.narrow_at);
	if (sum.looked)
		facts_set(n->f, "pcie/strictly_ordered", "%u", sum.strict);
	if (sum.bridges)
		facts_set(n->f, "pcie/acs_redirects", "%u", sum.redirects);
}

/* --- networks --- */

struct net {
	unsigned fast, down;
	double mtu;
	char down_at[160];
};

static void net_device(const struct node *n, const char *path, const char *name, void *arg)
{
	char key[64], state[32] = "";
	struct net *sum = arg;
	double mbps = 0, mtu;

	if (!beside_number(n, path, "mtu", &mtu) || !strcmp(name, "lo"))
		return;
	beside_number(n, path, "speed", &mbps);
	beside(n, path, "operstate", state, sizeof(state));
	snprintf(key, sizeof(key), "net/%.20s/mtu", name);
	facts_set(n->f, key, "%.0f", mtu);
	if (mbps > 0) {
		snprintf(key, sizeof(key), "net/%.20s/mbps", name);
		facts_set(n->f, key, "%.0f", mbps);
	}
	if (mbps < FAST_MBPS)
		return;
	sum->fast++;
	if (sum->fast == 1 || mtu < sum->mtu)
		sum->mtu = mtu;
	if (!strcmp(state, "down")) {
		sum->down++;
		snprintf(sum->down_at, sizeof(sum->down_at), "%.20s", name);
	}
}

static void ib_port(const struct node *n, const char *path, const char *name, void *arg)
{
	char state[64], rate[64], key[96], *device = arg;
	double down = 0;

	snprintf(key, sizeof(key), "ib/%.20s/%.4s/rate", device, name);
	if (beside(n, path, "rate", rate, sizeof(rate)))
		facts_set(n->f, key, "%s", rate);
	if (!beside(n, path, "state", state, sizeof(state)))
		return;
	facts_number(n->f, "ib/down", &down);
	facts_set(n->f, "ib/down", "%.0f", down + !strstr(state, "ACTIVE"));
	if (!strstr(state, "ACTIVE"))
		facts_set(n->f, "ib/down_at", "%.20s port %.4s", device, name);
}

static void ib_device(const struct node *n, const char *path, const char *name, void *arg)
{
	char ports[PATH_MAX], key[64], text[64], device[32];

	(void)arg;
	snprintf(device, sizeof(device), "%.31s", name);
	snprintf(key, sizeof(key), "ib/%.20s/firmware", name);
	if (beside(n, path, "fw_ver", text, sizeof(text)))
		facts_set(n->f, key, "%s", text);
	if ((size_t)snprintf(ports, sizeof(ports), "%s/ports", path) < sizeof(ports))
		each(n, ports, "", ib_port, device);
}

/* --- GPUs, by NVIDIA's driver --- */

static void nvidia_gpu(const struct node *n, const char *path, const char *name, void *arg)
{
	char text[2048], *line, *at = text;

	++*(unsigned *)arg;
	if (!beside(n, path, "information", text, sizeof(text)))
		return;
	while ((line = strsep(&at, "\n"))) {
		static const char *const keep[] = { "Model", "Video BIOS", "GPU Firmware" };
		char key[96], *colon = strchr(line, ':');

		for (size_t i = 0; colon && i < 3; i++)
			if (!strncmp(line, keep[i], strlen(keep[i]))) {
				snprintf(key, sizeof(key), "gpu/%.20s/%s", name, keep[i]);
				facts_set(n->f, key, "%.100s",
					  colon + 1 + strspn(colon + 1, " \t"));
			}
	}
}

static void gpus(const struct node *n)
{
	char text[1024], *at;
	unsigned count = 0;

	each(n, "/proc/driver/nvidia/gpus", "", nvidia_gpu, &count);
	if (count)
		facts_set(n->f, "gpu/count", "%u", count);
	if (slurp(n, "/proc/driver/nvidia/version", text, sizeof(text), NULL) &&
	    (at = strstr(text, "Kernel Module"))) {
		at += strcspn(at, "0123456789");
		facts_set(n->f, "gpu/driver", "%.*s", (int)strcspn(at, " \n"), at);
	}
}

void node_facts(struct facts *f, const char *root)
{
	struct node n = { f, root };
	struct net sum = { 0 };

	kernel(&n);
	cores(&n);
	pcie(&n);
	each(&n, "/sys/class/net", "", net_device, &sum);
	if (sum.fast) {
		facts_set(f, "net/fast_mtu_min", "%.0f", sum.mtu);
		facts_set(f, "net/fast_down", "%u", sum.down);
	}
	if (sum.down)
		facts_set(f, "net/fast_down_at", "%s", sum.down_at);
	each(&n, "/sys/class/infiniband", "", ib_device, NULL);
	gpus(&n);
}
