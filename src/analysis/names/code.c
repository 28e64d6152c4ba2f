/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - see code.h. */
#include "names/code.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

bool code_is_own(const char *name)
{
	static const char *const other[] = { "site-packages", "dist-packages", "lib/python",
					     "torch/",        "<frozen",       "<built-in",
					     "<eval_with",    "threading.py",  "runpy.py",
					     "contextlib.py", "torchinductor_" };

	if (!strstr(name, ".py(") && !strstr(name, ".py:"))
		return false;
	for (size_t i = 0; i < LEN(other); i++)
		if (strstr(name, other[i]))
			return false;
	return true;
}

bool code_is_generated(const char *name)
{
	return strstr(name, "/torchinductor_") != NULL;
}

/* Operators whose names have an underscore; a kernel's name joins all of them by underscores. */
static const char *const joined[] = {
#define OP(name, form, n) #name,
#include "theory/op_work.tbl.h"
	"_unsafe_view",        "_unsafe_index",
	"_scaled_dot_product", "avg_pool2d_backward",
	"bitwise_and",         "bitwise_not",
	"bitwise_or",          "index_add",
	"index_copy",          "index_put",
	"logical_and",         "logical_or",
	"masked_scatter",      "max_pool2d_with_indices_backward",
	"new_zeros",           "nll_loss_backward",
	"scalar_tensor",       "scatter_add",
	"select_backward",     "select_scatter",
	"slice_backward",      "slice_scatter",
	"split_with_sizes",
};

/* How long the operator's name at the begin of s is. */
static size_t first_len(const char *s, const char *end)
{
	size_t room = (size_t)(end - s), best = 0, n;

	for (size_t i = 0; i < LEN(joined); i++) {
		n = strlen(joined[i]);
		if (n > best && n <= room && !memcmp(s, joined[i], n) && (n == room || s[n] == '_'))
			best = n;
	}
	if (best)
		return best;
	n = *s == '_' && room > 1;
	while (n < room && s[n] != '_')
		n++;
	return n;
}

/* "_12", which tells kernels of one sort apart. */
static const char *without_number(const char *s)
{
	const char *end = s + strlen(s), *at = end;

	while (at > s && isdigit((unsigned char)at[-1]))
		at--;
	return at < end && at > s && at[-1] == '_' ? at - 1 : end;
}

bool code_fused(const char *kernel, char *out, size_t cap)
{
	const char *s = strstr(kernel, "_fused_"), *end;
	size_t used = 0;

	if (strncmp(kernel, "triton_", 7) != 0 || !s || !cap)
		return false;
	s += strlen("_fused_");
	end = without_number(s);
	*out = '\0';
	while (s < end) {
		size_t n = first_len(s, end);

		if (n && used + n + 2 < cap)
			used += (size_t)snprintf(out + used, cap - used, "%s%.*s", used ? ", " : "",
						 (int)n, s);
		s += n + 1;
	}
	return used > 0;
}
