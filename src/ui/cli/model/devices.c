/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - see devices.h. */
#include "cli/model/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static void in_config(char path[PATH_MAX], const char *name)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	path[0] = '\0';
	if (config && *config)
		snprintf(path, PATH_MAX, "%s/aon/%s", config, name);
	else if (home && *home)
		snprintf(path, PATH_MAX, "%s/.config/aon/%s", home, name);
}

/* $AON_DEVICES, else aon/devices.json in $XDG_CONFIG_HOME or ~/.config. "" if there is no home. */
static void devices_path(char path[PATH_MAX])
{
	const char *given = getenv("AON_DEVICES");

	if (given && *given)
		snprintf(path, PATH_MAX, "%s", given);
	else
		in_config(path, "devices.json");
}

void devices_measured_path(char path[PATH_MAX])
{
	in_config(path, "measured.json");
}

int devices_read(const char *path, struct devices_why *why)
{
	char *text;
	size_t len;
	int n = file_read(&text, &len, path, DEVICES_BYTES);

	if (n < 0) {
		*why = (struct devices_why){ 0 };
		snprintf(why->text, sizeof(why->text), "%s", strerror(-n));
		return n;
	}
	n = devices_add(text, len, why);
	free(text);
	return n;
}

static int load(const char *path, bool must)
{
	struct devices_why why;
	int err = *path ? devices_read(path, &why) : 0;

	if (err >= 0 || (err == -ENOENT && !must))
		return CLI_OK;
	if (why.line)
		return cli_say(CLI_FAIL, "%s:%zu: %s", path, why.line, why.text);
	return cli_say(CLI_FAIL, "%s: %s. It should hold devices (docs/devices.md).", path,
		       why.text);
}

int devices_load(void)
{
	const char *given = getenv("AON_DEVICES");
	char path[PATH_MAX];
	int rc;

	devices_measured_path(path);
	rc = load(path, false);
	devices_path(path);
	return rc == CLI_OK ? load(path, given && *given) : rc;
}
