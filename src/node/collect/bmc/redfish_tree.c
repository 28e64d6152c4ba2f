/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_tree.c - the set of a BMC's resources. Each resource is added once, so loops end here. */
#include "collect/bmc/redfish_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int redfish_tree_init(struct redfish_tree *t, uint32_t max)
{
	*t = (struct redfish_tree){ .max = max };
	t->res = calloc(max, sizeof(*t->res));
	return t->res ? 0 : -ENOMEM;
}

void redfish_tree_fini(struct redfish_tree *t)
{
	for (uint32_t i = 0; t->res && i < t->n; i++) {
		free(t->res[i].path);
		free(t->res[i].etag);
	}
	free(t->res);
	map_fini(&t->by_path);
	*t = (struct redfish_tree){ 0 };
}

struct redfish_resource *redfish_tree_add(struct redfish_tree *t, const char *path)
{
	size_t len = strlen(path);
	uint64_t hash, have;

	while (len > 1 && path[len - 1] == '/')
		len--;
	hash = bmc_hash(path, len);
	have = map_get(&t->by_path, hash);
	if (have)
		return &t->res[have - 1];
	if (t->n == t->max) {
		t->dropped++;
		return NULL;
	}
	t->res[t->n] = (struct redfish_resource){ .path = strndup(path, len), .hash = hash };
	if (!t->res[t->n].path || map_put(&t->by_path, hash, t->n + 1) < 0) {
		free(t->res[t->n].path);
		return NULL;
	}
	return &t->res[t->n++];
}

bool redfish_follows(const char *key)
{
	static const char *const keys[] = {
#define LINK(key) #key,
#define TYPE(name, use)
#include "collect/bmc/redfish_tree.tbl.h"
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

enum redfish_use redfish_use_of(const char *type)
{
	static const struct {
		const char *name;
		enum redfish_use use;
	} types[] = {
#define LINK(key)
#define TYPE(name, use) { #name, USE_##use },
#include "collect/bmc/redfish_tree.tbl.h"
	};
	size_t n;

	type += *type == '#';
	n = strcspn(type, ".");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i].name) == n && !memcmp(types[i].name, type, n))
			return types[i].use;
	return USE_NONE;
}
