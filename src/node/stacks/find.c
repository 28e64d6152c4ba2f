/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - see find.h. */
#include "stacks/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int stacks_find(char path[PATH_MAX])
{
	static const char *const place[] = { "aon-stacks", "../stacks/aon-stacks",
					     "../../node/stacks/aon-stacks",
					     "../libexec/aon/aon-stacks" };
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(place) / sizeof(place[0]); i++) {
		if ((size_t)snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - self), self,
				     place[i]) < PATH_MAX &&
		    access(path, X_OK) == 0)
			return 0;
	}
	snprintf(path, PATH_MAX, "%s", AON_LIBEXECDIR "/aon-stacks");
	return access(path, X_OK) == 0 ? 0 : -ENOENT;
}
