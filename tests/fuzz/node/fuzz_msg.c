/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_msg.c - any bytes as a message of a process. */
#include <stdlib.h>
#include <string.h>

#include "daemon/session/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	union msg m;

	memcpy(copy, data, size);
	if (!msg_check(&m, copy, size)) {
		must(size >= sizeof(m.head) && m.head.size == size);
		if (m.head.type == AON_MSG_HELLO)
			must(strlen(m.hello.library) < sizeof(m.hello.library) &&
			     strlen(m.hello.run) < sizeof(m.hello.run) &&
			     strlen(m.hello.job) < sizeof(m.hello.job) &&
			     strlen(m.hello.node) < sizeof(m.hello.node));
		if (m.head.type == AON_MSG_NOTE)
			must(strlen(m.note.source) < sizeof(m.note.source) &&
			     strlen(m.note.state) < sizeof(m.note.state) &&
			     strlen(m.note.reason) < sizeof(m.note.reason));
	}
	free(copy);
	return 0;
}
