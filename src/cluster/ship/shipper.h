/* SPDX-License-Identifier: Apache-2.0 */
/* shipper.h - aon ship's process: settings, and the loop that reads, spools and sends. */
#pragma once

#include "base/conf.h"
#include "ship/source/source.h"
#include "net/http.h"

#define SHIP_CONF_FILE "/etc/aon/ship.conf"

#define SHIP_PARAM_NUM  int64_t
#define SHIP_PARAM_WORD int64_t
#define SHIP_PARAM_PATH struct conf_path
#define SHIP_PARAM_TEXT struct conf_path

struct ship_conf {
#define PARAM(key, type, def, min, max, unit, live, help) SHIP_PARAM_##type key;
#include "ship/conf.tbl.h"
};
extern const struct conf ship_conf_table;

/* Asks aond for its current use of resources; fills in what is known. */
typedef void shipper_node_fn(void *arg, struct source_node *node);

struct shipper_opts {
	const struct ship_conf *conf;
	bool once;   /* ship everything that exists, then end */
	int stop_fd; /* readable: stop in order; -1: none */
	shipper_node_fn *node;
	void *arg;
};

/*
 * Runs until it is asked to stop. 0, or -errno with the reason in *why. With `once`, -EAGAIN: not
 * everything has arrived.
 */
int shipper_run(const struct shipper_opts *o, struct net_why *why);

/* The file with its last status, beside its spool: lines "key value". */
#define SHIPPER_STATUS "status"
