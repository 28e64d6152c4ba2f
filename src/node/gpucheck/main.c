/* SPDX-License-Identifier: Apache-2.0 */
/* aon-gpu-check - one check of this node's GPU; `aon doctor --gpu` runs it and reads its lines. */
#include <stdio.h>
#include <string.h>

#include "gpucheck/check.h"

static const struct {
	const char *name, *what;
	void (*run)(void);
} checks[] = {
#define CHECK(name, what) { #name, what, check_##name },
#define ARM(name)
#include "gpucheck/check.tbl.h"
}, arms[] = {
#define CHECK(name, what)
#define ARM(name) { #name, "", arm_##name },
#include "gpucheck/check.tbl.h"
};

int main(int argc, char *argv[])
{
	const char *name = argc == 2 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (!strcmp(checks[i].name, name)) {
			say_init();
			checks[i].run();
			verdict(PASS);
		}
	for (size_t i = 0; i < sizeof(arms) / sizeof(arms[0]); i++)
		if (!strcmp(arms[i].name, name)) {
			say_init();
			arms[i].run();
			return 0;
		}
	fprintf(stderr, "usage: aon-gpu-check CHECK\n");
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		fprintf(stderr, "  %-10s  %s\n", checks[i].name, checks[i].what);
	return 2;
}
