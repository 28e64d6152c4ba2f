/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - see devices.h. */
#include "cli/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/devices.h"

void devices_path(char path[PATH_MAX])
{
	const char *given = getenv("AON_DEVICES"), *config = getenv("XDG_CONFIG_HOME"),
		   *home = getenv("HOME");

	path[0] = '\0';
	if (given && *given)
		snprintf(path, PATH_MAX, "%s", given);
	else if (config && *config)
		snprintf(path, PATH_MAX, "%s/aon/devices.json", config);
	else if (home && *home)
		snprintf(path, PATH_MAX, "%s/.config/aon/devices.json", home);
}

int devices_load(void)
{
	const char *given = getenv("AON_DEVICES");
	struct devices_why why;
	char path[PATH_MAX];
	int err;

	devices_path(path);
	if (!*path)
		return CLI_OK;
	err = devices_read(path, &why);
	if (err >= 0 || (err == -ENOENT && !(given && *given)))
		return CLI_OK;
	if (why.line)
		return cli_say(CLI_FAIL, "%s:%zu: %s", path, why.line, why.text);
	return cli_say(CLI_FAIL, "%s: %s. It should hold devices (docs/devices.md).", path,
		       why.text);
}
