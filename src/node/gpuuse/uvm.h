/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uvm.h - page faults of a GPU in managed memory, as NVIDIA's nvidia-uvm counts them:
 * /proc/driver/nvidia-uvm/gpus/UVM-GPU-UUID/fault_stats. It is there when the module was loaded with
 * uvm_enable_debug_procfs=1, and only while a program uses the GPU.
 *
 *	replayable_faults      446
 *	migrations:
 *	  num_pages_in         1024 (4 MB)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uvm_fault {
	UVM_REPLAYABLE,
	UVM_DUPLICATE,
	UVM_FATAL,
	UVM_PAGES_IN,
	UVM_PAGES_OUT,
	UVM_FAULTS
};
extern const char *const uvm_fault_name[UVM_FAULTS];

struct uvm_stats {
	uint64_t v[UVM_FAULTS];
	uint8_t has; /* a bit for each */
};

/* False: there is none of them. Both sections count, of faults that are replayed and that are not. */
bool uvm_parse(struct uvm_stats *out, const char *text, size_t len);
/* Of the GPU with that UUID. */
bool uvm_read(struct uvm_stats *out, const char *root, const char *uuid);
