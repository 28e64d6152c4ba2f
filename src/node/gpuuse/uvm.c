/* SPDX-License-Identifier: Apache-2.0 */
/* uvm.c - see uvm.h. */
#include "gpuuse/uvm.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"

const char *const uvm_fault_name[UVM_FAULTS] = { "replayable", "duplicate", "not replayable",
						 "pages in", "pages out" };

bool uvm_parse(struct uvm_stats *out, const char *text, size_t len)
{
	static const char *const key[UVM_FAULTS] = { "replayable_faults", "duplicates",
						     "non_replayable_faults", "num_pages_in",
						     "num_pages_out" };
	const char *end = text + len;

	*out = (struct uvm_stats){ .has = 0 };
	for (const char *p = text, *nl; p < end; p = nl + 1) {
		char line[96], *at;
		size_t n;
		uint64_t v;

		nl = memchr(p, '\n', (size_t)(end - p));
		nl = nl ? nl : end;
		n = (size_t)(nl - p);
		if (n >= sizeof(line))
			continue;
		memcpy(line, p, n);
		line[n] = '\0';
		at = line + strspn(line, " \t");
		for (unsigned i = 0; i < UVM_FAULTS; i++) {
			size_t k = strlen(key[i]);

			if (strncmp(at, key[i], k) || !strchr(" \t", at[k]) ||
			    !num_digits(at + k + strspn(at + k, " \t"), 10, &v))
				continue;
			if (__builtin_add_overflow(out->v[i], v, &out->v[i]))
				out->v[i] = UINT64_MAX;
			out->has |= (uint8_t)(1u << i);
		}
	}
	return out->has;
}

bool uvm_read(struct uvm_stats *out, const char *root, const char *uuid)
{
	char path[PATH_MAX], text[4096];
	ssize_t n;

	if (!*uuid || strchr(uuid, '/') ||
	    snprintf(path, sizeof(path), "%s/proc/driver/nvidia-uvm/gpus/UVM-%s/fault_stats", root,
		     uuid) >= (int)sizeof(path))
		return false;
	n = file_text(AT_FDCWD, path, text, sizeof(text));
	return n > 0 && uvm_parse(out, text, (size_t)n);
}
