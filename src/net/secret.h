/* SPDX-License-Identifier: Apache-2.0 */
/* secret.h - files that hold secrets. */
#pragma once

#include "net/cluster_url.h"

#define SECRET_MAX 256u

struct credentials {
	char user[SECRET_MAX], password[SECRET_MAX];
};

/* Refuses a file that others can read, or that is neither ours nor root's. *why names it. */
int secret_check(const char *path, struct net_why *why);
/* Lines `user = NAME` and `password = SECRET`; # begins a comment line. */
int secret_load(struct credentials *out, const char *path, struct net_why *why);
int secret_parse(struct credentials *out, const char *name, char *text, struct net_why *why);
void secret_forget(struct credentials *c);
