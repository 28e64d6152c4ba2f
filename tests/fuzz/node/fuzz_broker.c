/* SPDX-License-Identifier: Apache-2.0 */
/* What a consumer of live events says to aond: it is answered about its question, or closed. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct broker b;
	static struct loop l;
	const struct broker_asker who = { 0 };
	struct need need;
	char answer[256], words[1025];
	int pair[2];
	ssize_t n;

	if (!b.loop) {
		if (loop_init(&l))
			abort();
		broker_init(&b, &l, NULL); /* nothing was seen: the store is not asked */
	}
	if (!size || size > 1024 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 0;
	memcpy(words, data, size); /* the same bytes as what it says that it needs */
	words[size] = '\0';
	if (!need_parse(&need, words) &&
	    (!need.kinds || need.pids > NEED_PIDS || need.priority >= NEED_PRIORITIES))
		abort();
	*words = '\0';
	need_parse(&need, words);
	if (broker_subscribe(&b, pair[0], &who, &need, 1) || recv(pair[1], answer, 64, 0) != 4)
		abort();
	memset(&b.asks, 0, sizeof(b.asks));
	send(pair[1], data, size, 0);
	loop_wait(&l, 0);
	loop_work(&l);
	n = recv(pair[1], answer, sizeof(answer), MSG_DONTWAIT);
	if (n < 0 || (n > 0 && strncmp(answer, "name ", 5) && strncmp(answer, "lane ", 5) &&
		      strncmp(answer, "process", 7)))
		abort();
	close(pair[1]);
	loop_wait(&l, 0);
	loop_work(&l);
	if (b.first) /* it has left, and its ring with it */
		abort();
	return 0;
}
