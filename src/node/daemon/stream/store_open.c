/* SPDX-License-Identifier: Apache-2.0 */
/* store_open.c - opens the store: a damaged, foreign or newer one never stops aond's start. */
#include "daemon/stream/store_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/session/session_list.h"

/* The directory of the store, one level: /var/lib/aon. */
static void make_dir(const char *path)
{
	char dir[PARAM_PATH_BYTES], *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = '\0';
	mkdir(dir, 0750); /* if it fails, opening the store says why */
}

int daemon_store_open(struct store **out, const struct param *p, struct store_why *why)
{
	const struct store_opts o = {
		.max_bytes = (uint64_t)p->store_max_mib << 20,
		.max_age_ns = (uint64_t)p->store_max_age_h * 3600u * 1000000000u,
		.names_max = (uint32_t)p->names_max,
		.create = true,
	};
	char to[PARAM_PATH_BYTES + 32], line[sizeof(to) + sizeof(why->text) + 16];
	struct journal_entry e = { .kind = ENTRY_ASIDE };
	int err;

	make_dir(p->store.s);
	err = store_open_rw(out, p->store.s, &o, why);
	if (err != -EMEDIUMTYPE && err != -EPROTO && err != -EBADMSG)
		return err;
	snprintf(line, sizeof(line), "%s", why->text);
	err = store_set_aside(p->store.s, to, sizeof(to));
	if (err) {
		snprintf(why->text, sizeof(why->text),
			 "%.120s: cannot be used and cannot be put aside: %s", p->store.s,
			 strerror(-err));
		return err;
	}
	log_warn("store put aside as %s: %s", to, line);
	err = store_open_rw(out, p->store.s, &o, why);
	if (err)
		return err;
	e.wall_ns = clock_wall_ns();
	entry_s(&e, FIELD_LINE, line);
	entry_s(&e, FIELD_PATH, to);
	store_entry(*out, &e);
	return 0;
}
