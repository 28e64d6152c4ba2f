/* SPDX-License-Identifier: Apache-2.0 */
/* hello.c - the smallest annotated program: cc hello.c $(pkg-config --cflags --libs aon) */
#include <aon/aon.h>
#include <stdio.h>

int main(void)
{
	for (int i = 0; i < 100; i++) {
		aon_step_begin((uint64_t)i);
		AON_PUSH("greet");
		printf("hello %d\n", i);
		AON_POP();
		AON_COUNTER("greeted", i + 1);
		aon_step_end((uint64_t)i);
	}
	return 0;
}
