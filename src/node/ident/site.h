/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.h - facts about a node that only people know: the site's file, /etc/aon/site.conf.
 *
 *	# a comment
 *	cluster alpha
 *	host gpu-r*-n* rack=r{1} position={2} leaf=leaf-{1} nics=mlx5_0,mlx5_1
 *	host login-* rack=front
 *
 * A host is a pattern: * stands for any characters, {1} for those of the first *. The first line
 * that matches the node's name counts. Values are letters, digits and . _ : - (nics: with commas).
 */
#pragma once

#include <stddef.h>

#include "model/node.h"

#define SITE_BYTES_MAX (1u << 20)

struct site_why {
	size_t line; /* 0: of the file as a whole */
	char text[160];
};

/* Sets cluster, rack, leaf, position and nics of the node whose host is set. All of the file is
 * checked: -EINVAL and why. What it does not say stays as it is. */
int site_read(struct node_ident *n, const char *text, size_t len, struct site_why *why);
/* The same of a file. -ENOENT: there is none. */
int site_load(struct node_ident *n, const char *path, struct site_why *why);
