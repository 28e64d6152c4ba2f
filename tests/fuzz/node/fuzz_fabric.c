/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fabric.c - any bytes as a message of Kineto. */
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	struct fabric_msg m;
	struct fabric_head head;

	memcpy(copy, data, size);
	if (!fabric_check(&m, copy, size)) {
		memcpy(&head, data, sizeof(head));
		if (size > KINETO_PACKET || head.size != size - sizeof(head) || m.kind > FABRIC_WHO)
			abort();
	}
	free(copy);
	return 0;
}
