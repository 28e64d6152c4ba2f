/* SPDX-License-Identifier: Apache-2.0 */
/* plain_c99 - the public headers in a strict C99 program: each call once. */
#include <stdio.h>

#include <aon/aon.h>
#include <aon/provider.h>

int main(void)
{
	static const uint32_t grid[3] = { 1, 2, 3 }, block[3] = { 32, 1, 1 };
	struct aon_act act = { .size = sizeof(act), .kind = AON_ACT_KERNEL };
	uint64_t id;

	aon_join(2000);
	aon_step_begin(1);
	aon_range_push("range");
	aon_range_pop();
	AON_PUSH("literal");
	AON_POP();
	id = aon_range_start("started");
	aon_range_end(id);
	aon_mark("mark");
	AON_MARK("mark with values", 1, 2, 3);
	aon_counter("counter", -1);
	aon_counter_f64("counter_f64", 0.5);
	AON_COUNTER("literal counter", 7);
	aon_flow(id, id + 1);
	act.name = aon_name("kernel");
	act.track = aon_track(0, 1, 7, "stream 7");
	act.geo = aon_geo(grid, block, 32, 0, 0);
	act.start_ns = 1000;
	act.end_ns = 2000;
	if (aon_wants(AON_WANT_GPU))
		aon_act_emit(&act);
	aon_step_end(1);
	printf("%d %s\n", aon_joined(), aon_version());
	return 0;
}
