/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/check.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t.h"
#include "validate/sandbox.h"
#include "validate/expect.h"
#include "validate/log.h"

/* --- logs --- */

static const struct {
	const char *what, *tool, *text, *key, *value;
} logs[] = {
	/* clang-format off */
	{ "nccl-tests", "nccl-tests",
	  "# nThread 1\n#  size count type redop time algbw busbw error time algbw busbw error\n"
	  "  1024  256  float sum 34.2 0.03 0.05 N/A 33.1 0.03 0.06 N/A\n"
	  "  8589934592 2147483648 float sum 63896 134.44 235.26 N/A 63959 134.30 235.03 N/A\n"
	  "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 68.4048\n", "log/nccl/collective/busbw_GBps", "235.26" },
	{ "wrong results of nccl-tests", "nccl-tests", "# algbw busbw\n 8 2 float sum 3 1 1 0 3 1 1 0\n# Out of bounds values : 7 FAILED\n", "log/nccl/wrong", "7" },
	{ "of two nodes", "nccl-tests", "# algbw busbw\n#   Rank  0 Pid 7 on a device  0 [0x00] NVIDIA H100 80GB HBM3\n#   Rank  1 Pid 8 on b device  0 [0x00] NVIDIA H100 80GB HBM3\n"
	  " 8 2 float sum -1 3 10 10 0 3 10 10 0\n", "log/nccl/all-reduce/nodes", "2" },
	{ "their device", "nccl-tests", "# algbw busbw\n#   Rank  0 Group  0 Pid 7 on a device  0 [0x00] NVIDIA H100 80GB HBM3\n 8 2 float sum 3 1 1 0 3 1 1 0\n", "log/nccl/device", "NVIDIA H100 80GB HBM3" },
	{ "gpu-burn", "gpu-burn", "50% proc'd: 2261 (7150 Gflop/s) - 0 (0 Gflop/s)   errors: 0 - 3   temps: 38 C - 71 C \nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: FAULTY\n",
	  "log/gpu_burn/errors", "3" },
	{ "its hottest", "gpu-burn", "50% proc'd: 2261 (7150 Gflop/s)   errors: 0   temps: 38 C - 71 C \n\tGPU 0: OK\n", "log/gpu_burn/temp_max", "71" },
	{ "STREAM", "STREAM", "STREAM version $Revision: 5.10 $\nFunction    Best Rate MB/s\nCopy:          342008.3     0.018755\nTriad:         363208.7     0.026599\n",
	  "log/stream/Triad_MBps", "363209" },
	{ "perftest", "perftest", " Device         : ib0\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 8388608    20000            24056.74            24056.72		   0.003007\n",
	  "log/ib/ib0/average_MBps", "25225.3" },
	{ "perftest in Gb/s", "perftest", " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536 5000 392.1 391.2 0.7\n", "log/ib/port/average_MBps", "48900" },
	{ "latency", "perftest", " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n 2  1000  1.02  9.9  1.06  1.07\n 4 1000 1 9 1.5 1.6\n", "log/ib/port/latency_us", "1.06" },
	{ "bandwidthTest", "bandwidthTest", " Device 0: Tesla T4\nbandwidthTest-H2D-Pinned, Bandwidth = 12.1 GB/s, Time = 0.0 s, Size = 64 bytes, NumDevsUsed = 1\n", "log/copy/H2D_GBps", "12.1" },
	{ "gpu-copy", "gpu-copy", "cpu_to_gpu0_by_sm_under_numa0 26.2409\n", "log/gpu_copy/cpu_to_gpu0_by_sm_under_numa0_GBps", "26.2409" },
	{ "gpu-stream", "gpu-stream", "STREAM Benchmark\nDevice 0: \"X\"  152 SMs Memory: 4000MHz x 8192-bit = 8192 GB/s PEAK\nSTREAM_TRIAD_double_gpu_0_buffer_42_block_1 7378.19 90.07\n", "log/gpu_stream/gpu0/TRIAD_GBps", "7378.19" },
	{ "its peak", "gpu-stream", "STREAM Benchmark\nDevice 0: \"X\"  152 SMs Memory: 4000MHz x 8192-bit = 8192 GB/s PEAK\nSTREAM_TRIAD_double_gpu_0_buffer_42_block_1 7378.19 90.07\n", "log/gpu_stream/gpu0/peak_GBps", "8192" },
	{ "topo -m", "nvidia-smi topo -m", "\t\033[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\nGPU0\t X \tNV18\tPXB\t0-19\t1\t\tN/A\nGPU1\tNV18\t X \tSYS\t0-19\t1\t\tN/A\n", "gpu/topology/0-1", "NV18" },
	{ "its network card", "nvidia-smi topo -m", "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPXB\t0-19\t1\n", "gpu/topology/0-NIC0", "PXB" },
	{ "dmon", "nvidia-smi dmon", "# gpu    pwr  gtemp  mtemp     sm   mclk   pclk\n# Idx      W      C      C      %    MHz    MHz\n    0    631     63     -    100   2619   1980\n    0    636     62     57    100   2619   1700\n", "log/dmon/0/power_W_max", "636" },
	{ "nvlink -s", "nvidia-smi nvlink -s", "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n", "gpu/nvlinks_down", "1" },
	{ "-q -x", "nvidia-smi -q -x", "<?xml version=\"1.0\"?>\n<nvidia_smi_log>\n<driver_version>535.54.03</driver_version>\n<gpu id=\"00000000:01:00.0\"><product_name>A</product_name><power_readings>"
	  "<power_limit>300.00 W</power_limit><default_power_limit>400.00 W</default_power_limit></power_readings></gpu></nvidia_smi_log>\n", "gpu/power_lowered", "1" },
	{ "fio", "fio", "fio: warn\n{\"fio version\" : \"fio-3.16\",\"jobs\":[{\"jobname\":\"rand\",\"read\":{\"bw_bytes\":348743777,\"iops\":85138.89}}]}", "log/fio/rand/read_iops", "85138.9" },
	{ "nvidia-smi", "nvidia-smi",
	  "==============NVSMI LOG==============\nDriver Version   : 590.48.01\nGPU 00000000:00:09.0\n    Product Name   : NVIDIA H100 80GB HBM3\n    Persistence Mode  : Disabled\n"
	  "    ECC Mode\n        Current   : Enabled\n        Pending   : Enabled\n    Remapped Rows\n        Pending   : No\n"
	  "    GPU Power Readings\n        Current Power Limit   : 500.00 W\n        Default Power Limit   : 700.00 W\n", "gpu/power_lowered", "1" },
	/* clang-format on */
};

/* Which line is not as it should be, and what was expected. */
static const struct {
	const char *text;
	unsigned line;
	const char *expected;
} broken[] = {
	/* clang-format off */
	{ "# algbw busbw\n 1024 256 float sum 34.2 0.03 0.05\n", 2, "there are 7 words" },
	{ "# algbw busbw\n 8 2 float sum 3 1 1 0 3 1 1 0\n 16 4 float sum 3 1 oops 0 3 1 1 0\n", 3, "oops" },
	{ "# algbw busbw\n#\n", 2, "ends before the first" },
	{ "10% proc'd: 1 (7150 Gflop/s)  errors: 0  temps: 38 C\n", 1, "did not finish" },
	{ "STREAM version $Revision: 5.10 $\nCopy: fast\n", 2, "the best rate of Copy" },
	{ "STREAM version $Revision: 5.10 $\n", 1, "ends before" },
	{ " #bytes #iterations BW peak[MB/sec] BW average[MB/sec]\n 8388608 20000 oops oops\n", 2, "not oops" },
	{ "warn\n{\"fio version\" : \"fio-3.16\", \"jobs\": [{\"jobname\"", 2, "--output-format=json" },
	{ "# gpu    pwr  gtemp\n# Idx W C\n    0    631\n", 3, "2 columns" },
	{ "<nvidia_smi_log>\n<gpu id=\"1\">\n<product_name>A</product_name>\n", 3, "the log is cut" },
	{ "=====NVSMI LOG=====\nDriver Version : 1\n", 2, "ends before the first" },
	{ "cpu_to_gpu0_by_sm 3\nhello there you\n", 2, "cpu_to_gpu0_by_dma" },
	/* clang-format on */
};

static void broken_logs(void)
{
	for (size_t i = 0; i < T_LEN(broken); i++) {
		struct facts f = { 0 };
		struct log_said said;
		int err = log_facts(&f, broken[i].text, strlen(broken[i].text), &said);
		const char *want = broken[i].expected;

		T_OK(err == -EBADMSG && said.tool && said.line == broken[i].line &&
			     strstr(said.expected, want),
		     "line %u is told, and that it is \"%s\" (%d, %u, %s)", broken[i].line, want,
		     err, said.line, said.expected);
		facts_fini(&f);
	}
}

static void read_logs(void)
{
	for (size_t i = 0; i < T_LEN(logs); i++) {
		struct facts f = { 0 };
		struct log_said said;
		int err = log_facts(&f, logs[i].text, strlen(logs[i].text), &said);
		const char *tool = said.tool, *value = facts_get(&f, logs[i].key);

		T_OK(!err && tool && !strcmp(tool, logs[i].tool) && value &&
			     !strcmp(value, logs[i].value),
		     "%s: %s is %s (%s)", logs[i].what, logs[i].key, logs[i].value,
		     value ? value : "none");
		facts_fini(&f);
	}
	{
		struct facts f = { 0 };
		struct log_said said;

		T_OK(log_facts(&f, "hello", 5, &said) == -EBADMSG && !f.n && said.line == 1 &&
			     strstr(said.expected, "nccl-tests"),
		     "what is no log of a tool says nothing");
		for (size_t i = 0; i < T_LEN(logs); i++)
			if (!strcmp(logs[i].tool, "nvidia-smi"))
				log_facts(&f, logs[i].text, strlen(logs[i].text), &said);
		T_OK(!strcmp(facts_get(&f, "gpu/persistence_off"), "1") &&
			     !strcmp(facts_get(&f, "gpu/ecc_off"), "0") &&
			     !strcmp(facts_get(&f, "gpu/remap_pending"), "0") &&
			     !strcmp(facts_get(&f, "gpu/driver"), "590.48.01") &&
			     !strcmp(facts_get(&f, "gpu/0/name"), "NVIDIA H100 80GB HBM3"),
		     "nvidia-smi: a pending ECC mode is no pending row");
		facts_fini(&f);
	}
}

/* --- checks --- */

static const struct check *find(const struct checks *c, const char *id)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->c[i].id, id))
			return &c->c[i];
	return NULL;
}

static void advice(void)
{
	static const struct {
		const char *id, *key, *value;
		enum check_level want;
	} c[] = {
		{ "governor", "cpu/governor", "powersave", CHECK_WARN },
		{ "governor", "cpu/governor", "performance", CHECK_PASS },
		{ "iommu", "kernel/iommu", "passthrough", CHECK_PASS },
		{ "iommu", "kernel/iommu", "on", CHECK_WARN },
		{ "pcie_width", "pcie/degraded", "1", CHECK_FAIL },
		{ "mtu", "net/fast_mtu_min", "1500", CHECK_WARN },
		{ "mtu", "net/fast_mtu_min", "9000", CHECK_PASS },
		{ "idle_states", "cpu/idle_exit_us", "133", CHECK_WARN },
		{ "thp", "memory/thp", "never", CHECK_WARN },
		{ "mtu", "net/fast_mtu_min", "many", CHECK_WARN },
		{ "thp", "memory/thp", "mad", CHECK_WARN },
	};

	for (size_t i = 0; i < T_LEN(c); i++) {
		struct facts f = { 0 };
		struct checks out = { 0 };

		facts_set(&f, c[i].key, "%s", c[i].value);
		checks_advice(&out, &f);
		T_OK(find(&out, c[i].id) && find(&out, c[i].id)->level == c[i].want &&
			     find(&out, c[i].id)->why,
		     "%s of %s: %s", c[i].key, c[i].value, check_words[c[i].want]);
		T_OK(checks_count(&out, CHECK_SKIP) == out.n - 1,
		     "and nothing is said of what is not known");
		checks_fini(&out);
		facts_fini(&f);
	}
}

static void profiles(void)
{
	struct facts golden = { 0 }, f = { 0 };
	struct checks c = { 0 };

	facts_set(&golden, "kernel/release", "6.1");
	facts_set(&golden, "gpu/count", "8");
	facts_set(&golden, "gpu/0/uuid", "a");
	facts_set(&golden, "measured/memory_GBps", "100");
	facts_set(&golden, "log/nccl/busbw_GBps", "200");
	facts_set(&golden, "log/x/latency_us", "10");
	facts_set(&f, "kernel/release", "6.1");
	facts_set(&f, "gpu/0/uuid", "b");
	facts_set(&f, "measured/memory_GBps", "93");
	facts_set(&f, "log/nccl/busbw_GBps", "150");
	facts_set(&f, "log/x/latency_us", "9");
	checks_profile(&c, &f, &golden);
	T_OK(find(&c, "kernel/release")->level == CHECK_PASS &&
		     find(&c, "gpu/count")->level == CHECK_FAIL,
	     "what is missing fails");
	T_OK(!find(&c, "gpu/0/uuid"), "who it is is not compared");
	T_OK(find(&c, "measured/memory_GBps")->level == CHECK_WARN &&
		     find(&c, "log/nccl/busbw_GBps")->level == CHECK_FAIL &&
		     find(&c, "log/x/latency_us")->level == CHECK_PASS,
	     "measures may be a little worse, and better as much as they like");
	checks_fini(&c);
	facts_fini(&golden);
	facts_fini(&f);
}

/* `n` nodes of about 100 that scatter by `noise`; the last has `odd`. */
static const struct {
	unsigned n;
	double noise, odd;
	enum check_level want; /* of the last; CHECK_PASS: nobody is told of */
} racks[] = {
	{ 3, 0, 80, CHECK_FAIL },  { 3, 0, 93, CHECK_WARN },  { 3, 0, 96, CHECK_PASS },
	{ 3, 8, 84, CHECK_PASS },  { 8, 1, 80, CHECK_FAIL },  { 8, 1, 92, CHECK_WARN },
	{ 8, 1, 130, CHECK_PASS }, { 8, 6, 88, CHECK_PASS },  { 18, 1, 70, CHECK_FAIL },
	{ 18, 2, 88, CHECK_FAIL }, { 18, 1, 96, CHECK_PASS }, { 18, 3, 95, CHECK_PASS },
};

static void outliers(void)
{
	for (size_t i = 0; i < T_LEN(racks); i++) {
		static const char *const name[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i",
						    "j", "k", "l", "m", "n", "o", "p", "q", "r" };
		struct facts f[18] = { 0 };
		struct checks c = { 0 };
		unsigned n = racks[i].n;

		for (unsigned k = 0; k < n; k++)
			facts_set(&f[k], "measured/x", "%.3f",
				  k == n - 1
					  ? racks[i].odd
					  : 100 + racks[i].noise * ((double)(k * 7 % 5) - 2) / 2);
		checks_nodes(&c, name, f, n);
		T_OK(racks[i].want == CHECK_PASS ? c.n == 0
						 : c.n == 1 && c.c[0].level == racks[i].want &&
							   c.c[0].id[0] == *name[n - 1],
		     "%u nodes that scatter by %.0f %%, one with %.0f: %s (%zu told)", n,
		     racks[i].noise, racks[i].odd, check_words[racks[i].want], c.n);
		checks_fini(&c);
		for (unsigned k = 0; k < n; k++)
			facts_fini(&f[k]);
	}
}

static void expectations(void)
{
	static const struct {
		const char *key, *value;
		enum check_level want;
	} c[] = {
		{ "log/nccl/all-reduce/busbw_GBps", "235", CHECK_PASS },
		{ "log/nccl/all-reduce/busbw_GBps", "160", CHECK_WARN },
		{ "log/nccl/all-reduce/busbw_GBps", "90", CHECK_FAIL },
	};

	for (size_t i = 0; i < T_LEN(c); i++) {
		struct facts f = { 0 };
		struct checks out = { 0 };

		facts_set(&f, "log/nccl/device", "A100-SXM4-40GB");
		facts_set(&f, "log/nccl/all-reduce/ranks", "8");
		facts_set(&f, "log/nccl/all-reduce/nodes", "1");
		facts_set(&f, "log/nccl/all-reduce/bytes", "8589934592");
		facts_set(&f, c[i].key, "%s", c[i].value);
		expect_logs(&f);
		checks_expected(&out, &f);
		T_OK(out.n == 1 && out.c[0].level == c[i].want &&
			     strstr(out.c[0].want, "A100_SXM_40"),
		     "%s GB/s of 8 A100: %s (%s, %s)", c[i].value, check_words[c[i].want],
		     out.n ? out.c[0].is : "", out.n ? out.c[0].want : "");
		checks_fini(&out);
		facts_fini(&f);
	}
}

static void nodes(void)
{
	static const char *const name[] = { "n1", "n2", "n3", "n4" };
	struct facts f[4] = { 0 };
	struct checks c = { 0 };

	for (int i = 0; i < 4; i++) {
		facts_set(&f[i], "firmware/BMC", "%s", i == 2 ? "1.1" : "1.2");
		facts_set(&f[i], "log/stream/Triad_MBps", "%d", i == 3 ? 80 : 100 + i);
		facts_set(&f[i], "serial", "%d", i);
		facts_set(&f[i], "tie", "%d", i / 2);
	}
	checks_nodes(&c, name, f, 4);
	T_OK(c.n == 2 && find(&c, "n3: firmware/BMC") &&
		     find(&c, "n4: log/stream/Triad_MBps")->level == CHECK_FAIL,
	     "who is otherwise than most is named (%zu)", c.n);
	checks_fini(&c);
	for (int i = 0; i < 4; i++)
		facts_fini(&f[i]);
}

/* --- what may hang --- */

static void well(struct sandbox *a, void *arg)
{
	facts_set(&a->f, "said", "%s", (const char *)arg);
}

static void refuses(struct sandbox *a, void *arg)
{
	(void)arg;
	sandbox_at(a, "why");
	a->err = -ENOENT;
}

static void hangs(struct sandbox *a, void *arg)
{
	(void)arg;
	sandbox_at(a, "waiting for %d", 7);
	pause();
}

static void crashes(struct sandbox *a, void *arg)
{
	(void)arg;
	sandbox_at(a, "falling");
	raise(SIGKILL);
}

static void floods(struct sandbox *a, void *arg)
{
	(void)arg;
	for (int i = 0; i < 8000; i++) {
		char key[32];

		snprintf(key, sizeof(key), "k%d", i);
		facts_set(&a->f, key, "%0200d", i);
	}
}

static void processes(void)
{
	char at[SANDBOX_AT] = "";
	struct facts f = { 0 };

	T_OK(!sandbox_run(&f, 20000, well, (void *)"yes", at) &&
		     !strcmp(facts_get(&f, "said"), "yes"),
	     "what is asked apart comes back");
	T_OK(sandbox_run(&f, 20000, refuses, NULL, at) == -ENOENT && !strcmp(at, "why"),
	     "so does a refusal, and why");
	T_OK(sandbox_run(&f, 200, hangs, NULL, at) == -ETIMEDOUT && !strcmp(at, "waiting for 7"),
	     "who hangs is killed, and where is told");
	T_OK(sandbox_run(&f, 20000, crashes, NULL, at) == -EIO && !strcmp(at, "falling"),
	     "who crashes takes nobody along");
	T_OK(!sandbox_run(&f, 20000, floods, NULL, at) && f.n == 8001,
	     "much comes back whole (%zu)", f.n);
	facts_fini(&f);
}

int main(void)
{
	static const char good[] =
		"{\"schema\":\"x\",\"facts\":{\"a/b\":\"1\",\"c\":2.5,\"d\":{\"e\":1}}}";
	struct facts f = { 0 };

	T_OK(!facts_parse(&f, good, strlen(good)) && f.n == 2 && !strcmp(facts_get(&f, "c"), "2.5"),
	     "facts are read");
	T_OK(facts_parse(&f, good, 20) == -EBADMSG && facts_parse(&f, "", 0) == -EBADMSG,
	     "half a file has none");
	facts_fini(&f);
	processes();
	read_logs();
	broken_logs();
	expectations();
	outliers();
	advice();
	profiles();
	nodes();
	return t_done();
}
