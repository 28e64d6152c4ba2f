/* SPDX-License-Identifier: Apache-2.0 */
/* log_part.h - shared by the readers of logs: lines, words, numbers, and errors. */
#pragma once

#include "validate/log.h"

#define LOG_LINE  4096u
#define LOG_WORDS 32u

struct log {
	struct facts *f;
	const char *p, *end; /* what is left */
	unsigned at;         /* the number of the line */
	char line[LOG_LINE]; /* cut; the words of log_words() are in it */
	struct log_said *said;
};

bool log_next(struct log *l); /* the next line; false at the end */
/* Cuts the line at blanks (or at tabs). How many words there are, LOG_WORDS at most. */
unsigned log_words(struct log *l, char *word[LOG_WORDS], const char *blanks);
bool log_number(const char *text, double *out); /* the whole word is a finite number */
void log_set(struct log *l, double v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* -EBADMSG: this line, or the last, is not what was expected. */
int log_bad(struct log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

typedef int log_fn(struct log *l);
log_fn log_nccl, log_burn, log_stream, log_perftest, log_fio, log_gpu_stream, log_copies,
	log_gpu_copy, log_smi, log_smi_xml;
