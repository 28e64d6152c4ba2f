/* SPDX-License-Identifier: Apache-2.0 */
/* step_names.c - see step_names.h. */
#include "names/step_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "names/class.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static uint8_t kernel_class(const struct names *n, const char *text)
{
	static const uint8_t to[CLASSES] = {
		[CLASS_OTHER] = STEP_CLASS_OTHER,
		[CLASS_GEMM] = STEP_CLASS_GEMM,
		[CLASS_ATTENTION] = STEP_CLASS_ATTENTION,
		[CLASS_CONV] = STEP_CLASS_GEMM,
		[CLASS_NORM] = STEP_CLASS_POINTWISE,
		[CLASS_SOFTMAX] = STEP_CLASS_POINTWISE,
		[CLASS_ELEMENTWISE] = STEP_CLASS_POINTWISE,
		[CLASS_REDUCTION] = STEP_CLASS_POINTWISE,
		[CLASS_EMBEDDING] = STEP_CLASS_EMBED,
		[CLASS_OPTIMIZER] = STEP_CLASS_OPTIMIZER,
		[CLASS_POOL] = STEP_CLASS_OTHER,
		[CLASS_INDEX] = STEP_CLASS_OTHER,
		[CLASS_LAYOUT] = STEP_CLASS_COPY,
		[CLASS_RANDOM] = STEP_CLASS_OTHER,
		[CLASS_QUANT] = STEP_CLASS_POINTWISE,
		[CLASS_FFT] = STEP_CLASS_OTHER,
		[CLASS_COMM] = STEP_KERNEL_COMM,
		[CLASS_COPY] = STEP_CLASS_COPY,
		[CLASS_MEMSET] = STEP_CLASS_COPY,
	};
	enum kclass c = names_kernel_text(n, text);

	if (c == CLASS_GEMM && (strcasestr(text, "moe") || strcasestr(text, "grouped_mm") ||
				strcasestr(text, "expert")))
		return STEP_CLASS_EXPERT;
	return to[c];
}

static uint8_t call_kind(const struct names *n, const char *text)
{
	switch (names_call_text(n, text)) {
	case CALL_LAUNCH:
		return STEP_CALL_LAUNCH;
	case CALL_SYNC:
	case CALL_COPY_WAITS:
		return STEP_CALL_SYNC;
	case CALL_ALLOC:
		return STEP_CALL_ALLOC;
	default:
		return STEP_CALL_NONE;
	}
}

static uint8_t range_kind(const struct names *n, const char *text)
{
	/* To write one, not to compute again what was not kept. */
	static const char *const ckpt[] = {
		"save_checkpoint",  "checkpoint_save",  "checkpoint.save", "save checkpoint",
		"torch.save",       "save_state_dict",  "save_ckpt",       "ckpt_save",
		"write_checkpoint", "write checkpoint", "save_pretrained"
	};
	size_t len = strlen(text);

	if (!strncmp(text, "Python GC", 9))
		return STEP_RANGE_GC;
	if (!strncmp(text, "torch.compile ", 14))
		return STEP_RANGE_COMPILE;
	for (size_t i = 0; i < LEN(ckpt); i++)
		if (strcasestr(text, ckpt[i]))
			return STEP_RANGE_CKPT;
	if (names_range_text(n, text) == RANGE_INPUT)
		return STEP_RANGE_INPUT;
	if (len >= 7 && !strcasecmp(text + len - 7, "forward"))
		return STEP_RANGE_FORWARD;
	return STEP_RANGE_NONE;
}

static uint8_t count_kind(const char *text)
{
	static const char *const word[] = { "tokens",        "sequences", "expert_tokens",
					    "micro_batches", "sum_len2",  "context_tokens" };

	if (!strncmp(text, "aon.", 4))
		text += 4;
	for (size_t i = 0; i < LEN(word); i++)
		if (!strcmp(text, word[i]))
			return (uint8_t)(STEP_COUNT_TOKENS + i);
	return STEP_COUNT_NONE;
}

/* "gloo:all_reduce f32", "AllReduce bf16 RING LL", "ncclDevKernel_AllReduce_Sum_f32(...)". Longer words
 * stand before those that they hold. */
static void read_op(const char *text, struct step_means *m)
{
	static const struct {
		const char *word;
		uint8_t op;
	} op[] = {
		{ "allreduce", STEP_OP_ALL_REDUCE },
		{ "all_reduce", STEP_OP_ALL_REDUCE },
		{ "allgather", STEP_OP_ALL_GATHER },
		{ "all_gather", STEP_OP_ALL_GATHER },
		{ "reducescatter", STEP_OP_REDUCE_SCATTER },
		{ "reduce_scatter", STEP_OP_REDUCE_SCATTER },
		{ "alltoall", STEP_OP_ALL_TO_ALL },
		{ "all_to_all", STEP_OP_ALL_TO_ALL },
		{ "broadcast", STEP_OP_BROADCAST },
		{ "barrier", STEP_OP_BARRIER },
		{ "sendrecv", STEP_NO_OP },
		{ "send", STEP_OP_SEND },
		{ "recv", STEP_OP_RECV },
		{ "reduce", STEP_OP_REDUCE },
		{ "gather", STEP_OP_OTHER },
		{ "scatter", STEP_OP_OTHER },
	};
	char head[64];
	size_t len = strcspn(text, " (<");
	unsigned int peer;
	const char *at;

	if (len >= sizeof(head))
		len = sizeof(head) - 1;
	memcpy(head, text, len);
	head[len] = '\0';
	if (!strncmp(text, "nccl:", 5) || !strncmp(text, "NCCL proxy", 10))
		return; /* enqueueing, and parts: the communicator tells */
	for (size_t i = 0; i < LEN(op); i++) {
		if (!strcasestr(head, op[i].word))
			continue;
		m->op = op[i].op;
		m->p2p = op[i].op == STEP_NO_OP;
		break;
	}
	at = m->op == STEP_OP_SEND ? strstr(text, " to ") : strstr(text, " from ");
	if ((m->op == STEP_OP_SEND || m->op == STEP_OP_RECV) && at &&
	    sscanf(strrchr(at, ' '), "%u", &peer) == 1 && peer < STEP_NO_PEER)
		m->peer = (uint16_t)peer;
}

struct step_means means_of_text(const struct names *n, const char *text)
{
	struct step_means m = { .kernel = kernel_class(n, text),
				.call = call_kind(n, text),
				.range = range_kind(n, text),
				.count = count_kind(text),
				.op = STEP_NO_OP,
				.peer = STEP_NO_PEER };

	read_op(text, &m);
	return m;
}
