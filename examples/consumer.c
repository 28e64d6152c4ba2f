/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c - steps of all programs that you may see, as they end. cc consumer.c -laon-consumer */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <aon/consumer.h>

int main(void)
{
	struct aon_consumer_opts o = { 0 };
	struct aon_consumer_event e;
	struct aon_consumer *c;
	uint64_t lost = 0;
	int err;

	o.size = sizeof(o);
	o.kinds = (uint64_t)1 << aon_consumer_kind_of("step");
	err = aon_consumer_open(&c, NULL, &o);
	if (err) {
		fprintf(stderr, "no live events: %s\n", strerror(-err));
		return 1;
	}
	while ((err = aon_consumer_next(c, &e, -1)) >= 0) {
		if (aon_consumer_lost(c) != lost)
			printf("lost %llu events\n",
			       (unsigned long long)(aon_consumer_lost(c) - lost));
		lost = aon_consumer_lost(c);
		if (err)
			printf("pid %u step %llu: %.3f ms\n", e.pid, (unsigned long long)e.a,
			       (double)e.dur_ns / 1e6);
		fflush(stdout);
	}
	aon_consumer_close(c);
	return err == -EPIPE ? 0 : 1; /* aond has ended */
}
