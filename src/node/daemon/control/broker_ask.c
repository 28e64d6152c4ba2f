/* SPDX-License-Identifier: Apache-2.0 */
/* broker_ask.c - answers the questions of consumers, as far as they may know. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/vec.h"
#include "daemon/control/broker_priv.h"
#include "daemon/session/session_list.h"
#include "store/store.h"

#define TEXT_MAX 8192
#define SEEN_MAX (1u << 24) /* ids beyond are not answered */

void seen_add(struct id_set *s, uint64_t id)
{
	if (id < SEEN_MAX && !vec_room0(&s->bit, &s->words, id / 64 + 1, sizeof(*s->bit)))
		s->bit[id / 64] |= 1ull << id % 64;
}

static bool seen_has(const struct id_set *s, uint64_t id)
{
	return id / 64 < s->words && s->bit[id / 64] >> id % 64 & 1;
}

/* --- processes --- */

/* That are here, from a number on; NULL: none. */
static const struct process *here_from(const struct audience *a, uint32_t id)
{
	const struct process *best = NULL;
	const struct sess *s = a->broker->roster ? a->broker->roster->first : NULL;

	for (; s; s = s->next) {
		const struct process *p = s->stream ? &s->stream->proc : NULL;

		if (p && p->id >= id && audience_may(a, p) && (!best || p->id < best->id))
			best = p;
	}
	return best;
}

static const struct process *gone(const struct audience *a, uint32_t id)
{
	const struct broker *b = a->broker;

	for (uint64_t i = 0; i < BROKER_GONE && i < b->left; i++)
		if (b->gone[i].id == id && audience_may(a, &b->gone[i]))
			return &b->gone[i];
	return NULL;
}

static int text_of_process(struct audience *a, uint32_t id, char *out, size_t cap)
{
	const struct process *p = here_from(a, id);
	bool here = p && p->id == id;
	char comm[64], job[192], run[64], node[128];

	p = here ? p : gone(a, id);
	if (!p || !id)
		return -ENOENT;
	snprintf(out, cap, "%u %u %u %u %d\t%s\t%s\t%s\t%s", p->pid, p->uid, p->origin.rank,
		 p->origin.world, here, fmt_clean(comm, sizeof(comm), p->comm, false),
		 fmt_clean(job, sizeof(job), p->job, false),
		 fmt_clean(run, sizeof(run), p->run, false),
		 fmt_clean(node, sizeof(node), p->node, false));
	return 0;
}

/* As many as an answer holds: the next question begins behind its last. */
static int text_of_processes(struct audience *a, uint32_t from, char *out, size_t cap)
{
	const struct process *p;
	size_t at = 0;

	while (at + 12 < cap && (p = here_from(a, from))) {
		at += (size_t)snprintf(out + at, cap - at, at ? " %u" : "%u", p->id);
		from = p->id + 1;
	}
	return 0;
}

/* --- names and tracks --- */

static int text_of_name(struct audience *a, uint32_t id, char *out, size_t cap)
{
	return seen_has(&a->name, id) ? store_name_try(a->broker->store, id, out, cap) : -ENOENT;
}

static int text_of_track(struct audience *a, uint32_t id, char *out, size_t cap)
{
	struct track l;
	int err = seen_has(&a->track, id) ? store_track_try(a->broker->store, id, &l) : -ENOENT;

	if (err)
		return err;
	if (l.name)
		seen_add(&a->name, l.name);
	snprintf(out, cap, "%u %u %u %" PRIu64 " %u", l.process, l.device, l.context, l.stream,
		 l.name);
	return 0;
}

static const struct {
	const char *word;
	int (*fn)(struct audience *a, uint32_t id, char *out, size_t cap);
} questions[] = {
	{ "name", text_of_name },       { "track", text_of_track },
	{ "lane", text_of_track }, /* the word until 0.1 */
	{ "process", text_of_process }, { "processes", text_of_processes },
};

/* -EAGAIN of one is an answer: nobody waits for a disk here. */
int broker_answer(struct audience *a, const char *line, char *out, size_t cap)
{
	char text[TEXT_MAX] = "", word[12];
	int err, end = 0;
	uint32_t id;

	if (sscanf(line, "%11s %" SCNu32 "%n", word, &id, &end) != 2 || line[end])
		return -EINVAL;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (strcmp(word, questions[i].word))
			continue;
		err = questions[i].fn(a, id, text, sizeof(text));
		return snprintf(out, cap, "%s %" PRIu32 " %s%s", word, id,
				!err             ? "ok "
				: err == -EAGAIN ? "later"
						 : "none",
				err ? "" : text);
	}
	return -EINVAL;
}
