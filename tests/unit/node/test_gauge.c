/* SPDX-License-Identifier: Apache-2.0 */
/* What collectors measure of a GPU and a card, in the record of a step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/stream/gauge.h"
#include "t.h"

static struct gauges g;

static void say(uint32_t metric, const char *device, const char *labels, double was, double is)
{
	struct series s = { .metric = metric };
	bool sum = false;
	double *to;

	snprintf(s.device, sizeof(s.device), "%s", device);
	snprintf(s.labels, sizeof(s.labels), "%s", labels);
	to = gauge_of(&g, &s, &sum);
	if (to)
		gauge_take(to, sum, was, is);
}

static struct step_rec record(const char *gpus, const char *nic, uint16_t gpu,
			      struct gauge_said *said)
{
	struct step_rec r;

	step_rec_init(&r);
	r.gpu = gpu;
	gauge_put(&g, gpus, nic, said, &r);
	return r;
}

int main(void)
{
	struct gauge_said a = { 0 }, b = { 0 };
	struct step_rec r;

	r = record("", "", 0, &a);
	T_OK(!r.have, "what nobody measures is not known");
	say(112, "nvidia0", "gpu=\"0\",UUID=\"GPU-a\"", NAN, 0);
	say(112, "nvidia1", "gpu=\"1\",UUID=\"GPU-b\"", NAN, 0x40);
	say(100, "nvidia1", "gpu=\"1\",UUID=\"GPU-b\"", NAN, 1200);
	say(202, "nvidia1", "gpu=\"1\",UUID=\"GPU-b\"", NAN, 500);
	say(203, "nvidia1", "gpu=\"1\"", NAN, 99);
	r = record("", "", 1, &a);
	T_OK(r.have == (1u << STEP_HAVE_THROTTLE | 1u << STEP_HAVE_SM | 1u << STEP_HAVE_PCIE) &&
		     r.throttle == 0x40 && r.sm_mhz == 1200 && r.pcie_replay == 0,
	     "a GPU by its number: what it is now, and nothing of what was before");
	say(202, "nvidia1", "gpu=\"1\",UUID=\"GPU-b\"", 500, 507);
	say(310, "nvidia1", "", NAN, 3);
	r = record("", "", 1, &a);
	T_OK(r.pcie_replay == 7, "of what is counted, what came since the last record");
	T_OK(record("", "", 1, &a).pcie_replay == 0, "once");
	r = record("GPU-b", "", 3, &b);
	T_OK(r.throttle == 0x40, "a GPU by its UUID, whatever number the process has for it");
	r = record("GPU-b,GPU-a", "", 1, &b);
	T_OK(r.have >> STEP_HAVE_THROTTLE & 1 && !r.throttle, "the second of two");
	say(30163, "mlx5_0", "port=\"1\",kind=\"packet_seq_err\"", NAN, 10);
	say(30163, "mlx5_0", "port=\"1\",kind=\"duplicate_request\"", NAN, 10);
	record("", "", 0, &b);
	say(30163, "mlx5_0", "port=\"1\",kind=\"packet_seq_err\"", 10, 12);
	say(30163, "mlx5_0", "port=\"1\",kind=\"local_ack_timeout_err\"", NAN, 5);
	say(30163, "mlx5_0", "port=\"1\",kind=\"local_ack_timeout_err\"", 5, 6);
	r = record("", "", 0, &b);
	T_OK(r.nic_retrans == 3, "the only card, its ways to say so added up: %u", r.nic_retrans);
	say(30163, "mlx5_1", "port=\"1\",kind=\"packet_seq_err\"", NAN, 1);
	T_OK(!(record("", "", 0, &b).have >> STEP_HAVE_RETRANS & 1), "of two, none is guessed");
	say(30163, "mlx5_1", "port=\"1\",kind=\"packet_seq_err\"", 1, 9);
	T_OK(record("", "mlx5_1", 0, &a).have >> STEP_HAVE_RETRANS & 1, "but by its name");
	say(100, "nvidia1", "", 1200, 1e9);
	T_OK(record("", "", 1, &a).sm_mhz == UINT16_MAX, "nonsense is cut to what fits");
	return t_done();
}
