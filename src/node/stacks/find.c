/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - see find.h. */
#include "stacks/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int helper_find(char path[PATH_MAX], const char *folder, const char *name)
{
	/* Beside; in the build tree from node/daemon, from ui/cli; installed. */
	static const char *const place[] = { "%2$s/%3$s", "%2$s/../%1$s/%3$s",
					     "%2$s/../../node/%1$s/%3$s",
					     "%2$s/../libexec/aon/%3$s", AON_LIBEXECDIR "/%3$s" };
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = slash ? 0 : 4; i < sizeof(place) / sizeof(place[0]); i++) {
		if ((size_t)snprintf(path, PATH_MAX, place[i], folder, self, name) < PATH_MAX &&
		    access(path, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

int stacks_find(char path[PATH_MAX])
{
	return helper_find(path, "stacks", "aon-stacks");
}
