/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lease.c - what anybody may ask about leases: it is answered, and a guest never has the node's.
 * And the file that the aond before has left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/admin.h"
#include "daemon/control/lease_priv.h"
#include "daemon/session/session_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct admin_client guest = { .uid = 7, .pid = 8, .guest = true },
					 admin = { .uid = 7, .pid = 8 };
	static struct leases ls;
	static struct roster r; /* no process is here */
	static struct loop l;
	static FILE *null;
	char words[512];

	if (!ls.loop) {
		null = fopen("/dev/null", "w");
		if (!null)
			abort();
		if (loop_init(&l))
			abort();
		leases_init(&ls, &l, &r);
	}
	if (size >= sizeof(words))
		return 0;
	for (int i = 0; i < 2; i++) {
		memcpy(words, data, size);
		words[size] = '\0';
		lease_request(null, &ls, i ? &admin : &guest, words);
		if (!i && ls.first)
			abort();
	}
	leases_fini(&ls);
	memcpy(words, data, size);
	leases_parse(&ls, words, 1000);
	for (const struct lease *x = ls.first; x; x = x->next)
		if (x->until_ns <= 1000 || (x->ask.guest && !x->ask.of))
			abort();
	leases_fini(&ls);
	return 0;
}
