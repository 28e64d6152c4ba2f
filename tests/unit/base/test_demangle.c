/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle.h"

#include <dlfcn.h>
#include <string.h>

#include "model/trace.h"
#include "model/trace_demangle.h"
#include "t.h"

static const struct {
	const char *name, *want;
} cases[] = {
	{ "saxpy", "saxpy" },
	{ "", "" },
	{ "_", "_" },
	{ "_Z", "_Z" },
	{ "_Znothing", "_Znothing" },
	{ "_Z3addPfi", "add(float*, int)" },
	{ "_Z3addIfEvPT_i", "void add<float>(float*, int)" },
	{ "_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run()" },
	{ "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_",
	  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >"
	  "(at::native::ReduceOp<float>)" },
	{ "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_12add_functionEvEUlfE_EEviT0_",
	  "void at::native::vectorized_elementwise_kernel<4, at::native::add_function()"
	  "::{lambda(float)#1}>(int, at::native::add_function()::{lambda(float)#1})" },
	{ "_ZN7cutlass6KernelI4gemmEEvNT_6ParamsE", "void cutlass::Kernel<gemm>(gemm::Params)" },
	{ "_Z5a\x1b[2Jv", "a\x1b[2J()" }, /* cleaned when it is shown */
};

static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Each pair holds the one before it twice: the text has no end. */
static void huge(char *out, size_t cap)
{
	size_t len = (size_t)snprintf(out, cap, "_Z1f4PairIiiE");

	for (int i = 0; i < 33; i++)
		len += (size_t)snprintf(out + len, cap - len, "S_IS%c_S%c_E", digit[i], digit[i]);
}

/* The same inside an expansion: it is searched through before there is any text. */
static void endless(char *out, size_t cap, const char *function)
{
	size_t len = (size_t)snprintf(out, cap, "_Z%zu%sIvEDp4PairI", strlen(function), function);

	for (int i = 0; i < 33; i++)
		len += (size_t)snprintf(out + len, cap - len, "S0_I");
	len += (size_t)snprintf(out + len, cap - len, "iiE");
	for (int i = 1; i < 34; i++)
		len += (size_t)snprintf(out + len, cap - len, "S%c_E", digit[i]);
	snprintf(out + len, cap - len, "v");
}

static void ordinary(void)
{
	const char *name[T_LEN(cases)];

	for (size_t i = 0; i < T_LEN(cases); i++)
		name[i] = cases[i].name;
	T_OK(demangle(name[5]) == name[5], "what was not learned stays as it is");
	demangle_learn(name, T_LEN(cases));
	for (size_t i = 0; i < T_LEN(cases); i++)
		T_OK(!strcmp(demangle(name[i]), cases[i].want), "case %zu: %zu letters", i,
		     strlen(demangle(name[i])));
	T_OK(demangle(name[0]) == name[0], "a name of C is handed back itself");
}

/* Neither keeps the others from being read, nor the reader from going on. */
static void hostile(void)
{
	static char bad[3][1024];
	const char *name[] = { "_Z6beforev", bad[0], "_Z6behindv", bad[1],
			       "_Z5laterv",  bad[2], "_Z4lastv" };

	huge(bad[0], sizeof(bad[0]));
	endless(bad[1], sizeof(bad[1]), "g");
	endless(bad[2], sizeof(bad[2]), "h");
	demangle_learn(name, T_LEN(name));
	for (int i = 0; i < 3; i++)
		T_OK(demangle(bad[i]) == bad[i], "hostile name %d stays as it is", i);
	T_OK(!strcmp(demangle(name[0]), "before()"), "what comes before them is read");
	T_OK(!strcmp(demangle(name[2]), "behind()"), "what comes after a text without end");
	T_OK(!strcmp(demangle(name[4]), "later()"), "what comes after a search without end");
	T_OK(!strcmp(demangle(name[6]), "last()"), "what comes after two of them");
}

/* Beyond the cap two names stay two. */
static void long_text(void)
{
	static char name[2][512];
	const char *list[2] = { name[0], name[1] }, *text;

	for (int k = 0; k < 2; k++) {
		size_t len = (size_t)snprintf(name[k], sizeof(name[k]), "_Z1f4PairIiiE");

		for (int i = 0; i < 9; i++)
			len += (size_t)snprintf(name[k] + len, sizeof(name[k]) - len,
						"S_IS%c_S%c_E", digit[i], digit[i]);
		snprintf(name[k] + len, sizeof(name[k]) - len, "%c", "if"[k]);
	}
	demangle_learn(list, 2);
	text = demangle(list[0]);
	T_OK(strlen(text) == DEMANGLE_MAX && text[DEMANGLE_MAX - 17] == '#',
	     "a long text is cut and marked");
	T_OK(strcmp(text, demangle(list[1])) != 0, "two that differ behind the cut differ still");
}

/* A constructor has two names of one text. */
static void same_text(void)
{
	struct trace *t;
	uint32_t id[3] = { 0, 0, 0 };
	int err = trace_new(&t);

	err = err ? err : trace_name(t, "_ZN4tileC1Ev", 12, &id[0]);
	err = err ? err : trace_name(t, "_ZN4tileC2Ev", 12, &id[1]);
	err = err ? err : trace_name(t, "plain", 5, &id[2]);
	if (err) {
		T_OK(0, "a trace: %d", err);
		return;
	}
	demangle_trace(t);
	T_OK(id[0] != id[1] && !strcmp(trace_text(t, id[0]), "tile::tile()") &&
		     !strcmp(trace_text(t, id[1]), "tile::tile()") && t->name[id[0]].len == 12,
	     "two names of one text stay two in a trace");
	T_OK(!strcmp(trace_text(t, id[2]), "plain"), "its other names are not touched");
	trace_free(t);
}

int main(void)
{
	if (!dlopen("libstdc++.so.6", RTLD_NOW))
		t_skip_all("no libstdc++ here");
	ordinary();
	hostile();
	long_text();
	same_text();
	return t_done();
}
