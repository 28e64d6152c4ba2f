/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h - alarms for failing hardware, from collectors' events: Xids and memory errors. Pure and
 * bounded; accepts any text.
 */
#pragma once

#include "detect/detect.h"

#define FAULT_DEVICE 40u
#define FAULTS_KEPT  32u /* reported lately; beyond these a fault may be reported again */

struct device_fault {
	enum alarm_kind kind;      /* ALARM_XID or ALARM_ECC */
	char device[FAULT_DEVICE]; /* "0000:3b:00", "GPU 3", "MC0"; printable; "": unknown */
	uint32_t code;             /* an Xid; 0: none */
	uint32_t pid;              /* whose it is; 0: unknown */
};

/*
 * An event of a collector: its kind ("xid", "ecc", "edac") and its text, which is a line of the
 * kernel's log, or "DEVICE: what happened". False: it tells of no such fault.
 */
bool fault_read(const char *what, const char *text, struct device_fault *out);

/* The same fault of a device is reported once per interval (detect.tbl.h). */
struct faults {
	struct {
		struct device_fault fault;
		uint64_t told_ns; /* 0: free */
	} last[FAULTS_KEPT];
};
bool faults_new(struct faults *f, const struct device_fault *x, uint64_t now_ns);
