/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - the cluster that --url names, and the files with its credentials. */
#pragma once

#include "cli/core/cli.h"
#include "net/http.h"

/* CLI_OK, or CLI_USAGE after an error message. Texts are the options'. */
int cluster_of(const struct opts *o, struct cluster_url *url, struct http_files *files);
