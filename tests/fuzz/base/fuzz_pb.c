/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pb.c - any bytes as protobuf: what is read stays within them, and written again reads the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/pb.h"

#define DEPTH 8 /* of messages in messages */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void copy(struct pb in, struct pb_out *out, int depth)
{
	const uint8_t *start = in.p;
	struct pb_field f = { 0 };

	while (pb_next(&in, &f)) {
		check(f.num && in.p > start && in.p <= in.end);
		check(f.data.p >= start && f.data.end >= f.data.p && f.data.end <= in.end);
		start = in.p;
		if (f.wire == 0) {
			pb_put_u64(out, f.num, f.v);
		} else if (f.wire == 1) {
			pb_put_fixed64(out, f.num, f.v);
		} else if (f.wire == 2) {
			pb_put_bytes(out, f.num, f.data.p, (size_t)(f.data.end - f.data.p));
			if (depth)
				copy(f.data, out, depth - 1);
		}
	}
	check(in.bad || in.p == in.end);
	if (pb_rest(&in, &f))
		check(in.bad && f.data.p >= in.p && f.data.end == in.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pb_out once = { 0 };
	struct pb_field f = { 0 };
	struct pb in;
	size_t at = pb_open(&once, 1);

	copy((struct pb){ data, data + size, false }, &once, DEPTH);
	pb_close(&once, at);
	if (!once.err) {
		in = (struct pb){ once.data, once.data + once.len, false };
		check(pb_next(&in, &f) && f.num == 1 && f.wire == 2 && in.p == in.end);
		in = f.data;
		while (pb_next(&in, &f))
			;
		check(!in.bad);
	}
	pb_free(&once);
	return 0;
}
