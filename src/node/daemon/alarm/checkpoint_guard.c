/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_guard.c - see checkpoint_guard.h. The evidence is a range that is named as a
 * checkpoint (names/step_names.h), or the bytes written that the kernel counts; the kernel shows
 * these to whoever may trace the process: its own user, and root.
 */
#include "daemon/alarm/checkpoint_guard.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "agg/understand.h"
#include "daemon/session/session_list.h"

static bool is_checkpoint(void *arg, uint32_t name)
{
	const struct step_names *n = arg;

	return name < n->n && n->of[name].range == STEP_RANGE_CKPT;
}

/* By write() and its like, to whatever it may be. 0: not shown. */
static uint64_t written(pid_t pid)
{
	char path[32], text[256], *at;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	if (file_text(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, "wchar: ");
	return at ? num_front(at + strlen("wchar: "), NULL) : 0;
}

/* One writes for all, or each its own part; who is ready waits for the others. */
static bool peer_saves(const struct sess *s)
{
	for (const struct sess *o = s->roster->first; o && *s->stream->proc.job; o = o->next)
		if (o != s && o->stream && o->stream->watcher && o->peer.uid == s->peer.uid &&
		    !strcmp(o->stream->proc.job, s->stream->proc.job) &&
		    detect_saving(&o->stream->watcher->detect))
			return true;
	return false;
}

void checkpoint_guard_look(const struct sess *s, struct signs *out)
{
	out->saves = understand_any_open(s->stream->understand, is_checkpoint,
					 &s->stream->plant->means.means);
	out->peer_saves = peer_saves(s);
	out->written = written(s->peer.pid);
}
