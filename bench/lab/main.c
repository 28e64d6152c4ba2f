/* SPDX-License-Identifier: Apache-2.0 */
/* aon-lab - jobs with known faults (corpus), and diagnosers compared on them (score). */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/lab.h"

static const struct {
	char letter;
	const char *name, *arg, *help;
} table[LAB_OPTS] = {
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
	char *end;
	double v;

	if (!o->val[id])
		return LAB_OK;
	v = strtod(o->val[id], &end);
	if (end == o->val[id] || *end || !(v >= lo && v <= hi))
		return lab_say(LAB_USAGE, "--%s takes a number from %g to %g, not '%s'",
			       table[id].name, lo, hi, o->val[id]);
	*out = v;
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
	for (int i = 0; i < LAB_OPTS; i++) {
		char left[40];

		snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].arg ? " " : "",
			 table[i].arg ? table[i].arg : "");
		printf("  %c%c%c %-18s %s\n", table[i].letter ? '-' : ' ',
		       table[i].letter ? table[i].letter : ' ', table[i].letter ? ',' : ' ', left,
		       table[i].help);
	}
	puts("\nExit: 0 done, 1 failed, 2 misuse, 3 no case to score.");
	return LAB_OK;
}

static int parse(struct lab_opts *o, int argc, char *argv[])
{
	struct option longs[LAB_OPTS + 1] = { 0 };
	int opt;

	for (int i = 0; i < LAB_OPTS; i++)
		longs[i] = (struct option){ table[i].name, table[i].arg != NULL, NULL, 256 + i };
	while ((opt = getopt_long(argc, argv, "o:jh", longs, NULL)) != -1) {
		if (opt == '?')
			return LAB_USAGE;
		for (int i = 0; i < LAB_OPTS; i++)
			if (opt == 256 + i || (table[i].letter && opt == table[i].letter))
				o->val[i] = optarg ? optarg : "";
	}
	o->argc = argc - optind;
	o->argv = argv + optind;
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
