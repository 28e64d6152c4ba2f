/* SPDX-License-Identifier: Apache-2.0 */
/* node_files.c - small files of /proc and /sys below a root. */
#include "validate/node_files.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#define ENTRIES 4096u /* of a folder, at most */

bool node_slurp(const struct node_files *n, const char *path, char *out, size_t cap, size_t *len)
{
	char full[PATH_MAX];
	size_t n_read = 0;
	ssize_t r;
	int fd;

	if ((size_t)snprintf(full, sizeof(full), "%s%s", n->root, path) >= sizeof(full))
		return false;
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	/* Files of /sys come by the page. */
	while ((r = read(fd, out + n_read, cap - 1 - n_read)) > 0)
		n_read += (size_t)r;
	close(fd);
	if (r < 0)
		return false;
	if (len)
		*len = n_read;
	while (!len && n_read && isspace((unsigned char)out[n_read - 1]))
		n_read--;
	out[n_read] = '\0';
	return true;
}

bool node_number(const struct node_files *n, const char *path, double *out)
{
	const char *end;
	char text[64];

	if (!node_slurp(n, path, text, sizeof(text), NULL) || !*text)
		return false;
	*out = num_front_real(text, &end);
	return end != text;
}

void node_copy(const struct node_files *n, const char *key, const char *path)
{
	char text[FACT_VALUE];

	if (node_slurp(n, path, text, sizeof(text), NULL) && *text)
		facts_set(n->f, key, "%.200s", text);
}

void node_each(const struct node_files *n, const char *folder, const char *prefix,
	       node_entry_fn *fn, void *arg)
{
	char full[PATH_MAX], path[PATH_MAX];
	struct dirent *e;
	unsigned left = ENTRIES;
	DIR *d;

	snprintf(full, sizeof(full), "%s%s", n->root, folder);
	d = opendir(full);
	while (d && left-- && (e = readdir(d)))
		if (*e->d_name != '.' && !strncmp(e->d_name, prefix, strlen(prefix)) &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < sizeof(path))
			fn(n, path, e->d_name, arg);
	if (d)
		closedir(d);
}

bool node_beside(const struct node_files *n, const char *path, const char *file, char *out,
		 size_t cap)
{
	char full[PATH_MAX];

	return (size_t)snprintf(full, sizeof(full), "%s/%s", path, file) < sizeof(full) &&
	       node_slurp(n, full, out, cap, NULL);
}

bool node_beside_number(const struct node_files *n, const char *path, const char *file, double *out)
{
	char full[PATH_MAX];

	return (size_t)snprintf(full, sizeof(full), "%s/%s", path, file) < sizeof(full) &&
	       node_number(n, full, out);
}
