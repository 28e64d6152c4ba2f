/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what the logs of benchmarks say, as facts "log/...": nccl-tests, gpu-burn, nvidia-smi -q, perftest of
 * InfiniBand, STREAM, fio's JSON. Known by content. Pure; any bytes.
 */
#ifndef AON_VALIDATE_LOG_H
#define AON_VALIDATE_LOG_H

#include "validate/facts.h"

/* The name of the tool ("nccl-tests"), or NULL: it is of none that is known. */
const char *log_facts(struct facts *f, const char *text, size_t len);

#endif /* AON_VALIDATE_LOG_H */
