/* SPDX-License-Identifier: Apache-2.0 */
/* t.h - a test prints TAP. "Cannot run here" is t_skip_all(why), never a pass. */
#ifndef AON_T_H
#define AON_T_H

#include <stdio.h>
#include <stdlib.h>

static int t_count, t_failed;

#define T_OK(cond, ...)                                                     \
	do {                                                                \
		int t_ok_ = !!(cond);                                       \
		printf("%sok %d - ", t_ok_ ? "" : "not ", ++t_count);       \
		printf(__VA_ARGS__);                                        \
		putchar('\n');                                              \
		if (!t_ok_) {                                               \
			t_failed++;                                         \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
		}                                                           \
		fflush(stdout); /* a fork must not print it again */        \
	} while (0)

static inline int t_done(void)
{
	printf("1..%d\n", t_count);
	return t_failed ? 1 : 0;
}

static inline void t_skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

#define T_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif /* AON_T_H */
