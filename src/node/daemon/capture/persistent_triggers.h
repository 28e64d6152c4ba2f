/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persistent_triggers.h - triggers that outlive the client that set them: captures without a
 * client, which arm themselves again, and whose results stay in the store like those of alarms.
 * They survive a restart of aond: a file in its run directory (runfile.h), rewritten with every
 * change and read once.
 *
 *	UID<tab>PID<tab>ASKED_NS<tab>as after "capture begin"
 */
#pragma once

#include <stdint.h>

#include "daemon/capture/capture.h"

#define STANDING_NAME   "triggers"
#define STANDING_OF_UID 4u
#define STANDING        16u  /* on the node: the rest of CAPTURES is for waiting clients */
#define STANDING_COOL_S 600u /* default, as for alarms; */
#define STANDING_COOL   60u  /* at least */

/* Whether the trigger may be persistent. -EINVAL, -EBUSY: *why says why not. */
int standing_check(const struct captures *cs, uid_t uid, const struct capture_want *w,
		   const char **why);
/* The trigger fired: takes one of the day's captures, shared with alarms. False: none is left. */
bool standing_take(struct captures *cs, struct capture *c, uint64_t now_ns);
/* The capture is done: protects its events in the store, and arms the trigger again. */
void standing_done(struct captures *cs, struct capture *c);

void standing_write(const struct captures *cs);
void standing_read(struct captures *cs);
/* One line of the file. False: it is none. */
struct standing_line {
	uid_t uid;
	pid_t pid;
	uint64_t asked_ns;
	struct capture_want want;
};
bool standing_parse(struct standing_line *out, char *line);
