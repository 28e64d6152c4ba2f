/* SPDX-License-Identifier: Apache-2.0 */
/* Xids and memory errors, as the kernel's log and collectors tell them. */
#include "detect/fault.h"

#include <stdio.h>
#include <string.h>

#include "t.h"

#define S 1000000000ull

static const struct {
	const char *what, *text, *device;
	enum alarm_kind kind; /* ALARMS: none */
	uint32_t code, pid;
} cases[] = {
	/* clang-format off */
	{ "xid",  "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.", "0000:3b:00", ALARM_XID, 79, 1234 },
	{ "xid",  "NVRM: Xid (PCI:0000:4e:00): 31, pid='<unknown>', name=<unknown>, MMU Fault",          "0000:4e:00", ALARM_XID, 31, 0 },
	{ "xid",  "NVRM: Xid (PCI:0000:4e:00): 13, pid='77', name=a",                                    "0000:4e:00", ALARM_XID, 13, 77 },
	{ "xid",  "NVRM: Xid (PCI:0000:4e:00): 94, Contained: SM (0x1)",                                 "0000:4e:00", ALARM_ECC, 94, 0 },
	{ "xid",  "NVRM: Xid (PCI:0000:4e:00): 999, of tomorrow",                                        "0000:4e:00", ALARM_XID, 999, 0 },
	{ "ecc",  "GPU 3: 2 uncorrected errors",                                                         "GPU 3",      ALARM_ECC, 0, 0 },
	{ "edac", "EDAC MC0: 1 UE memory read error on CPU_SrcID#0",                                     "MC0",        ALARM_ECC, 0, 0 },
	{ "xid",  "NVRM: Xid (PCI:0000:4e:00)",                                                          "",           ALARMS,    0, 0 },
	{ "xid",  "NVRM: Xid (PCI:0000:4e:00): many",                                                    "",           ALARMS,    0, 0 },
	{ "xid",  "",                                                                                    "",           ALARMS,    0, 0 },
	{ "ecc",  "no device",                                                                           "",           ALARMS,    0, 0 },
	{ "oom",  "Out of memory: Killed process 7 (a): x",                                              "",           ALARMS,    0, 0 },
	/* clang-format on */
};

static void test_storm(void)
{
	struct device_fault a = { .kind = ALARM_XID, .device = "0000:3b:00", .code = 79 }, b = a;
	struct faults f = { 0 };
	unsigned told = 0;

	for (uint64_t i = 0; i < 1000; i++)
		told += faults_new(&f, &a, S + i);
	T_OK(told == 1, "a storm of one fault is told once");
	b.device[1] = '1';
	T_OK(faults_new(&f, &b, 2 * S), "another device's is told");
	T_OK(faults_new(&f, &a, 1000 * S), "and the same again after a while");
	for (uint32_t i = 0; i < 1000; i++) {
		b.code = i;
		told += faults_new(&f, &b, 1001 * S + i);
	}
	T_OK(!faults_new(&f, &b, 1002 * S), "of many the last ones are remembered");
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct device_fault f = { .kind = ALARMS };
		bool is = fault_read(cases[i].what, cases[i].text, &f);

		T_OK(is == (cases[i].kind != ALARMS) && f.kind == cases[i].kind &&
			     f.code == cases[i].code && f.pid == cases[i].pid &&
			     !strcmp(f.device, cases[i].device),
		     "%s: %.60s", cases[i].what, cases[i].text);
	}
	test_storm();
	return t_done();
}
