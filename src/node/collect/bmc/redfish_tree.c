/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_tree.c - the set of a BMC's resources. Met once, a resource is met: loops end here. */
#include "collect/bmc/redfish_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int redfish_tree_init(struct redfish_tree *t, uint32_t max)
{
	*t = (struct redfish_tree){ .max = max };
	t->res = calloc(max, sizeof(*t->res));
	t->index = calloc((size_t)max * 2, sizeof(*t->index));
	if (t->res && t->index)
		return 0;
	redfish_tree_fini(t);
	return -ENOMEM;
}

void redfish_tree_fini(struct redfish_tree *t)
{
	for (uint32_t i = 0; t->res && i < t->n; i++) {
		free(t->res[i].path);
		free(t->res[i].etag);
	}
	free(t->res);
	free(t->index);
	*t = (struct redfish_tree){ 0 };
}

struct redfish_resource *redfish_tree_add(struct redfish_tree *t, const char *path)
{
	size_t len = strlen(path);
	uint64_t hash, i;

	while (len > 1 && path[len - 1] == '/')
		len--;
	hash = bmc_hash(path, len);
	i = hash % (t->max * 2);
	for (; t->index[i]; i = (i + 1) % (t->max * 2))
		if (t->res[t->index[i] - 1].hash == hash)
			return &t->res[t->index[i] - 1];
	if (t->n == t->max) {
		t->left_out++;
		return NULL;
	}
	t->res[t->n] = (struct redfish_resource){ .path = strndup(path, len), .hash = hash };
	if (!t->res[t->n].path)
		return NULL;
	t->index[i] = ++t->n;
	return &t->res[t->n - 1];
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
