/* SPDX-License-Identifier: Apache-2.0 */
/* What a consumer of live events says to aond: it is answered about its question, or closed. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct broker b;
	static struct loop l;
	char answer[256];
	int pair[2];
	ssize_t n;

	if (!b.loop) {
		if (loop_init(&l))
			abort();
		broker_init(&b, &l, NULL); /* nothing was seen: the store is not asked */
	}
	if (!size || size > 1024 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 0;
	if (broker_subscribe(&b, pair[0], 0, false, 1) || recv(pair[1], answer, 64, 0) != 4)
		abort();
	send(pair[1], data, size, 0);
	loop_wait(&l, 0);
	loop_work(&l);
	n = recv(pair[1], answer, sizeof(answer), MSG_DONTWAIT);
	if (n < 0 || (n > 0 && strncmp(answer, "name ", 5) && strncmp(answer, "lane ", 5)))
		abort();
	close(pair[1]);
	loop_wait(&l, 0);
	loop_work(&l);
	if (b.first) /* it has left, and its ring with it */
		abort();
	return 0;
}
