/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cluster_url.c - any text as the address of a cluster, and as a file of credentials. */
#include <stdlib.h>
#include <string.h>

#include "net/cluster_url.h"
#include "net/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), host[CLUSTER_HOST];
	struct credentials c;
	struct cluster_url u;
	struct net_why why;

	memcpy(text, data, size);
	text[size] = '\0';
	if (cluster_url_parse(&u, text, &why) == 0) {
		if (!u.servers || u.servers > CLUSTER_SERVERS || u.shards > u.servers)
			abort();
		for (uint32_t i = 0; i < u.servers; i++)
			if (u.server[i].shard >= u.shards || !*cluster_host(host, &u.server[i]))
				abort();
	}
	secret_parse(&c, "fuzz", text, &why);
	free(text);
	return 0;
}
