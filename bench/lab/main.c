/* SPDX-License-Identifier: Apache-2.0 */
/* aon-lab - jobs with known faults (corpus), and diagnosers compared on them (score). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/options.h"
#include "lab/lab.h"

static const struct option_row table[LAB_OPTS] = {
#define OPT(ID, letter, name, arg, help) [LAB_##ID] = { letter, name, arg, help },
#include "lab/lab.tbl.h"
};

int lab_say(int code, const char *fmt, ...)
{
	va_list ap;

	fputs("aon-lab: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}

void lab_progress(const char *name, uint32_t done, uint32_t of)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, done < of ? "\r\x1b[K%u of %u  %s" : "\r\x1b[K", done, of, name);
}

int lab_number(const struct lab_opts *o, enum lab_opt id, double lo, double hi, double *out)
{
	if (o->val[id] && num_real(o->val[id], lo, hi, out) < 0)
		return lab_say(LAB_USAGE, "--%s takes a number from %g to %g, not '%s'",
			       table[id].name, lo, hi, o->val[id]);
	return LAB_OK;
}

int lab_u32(const struct lab_opts *o, enum lab_opt id, uint32_t *out)
{
	double v = *out;
	int rc = lab_number(o, id, 0, UINT32_MAX, &v);

	*out = (uint32_t)v;
	return rc;
}

static int help(void)
{
	puts("usage: aon-lab corpus -o FOLDER [OPTION...]\n"
	     "       aon-lab score [FOLDER] [OPTION...]\n"
	     "corpus writes simulated jobs with known faults: FOLDER/CASE.steps holds the records\n"
	     "of all ranks' steps, FOLDER/CASE.truth.json the faults and their cost.\n"
	     "score compares what diagnosers say of such records with the truth; without FOLDER\n"
	     "it draws the cases itself (docs/sim.md).\n");
	options_help(table, LAB_OPTS, 22);
	puts("\nExit: 0 done, 1 failed, 2 misuse, 3 no case to score.");
	return LAB_OK;
}

static int parse(struct lab_opts *o, int argc, char *argv[])
{
	struct options s = { .row = table, .rows = LAB_OPTS, .argc = argc, .argv = argv };

	if (options_all(&s, o->val) == OPTIONS_WRONG) {
		options_complain(&s);
		return LAB_USAGE;
	}
	o->argc = s.operands;
	o->argv = argv + 1;
	return LAB_OK;
}

int main(int argc, char *argv[])
{
	struct lab_opts o = { 0 };
	const char *word;
	int rc = parse(&o, argc, argv);

	if (rc != LAB_OK)
		return rc;
	if (o.val[LAB_HELP])
		return help();
	word = o.argc ? o.argv[0] : "";
	o.argc--;
	o.argv++;
	if (!strcmp(word, "corpus"))
		rc = lab_corpus(&o);
	else if (!strcmp(word, "score"))
		rc = lab_score(&o);
	else
		return lab_say(LAB_USAGE, "corpus or score? See: aon-lab --help");
	if (fflush(stdout) || ferror(stdout))
		return lab_say(LAB_FAIL, "cannot write the result: %s", strerror(errno));
	return rc;
}
