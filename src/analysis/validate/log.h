/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - logs of benchmarks as facts "log/...", and of nvidia-smi as "gpu/...". Recognized by
 * content. Pure; accepts any bytes.
 */
#pragma once

#include "validate/facts.h"

#define LOG_EXPECTED 256u

struct log_said {
	const char *tool;            /* "nccl-tests"; NULL: none that is known */
	unsigned line;               /* that was not understood, from 1 */
	char expected[LOG_EXPECTED]; /* there */
};

/* 0, or -EBADMSG: `said` has the line and what was expected; `f`, facts from before it. */
int log_facts(struct facts *f, const char *text, size_t len, struct log_said *said);
