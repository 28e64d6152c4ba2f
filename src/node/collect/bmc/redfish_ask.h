/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_ask.h - requests to a BMC: login, rate limit, and reactions to refusals. */
#pragma once

#include "collect/bmc/bmc.h"
#include "net/fetch.h"

#define REDFISH_BODY (16u << 20) /* bytes of an answer */

struct redfish {
	struct bmc *b;   /* borrowed */
	struct fetch *f; /* owned */
	char sessions[256];
	char token[FETCH_HEADER], session[FETCH_HEADER]; /* "": none */
	bool has_sessions;                               /* its root says where */
	bool basic;                                      /* it knows no sessions */
	uint64_t
		refused_ns; /* when it said no to the password: not soon again, it may lock the account */
	uint64_t next_ns;  /* before which nothing is asked: the rate */
	uint32_t in_a_row; /* requests that got no answer */
};

enum redfish_pace { REDFISH_AT_ONCE, REDFISH_PACED, REDFISH_FINDING };

int redfish_open(struct redfish *r, struct bmc *b);
void redfish_close(struct redfish *r); /* ends its session, too */

/*
 * 0: 200, and its body. 1: 304, as it was. -errno of the transport, -EACCES: not let in,
 * -ENOENT: 404 and the like, -EBADMSG: other statuses. `how`: within the rate, or ten times it.
 */
int redfish_get(struct redfish *r, const char *path, const char *etag, enum redfish_pace how,
		struct fetch_answer *out);
/* Headers for a request of one's own; what is in `login` is to be wiped. -errno: not let in. */
int redfish_sign(struct redfish *r, struct fetch_ask *ask, struct bmc_login *login);
