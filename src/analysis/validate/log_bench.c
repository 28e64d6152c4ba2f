/* SPDX-License-Identifier: Apache-2.0 */
/* log_bench.c - logs of benchmarks: nccl-tests, gpu-burn, STREAM, perftest, copies, fio. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/order.h"
#include "validate/log_part.h"

/* --- nccl-tests --- */

struct nccl {
	unsigned ranks, nodes;
	char host[64], device[96];
	double best, largest, busbw, algbw, wrong;
	bool reduces;
};

/* "#   Rank  0 Pid 112424 on HOST device  0 [0x00] A100-SXM4-40GB" */
static void nccl_rank(struct nccl *s, const char *line)
{
	char host[64] = "";
	const char *device = strstr(line, "device"), *name = device ? strchr(device, ']') : NULL;

	if (sscanf(line, "# Rank %*u %*[^o] on %63s device", host) < 1 &&
	    sscanf(line, "# Rank %*u Group %*u Pid %*u on %63s device", host) < 1 &&
	    sscanf(line, "# Rank %*u Pid %*u on %63s device", host) < 1)
		return;
	s->ranks++;
	s->nodes += !s->nodes || strcmp(host, s->host) != 0;
	memcpy(s->host, host, sizeof(host));
	if (name)
		snprintf(s->device, sizeof(s->device), "%.90s", name + 1 + strspn(name + 1, " "));
}

/* "size count type [redop] [root] time algbw busbw wrong time algbw busbw wrong" */
static int nccl_row(struct log *l, struct nccl *s)
{
	char *word[LOG_WORDS];
	unsigned n = log_words(l, word, " \t\r");
	double size, bus[2], alg[2], wrong;

	if (n < 11)
		return log_bad(l,
			       "size, count, type, then time, algbw, busbw and errors twice; there "
			       "are %u words",
			       n);
	for (unsigned i = 0; i < 2; i++)
		if (!log_number(word[n - 7 + 4 * i], &alg[i]) ||
		    !log_number(word[n - 6 + 4 * i], &bus[i]))
			return log_bad(l, "two bandwidths in GB/s, not %.40s and %.40s",
				       word[n - 7 + 4 * i], word[n - 6 + 4 * i]);
	if (!log_number(word[0], &size))
		return log_bad(l, "a size in bytes, not %.40s", word[0]);
	for (unsigned i = 0; i < 2; i++) /* "N/A" where nothing was looked at */
		if (log_number(word[n - 5 + 4 * i], &wrong) && wrong >= 1)
			s->wrong += wrong;
	s->reduces |= isalpha((unsigned char)*word[3]) && strcmp(word[3], "none") != 0;
	s->best = fmax(s->best, fmax(bus[0], bus[1]));
	if (size >= s->largest) {
		s->largest = size;
		s->busbw = fmax(bus[0], bus[1]);
		s->algbw = fmax(alg[0], alg[1]);
	}
	return 0;
}

/* What a link carries is to what a rank sees as the operation has it. */
static const char *nccl_op(const struct nccl *s)
{
	double ratio = s->algbw > 0 ? s->busbw / s->algbw : 0, n = s->ranks;

	if (!s->ranks || s->algbw <= 0)
		return "collective";
	if (fabs(ratio - 2 * (n - 1) / n) < 0.02 && (n != 2 || s->reduces))
		return "all-reduce";
	if (fabs(ratio - (n - 1) / n) < 0.02)
		return s->reduces ? "reduce-scatter" : "all-gather";
	return s->reduces ? "reduce" : "broadcast";
}

int log_nccl(struct log *l)
{
	struct nccl s = { .largest = -1 };
	const char *op, *at;
	int err = 0;

	while (!err && log_next(l)) {
		if ((at = strstr(l->line, "Out of bounds values")) && (at = strchr(at, ':')))
			s.wrong = fmax(s.wrong, num_front_real(at + 1, NULL));
		if (*l->line == '#')
			nccl_rank(&s, l->line);
		else if (isdigit((unsigned char)l->line[strspn(l->line, " \t")]) && *l->line == ' ')
			err = nccl_row(l, &s);
	}
	if (err)
		return err;
	if (s.largest < 0)
		return log_bad(l, "a row of results; the log ends before the first");
	op = nccl_op(&s);
	log_set(l, s.busbw, "log/nccl/%s/busbw_GBps", op);
	log_set(l, s.best, "log/nccl/%s/busbw_best_GBps", op);
	log_set(l, s.largest, "log/nccl/%s/bytes", op);
	log_set(l, s.wrong, "log/nccl/wrong");
	if (s.ranks) {
		log_set(l, s.ranks, "log/nccl/%s/ranks", op);
		log_set(l, s.nodes, "log/nccl/%s/nodes", op);
		facts_set(l->f, "log/nccl/device", "%s", s.device);
	}
	return 0;
}

/* --- gpu-burn --- */

#define BURN_GPUS 64u

struct burn {
	unsigned tested, faulty;
	double errors, temp, rate[BURN_GPUS];
};

static void burn_line(struct burn *s, const char *line)
{
	const char *errors = strstr(line, "errors:"), *temps = strstr(line, "temps:");
	unsigned i = 0;
	const char *end;

	/* "(7150 Gflop/s)" of each; its last word on a GPU counts */
	for (const char *at = line; (at = strchr(at, '(')) && i < BURN_GPUS; at++) {
		double v = num_front_real(at + 1, &end);

		if (!strncmp(end, " Gflop/s", 8)) {
			if (v > 0 && isfinite(v))
				s->rate[i] = v;
			i++;
		}
	}
	for (const char *at = errors ? errors + 7 : NULL; at && *at && strncmp(at, "temps", 5);
	     at++)
		if (isdigit((unsigned char)*at)) {
			s->errors = fmax(s->errors, num_front_real(at, &end));
			at = end - 1;
		}
	for (const char *at = temps ? temps + 6 : NULL; at && *at; at++)
		if (isdigit((unsigned char)*at)) {
			double t = num_front_real(at, &end);

			s->temp = t < 200 ? fmax(s->temp, t) : s->temp;
			at = end - 1;
		}
}

int log_burn(struct log *l)
{
	struct burn s = { 0 };
	unsigned gpu, rates = 0;
	char state[16];

	while (log_next(l)) {
		if (sscanf(l->line, " GPU %u: %15s", &gpu, state) == 2 &&
		    (!strcmp(state, "OK") || !strcmp(state, "FAULTY"))) {
			s.tested++;
			s.faulty += !strcmp(state, "FAULTY");
		}
		burn_line(&s, l->line);
	}
	if (!s.tested)
		return log_bad(
			l,
			"\"GPU 0: OK\" or \"GPU 0: FAULTY\" at the end: gpu-burn did not finish");
	log_set(l, s.tested, "log/gpu_burn/gpus");
	log_set(l, s.faulty, "log/gpu_burn/faulty");
	log_set(l, fmax(s.errors, s.faulty), "log/gpu_burn/errors");
	if (s.temp > 0)
		log_set(l, s.temp, "log/gpu_burn/temp_max");
	for (unsigned i = 0; i < BURN_GPUS; i++)
		if (s.rate[i] > 0)
			s.rate[rates++] = s.rate[i];
	if (rates) {
		log_set(l, median_of(s.rate, rates), "log/gpu_burn/median_GFLOPS");
		log_set(l, s.rate[0], "log/gpu_burn/slowest_GFLOPS");
	}
	return 0;
}

/* --- STREAM, gpu-stream --- */

int log_stream(struct log *l)
{
	bool any = false;
	char name[16];
	double rate;

	while (log_next(l)) {
		if (strstr(l->line, "Failed Validation"))
			log_set(l, 1, "log/stream/failed");
		else if (strstr(l->line, "Solution Validates") &&
			 !facts_get(l->f, "log/stream/failed"))
			log_set(l, 0, "log/stream/failed");
		if (sscanf(l->line, "Number of Threads counted = %lf", &rate) == 1)
			log_set(l, rate, "log/stream/threads");
		if (sscanf(l->line, "%15[A-Za-z]:", name) != 1 ||
		    (strcmp(name, "Copy") && strcmp(name, "Scale") && strcmp(name, "Add") &&
		     strcmp(name, "Triad")))
			continue;
		if (sscanf(l->line, "%*[A-Za-z]: %lf", &rate) != 1)
			return log_bad(l, "the best rate of %s in MB/s", name);
		log_set(l, rate, "log/stream/%s_MBps", name);
		any = true;
	}
	return any ? 0
		   : log_bad(l, "\"Copy:\", \"Scale:\", \"Add:\" or \"Triad:\" and a rate; the log "
				"ends before");
}

/* "STREAM_COPY_double_gpu_0_buffer_4294967296_block_128    6711.67 81.93": GB/s and percent; of each the best */
int log_gpu_stream(struct log *l)
{
	char op[16];
	double rate, share, before;
	unsigned gpu, rows = 0;

	while (log_next(l)) {
		char key[FACT_KEY], *name = strstr(l->line, "Device "),
				    *peak = strstr(l->line, " GB/s PEAK");

		if (name && peak && sscanf(name, "Device %u:", &gpu) == 1) {
			while (peak > l->line && peak[-1] != ' ')
				peak--;
			log_set(l, num_front_real(peak, NULL), "log/gpu_stream/gpu%u/peak_GBps",
				gpu);
		}
		if (strncmp(l->line, "STREAM_", 7))
			continue;
		if (sscanf(l->line, "STREAM_%15[A-Z]_%*[a-z]_gpu_%u_%*s %lf %lf", op, &gpu, &rate,
			   &share) != 4)
			return log_bad(l, "STREAM_OP_type_gpu_N_..., GB/s, percent of the peak");
		rows++;
		snprintf(key, sizeof(key), "log/gpu_stream/gpu%u/%s_GBps", gpu, op);
		if (!facts_number(l->f, key, &before) || rate > before)
			log_set(l, rate, "%s", key);
	}
	return rows ? 0 : log_bad(l, "a row that begins with STREAM_; the log ends before");
}

/* --- perftest of InfiniBand --- */

/* Bandwidth of the largest, or of latencies the typical one of the smallest. */
int log_perftest(struct log *l)
{
	char device[48] = "port", *at, *word[LOG_WORDS];
	double size, v, largest = -1, smallest = INFINITY;
	bool table = false, latency = false, gbit = false;

	while (log_next(l)) {
		if ((at = strstr(l->line, "Device")) && (at = strchr(at, ':')))
			sscanf(at + 1, " %40[A-Za-z0-9_.-]", device);
		if (strstr(l->line, "#bytes")) {
			table = true;
			latency = strstr(l->line, "t_typical") || strstr(l->line, "t_avg");
			gbit = strstr(l->line, "Gb/sec") != NULL;
			continue;
		}
		if (!table || !isdigit((unsigned char)l->line[strspn(l->line, " \t")]))
			continue;
		if (log_words(l, word, " \t\r") < 4 || !log_number(word[0], &size))
			return log_bad(l, "bytes, iterations and %s",
				       latency ? "times" : "bandwidths");
		/* #bytes #iterations t_min t_max t_typical; #bytes #iterations BW peak, BW average */
		if (!log_number(latency && word[4] ? word[4] : word[3], &v))
			return log_bad(l, "a number in the column of the %s, not %.40s",
				       latency ? "typical time" : "average", word[3]);
		if (latency && size < smallest) {
			smallest = size;
			log_set(l, v, "log/ib/%s/latency_us", device);
		} else if (!latency && size >= largest) {
			largest = size;
			log_set(l, gbit ? v * 1e3 / 8 : v * 1.048576, "log/ib/%s/average_MBps",
				device);
		}
	}
	return largest < 0 && !isfinite(smallest)
		       ? log_bad(l, "a row below #bytes; the log ends before the first")
		       : 0;
}

/* --- copies --- */

/* "bandwidthTest-D2H-Pinned, Bandwidth = 0.4 GB/s, Time = 0.00000 s, Size = 1000 bytes, NumDevsUsed = 1" */
int log_copies(struct log *l)
{
	double rate, size, largest = -1;
	char way[16], *at;

	while (log_next(l)) {
		if (sscanf(l->line, " Device %*u: %c", way) == 1 && (at = strchr(l->line, ':')))
			facts_set(l->f, "log/copy/device", "%.90s", at + 1 + strspn(at + 1, " "));
		if (strncmp(l->line, "bandwidthTest-", 14))
			continue;
		if (sscanf(l->line,
			   "bandwidthTest-%15[A-Z0-9a-z]%*[^=]= %lf GB/s%*[^=]= %*f s, Size = %lf "
			   "bytes",
			   way, &rate, &size) != 3)
			return log_bad(l, "bandwidthTest-WAY, Bandwidth = N GB/s, Time = N s, Size "
					  "= N bytes");
		if (size < largest)
			continue;
		largest = size;
		log_set(l, rate, "log/copy/%s_GBps", way);
	}
	return largest < 0 ? log_bad(l, "a row that begins with bandwidthTest-") : 0;
}

/* "cpu_to_gpu0_by_dma_under_numa0 26.2387" */
int log_gpu_copy(struct log *l)
{
	char *word[LOG_WORDS];
	unsigned rows = 0;
	double v;

	while (log_next(l)) {
		unsigned n = log_words(l, word, " \t\r");

		if (!n)
			continue;
		if (n != 2 || !log_number(word[1], &v))
			return log_bad(l, "a way, as cpu_to_gpu0_by_dma, and its GB/s");
		log_set(l, v, "log/gpu_copy/%.80s_GBps", word[0]);
		rows++;
	}
	return rows ? 0 : log_bad(l, "a way, as cpu_to_gpu0_by_dma, and its GB/s");
}
