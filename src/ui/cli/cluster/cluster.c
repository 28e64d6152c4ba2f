/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - see cluster.h. */
#include "cli/cluster/cluster.h"

int cluster_of(const struct opts *o, struct cluster_url *url, struct http_files *files)
{
	struct net_why why;

	if (!o->val[OPT_URL])
		return cli_misuse("expected --url clickhouse://HOST:PORT/DATABASE");
	if (cluster_url_parse(url, o->val[OPT_URL], &why))
		return cli_misuse("--url: %s", why.text);
	*files = (struct http_files){
		.ca = o->val[OPT_CA],
		.cert = o->val[OPT_CERT],
		.key = o->val[OPT_KEY],
		.credentials = o->val[OPT_CREDENTIALS],
		.pin = o->val[OPT_PIN],
	};
	return CLI_OK;
}
