/* SPDX-License-Identifier: Apache-2.0 */
/* compare_inputs.c - reads the inputs of a comparison. */
#include "cli/report/compare_inputs.h"

#include <string.h>

int side_view(struct view *v, const struct opts *o, char *path)
{
	struct opts one = *o;
	char *argv[2] = { path, NULL };
	int rc;

	one.argc = 1;
	one.argv = argv;
	rc = view_open(v, &one, o->val[OPT_STEPS] ? VIEW_EVENTS : VIEW_ALL);
	v->o = o;
	v->out.all = o->val[OPT_EVERYROW] != NULL;
	if (rc != CLI_OK)
		memset(v, 0, sizeof(*v));
	return rc;
}

/* "0,5" or "0-9,10-19". */
static int parse_parts(const struct opts *o, struct profile_of of[2])
{
	const char *ranks = o->val[OPT_RANKS], *steps = o->val[OPT_STEPS];
	unsigned long long a, b, c, d;
	char end;

	if (!ranks == !steps)
		return cli_misuse("takes two runs, or one with --ranks A,B or --steps A-B,C-D");
	if (ranks) {
		if (sscanf(ranks, "%llu,%llu%c", &a, &b, &end) != 2 || a > INT32_MAX ||
		    b > INT32_MAX)
			return cli_misuse("--ranks takes two ranks, like 0,5, not '%s'", ranks);
		of[0].rank = (int32_t)a;
		of[1].rank = (int32_t)b;
		return CLI_OK;
	}
	if (sscanf(steps, "%llu-%llu,%llu-%llu%c", &a, &b, &c, &d, &end) != 4)
		return cli_misuse("--steps takes two windows, like 0-9,10-19, not '%s'", steps);
	of[0].first = a;
	of[0].last = b;
	of[1].first = c;
	of[1].last = d;
	return CLI_OK;
}

static int compare(struct sides *s, const struct profile_of of[2])
{
	int err = 0;

	for (int i = 0; err == 0 && i < 2; i++) {
		const struct view *v = &s->v[s->one ? 0 : i];

		err = profile_init(&s->p[i], v->in, v->fs, of[i]);
	}
	if (err == 0)
		err = diff_init(&s->d, &s->p[0], &s->p[1]);
	return err < 0 ? cli_say(CLI_FAIL, "%s", strerror(-err)) : CLI_OK;
}

int sides_open(struct sides *s, const struct opts *o, char *a, char *b)
{
	struct profile_of of[2] = { PROFILE_ALL, PROFILE_ALL };
	int rc = CLI_OK;

	memset(s, 0, sizeof(*s));
	if (!a || o->argc > 2)
		return cli_misuse("takes two runs, or one with --ranks A,B or --steps A-B,C-D");
	s->one = !b;
	if (s->one)
		rc = parse_parts(o, of);
	else if (o->val[OPT_RANKS] || o->val[OPT_STEPS])
		rc = cli_misuse("--ranks and --steps are for two parts of one run");
	if (rc != CLI_OK)
		return rc;
	for (int i = 0; i < 2; i++)
		if (!s->one)
			snprintf(s->label[i], sizeof(s->label[i]), "%s", i ? b : a);
		else if (o->val[OPT_RANKS])
			snprintf(s->label[i], sizeof(s->label[i]), "%s rank %d", a, of[i].rank);
		else
			snprintf(s->label[i], sizeof(s->label[i]), "%s steps %llu to %llu", a,
				 (unsigned long long)of[i].first, (unsigned long long)of[i].last);
	rc = side_view(&s->v[0], o, a);
	if (rc == CLI_OK && !s->one)
		rc = side_view(&s->v[1], o, b);
	if (rc == CLI_OK)
		rc = compare(s, of);
	if (rc != CLI_OK)
		sides_close(s);
	return rc;
}

void sides_close(struct sides *s)
{
	diff_fini(&s->d);
	for (int i = 0; i < 2; i++) {
		profile_fini(&s->p[i]);
		if (s->v[i].t)
			view_close(&s->v[i]);
	}
}
