/* SPDX-License-Identifier: Apache-2.0 */
/* capture_write.c - writes a capture into its file, and prints the result. */
#include <stdio.h>

#include "base/json.h"
#include "cli/capture/capture_node.h"
#include "cli/core/locate.h"
#include "cli/store/export_to.h"
#include "model/trace.h"

static void say_more(void *arg, struct json *j)
{
	const struct node_capture *c = arg;

	json_u64(j, "before_ms", c->want.before_ms);
	if (c->want.steps)
		json_u64(j, "steps", c->want.steps);
	else
		json_u64(j, "duration_ms", c->want.ms);
	json_members(j, J_U64("begin_ns", c->begin_ns), J_STR("trigger", c->want.trigger),
		     J_STR("fired", *c->why ? c->why : NULL),
		     J_STR("store_error", *c->error ? c->error : NULL));
	json_open(j, "processes", '[');
	for (size_t i = 0; i < c->n; i++) {
		const struct node_proc *p = &c->proc[i];
		bool steps = p->last_step >= p->first_step && p->first_step != UINT64_MAX;

		json_open(j, NULL, '{');
		json_members(j, J_I64("pid", p->pid), J_I64_IF("rank", p->rank >= 0, p->rank),
			     J_STR("job", *p->job ? p->job : NULL),
			     J_STR("end", *p->end ? p->end : "past"), J_U64("from_ns", p->from_ns),
			     J_U64("to_ns", p->to_ns));
		if (steps)
			json_members(j, J_U64("first_step", p->first_step),
				     J_U64("last_step", p->last_step));
		json_members(j, J_U64("left_out", p->unsampled), J_U64("emitted", p->emitted),
			     J_U64("lost", p->lost));
		if (p->held_ns)
			json_u64(j, "held_from_ns", p->held_ns);
		json_close(j);
	}
	json_close(j);
}

static void on_trouble(void *arg, const char *line, bool lacks)
{
	int *rc = arg;

	cli_say(0, "%s", line);
	*rc = lacks ? CLI_FAIL : *rc;
}

int capture_write(struct cli_capture *x)
{
	struct node_capture *c = &x->c;
	const char *given = x->o->val[OPT_STORE];
	char path[PATH_MAX];
	struct trace *t;
	struct store *st;
	int rc = locate_open(given ? given : *c->store ? c->store : NULL, &st, path), err;

	if (rc != CLI_OK)
		return rc;
	err = node_capture_load(c, st, path, &t);
	store_close(st);
	if (err)
		return cli_say(CLI_FAIL, "%s", c->said);
	rc = export_write(x->o, x->to, "aon.capture/2", t, say_more, c);
	fflush(stdout);
	trace_free(t);
	if (rc != CLI_OK)
		return rc;
	if (*c->why && !x->o->val[OPT_JSON])
		cli_say(0, "fired: %s", c->why);
	node_capture_troubles(c, on_trouble, &rc);
	return rc;
}
