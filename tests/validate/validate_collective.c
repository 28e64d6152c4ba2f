/* SPDX-License-Identifier: Apache-2.0 */
/* validate_collective.c - the model of exchanges against XLA's throughputs and nccl-tests' logs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured.h"
#include "tally.h"
#include "theory/collective.h"
#include "theory/layer.h"
#include "validate.h"

static const struct device {
	const char *name, *key;
	uint32_t domain; /* ranks that a permutation is of */
	bool copies;     /* XLA's program copies the argument of an all-reduce: docs/models.md */
} devices[] = {
	{ "sm_90", "H100_SXM", 8, true },       { "sm_100_B200", "B200", 8, true },
	{ "sm_100_GB200", "GB200", 72, false }, { "sm_103", "GB300", 72, false },
	{ "gfx950", "MI355X", 8, true },
};

static const struct device *device_of(const char *name)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (strcmp(devices[i].name, name) == 0)
			return &devices[i];
	return NULL;
}

static int op_of(const char *opcode)
{
	if (strcmp(opcode, "collective-permute") == 0)
		return COLL_P2P;
	for (int i = 0; i < COLL_OPS; i++)
		if (strcmp(opcode, coll_op_word[i]) == 0)
			return i;
	return -1;
}

/* device, opcode, type, elements of the result, groups, ranks of a group, bytes a second */
static int xla_row(void *arg, char *f[MEASURED_FIELDS])
{
	const struct device *d = device_of(f[0]);
	struct coll c = { .op = (enum coll_op)op_of(f[1]) };
	struct layer_time copy = { .ns = 0 };
	char key[256], group[64];
	double ns;
	int err;

	if (!d || (int)c.op < 0)
		return -EINVAL;
	if (!*f[6]) /* it was too short to measure */
		return 0;
	c.bytes = strtoull(f[3], NULL, 10) * (strcmp(f[2], "BF16") == 0 ? 2 : 4);
	c.ranks = (uint32_t)strtoul(f[5], NULL, 10);
	if (c.op == COLL_REDUCE_SCATTER)
		c.bytes *= c.ranks;
	if (!c.ranks) /* of the racks, some were made with 72 ranks and some with 64 */
		c.ranks = d->domain > 64 && c.bytes % 9 ? 64 : d->domain;
	c.ranks_per_node = d->domain;
	err = coll_time(&ns, gpu_find(d->key), &c);
	if (!err && d->copies && c.op == COLL_ALL_REDUCE)
		err = pass_time(&copy, gpu_find(d->key), PASS_ELEMENTWISE, 2.0 * (double)c.bytes);
	if (err)
		return err;
	snprintf(key, sizeof(key), "%s,%s,%s,%s,%s,%s", f[0], f[1], f[2], f[3], f[4], f[5]);
	snprintf(group, sizeof(group), "%s, %s", d->key, coll_op_word[c.op]);
	return tally_add(arg, group, ns + copy.ns, (double)c.bytes / atof(f[6]) * 1e9,
			 measured_odd(key));
}

/* --- logs of nccl-tests on 8 x A100 40 GB, to which nothing was fitted --- */

struct log {
	struct tally t;
	enum coll_op op;
};

/* Bytes, elements, type, for some what kind of sum or which root, microseconds, ... */
static int log_row(void *arg, char *f[MEASURED_FIELDS])
{
	const char *form = "%llu %*u float %lf";
	struct log *log = arg;
	struct coll c = { .op = log->op, .ranks = 8 };
	unsigned long long bytes;
	double us, ns;
	int err;

	if (c.op != COLL_ALL_GATHER)
		form = c.op == COLL_BROADCAST ? "%llu %*u float %*d %lf" : "%llu %*u float %*s %lf";
	if (sscanf(f[0], form, &bytes, &us) != 2 || bytes == 0)
		return 0; /* a remark, or an empty buffer */
	c.bytes = bytes;
	err = coll_time(&ns, gpu_find("A100_SXM_40"), &c);
	return err ? err : tally_add(&log->t, coll_op_word[c.op], ns, us * 1e3, true);
}

static int logs(void)
{
	static const struct {
		const char *file;
		enum coll_op op;
	} of[] = { { "nccl_allreduce", COLL_ALL_REDUCE },
		   { "nccl_allgather", COLL_ALL_GATHER },
		   { "nccl_broadcast", COLL_BROADCAST } };
	static struct log log;
	const char *whose;
	char path[128];
	int err = 0;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of) && !err; i++) {
		log.op = of[i].op;
		snprintf(path, sizeof(path), "bench_logs/superbench/%s.log", of[i].file);
		err = measured_rows(path, log_row, &log);
	}
	validate_say("%s", "  nccl-tests on 8 x A100 40 GB; nothing was fitted to them");
	if (!err)
		tally_print(&log.t, &whose);
	tally_fini(&log.t);
	return err == -ENOENT ? 0 : err;
}

int validate_collective(void)
{
	static struct tally t;
	const char *whose = "";
	double worst;
	int err = measured_rows("perf_tables/xla_collective.csv.gz", xla_row, &t);

	if (!err) {
		worst = tally_print(&t, &whose);
		validate_bar("collective_median", worst, 15, "the worst of %zu: %s", t.groups,
			     whose);
	}
	tally_fini(&t);
	return err ? err : logs();
}
