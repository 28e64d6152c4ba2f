/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - see gpus.h. */
#include "ident/gpus.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "ident/word.h"

/* What stands behind "key:" and spaces, to the line's end; spaces within become dashes. */
static void field(const char *text, const char *key, char *out, size_t cap)
{
	const char *at = strstr(text, key);
	char buf[96];
	size_t n = 0;

	*out = '\0';
	if (!at)
		return;
	at += strlen(key);
	while (*at == ' ' || *at == '\t')
		at++;
	for (; *at && *at != '\n' && n < sizeof(buf); at++)
		buf[n++] = *at == ' ' ? '-' : *at;
	ident_word(out, cap, buf, n, false);
}

static int by_bus(const void *a, const void *b)
{
	const struct gpus_one *x = a, *y = b;

	return strcmp(x->bus, y->bus);
}

void gpus_load(struct gpus *g, const char *dir)
{
	char path[PATH_MAX], text[2048];
	struct dirent *e;
	DIR *d = *dir ? opendir(dir) : NULL;

	*g = (struct gpus){ 0 };
	while (d && g->n < GPUS_MAX && (e = readdir(d))) {
		struct gpus_one *to = &g->gpu[g->n];

		if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof(to->bus) ||
		    snprintf(path, sizeof(path), "%s/%s/information", dir, e->d_name) >=
			    (int)sizeof(path) ||
		    file_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
			continue;
		snprintf(to->bus, sizeof(to->bus), "%.15s", e->d_name);
		field(text, "GPU UUID:", to->uuid, sizeof(to->uuid));
		field(text, "Model:", to->model, sizeof(to->model));
		g->n++;
	}
	if (d)
		closedir(d);
	qsort(g->gpu, g->n, sizeof(g->gpu[0]), by_bus);
}

void gpus_node(const struct gpus *g, const char *dir, struct node_ident *n)
{
	char path[PATH_MAX], text[512], *at;
	size_t len;

	if (g->n)
		snprintf(n->gpu_model, sizeof(n->gpu_model), "%u-x-%s", g->n, g->gpu[0].model);
	for (uint32_t i = 1; i < g->n; i++)
		if (strcmp(g->gpu[i].model, g->gpu[0].model))
			snprintf(n->gpu_model, sizeof(n->gpu_model), "several");
	if (!*dir || snprintf(path, sizeof(path), "%s/../version", dir) >= (int)sizeof(path) ||
	    file_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return;
	/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ..." */
	at = strstr(text, "Module");
	at = at ? at + 6 + strspn(at + 6, " ") : text + strlen(text);
	len = strspn(at, "0123456789.");
	ident_word(n->driver, sizeof(n->driver), at, len, false);
}

static void join(char *to, size_t cap, const char *word, size_t len)
{
	size_t n = strlen(to);

	if (n + len + 2 > cap)
		return; /* half of one would be another */
	if (n)
		to[n++] = ',';
	memcpy(to + n, word, len);
	to[n + len] = '\0';
}

void gpus_visible(const struct gpus *g, const char *list, struct ident *to)
{
	char uuid[sizeof(to->gpu_uuid)] = "", mig[sizeof(to->mig)] = "";

	for (const char *p = list; *p;) {
		size_t len = strcspn(p, ",");
		const char *end;
		uint64_t i = num_front(p, &end);

		if (!strncmp(p, "MIG-", 4))
			join(mig, sizeof(mig), p, len);
		else if (!strncmp(p, "GPU-", 4))
			join(uuid, sizeof(uuid), p, len);
		else if (end == p + len && end > p && i < g->n && *g->gpu[i].uuid)
			join(uuid, sizeof(uuid), g->gpu[i].uuid, strlen(g->gpu[i].uuid));
		p += len + (p[len] == ',');
	}
	if (*uuid)
		snprintf(to->gpu_uuid, sizeof(to->gpu_uuid), "%s", uuid);
	if (*mig)
		snprintf(to->mig, sizeof(to->mig), "%s", mig);
}
