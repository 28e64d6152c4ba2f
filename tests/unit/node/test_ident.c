/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process and a node are: cgroup paths of every runtime, the site's file, kubelet's notes, lists
 * of GPUs; and nothing of what is no name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_read.h"
#include "ident/cgroup.h"
#include "ident/gpus.h"
#include "ident/hpc.h"
#include "ident/kubelet.h"
#include "ident/pods.h"
#include "ident/site.h"
#include "ident/word.h"
#include "t.h"

#define UID  "0d1e5a6c-7b44-4a5f-9f5e-2d1f0c9b8a77"
#define UID_ "0d1e5a6c_7b44_4a5f_9f5e_2d1f0c9b8a77"
#define C64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *name, *text, *pod, *container, *job;
} cgroups[] = {
	/* clang-format off */
	{ "v2, systemd, containerd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" C64 ".scope\n", UID, C64, "" },
	{ "v2, systemd, cri-o", "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" C64 ".scope\n", UID, C64, "" },
	{ "v2, systemd, docker", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/docker-" C64 ".scope/x\n", UID, C64, "" },
	{ "v2, cgroupfs", "0::/kubepods/burstable/pod" UID "/" C64 "\n", UID, C64, "" },
	{ "v1, cgroupfs", "12:pids:/kubepods/besteffort/pod" UID "/" C64 "\n11:memory:/kubepods/besteffort/pod" UID "/" C64 "\n1:name=systemd:/kubepods/besteffort/pod" UID "/" C64 "\n", UID, C64, "" },
	{ "v1, systemd", "9:cpu,cpuacct:/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" C64 ".scope\n", UID, C64, "" },
	{ "v1, containerd's service", "4:memory:/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" C64 "\n", UID, C64, "" },
	{ "a static pod", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice/crio-" C64 ".scope\n", "0123456789abcdef0123456789abcdef", C64, "" },
	{ "docker alone, v1", "3:memory:/docker/" C64 "\n", "", C64, "" },
	{ "docker alone, v2", "0::/system.slice/docker-" C64 ".scope\n", "", C64, "" },
	{ "podman", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" C64 ".scope/container\n", "", C64, "" },
	{ "Slurm, v1", "5:memory:/slurm/uid_1000/job_4711/step_0/task_0\n", "", "", "4711" },
	{ "Slurm, v2", "0::/system.slice/slurmstepd.scope/job_42/step_batch/user/task_0\n", "", "", "42" },
	{ "none of these", "0::/user.slice/user-0.slice/session-1.scope\n", "", "", "" },
	{ "a name like one", "0::/podcast/job_x/" C64 "0/tripod-" UID "x\n", "", "", "" },
	{ "no line's end", "0::/docker/" C64, "", C64, "" },
	{ "empty", "", "", "", "" },
	{ "not a line", ":::\n::\n\n", "", "", "" },
	/* clang-format on */
};

static void test_cgroups(void)
{
	char big[10000];
	struct cgroup_ident c;

	for (size_t i = 0; i < T_LEN(cgroups); i++) {
		cgroup_read(&c, cgroups[i].text, strlen(cgroups[i].text));
		T_OK(!strcmp(c.pod_uid, cgroups[i].pod) &&
			     !strcmp(c.container, cgroups[i].container) &&
			     !strcmp(c.job, cgroups[i].job),
		     "cgroup: %s (%s, %s, %s)", cgroups[i].name, c.pod_uid, c.container, c.job);
	}
	memset(big, 'a', sizeof(big));
	cgroup_read(&c, big, sizeof(big));
	T_OK(!*c.container && !*c.pod_uid, "ten kilobytes of nothing are nothing");
}

static void test_words(void)
{
	char w[16];

	ident_word(w, sizeof(w), "train.a_b:7-x", 13, false);
	T_OK(!strcmp(w, "train.a_b:7-x"), "a name is taken");
	ident_word(w, sizeof(w), "a\nb", 3, false);
	T_OK(!*w, "a line's end is none");
	ident_word(w, sizeof(w), "caf\xc3\xa9", 5, false);
	T_OK(!*w, "nor is what is not ASCII");
	ident_word(w, sizeof(w), "0123456789abcdef", 16, false);
	T_OK(!*w, "nor half of one that is too long");
	ident_word(w, sizeof(w), "0,1", 3, false);
	T_OK(!*w, "commas are for lists");
}

static const struct {
	const char *name, *text;
	int err;
	const char *cluster, *rack, *leaf, *position, *nics;
	size_t line;
} sites[] = {
	/* clang-format off */
	{ "what fits the host", "# site\ncluster alpha\nhost login-* rack=front\nhost gpu-r*-n* rack=r{1} position={2} leaf=leaf-{1} nics=mlx5_0,mlx5_1 # here\nhost * rack=none\n", 0, "alpha", "r7", "leaf-7", "12", "mlx5_0,mlx5_1", 0 },
	{ "the first line that fits", "host *-n12 rack=a\nhost gpu-r7-n12 rack=b", 0, "", "a", "", "", "", 0 },
	{ "of another host nothing", "host cpu-* rack=a\n", 0, "", "", "", "", "", 0 },
	{ "empty", "\n \t\n#\r\n", 0, "", "", "", "", "", 0 },
	{ "an unknown word", "cluster a\nracks 7\n", -EINVAL, "", "", "", "", "", 2 },
	{ "an unknown key", "host * switch=7\n", -EINVAL, "", "", "", "", "", 1 },
	{ "no value", "host * rack\n", -EINVAL, "", "", "", "", "", 1 },
	{ "no name", "cluster \n", -EINVAL, "", "", "", "", "", 1 },
	{ "a star that is not there", "host gpu-* rack={2}\n", -EINVAL, "", "", "", "", "", 1 },
	{ "not ASCII", "host * rack=\xff\xfe\n", -EINVAL, "", "", "", "", "", 1 },
	{ "a value that is too long", "host * position=0123456789012345678901234567890123456789\n", -EINVAL, "", "", "", "", "", 1 },
	{ "wrong where it is not used", "host * rack=a\nhost other rack=a;b\n", -EINVAL, "", "", "", "", "", 2 },
	/* clang-format on */
};

static void test_sites(void)
{
	struct site_why why;
	struct node_ident n;

	for (size_t i = 0; i < T_LEN(sites); i++) {
		int err;

		n = (struct node_ident){ .host = "gpu-r7-n12" };
		err = site_read(&n, sites[i].text, strlen(sites[i].text), &why);
		T_OK(err == sites[i].err && !strcmp(n.cluster, sites[i].cluster) &&
			     !strcmp(n.rack, sites[i].rack) && !strcmp(n.leaf, sites[i].leaf) &&
			     !strcmp(n.position, sites[i].position) &&
			     !strcmp(n.nics, sites[i].nics) && why.line == sites[i].line &&
			     !*why.text == !err,
		     "site: %s (%d, line %zu: %s)", sites[i].name, err, why.line, why.text);
	}
	T_OK(site_load(&n, "/nonexistent/site.conf", &why) == -ENOENT, "there need be no file");
	T_OK(site_load(&n, "/dev/null", &why) == -EINVAL, "a device is no file");
}

static void test_kubelet(void)
{
	/* clang-format off */
	static const char text[] =
		"{\"Data\":{\"PodDeviceEntries\":["
		"{\"PodUID\":\"other\",\"ContainerName\":\"a\",\"ResourceName\":\"nvidia.com/gpu\",\"DeviceIDs\":{\"0\":[\"GPU-x\"]}},"
		"{\"PodUID\":\"" UID "\",\"ContainerName\":\"a\",\"ResourceName\":\"nvidia.com/gpu\",\"DeviceIDs\":{\"0\":[\"GPU-1\"],\"1\":[\"GPU-2\"]},\"AllocResp\":\"CkIK\"},"
		"{\"PodUID\":\"" UID "\",\"ContainerName\":\"b\",\"ResourceName\":\"rdma/hca\",\"DeviceIDs\":[\"mlx5_0\"]},"
		"{\"PodUID\":\"" UID "\",\"ContainerName\":\"b\",\"ResourceName\":\"nvidia.com/mig-1g.5gb\",\"DeviceIDs\":[\"MIG-7\",\"bad\\nword\"]}"
		"],\"RegisteredDevices\":{\"nvidia.com/gpu\":[\"GPU-1\"]}},\"Checksum\":12345}";
	/* clang-format on */
	char padded[sizeof(text) + JSON_PAD], out[96];
	struct ident id = { 0 };
	struct gpus none = { 0 };

	memcpy(padded, text, sizeof(text) - 1);
	memset(padded + sizeof(text) - 1, '"', JSON_PAD);
	kubelet_devices(padded, sizeof(text) - 1, UID, out, sizeof(out));
	T_OK(!strcmp(out, "GPU-1,GPU-2,MIG-7"), "the GPUs that kubelet gave a pod: %s", out);
	gpus_visible(&none, out, &id);
	T_OK(!strcmp(id.gpu_uuid, "GPU-1,GPU-2") && !strcmp(id.mig, "MIG-7"), "parts stand apart");
	kubelet_devices(padded, sizeof(text) - 1, "nobody", out, sizeof(out));
	T_OK(!*out, "of another pod none");
	memset(padded, '"', sizeof(padded));
	kubelet_devices(padded, 10, UID, out, sizeof(out));
	T_OK(!*out, "what is no checkpoint says nothing");
}

static void test_pods(void)
{
	/* clang-format off */
	static const uint8_t answer[] =
		"\x0a\x3a" "\x1a\x29" "\x0a\x01" "c" "\x12\x18" "\x0a\x0e" "nvidia.com/gpu" "\x12\x02" "G1" "\x12\x02" "G2"
			"\x12\x0a" "\x0a\x04" "rdma" "\x12\x02" "m0"
			"\x0a\x03" "p-0" "\x12\x08" "research"; /* names behind containers */
	/* clang-format on */
	static const char lines[] =
		"a p G9\nresearch p-0 G1\nshort line\n\nresearch p-0 G2\nx y z w\n";
	char *text = NULL, out[96], ns[PODS_NAME], pod[PODS_NAME];
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int err = pods_lines(answer, sizeof(answer) - 1, f);

	fclose(f);
	T_OK(err == 0 && !strcmp(text, "research p-0 G1\nresearch p-0 G2\n"),
	     "GPUs of a pod, and no other devices: %d, %zu bytes", err, len);
	free(text);
	f = fopen("/dev/null", "w");
	T_OK(pods_lines(answer, 20, f) == -EBADMSG, "an answer that is cut is none");
	fclose(f);
	pods_devices(lines, "research", "p-0", out, sizeof(out));
	T_OK(!strcmp(out, "G1,G2"), "the GPUs of a pod: %s", out);
	pods_devices(lines, "other", "p-0", out, sizeof(out));
	T_OK(!*out, "a pod is known by its namespace, too");
	T_OK(pods_owner(lines, "G2", ns, pod) && !strcmp(ns, "research") && !strcmp(pod, "p-0"),
	     "the pod of a GPU");
	T_OK(!pods_owner(lines, "G3", ns, pod) && !*ns && !*pod, "or none");
	T_OK(!pods_load("/nonexistent/pods") && !pods_load("/dev/null"), "no file, no lines");
}

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static void test_gpus(void)
{
	char dir[] = "/tmp/aon-ident-XXXXXX", path[128], job[48];
	struct node_ident n = { 0 };
	struct ident id = { 0 };
	struct gpus g;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/gpus", dir);
	mkdir(path, 0700);
	for (int i = 1; i >= 0; i--) {
		char text[128];

		snprintf(path, sizeof(path), "%s/gpus/0000:%d0:00.0", dir, i);
		mkdir(path, 0700);
		snprintf(path, sizeof(path), "%s/gpus/0000:%d0:00.0/information", dir, i);
		snprintf(text, sizeof(text),
			 "Model: \t\t NVIDIA H100\nIRQ: 1\nGPU UUID: \t GPU-%d%d\n", i, i);
		write_to(path, text);
	}
	snprintf(path, sizeof(path), "%s/version", dir);
	write_to(path, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
	snprintf(path, sizeof(path), "%s/gpus", dir);
	gpus_load(&g, path);
	gpus_node(&g, path, &n);
	T_OK(g.n == 2 && !strcmp(n.gpu_model, "2-x-NVIDIA-H100") && !strcmp(n.driver, "550.54.15"),
	     "what the driver says: %s, %s", n.gpu_model, n.driver);
	gpus_visible(&g, "1,0", &id);
	T_OK(!strcmp(id.gpu_uuid, "GPU-11,GPU-00"), "numbers become UUIDs: %s", id.gpu_uuid);
	id = (struct ident){ 0 };
	gpus_visible(&g, "all,7,-1,x", &id);
	T_OK(!*id.gpu_uuid && !*id.mig, "what is no GPU is none");
	snprintf(path, sizeof(path), "%s/0", dir);
	write_to(path, "4711\n");
	hpc_job(dir, 0, job, sizeof(job));
	T_OK(!strcmp(job, "4711"), "the job that a prolog noted for a GPU");
	write_to(path, "4711\n4712\n");
	hpc_job(dir, 0, job, sizeof(job));
	T_OK(!*job, "of two jobs it is neither");
	hpc_job(dir, 5, job, sizeof(job));
	T_OK(!*job, "of a GPU without a note none");
	snprintf(path, sizeof(path), "rm -r %s", dir);
	T_OK(system(path) == 0, "clean");
}

int main(void)
{
	test_words();
	test_cgroups();
	test_sites();
	test_kubelet();
	test_pods();
	test_gpus();
	return t_done();
}
