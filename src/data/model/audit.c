/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - writes and reads lines of the audit log. */
#include "model/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/num.h"

#define WORD_MAX 24 /* bytes of a word */

size_t audit_put(char out[AUDIT_LINE], const struct audit_line *l)
{
	char clean[AUDIT_LINE - 128]; /* no control character: no TAB, no LF */
	int n;

	fmt_clean(clean, sizeof(clean), l->text, false);
	n = snprintf(out, AUDIT_LINE, "%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%.*s\t%.*s\t%s\n",
		     l->wall_ns, l->uid, l->pid, WORD_MAX, l->what, WORD_MAX, l->outcome, clean);
	return (size_t)n;
}

static int number(char **rest, uint64_t max, uint64_t *out)
{
	const char *text = strsep(rest, "\t");

	return text ? num_u64(text, 0, max, out) : -EINVAL;
}

int audit_get(char *line, struct audit_line *out)
{
	uint64_t wall, uid, pid;

	if (number(&line, UINT64_MAX, &wall) || number(&line, UINT32_MAX, &uid) ||
	    number(&line, UINT32_MAX, &pid))
		return -EINVAL;
	*out = (struct audit_line){ .wall_ns = wall, .uid = (uint32_t)uid, .pid = (uint32_t)pid };
	out->what = strsep(&line, "\t");
	out->outcome = strsep(&line, "\t");
	out->text = line;
	return line ? 0 : -EINVAL;
}
