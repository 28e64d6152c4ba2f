/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c - see fault.h. */
#include "detect/fault.h"

#include <ctype.h>
#include <string.h>

#include "base/num.h"

static const struct {
	uint32_t code;
	enum alarm_kind kind;
} known[] = {
#define FAULT(code, KIND, means) { code, ALARM_##KIND },
#include "model/xid.tbl.h"
};

static void take_device(struct device_fault *f, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < sizeof(f->device); i++)
		if (isprint((unsigned char)from[i]))
			f->device[n++] = from[i];
	f->device[n] = '\0';
}

static uint32_t number_at(const char *s)
{
	unsigned long n = isdigit((unsigned char)*s) ? num_front(s, NULL) : 0;

	return n < UINT32_MAX ? (uint32_t)n : 0;
}

/* NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus. */
static bool read_xid(const char *text, struct device_fault *f)
{
	const char *from = strstr(text, "Xid ("), *to, *pid;

	to = from ? strstr(from, "): ") : NULL;
	if (!to || !number_at(to + 3))
		return false;
	from += strlen("Xid (");
	if (!strncmp(from, "PCI:", 4))
		from += 4;
	take_device(f, from, from < to ? (size_t)(to - from) : 0);
	f->code = number_at(to + 3);
	pid = strstr(to, "pid=");
	f->pid = pid ? number_at(pid + (pid[4] == '\'' ? 5 : 4)) : 0;
	f->kind = ALARM_XID;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == f->code)
			f->kind = known[i].kind;
	return true;
}

/* "GPU 3: 2 uncorrected errors", "EDAC MC0: 1 UE memory read error on ..." */
static bool read_ecc(const char *text, struct device_fault *f)
{
	const char *from = !strncmp(text, "EDAC ", 5) ? text + 5 : text, *to = strchr(from, ':');

	if (!to || to == from)
		return false;
	take_device(f, from, (size_t)(to - from));
	f->kind = ALARM_ECC;
	return true;
}

bool fault_read(const char *what, const char *text, struct device_fault *out)
{
	struct device_fault f = { 0 };
	bool is = !strcmp(what, "xid")                            ? read_xid(text, &f)
		  : !strcmp(what, "ecc") || !strcmp(what, "edac") ? read_ecc(text, &f)
								  : false;

	if (is)
		*out = f;
	return is;
}

bool faults_new(struct faults *f, const struct device_fault *x, uint64_t now)
{
	uint64_t quiet = (uint64_t)alarm_table[x->kind].quiet_s * 1000000000u;
	size_t at = 0;

	for (size_t i = 0; i < FAULTS_KEPT; i++) {
		const struct device_fault *l = &f->last[i].fault;

		if (f->last[i].told_ns && l->kind == x->kind && l->code == x->code &&
		    l->pid == x->pid && !strcmp(l->device, x->device)) {
			if (now < f->last[i].told_ns + quiet)
				return false;
			at = i;
			break;
		}
		if (f->last[i].told_ns < f->last[at].told_ns)
			at = i; /* the oldest */
	}
	f->last[at].fault = *x;
	f->last[at].told_ns = now ? now : 1;
	return true;
}
