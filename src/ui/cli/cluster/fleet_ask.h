/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_ask.h - for commands that query a cluster: its address, the time range, errors. */
#pragma once

#include "cli/core/cli.h"
#include "fleet/question.h"

/* Whether a command is about a cluster: --cluster was given, or an operand is one's address. One that names
 * a job is a store as any other. */
bool fleet_asked(const struct opts *o);
/* The same where one with a job is no store either: lists take it as that job alone. */
bool fleet_listed(const struct opts *o);
/* CLI_OK, or CLI_USAGE and a message: the command is for a node, the address is a cluster's. */
int fleet_refused(const struct opts *o);
/* CLI_OK, or CLI_USAGE after a message that an option needs a cluster, which was not given. */
int fleet_not_asked(const struct opts *o);

/* The files with credentials: from the options, else $AON_CREDENTIALS. Static. */
const struct http_files *fleet_files(const struct opts *o);

/* Opens it by --cluster, the operand or $AON_CLUSTER. CLI_OK, or CLI_FAIL after a message. */
int fleet_ask_open(struct fleet **out, const struct opts *o);
/* "ADDRESS: what. What to do." Returns CLI_FAIL. */
int fleet_ask_failed(const struct fleet *f, int err, const struct store_why *why);

/* --since and --until; by default the last day. CLI_OK or CLI_USAGE. */
int fleet_ask_span(const struct opts *o, struct fleet_span *out);
/* "90s", "30m", "24h", "7d" before now, or 2026-11-17, 2026-11-17T12:30[:00], UTC. */
int fleet_ask_time(const char *option, const char *text, uint64_t *ns);
/* "the last 24h", "2026-11-16 12:00 to 2026-11-17 12:00 UTC". */
char *fleet_span_text(struct fleet_span s, char *buf, size_t cap);

/* The command with --job, --rank and --capture of a cluster as the address of a store. */
int fleet_as_store(const struct opts *o, cmd_fn *fn);

/* The commands themselves, of a cluster. */
int fleet_report_cmd(const struct opts *o);
int fleet_diff_cmd(const struct opts *o);
int fleet_why_cmd(const struct opts *o);
int fleet_list_cmd(const struct opts *o); /* ps, alarms, overhead, telemetry */
