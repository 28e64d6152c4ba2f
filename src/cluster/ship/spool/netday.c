/* SPDX-License-Identifier: Apache-2.0 */
/* netday.c - see netday.h. A machine's crash begins a new day, so nothing waits for the disk. */
#include "ship/spool/netday.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"

bool netday_parse(struct netday *n, const char *text)
{
	uint64_t boot[2], day, bytes, stops;

	if (sscanf(text, "%16" SCNx64 "%16" SCNx64 " %19" SCNu64 " %19" SCNu64 " %19" SCNu64,
		   &boot[0], &boot[1], &day, &bytes, &stops) != 5 ||
	    boot[0] != n->boot[0] || boot[1] != n->boot[1])
		return false;
	n->stops = stops;
	if (day != n->day)
		return false;
	n->bytes = bytes;
	return true;
}

static void write_down(const struct netday *n)
{
	char tmp[sizeof(n->path) + 8];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.new", n->path);
	f = fopen(tmp, "we");
	if (!f)
		return;
	fprintf(f, "%016" PRIx64 "%016" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n->boot[0],
		n->boot[1], n->day, n->bytes, n->stops);
	if (fclose(f) == 0)
		rename(tmp, n->path);
}

void netday_init(struct netday *n, const char *spool, uint64_t limit, uint64_t now_ns)
{
	char text[128];

	*n = (struct netday){ .limit = limit, .day = now_ns / NETDAY_NS };
	snprintf(n->path, sizeof(n->path), "%s/" NETDAY_NAME, spool);
	if (proc_boot_id(n->boot))
		log_warn("the machine's boot is not known: net_mib_day begins anew");
	if (file_text(AT_FDCWD, n->path, text, sizeof(text)) > 0)
		netday_parse(n, text);
}

static void turn(struct netday *n, uint64_t now_ns)
{
	if (now_ns / NETDAY_NS == n->day)
		return;
	n->day = now_ns / NETDAY_NS;
	n->bytes = 0;
	n->stopped = false;
}

bool netday_fits(struct netday *n, uint64_t bytes, uint64_t now_ns)
{
	turn(n, now_ns);
	if (!n->limit || !n->bytes || (bytes <= n->limit && n->bytes <= n->limit - bytes))
		return true;
	if (!n->stopped) {
		n->stopped = true;
		n->stops++;
		write_down(n);
	}
	return false;
}

void netday_add(struct netday *n, uint64_t bytes, uint64_t now_ns)
{
	turn(n, now_ns);
	if (!bytes)
		return;
	n->bytes += bytes;
	write_down(n);
}
