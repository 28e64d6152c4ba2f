/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmc_conf.h - the configured BMCs: a section [NAME] for each, with lines of KEY = VALUE. Lines
 * before the first section apply to all that follow. Passwords are in files that it names, never
 * here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BMC_CONF_FILE  "/etc/aon/bmc.conf"
#define BMC_CONF_BYTES (256u << 10)
#define BMC_MAX        128u
#define BMC_NAME       48u

struct bmc_conf {
	char name[BMC_NAME];
#define BMC_TEXT(key, bytes, def, help)   char key[bytes];
#define BMC_NUM(key, def, min, max, help) long key;
#define BMC_FLAG(key, def, help)          bool key;
#include "collect/bmc/bmc_conf.tbl.h"
};

struct bmc_confs {
	struct bmc_conf *bmc; /* owned */
	size_t n;
};

struct bmc_why {
	char text[512]; /* "bmc.conf:3: expected ..." */
};

/* Any bytes are allowed. -EINVAL, -ENOMEM: *why says what is wrong where; *out is untouched. */
int bmc_conf_parse(struct bmc_confs *out, const char *name, const char *text, size_t len,
		   struct bmc_why *why);
int bmc_conf_load(struct bmc_confs *out, const char *path, struct bmc_why *why);
void bmc_confs_fini(struct bmc_confs *c);

/* A BMC's user and password, from its file; refused if others may read it. Wipe it after use. */
struct bmc_login {
	char user[128], password[256];
};
int bmc_login_read(struct bmc_login *out, const char *path, struct bmc_why *why);
