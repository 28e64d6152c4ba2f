/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "t.h"
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
	  "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 68.4048\n", "log/nccl/busbw_GBps", "235.26" },
	{ "wrong results of nccl-tests", "nccl-tests", "# busbw\n# Out of bounds values : 7 FAILED\n", "log/nccl/wrong", "7" },
	{ "gpu-burn", "gpu-burn", "50% proc'd: 2261 (7150 Gflop/s) - 0 (0 Gflop/s)   errors: 0 - 3   temps: 38 C - 71 C \nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: FAULTY\n",
	  "log/gpu_burn/errors", "3" },
	{ "its hottest", "gpu-burn", "50% proc'd: 2261 (7150 Gflop/s)   errors: 0   temps: 38 C - 71 C \n\tGPU 0: OK\n", "log/gpu_burn/temp_max", "71" },
	{ "STREAM", "STREAM", "STREAM version $Revision: 5.10 $\nFunction    Best Rate MB/s\nCopy:          342008.3     0.018755\nTriad:         363208.7     0.026599\n",
	  "log/stream/Triad_MBps", "363209" },
	{ "perftest", "perftest", " Device         : ib0\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 8388608    20000            24056.74            24056.72		   0.003007\n",
	  "log/ib/ib0/average_MBps", "24056.7" },
	{ "fio", "fio", "fio: warn\n{\"fio version\" : \"fio-3.16\",\"jobs\":[{\"jobname\":\"rand\",\"read\":{\"bw_bytes\":348743777,\"iops\":85138.89}}]}", "log/fio/rand/read_iops", "85138.9" },
	{ "nvidia-smi", "nvidia-smi",
	  "==============NVSMI LOG==============\nDriver Version   : 590.48.01\nGPU 00000000:00:09.0\n    Product Name   : NVIDIA H100 80GB HBM3\n    Persistence Mode  : Disabled\n"
	  "    ECC Mode\n        Current   : Enabled\n        Pending   : Enabled\n    Remapped Rows\n        Pending   : No\n"
	  "    GPU Power Readings\n        Current Power Limit   : 500.00 W\n        Default Power Limit   : 700.00 W\n", "gpu/power_lowered", "1" },
	/* clang-format on */
};

static void read_logs(void)
{
	for (size_t i = 0; i < T_LEN(logs); i++) {
		struct facts f = { 0 };
		const char *tool = log_facts(&f, logs[i].text, strlen(logs[i].text)),
			   *value = facts_get(&f, logs[i].key);

		T_OK(tool && !strcmp(tool, logs[i].tool) && value && !strcmp(value, logs[i].value),
		     "%s: %s is %s (%s)", logs[i].what, logs[i].key, logs[i].value,
		     value ? value : "none");
		facts_fini(&f);
	}
	{
		struct facts f = { 0 };

		T_OK(!log_facts(&f, "hello", 5) && !f.n, "what is no log of a tool says nothing");
		log_facts(&f, logs[7].text, strlen(logs[7].text));
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
		{ "huge_pages", "memory/thp", "never", CHECK_WARN },
		{ "mtu", "net/fast_mtu_min", "many", CHECK_WARN },
		{ "huge_pages", "memory/thp", "mad", CHECK_WARN },
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
	read_logs();
	advice();
	profiles();
	nodes();
	return t_done();
}
