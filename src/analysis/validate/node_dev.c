/* SPDX-License-Identifier: Apache-2.0 */
/* node_dev.c - PCIe, networks, InfiniBand, NVMe and their drivers. */
#include "validate/node_files.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>

#define FAST_MBPS    25000 /* from there on a network card is for data */
#define CAP_PCIE     0x10
#define EXT_ACS      0x000d
#define ACS_REDIRECT 0x0cu /* request and completion redirect */

/* --- PCIe --- */

struct pcie {
	struct node_config config;
	unsigned devices, narrow, slow, slow_known, nvidia;
	char narrow_at[160], slow_at[160];
};

static void add_word(char *list, size_t cap, const char *word)
{
	size_t n = strlen(list);

	snprintf(list + n, cap - n, "%s%.20s", n ? " " : "", word);
}

static unsigned get16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

/* Relaxed ordering of a device, ACS of a bridge: from its configuration, as far as it can be read. */
void node_config(struct node_config *sum, const uint8_t *c, size_t len, bool bridge)
{
	unsigned at, hops = 0;

	if (len < 64)
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

static void config(const struct node_files *n, const char *path, bool bridge, struct pcie *sum)
{
	char full[PATH_MAX], c[4096 + 1];
	size_t len = 0;

	snprintf(full, sizeof(full), "%s/config", path);
	if (node_slurp(n, full, c, sizeof(c), &len))
		node_config(&sum->config, (const uint8_t *)c, len, bridge);
}

static void pcie_device(const struct node_files *n, const char *path, const char *name, void *arg)
{
	char class[32], vendor[32], device[32], key[64];
	struct pcie *sum = arg;
	double now, most;
	bool gpu, nic, bridge;

	if (!node_beside(n, path, "class", class, sizeof(class)))
		return;
	gpu = !strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4);
	nic = !strncmp(class, "0x02", 4);
	bridge = !strncmp(class, "0x0604", 6);
	sum->devices++;
	if (gpu || nic || bridge)
		config(n, path, bridge, sum);
	if (!gpu && !nic)
		return;
	if (node_beside(n, path, "vendor", vendor, sizeof(vendor)) &&
	    node_beside(n, path, "device", device, sizeof(device))) {
		snprintf(key, sizeof(key), "pcie/%.20s", name);
		facts_set(n->f, key, "%s %s:%s", gpu ? "GPU" : "NIC", vendor, device);
		sum->nvidia += gpu && !strcmp(vendor, "0x10de");
	}
	if (node_beside_number(n, path, "numa_node", &now) && now >= 0) {
		snprintf(key, sizeof(key), "pcie/%.20s/numa", name);
		facts_set(n->f, key, "%.0f", now);
	}
	if (node_beside_number(n, path, "current_link_width", &now) &&
	    node_beside_number(n, path, "max_link_width", &most) && now > 0 && most > now &&
	    most < 64) {
		sum->narrow++;
		add_word(sum->narrow_at, sizeof(sum->narrow_at), name);
	}
	/* A GPU that idles lowers its rate; a network card does not. */
	if (nic && node_beside_number(n, path, "current_link_speed", &now) &&
	    node_beside_number(n, path, "max_link_speed", &most) && now > 0 && most > 0) {
		sum->slow_known++;
		sum->slow += now < most;
		if (now < most)
			add_word(sum->slow_at, sizeof(sum->slow_at), name);
	}
}

static void pcie(const struct node_files *n)
{
	struct pcie sum = { 0 };

	node_each(n, "/sys/bus/pci/devices", "", pcie_device, &sum);
	if (!sum.devices)
		return;
	facts_set(n->f, "pcie/degraded", "%u", sum.narrow);
	if (sum.narrow)
		facts_set(n->f, "pcie/degraded_at", "%s", sum.narrow_at);
	if (sum.slow_known)
		facts_set(n->f, "pcie/nic_slow", "%u", sum.slow);
	if (sum.slow)
		facts_set(n->f, "pcie/nic_slow_at", "%s", sum.slow_at);
	if (sum.nvidia)
		facts_set(n->f, "gpu/on_bus", "%u", sum.nvidia);
	if (sum.config.looked)
		facts_set(n->f, "pcie/strictly_ordered", "%u", sum.config.strict);
	if (sum.config.bridges)
		facts_set(n->f, "pcie/acs_redirects", "%u", sum.config.redirects);
}

/* --- networks --- */

struct net {
	unsigned fast, down;
	double mtu;
	char down_at[160];
};

/* Of cards alone: bridges and tunnels have none. Files do not have it. */
static void firmware(const struct node_files *n, const char *name)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ask = { .ifr_data = (char *)&info };
	char key[64];
	int s;

	if (*n->root || strlen(name) >= sizeof(ask.ifr_name))
		return;
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(ask.ifr_name, name, strlen(name));
	if (s >= 0 && ioctl(s, SIOCETHTOOL, &ask) == 0 && *info.fw_version &&
	    strncmp(info.fw_version, "N/A", 3)) {
		snprintf(key, sizeof(key), "net/%.20s/firmware", name);
		facts_set(n->f, key, "%.31s", info.fw_version);
	}
	if (s >= 0)
		close(s);
}

static void net_device(const struct node_files *n, const char *path, const char *name, void *arg)
{
	char key[64], state[32] = "", vendor[16];
	struct net *sum = arg;
	double mbps = 0, mtu;

	/* Cards alone: bridges, tunnels and containers' ends come and go. */
	if (!node_beside_number(n, path, "mtu", &mtu) ||
	    !node_beside(n, path, "device/vendor", vendor, sizeof(vendor)))
		return;
	node_beside_number(n, path, "speed", &mbps);
	node_beside(n, path, "operstate", state, sizeof(state));
	snprintf(key, sizeof(key), "net/%.20s/mtu", name);
	facts_set(n->f, key, "%.0f", mtu);
	if (mbps > 0) {
		snprintf(key, sizeof(key), "net/%.20s/mbps", name);
		facts_set(n->f, key, "%.0f", mbps);
	}
	firmware(n, name);
	snprintf(key, sizeof(key), "net/%.20s/state", name);
	facts_set(n->f, key, "%s", state);
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

static void ib_port(const struct node_files *n, const char *path, const char *name, void *arg)
{
	char state[64], rate[64], key[96], *device = arg;
	double down = 0;

	snprintf(key, sizeof(key), "ib/%.20s/%.4s/rate", device, name);
	if (node_beside(n, path, "rate", rate, sizeof(rate)))
		facts_set(n->f, key, "%s", rate);
	if (!node_beside(n, path, "state", state, sizeof(state)))
		return;
	facts_number(n->f, "ib/down", &down);
	facts_set(n->f, "ib/down", "%.0f", down + !strstr(state, "ACTIVE"));
	if (!strstr(state, "ACTIVE"))
		facts_set(n->f, "ib/down_at", "%.20s port %.4s", device, name);
}

static void ib_device(const struct node_files *n, const char *path, const char *name, void *arg)
{
	char ports[PATH_MAX], key[64], text[64], device[32];

	(void)arg;
	snprintf(device, sizeof(device), "%.31s", name);
	snprintf(key, sizeof(key), "ib/%.20s/firmware", name);
	if (node_beside(n, path, "fw_ver", text, sizeof(text)))
		facts_set(n->f, key, "%s", text);
	if ((size_t)snprintf(ports, sizeof(ports), "%s/ports", path) < sizeof(ports))
		node_each(n, ports, "", ib_port, device);
}

/* --- disks and drivers --- */

static void nvme(const struct node_files *n, const char *path, const char *name, void *arg)
{
	static const char *const file[] = { "model", "firmware_rev" };
	char key[64], text[80];

	(void)arg;
	for (size_t i = 0; i < 2; i++)
		if (node_beside(n, path, file[i], text, sizeof(text))) {
			snprintf(key, sizeof(key), "disk/%.20s/%s", name, i ? "firmware" : file[i]);
			facts_set(n->f, key, "%s", text);
		}
}

static void drivers(const struct node_files *n)
{
	static const char *const module[] = { "nvidia",    "amdgpu",  "xe",      "i915",
					      "mlx5_core", "mlx5_ib", "bnxt_en", "irdma",
					      "ice",       "nvme",    "gdrdrv",  "nvidia_peermem" };
	char path[96], key[64];

	for (size_t i = 0; i < sizeof(module) / sizeof(module[0]); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s/version", module[i]);
		snprintf(key, sizeof(key), "driver/%s", module[i]);
		node_copy(n, key, path);
	}
}

/* --- GPUs, by NVIDIA's driver --- */

static void nvidia_gpu(const struct node_files *n, const char *path, const char *name, void *arg)
{
	char text[2048], *line, *at = text;

	++*(unsigned *)arg;
	if (!node_beside(n, path, "information", text, sizeof(text)))
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

static void gpus(const struct node_files *n)
{
	char text[1024], *at;
	unsigned count = 0;

	node_each(n, "/proc/driver/nvidia/gpus", "", nvidia_gpu, &count);
	if (count)
		facts_set(n->f, "gpu/count", "%u", count);
	if (node_slurp(n, "/proc/driver/nvidia/version", text, sizeof(text), NULL) &&
	    (at = strstr(text, "Kernel Module"))) {
		at += strcspn(at, "0123456789");
		facts_set(n->f, "gpu/driver", "%.*s", (int)strcspn(at, " \n"), at);
	}
}

/* GPUs write to network cards by themselves if a module, or the kernel's own way, lets them. */
static void peer_memory(const struct node_files *n)
{
	char text[256];
	double down;

	if (!facts_get(n->f, "gpu/on_bus") || !facts_number(n->f, "ib/down", &down))
		return;
	if (node_slurp(n, "/sys/module/nvidia_peermem/initstate", text, sizeof(text), NULL) ||
	    node_slurp(n, "/sys/module/nv_peer_mem/initstate", text, sizeof(text), NULL))
		facts_set(n->f, "gpu/peer_memory", "module");
	else
		facts_set(n->f, "gpu/peer_memory", "%s",
			  node_slurp(n, "/proc/driver/nvidia/version", text, sizeof(text), NULL) &&
					  strstr(text, "Open Kernel Module")
				  ? "dma-buf"
				  : "none");
}

void node_devices(const struct node_files *n)
{
	struct net sum = { 0 };

	pcie(n);
	node_each(n, "/sys/class/net", "", net_device, &sum);
	if (sum.fast) {
		facts_set(n->f, "net/fast_mtu_min", "%.0f", sum.mtu);
		facts_set(n->f, "net/fast_down", "%u", sum.down);
	}
	if (sum.down)
		facts_set(n->f, "net/fast_down_at", "%s", sum.down_at);
	node_each(n, "/sys/class/infiniband", "", ib_device, NULL);
	node_each(n, "/sys/class/nvme", "nvme", nvme, NULL);
	drivers(n);
	gpus(n);
	peer_memory(n);
}
