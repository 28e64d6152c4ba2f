/* SPDX-License-Identifier: Apache-2.0 */
/* What may be sent in a day: a hard stop, the next day, and a new start. */
#include "ship/spool/netday.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "t.h"

#define KB 1000u

int main(void)
{
	char dir[] = "/tmp/aon_netday_XXXXXX";
	uint64_t now = 5 * NETDAY_NS + 7;
	struct netday n;

	if (!mkdtemp(dir))
		return 1;
	netday_init(&n, dir, 100 * KB, now);
	T_OK(netday_fits(&n, 200 * KB, now), "what is more than a day's goes as the first of one");
	netday_add(&n, 60 * KB, now);
	T_OK(netday_fits(&n, 40 * KB, now), "all of the limit may be used");
	T_OK(!netday_fits(&n, 40 * KB + 1, now) && !netday_fits(&n, UINT64_MAX, now) &&
		     n.stops == 1,
	     "not a byte more, and the stop is counted once");
	netday_init(&n, dir, 100 * KB, now + 1);
	T_OK(n.bytes == 60 * KB && n.stops == 1 && !netday_fits(&n, 50 * KB, now + 1),
	     "a new start knows what was sent");
	T_OK(netday_end(&n) == 6 * NETDAY_NS && netday_fits(&n, 50 * KB, netday_end(&n)) &&
		     !n.bytes,
	     "the next day is a new one");
	netday_init(&n, dir, 100 * KB, 7 * NETDAY_NS);
	T_OK(!n.bytes && n.stops == 2, "also over a start");
	T_OK(!netday_parse(&n, "ffffffffffffffffffffffffffffffff 7 9000 1") && !n.bytes,
	     "what another boot sent does not count");
	netday_init(&n, dir, 0, now);
	netday_add(&n, UINT64_MAX / 2, now);
	T_OK(netday_fits(&n, UINT64_MAX, now), "without a limit there is none");
	unlink(n.path);
	rmdir(dir);
	return t_done();
}
