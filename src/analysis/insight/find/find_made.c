/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_made.c - what generated code was made from. Inductor writes a module's operators into files of
 * /tmp and names its kernels by them. Users know their modules and operators, not these.
 */
#include <stdio.h>
#include <string.h>

#include "insight/find/finding.h"
#include "names/code.h"

/* The module that launches most of a kernel, or NO_EVENT. */
static uint32_t module_of_kernel(const struct insight *in, uint32_t name)
{
	uint32_t module = NO_EVENT;
	uint64_t most = 0;

	for (size_t i = 0; i < in->work.rows; i++) {
		const struct insight_work_row *r = &in->work.row[i];

		if (r->name == name && r->module != NO_EVENT && r->total_ns > most) {
			module = r->module;
			most = r->total_ns;
		}
	}
	return module;
}

/* The innermost one around that the user wrote: a module, or a function of the program. */
static uint32_t user_around(const struct insight *in, uint32_t event)
{
	uint32_t module = insight_module(in, event);

	if (module != NO_EVENT)
		return in->t->event[module].name;
	for (uint32_t up = in->link[event]; up; up = in->link[up - 1])
		if (code_is_own(trace_text(in->t, in->t->event[up - 1].name)))
			return in->t->event[up - 1].name;
	return NO_EVENT;
}

static bool is_inside(const struct insight *in, uint32_t event, uint32_t name)
{
	for (uint32_t up = in->link[event]; up; up = in->link[up - 1])
		if (in->t->event[up - 1].kind == EVENT_RANGE && in->t->event[up - 1].name == name)
			return true;
	return false;
}

/* The longest of Inductor's kernels that a range launches; NO_EVENT: none. */
static uint32_t longest_inside(const struct insight *in, uint32_t range, char *ops, size_t cap)
{
	uint32_t best = NO_EVENT;

	for (size_t i = 0; i < in->t->events; i++) {
		const struct event *e = &in->t->event[i];

		if (e->kind != EVENT_KERNEL || !in->link[i] ||
		    (best != NO_EVENT && e->dur_ns <= in->t->event[best].dur_ns))
			continue;
		if (is_inside(in, (uint32_t)i, range) &&
		    code_fused(trace_text(in->t, e->name), ops, cap))
			best = (uint32_t)i;
	}
	if (best != NO_EVENT)
		code_fused(trace_text(in->t, in->t->event[best].name), ops, cap);
	return best;
}

static uint32_t first_of(const struct insight *in, uint32_t name)
{
	for (size_t i = 0; i < in->t->events; i++)
		if (in->t->event[i].kind == EVENT_RANGE && in->t->event[i].name == name)
			return (uint32_t)i;
	return NO_EVENT;
}

static void say_kernel(const struct insight *in, uint32_t name, const char *ops, char out[CODE_LEN])
{
	uint32_t module = module_of_kernel(in, name);
	char who[NAME_LEN], short_name[NAME_LEN];

	finding_name(trace_text(in->t, name), short_name);
	if (module == NO_EVENT)
		snprintf(out, CODE_LEN, "%.*s (made of %s)", 60, short_name, ops);
	else
		snprintf(out, CODE_LEN, "%.*s (made of %s in %s)", 60, short_name, ops,
			 finding_name(trace_text(in->t, module), who));
}

static void say_file(const struct insight *in, uint32_t name, char out[CODE_LEN])
{
	char who[NAME_LEN] = "", ops[CODE_OPS] = "";
	uint32_t kernel, event, user;

	if (!in->link || in->parted) {
		snprintf(out, CODE_LEN, "the code that torch.compile generated");
		return;
	}
	kernel = longest_inside(in, name, ops, sizeof(ops));
	event = kernel == NO_EVENT ? first_of(in, name) : kernel;
	user = event == NO_EVENT ? NO_EVENT : user_around(in, event);
	if (user != NO_EVENT)
		finding_name(trace_text(in->t, user), who);
	snprintf(out, CODE_LEN, "the compiled code of %s%s%s%s", *who ? who : "torch.compile",
		 *ops ? " (" : "", ops, *ops ? ")" : "");
}

char *finding_code_name(const struct insight *in, uint32_t name, char out[CODE_LEN])
{
	const char *text = trace_text(in->t, name);
	char ops[CODE_OPS];

	if (code_is_generated(text))
		say_file(in, name, out);
	else if (code_fused(text, ops, sizeof(ops)))
		say_kernel(in, name, ops, out);
	else
		finding_name(text, out);
	return out;
}
