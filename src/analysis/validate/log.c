/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - recognizes logs by their content, and holds what their readers share. */
#include "validate/log.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "validate/log_part.h"

/* The first whose words are both in it reads it. */
static const struct {
	const char *tool, *word, *other;
	log_fn *read;
} tools[] = {
	{ "fio", "\"fio version\"", "", log_fio },
	{ "nvidia-smi -q -x", "<nvidia_smi_log>", "", log_smi_xml },
	{ "nvidia-smi", "NVSMI LOG", "", log_smi },
	{ "nvidia-smi topo -m", "CPU Affinity", "GPU0", log_smi },
	{ "nvidia-smi nvlink -s", "Link 0: ", "(UUID: ", log_smi },
	{ "nvidia-smi dmon", "# gpu", "pwr", log_smi },
	{ "nccl-tests", "algbw", "busbw", log_nccl },
	{ "gpu-burn", "Gflop/s", "errors:", log_burn },
	{ "STREAM", "STREAM version", "", log_stream },
	{ "gpu-stream", "STREAM Benchmark", "GB/s PEAK", log_gpu_stream },
	{ "perftest", "#bytes", "#iterations", log_perftest },
	{ "bandwidthTest", "bandwidthTest-", "Bandwidth = ", log_copies },
	{ "gpu-copy", "_to_gpu", "_by_sm", log_gpu_copy },
};
#define KNOWN                                                                               \
	"a log of nccl-tests, gpu-burn, nvidia-smi (-q, -q -x, dmon, topo -m, nvlink -s), " \
	"perftest, STREAM, "                                                                \
	"fio --output-format=json, bandwidthTest, gpu-stream or gpu-copy"

bool log_next(struct log *l)
{
	const char *nl;
	size_t n;

	if (l->p >= l->end)
		return false;
	nl = memchr(l->p, '\n', (size_t)(l->end - l->p));
	n = (size_t)((nl ? nl : l->end) - l->p);
	l->at++;
	if (n > LOG_LINE - 1)
		n = LOG_LINE - 1;
	memcpy(l->line, l->p, n);
	l->line[n] = '\0';
	l->p = nl ? nl + 1 : l->end;
	return true;
}

unsigned log_words(struct log *l, char *word[LOG_WORDS], const char *blanks)
{
	char *rest = l->line, *w;
	unsigned n = 0;

	while (n < LOG_WORDS && (w = strsep(&rest, blanks)))
		if (*w)
			word[n++] = w;
	return n;
}

bool log_number(const char *text, double *out)
{
	return !num_real(text, -1e18, 1e18, out);
}

void log_set(struct log *l, double v, const char *fmt, ...)
{
	char key[FACT_KEY];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(key, sizeof(key), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(key) && isfinite(v) && fabs(v) < 1e18)
		facts_set(l->f, key, "%.6g", v);
}

int log_bad(struct log *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->said->expected, sizeof(l->said->expected), fmt, ap);
	va_end(ap);
	l->said->line = l->at ? l->at : 1;
	return -EBADMSG;
}

static bool has(const char *text, size_t len, const char *word)
{
	return !*word || memmem(text, len, word, strlen(word)) != NULL;
}

int log_facts(struct facts *f, const char *text, size_t len, struct log_said *said)
{
	struct log *l = calloc(1, sizeof(*l));
	int err = -ENOMEM;

	*said = (struct log_said){ 0 };
	if (!l)
		return err;
	*l = (struct log){ .f = f, .p = text, .end = text + len, .said = said };
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]) && !said->tool; i++)
		if (has(text, len, tools[i].word) && has(text, len, tools[i].other)) {
			said->tool = tools[i].tool;
			err = tools[i].read(l);
		}
	if (!said->tool)
		err = log_bad(l, "%s", KNOWN);
	free(l);
	return err;
}
