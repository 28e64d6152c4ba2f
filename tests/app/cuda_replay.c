/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_replay.c - a program whose GPU work is a recorded trace (tests/sim/replay.h).
 *
 *	cuda_replay FILE [speed]      speed 0: as fast as it goes (the default)
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char *argv[])
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned), (*replay)(const char *, double), err;

	if (argc < 2)
		return 2;
	if (!lib)
		return fprintf(stderr, "cuda_replay: %s\n", dlerror()), 1;
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&replay = dlsym(lib, "simReplay");
	if (!init || !replay)
		return fputs("cuda_replay: libcuda.so.1 is not the stand-in\n", stderr), 1;
	err = init(0);
	if (!err)
		err = replay(argv[1], argc > 2 ? atof(argv[2]) : 0);
	if (err)
		fprintf(stderr, "cuda_replay: %s: error %d\n", argv[1], err);
	return err != 0;
}
