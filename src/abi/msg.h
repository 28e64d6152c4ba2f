/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg.h - the messages between a process and aond, over SOCK_SEQPACKET.
 *
 *	process                              aond
 *	HELLO  [+ old pool]   ------------>
 *	                      <------------  WELCOME  + gate [+ pool]
 *	BELL                  ------------>
 *	NOTE                  ------------>
 *
 *	ASK                   ------------>               instead of HELLO: from here on the socket
 *	a line of text        ------------>               speaks as the admin socket does, with the
 *	                      <------------  packets      requests that are open to everyone
 *
 * A message is one packet: a head, then its fields. The two sides may be of different builds: of a
 * longer message only the known part is read, and an unknown type is counted and skipped.
 * aond asks the kernel for the identity of the process (SO_PEERCRED, SO_PEERPIDFD), never the message.
 */
#pragma once

#include <stdint.h>

#define AON_MSG_MAGIC   0x4d4e4f41u /* "AONM" */
#define AON_MSG_VERSION 1u
#define AON_MSG_MAX     1024u /* bytes; a longer packet ends the session */
#define AON_MSG_FDS     2u    /* descriptors in one message, at most */

#define AON_RUN_DIR         "/run/aon"
#define AON_SOCKET_NAME     "aond.sock"      /* in the run directory: processes */
#define AON_ADMIN_NAME      "admin.sock"     /* owner and group: the aon command */
#define AON_TELEMETRY_NAME  "telemetry.sock" /* owner and group: aon-collect */
#define AON_SAMPLE_NAME     "sample.sock"    /* owner: aon-sample */
#define AON_RENDEZVOUS_NAME "gate"
#define AON_ENV_RUN_DIR     "AON_RUN_DIR"
#define AON_ENV_OFF         "AON_OFF" /* 1: libaon stays inert */
#define AON_ENV_POOL_KIB    "AON_POOL_KIB"
#define AON_ENV_JOIN_MS     "AON_JOIN_MS" /* how long the first event may wait for aond; 1 */
#define AON_ENV_RUN         "AON_RUN"     /* label of the run, at most 15 characters */

enum aon_msg_type {
	AON_MSG_HELLO = 1,
	AON_MSG_WELCOME = 2,
	AON_MSG_DOORBELL = 3,
	AON_MSG_NOTE = 4,
	AON_MSG_ASK = 5,
};

struct aon_msg_head {
	uint32_t magic;
	uint16_t type;
	uint16_t size; /* of the whole message */
};

/* Features: bits that both sides must have for the feature to be used. */
#define AON_FEATURE_TRIAL 0x1ull /* skips unsampled steps as the gate says */
#define AON_FEATURE_TEXT  0x2ull /* sends long texts, as records of kind TEXT */
#define AON_FEATURES      (AON_FEATURE_TRIAL | AON_FEATURE_TEXT)

#define AON_HELLO_OFFER 0x1u /* a pool of an earlier session comes with this message */

struct aon_msg_hello {
	struct aon_msg_head head;
	uint32_t version;
	uint32_t flags;
	uint64_t features;
	uint64_t pool_id[2]; /* of the offered pool */
	uint32_t pool_kib;   /* wanted size; 0: aond chooses */
	uint32_t reserved;
	char library[32]; /* version of libaon, for people */
	char run[16];     /* label given by `aon run`, to group by; never an identity */
	/* Fields added after the first version, from the environment of the process. */
	uint32_t rank;       /* + 1; 0: it does not */
	uint32_t world;      /* ranks of the job; 0: it does not */
	uint32_t local_rank; /* + 1; 0: it does not */
	uint32_t reserved2;
	char job[48];
	char node[32]; /* as the cluster's scheduler calls it */
	/* Added later still: */
	char pod[72];
	char namespace[72];
	char gpus[96]; /* numbers or UUIDs, with commas between */
	char account[40];
};

#define AON_HELLO_LEAST 96u /* bytes of the first version's */

#define AON_WELCOME_KEEP 0x1u /* the offered pool was adopted: continue in it */

struct aon_msg_welcome {
	struct aon_msg_head head;
	uint32_t version;
	int32_t error; /* 0, or -errno: no session (EPERM, ENOSPC, EPROTO, EBUSY) */
	uint32_t flags;
	uint32_t reserved;
	uint64_t features;
	uint64_t session;
	uint64_t pool_bytes;
};

/* The state of a probe, for `aon ps` and `aon doctor`: "cuda", "off", "no driver". */
struct aon_msg_note {
	struct aon_msg_head head;
	char source[16];
	char state[16];
	char reason[128];
};

_Static_assert(sizeof(struct aon_msg_head) == 8, "message layout is ABI");
_Static_assert(sizeof(struct aon_msg_hello) == 472, "message layout is ABI");
_Static_assert(sizeof(struct aon_msg_welcome) == 48, "message layout is ABI");
_Static_assert(sizeof(struct aon_msg_note) == 168, "message layout is ABI");
