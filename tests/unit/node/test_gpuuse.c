/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpuuse.c - what drivers say of an open file, and which processes have one.
 *
 * The texts of amdgpu, xe, panfrost, panthor, msm and v3d have the form that the kernel's sources write
 * and document (Linux 6.13). Those of i915 and amdkfd follow its documentation as it is remembered, and
 * that nouveau writes the memory of all drivers (drm_file.c) and nothing else is assumed. UVM's is one that
 * users of nvidia-uvm published.
 */
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpuuse/maps.h"
#include "gpuuse/scan.h"
#include "gpuuse/uvm.h"
#include "t.h"

#define S 1000000000ull

static const char amdgpu[] =
	"pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1080\npasid:\t32780\n"
	"drm-driver:\tamdgpu\ndrm-client-id:\t39\ndrm-pdev:\t0000:0b:00.0\n"
	"drm-total-vram:\t88644 KiB\ndrm-shared-vram:\t1 MiB\ndrm-resident-vram:\t88640 KiB\n"
	"drm-memory-vram:\t88640 KiB\ndrm-memory-gtt: \t2 MiB\ndrm-memory-cpu: \t0\n"
	"amd-evicted-vram:\t7 KiB\n"
	"drm-engine-gfx:\t9288864723 ns\ndrm-engine-compute:\t2000000000 ns\n";
static const char i915[] =
	"pos:    0\nflags:  0100002\nmnt_id: 21\ndrm-driver: i915\ndrm-pdev:   0000:00:02.0\n"
	"drm-client-id:      7\ndrm-engine-render:  9288864723 ns\n"
	"drm-engine-copy:    2035071108 ns\ndrm-engine-video:   0 ns\n"
	"drm-engine-capacity-video:   2\ndrm-engine-video-enhance:   0 ns\n"
	"drm-total-system0: 4 MiB\ndrm-active-system0: 1 MiB\n";
static const char xe[] = "drm-driver:     xe\ndrm-client-id:  3\ndrm-pdev:       0000:03:00.0\n"
			 "drm-total-vram0:        23992 KiB\ndrm-shared-vram0:       16 MiB\n"
			 "drm-resident-vram0:     23992 KiB\ndrm-purgeable-system:   0\n"
			 "drm-cycles-rcs: 28257900\ndrm-total-cycles-rcs:   7655183225\n"
			 "drm-cycles-ccs: 5\ndrm-total-cycles-ccs:   "
			 "7655183225\ndrm-engine-capacity-ccs:        4\n";
static const char panfrost[] =
	"drm-driver:     panfrost\ndrm-client-id:  14\ndrm-engine-fragment:    1846584880 ns\n"
	"drm-cycles-fragment:    1424359409\ndrm-maxfreq-fragment:   799999987 Hz\n"
	"drm-curfreq-fragment:   799999987 Hz\ndrm-total-memory:       290 MiB\n"
	"drm-resident-memory:    36496 KiB\n";
static const char msm[] = "drm-driver:\tmsm\ndrm-client-id:\t2\ndrm-engine-gpu:\t7000 ns\n"
			  "drm-cycles-gpu:\t300\ndrm-maxfreq-gpu:\t680 MHz\n";
static const char v3d[] =
	"drm-driver:\tv3d\ndrm-client-id:\t4\ndrm-engine-bin: \t5 ns\nv3d-jobs-bin: \t7 jobs\n"
	"drm-engine-csd: \t123 ns\n";
static const char nouveau[] = "drm-driver:\tnouveau\ndrm-client-id:\t9\ndrm-pdev:\t0000:01:00.0\n"
			      "drm-total-vram:\t12 MiB\n";

static const struct fdinfo_engine *engine(const struct fdinfo *f, const char *name)
{
	static const struct fdinfo_engine none;

	for (uint32_t i = 0; i < f->engines; i++)
		if (!strcmp(f->engine[i].name, name))
			return &f->engine[i];
	return &none;
}

static const struct fdinfo_region *region(const struct fdinfo *f, const char *name)
{
	static const struct fdinfo_region none;

	for (uint32_t i = 0; i < f->regions; i++)
		if (!strcmp(f->region[i].name, name))
			return &f->region[i];
	return &none;
}

static void test_parse(void)
{
	static const struct {
		const char *text, *driver, *pdev;
		uint64_t client;
		const char *engine;
		uint64_t ns, cycles, total, max_hz;
		uint32_t capacity;
		const char *region;
		uint64_t bytes;
	} cases[] = {
		/* clang-format off */
		{ amdgpu, "amdgpu", "0000:0b:00.0", 39, "gfx", 9288864723, 0, 0, 0, 1, "vram", 88640ull << 10 },
		{ amdgpu, "amdgpu", "0000:0b:00.0", 39, "compute", 2 * S, 0, 0, 0, 1, "gtt", 2ull << 20 },
		{ i915, "i915", "0000:00:02.0", 7, "video", 0, 0, 0, 0, 2, "system0", 4ull << 20 },
		{ i915, "i915", "0000:00:02.0", 7, "copy", 2035071108, 0, 0, 0, 1, "", 0 },
		{ xe, "xe", "0000:03:00.0", 3, "rcs", 0, 28257900, 7655183225, 0, 1, "vram0", 23992ull << 10 },
		{ xe, "xe", "0000:03:00.0", 3, "ccs", 0, 5, 7655183225, 0, 4, "system", 0 },
		{ panfrost, "panfrost", "", 14, "fragment", 1846584880, 1424359409, 0, 799999987, 1, "memory", 36496ull << 10 },
		{ msm, "msm", "", 2, "gpu", 7000, 300, 0, 680000000, 1, "", 0 },
		{ v3d, "v3d", "", 4, "csd", 123, 0, 0, 0, 1, "", 0 },
		{ nouveau, "nouveau", "0000:01:00.0", 9, "", 0, 0, 0, 0, 0, "vram", 12ull << 20 },
		/* clang-format on */
	};

	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct fdinfo f;
		int rc = fdinfo_parse(&f, cases[i].text, strlen(cases[i].text));
		const struct fdinfo_engine *e = engine(&f, cases[i].engine);

		T_OK(!rc && !strcmp(f.driver, cases[i].driver) && !strcmp(f.pdev, cases[i].pdev) &&
			     f.has_client && f.client == cases[i].client && !f.left,
		     "%s says who the client is", cases[i].driver);
		T_OK(e->ns == cases[i].ns && e->cycles == cases[i].cycles &&
			     e->total == cases[i].total && e->max_hz == cases[i].max_hz &&
			     e->capacity == cases[i].capacity,
		     "%s: engine '%s'", cases[i].driver, cases[i].engine);
		T_OK(fdinfo_bytes(region(&f, cases[i].region)) == cases[i].bytes, "%s: memory '%s'",
		     cases[i].driver, cases[i].region);
	}
}

static void test_refused(void)
{
	char many[8192] = "drm-driver: x\n", line[64];
	struct fdinfo f;

	T_OK(fdinfo_parse(&f, "pos:\t0\nflags:\t02\n", 16) < 0, "a file of no driver is none");
	for (unsigned i = 0; i < 40; i++) {
		snprintf(line, sizeof(line), "drm-engine-e%u: 5 ns\ndrm-total-r%u: 1\n", i, i);
		strcat(many, line);
	}
	T_OK(!fdinfo_parse(&f, many, strlen(many)) && f.engines == FDINFO_ENGINES &&
		     f.regions == FDINFO_REGIONS && f.left == 40 - f.engines + 40 - f.regions,
	     "engines and regions over the bound are counted");
	snprintf(many, sizeof(many),
		 "drm-driver: x\ndrm-engine-a\"b: 1 ns\ndrm-engine-c: nine\n"
		 "drm-memory-vram: 99999999999999999 GiB\n"
		 "drm-engine-capacity-c: 0\n");
	T_OK(!fdinfo_parse(&f, many, strlen(many)) && f.engines == 1 && f.left == 1 &&
		     !f.engine[0].has_ns && f.engine[0].capacity == 1 &&
		     fdinfo_bytes(&f.region[0]) == UINT64_MAX,
	     "a name that is none, a word for a number, too much memory, no engine");
}

static void test_uvm(void)
{
	static const char text[] =
		"replayable_faults      446\nduplicates             3\nfaults_by_access_type:\n"
		"  write                446\nmigrations:\n  num_pages_in         1024 (4 MB)\n"
		"  num_pages_out        512 (2 MB)\nnon_replayable_faults  1\n"
		"migrations:\n  num_pages_in         6 (0 MB)\n";
	struct uvm_stats u;

	T_OK(uvm_parse(&u, text, strlen(text)) && u.v[UVM_REPLAYABLE] == 446 &&
		     u.v[UVM_DUPLICATE] == 3 && u.v[UVM_FATAL] == 1 && u.v[UVM_PAGES_IN] == 1030 &&
		     u.v[UVM_PAGES_OUT] == 512,
	     "faults and pages of managed memory");
	T_OK(!uvm_parse(&u, "num_pages_inn 3\n", 16), "another key is none");
}

static void test_maps(void)
{
	struct maps_seen m = { 0 };

	maps_line(&m, "7f00-7f01 r-xp 0 08:01 42  /home/me/libtorch/train.py\n");
	maps_line(&m, "7f00-7f01 r-xp 0 08:01 42  /usr/lib/libaonic.so\n");
	T_OK(!m.frameworks && !m.aon, "a name that is like one is none");
	maps_line(&m, "7f00-7f01 r-xp 0 08:01 42  /v/site-packages/torch/lib/libtorch_cpu.so\n");
	maps_line(&m, "7f00-7f01 r-xp 0 08:01 42  /v/libtensorflow_framework.so.2\n");
	maps_line(&m, "7f00-7f01 r-xp 0 08:01 42  /usr/lib/libaon-cuda.so\n");
	T_OK(m.frameworks == (1u << FRAMEWORK_TORCH | 1u << FRAMEWORK_TENSORFLOW) && m.aon,
	     "frameworks and aon are known by their files");
}

/* --- processes, below a root --- */

static char root[] = "/tmp/aon-gpuuse-XXXXXX";

static const char *at(const char *path)
{
	static char full[4][512];
	static unsigned i;

	i = (i + 1) % 4;
	snprintf(full[i], sizeof(full[i]), "%s/%s", root, path);
	return full[i];
}

/* What was at that path is gone: a link would lead out of the folder, to a file of this machine. */
static const char *place(const char *path)
{
	static char full[512];

	snprintf(full, sizeof(full), "%s", at(path));
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	unlink(full);
	return full;
}

static void put(const char *path, const char *text)
{
	int fd = open(place(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(path);
	if (fd >= 0)
		close(fd);
}

static void link_to(const char *path, const char *to)
{
	if (symlink(to, place(path)) < 0)
		perror(path);
}

static void process(int pid, int parent, const char *exe)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (a) b) S %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0", pid,
		 parent, 1000 + pid);
	put(path, text);
	snprintf(path, sizeof(path), "proc/%d/exe", pid);
	link_to(path, exe);
	snprintf(path, sizeof(path), "proc/%d/fd/0", pid);
	link_to(path, "/dev/null");
}

static void opened(int pid, int fd, const char *node, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/fd/%d", pid, fd);
	link_to(path, node);
	snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", pid, fd);
	put(path, text);
}

static const struct gpu_use *use_of(const struct gpu_scan *s, pid_t pid, const char *device)
{
	uint32_t n;
	const struct gpu_use *u = gpu_scan_uses(s, &n);

	for (uint32_t i = 0; i < n; i++)
		if (u[i].pid == pid && !strcmp(gpu_scan_devices(s)->d[u[i].device].name, device))
			return &u[i];
	return NULL;
}

static void node(void)
{
	link_to("sys/class/drm/card1/device", "../../../0000:0b:00.0");
	link_to("sys/class/drm/renderD129/device", "../../../0000:0b:00.0");
	link_to("sys/class/drm/card0/device", "../../../0000:03:00.0");
	put("sys/class/drm/card0-DP-1/status", "connected\n");
	put("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
	put("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "29312\n");
	put("sys/class/kfd/kfd/topology/nodes/1/properties",
	    "simd_count 4\nlocation_id 2816\ndomain 0\n");
	put("proc/driver/nvidia/gpus/0000:41:00.0/information",
	    "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-1\nDevice Minor: \t 4\n");
	put("proc/driver/nvidia/gpus/0000:01:00.0/information", "Device Minor: \t 7\n");
}

static void test_engines(void)
{
	const struct gpu_use *u;
	struct gpu_scan *s;
	const char *name = "";
	uint64_t bytes;
	double share;

	process(100, 1, "/nowhere/python3");
	opened(100, 3, "/dev/dri/renderD129", amdgpu);
	opened(100, 4, "/dev/dri/card1", amdgpu);
	opened(100, 5, "/dev/dri/renderD128", xe);
	process(200, 1, "/nowhere/other");
	opened(200, 9, "/dev/dri/renderD129", amdgpu);
	T_OK(gpu_scan_new(&s, root) == 0, "a scan begins");
	gpu_scan_poll(s, 10 * S, true);
	u = use_of(s, 100, "card1");
	T_OK(u && u->clients == 1 && u->engines == 2 && u->start == 1100 && u->parent == 1,
	     "two files of one client are one client");
	T_OK(u && fabs(u->engine[0].busy_s - 9.288864723) < 1e-9 && isnan(u->engine[0].share),
	     "its engine's time counts once, and has no share yet");
	T_OK(u && gpu_use_memory(u, &bytes) && bytes == 88640ull << 10, "memory is the GPU's own");
	u = use_of(s, 200, "card1");
	T_OK(u && !u->clients && !gpu_use_is(u),
	     "a client that was handed on counts for the first");

	opened(100, 3, "/dev/dri/renderD129",
	       "drm-driver:\tamdgpu\ndrm-client-id:\t39\ndrm-pdev:\t0000:0b:00.0\n"
	       "drm-engine-gfx:\t11288864723 ns\ndrm-engine-compute:\t1000000000 ns\n");
	opened(100, 4, "/dev/dri/card1",
	       "drm-driver:\tamdgpu\ndrm-client-id:\t40\ndrm-pdev:\t0000:0b:00.0\n"
	       "drm-engine-gfx:\t1000000000 ns\n");
	opened(100, 5, "/dev/dri/renderD128",
	       "drm-driver: xe\ndrm-client-id: 3\ndrm-pdev: 0000:03:00.0\ndrm-cycles-ccs: 2000005\n"
	       "drm-total-cycles-ccs: 7656183225\ndrm-engine-capacity-ccs: 4\n");
	gpu_scan_poll(s, 14 * S, true);
	u = use_of(s, 100, "card1");
	share = u ? gpu_use_share(u, &name) : 0;
	T_OK(u && u->clients == 2 && fabs(share - 0.75) < 1e-9 && !strcmp(name, "gfx") &&
		     fabs(u->engine[0].busy_s - 12.288864723) < 1e-9,
	     "3 s of 4 are a share of 75 %%, also of a client that is new");
	T_OK(u && u->engine[1].share == 0 && u->engine[1].busy_s == 2,
	     "a counter that went back stays as it was");
	u = use_of(s, 100, "card0");
	T_OK(u && fabs(gpu_use_share(u, &name) - 0.5) < 1e-9,
	     "xe: busy ticks of four engines by the ticks that passed");

	unlink(at("proc/100/fd/5"));
	gpu_scan_poll(s, 15 * S, true);
	T_OK(!use_of(s, 100, "card0") && use_of(s, 100, "card1"),
	     "a device that was closed is gone");
	process(100, 1, "/nowhere/python3");
	put("proc/100/stat", "100 (x) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 77 0");
	gpu_scan_poll(s, 16 * S, true);
	u = use_of(s, 100, "card1");
	T_OK(u && u->start == 77 && isnan(u->engine[0].share),
	     "a PID that is used again is another");
	gpu_scan_free(s);
}

static void test_kfd_nvidia(void)
{
	const struct gpu_use *u;
	struct gpu_scan *s;
	uint64_t bytes = 0;

	process(300, 1, "/nowhere/python3");
	link_to("proc/300/fd/3", "/dev/nvidia7");
	link_to("proc/300/fd/4", "/dev/nvidia-uvm");
	link_to("proc/300/fd/5", "/dev/nvidiactl");
	process(301, 300, "/nowhere/python3");
	link_to("proc/301/fd/3", "/dev/nvidia7");
	link_to("proc/301/fd/4", "/dev/nvidia-uvm");
	process(302, 1, "/nowhere/nvidia-smi");
	link_to("proc/302/fd/3", "/dev/nvidia4");
	process(400, 1, "/nowhere/app");
	put("sys/class/kfd/kfd/proc/400/vram_29312", "12345678\n");
	put("sys/class/kfd/kfd/proc/400/sdma_29312", "2500000\n");
	put("sys/class/kfd/kfd/proc/400/stats_29312/evicted_ms", "1500\n");
	put("sys/class/kfd/kfd/proc/400/stats_29312/cu_occupancy", "60\n");
	put("sys/class/kfd/kfd/proc/400/counters_29312/faults", "8\n");
	put("sys/class/kfd/kfd/proc/400/queues/0/gpuid", "29312\n");
	put("sys/class/kfd/kfd/proc/400/queues/3/gpuid", "29312\n");
	T_OK(gpu_scan_new(&s, root) == 0, "a scan begins");
	gpu_scan_poll(s, 10 * S, true);
	u = use_of(s, 300, "nvidia0");
	T_OK(u && gpu_use_is(u) && !u->inherited, "NVIDIA: numbered by the bus, not by the file");
	u = use_of(s, 301, "nvidia0");
	T_OK(u && u->inherited, "a worker that was forked off is its parent's");
	u = use_of(s, 302, "nvidia1");
	T_OK(u && !gpu_use_is(u), "a monitor has the device open and does not compute");
	u = use_of(s, 400, "card1");
	T_OK(u && u->by == GPU_BY_KFD && u->kfd.queues == 2 && u->kfd.sdma_us == 2500000 &&
		     u->kfd.evicted_ms == 1500 && u->kfd.compute_units == 60 &&
		     u->kfd.has_fault[0] && u->kfd.fault[0] == 8 && !u->kfd.has_fault[1] &&
		     gpu_use_memory(u, &bytes) && bytes == 12345678,
	     "amdkfd: memory, copies, evictions, queues");
	gpu_scan_free(s);
}

/* A process that uses no GPU is looked at ever more rarely, and at once when all are asked for. */
static void test_rest(void)
{
	uint32_t looks = 0, most = 0;
	struct gpu_scan *s;

	process(500, 1, "/nowhere/sleep");
	T_OK(gpu_scan_new(&s, root) == 0, "a scan begins");
	for (unsigned i = 1; i <= 30; i++) {
		gpu_scan_poll(s, i * 10 * S, false);
		most = gpu_scan_count(s)->processes > most ? gpu_scan_count(s)->processes : most;
		looks += gpu_scan_count(s)->rested == 0;
	}
	T_OK(most == gpu_scan_count(s)->processes + gpu_scan_count(s)->rested && looks < 10,
	     "of 30 polls %u look at all of %u", looks, most);
	opened(500, 7, "/dev/dri/renderD129", v3d);
	gpu_scan_poll(s, 301 * S, true);
	T_OK(use_of(s, 500, "card1"),
	     "then it is found, by its file where the driver names no bus");
	gpu_scan_free(s);
}

int main(void)
{
	char cmd[128];

	test_parse();
	test_refused();
	test_uvm();
	test_maps();
	if (!mkdtemp(root))
		return 1;
	node();
	test_engines();
	test_kfd_nvidia();
	test_rest();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	T_OK(system(cmd) == 0, "the folder is gone");
	return t_done();
}
