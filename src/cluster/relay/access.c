/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - see access.h. */
#include "relay/access.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"

#define STEPS_MAX   100000u
#define SECONDS_MAX 600u
#define HOURLY_MAX  100000u

static bool take_number(const char *text, uint32_t max, uint32_t *out)
{
	return !num_u32(text, 1, max, out);
}

static bool take_text(const char *text, char *out, size_t cap)
{
	if (!*text || strlen(text) >= cap)
		return false;
	strcpy(out, text);
	return true;
}

static const char *take_word(struct access_rule *r, char *word)
{
	char *value = word, *key = strsep(&value, "=");

	if (!value)
		return "expected KEY=VALUE";
	if (r->role == ACCESS_NODE && !strcmp(key, "cluster"))
		return take_text(value, r->cluster, sizeof(r->cluster)) ? NULL : "cluster: a name";
	if (r->role != ACCESS_USER)
		return r->role == ACCESS_NODE ? "a node has cluster=NAME only"
					      : "who watches has nothing else";
	if (!strcmp(key, "jobs"))
		return take_text(value, r->jobs, sizeof(r->jobs)) ? NULL : "jobs: a pattern";
	if (!strcmp(key, "steps"))
		return take_number(value, STEPS_MAX, &r->steps) ? NULL : "steps: 1 to 100000";
	if (!strcmp(key, "seconds"))
		return take_number(value, SECONDS_MAX, &r->seconds) ? NULL : "seconds: 1 to 600";
	if (!strcmp(key, "hour"))
		return take_number(value, HOURLY_MAX, &r->hourly) ? NULL : "hour: 1 to 100000";
	return "a user has jobs, steps, seconds and hour";
}

/* Parses a line. NULL, or what is wrong; r->role 0: the line is empty. */
static const char *take_line(struct access_rule *r, char *line)
{
	static const char blank[] = " \t\r\n";
	char *save, *word = strtok_r(line, blank, &save);

	*r = (struct access_rule){ .jobs = "*", .steps = 20, .seconds = 30, .hourly = 20 };
	if (!word || *word == '#')
		return NULL;
	r->role = !strcmp(word, "node")    ? ACCESS_NODE
		  : !strcmp(word, "user")  ? ACCESS_USER
		  : !strcmp(word, "watch") ? ACCESS_WATCH
					   : 0;
	if (!r->role)
		return "expected node, user or watch";
	word = strtok_r(NULL, blank, &save);
	if (!word || !take_text(word, r->name, sizeof(r->name)))
		return "expected the name in a certificate, or a pattern for names";
	while ((word = strtok_r(NULL, blank, &save)) && *word != '#') {
		const char *wrong = take_word(r, word);

		if (wrong)
			return wrong;
	}
	return NULL;
}

int access_read(struct access_list *out, const char *path, char why[256])
{
	struct access_list a = { 0 };
	struct access_rule r;
	FILE *f = fopen(path, "re");
	char line[512];
	unsigned at = 0;
	int err = 0;

	if (!f) {
		err = -errno;
		snprintf(why, 256, "%.180s: %s", path, strerror(-err));
		return err;
	}
	while (!err && fgets(line, sizeof(line), f)) {
		const char *wrong = ++at && strchr(line, '\n') ? take_line(&r, line)
							       : "a line is too long, or not whole";

		if (!wrong && !r.role)
			continue;
		if (!wrong && a.n == ACCESS_RULES)
			wrong = "too many rules";
		if (!wrong && vec_more(&a.rule, a.n, sizeof(*a.rule)) == 0) {
			a.rule[a.n++] = r;
			continue;
		}
		snprintf(why, 256, "%.140s:%u: %s", path, at, wrong ? wrong : "out of memory");
		err = wrong ? -EINVAL : -ENOMEM;
	}
	fclose(f);
	if (err)
		access_fini(&a);
	else
		*out = a;
	return err;
}

void access_fini(struct access_list *a)
{
	free(a->rule);
	*a = (struct access_list){ 0 };
}

const struct access_rule *access_find(const struct access_list *a, const char *name, unsigned roles)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->rule[i].role & roles && fnmatch(a->rule[i].name, name, 0) == 0)
			return &a->rule[i];
	return NULL;
}
