/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - names, tracks and processes: requested from aond, and cached. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/vec.h"
#include "consume/priv.h"

#define LATER_MS   5          /* before a question is asked again, */
#define LATER      400        /* so many times */
#define ANSWER_MAX 8448       /* bytes */
#define NAMES_MAX  (1u << 24) /* ids */
#define TRACKS     1024u      /* that are kept */

void ask_fini(struct aon_consumer *c)
{
	for (uint32_t i = 0; i < c->names; i++)
		free(c->name[i]);
	free(c->name);
	free(c->track);
}

/* The answer to this question: one to an earlier question that was given up may come first. */
static int hear(struct aon_consumer *c, const char *line, char out[ANSWER_MAX])
{
	size_t len = strlen(line);
	ssize_t n;

	for (;;) {
		n = recv(c->sock, out, ANSWER_MAX - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		out[n] = '\0';
		if (!strncmp(out, line, len) && out[len] == ' ') {
			memmove(out, out + len + 1, (size_t)n - len);
			return 0;
		}
	}
}

/* What is behind "ok". -ENOENT: aond does not say. */
static int ask(struct aon_consumer *c, const char *word, uint32_t id, char out[ANSWER_MAX])
{
	char line[32];
	int err;

	snprintf(line, sizeof(line), "%s %" PRIu32, word, id);
	for (int i = 0; i < LATER; i++) {
		if (c->ended || send(c->sock, line, strlen(line), MSG_NOSIGNAL) < 0)
			return -EPIPE;
		err = hear(c, line, out);
		if (err)
			return err;
		if (!strncmp(out, "ok ", 3)) {
			memmove(out, out + 3, strlen(out) - 2);
			return 0;
		}
		if (strcmp(out, "later") != 0)
			return -ENOENT;
		poll(NULL, 0, LATER_MS);
	}
	return -EAGAIN;
}

const char *aon_consumer_name(struct aon_consumer *c, uint32_t id)
{
	char text[ANSWER_MAX];

	if (!id)
		return "";
	if (id >= NAMES_MAX || vec_room0(&c->name, &c->names, (size_t)id + 1, sizeof(*c->name)) < 0)
		return "?";
	if (!c->name[id] && !ask(c, "name", id, text))
		c->name[id] = strdup(text);
	return c->name[id] ? c->name[id] : "?";
}

static int ask_track(struct aon_consumer *c, uint32_t id, struct aon_consumer_track *l)
{
	char text[ANSWER_MAX];
	int err = ask(c, "track", id, text);

	if (err)
		return err;
	return sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32, &l->process,
		      &l->device, &l->context, &l->stream, &l->name) == 5
		       ? 0
		       : -EPROTO;
}

int aon_consumer_track(struct aon_consumer *c, uint32_t id, struct aon_consumer_track *out)
{
	struct kept_track *k, now = { .id = id };
	size_t size = out->size;
	int err = 0;

	if (size < sizeof(*out))
		return -EINVAL;
	if (!c->track)
		c->track = calloc(TRACKS, sizeof(*c->track));
	k = c->track ? &c->track[id % TRACKS] : &now;
	if (!id || k->id != id || !c->track)
		err = ask_track(c, id, &now.track);
	if (err)
		return err;
	if (k->id != id)
		*k = now;
	*out = k->track;
	out->size = size;
	return 0;
}

/* The next of texts that have a TAB before each. */
static void take_text(char **rest, char *out, size_t cap)
{
	char *one = strsep(rest, "\t");

	snprintf(out, cap, "%s", one ? one : "");
}

int aon_consumer_process(struct aon_consumer *c, uint32_t id, struct aon_consumer_process *out)
{
	char text[ANSWER_MAX], *rest = text;
	int err;

	if (out->size < sizeof(*out))
		return -EINVAL;
	err = ask(c, "process", id, text);
	if (err)
		return err;
	strsep(&rest, "\t");
	if (sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &out->pid,
		   &out->uid, &out->rank, &out->world, &out->here) != 5)
		return -EPROTO;
	take_text(&rest, out->comm, sizeof(out->comm));
	take_text(&rest, out->job, sizeof(out->job));
	take_text(&rest, out->run, sizeof(out->run));
	take_text(&rest, out->node, sizeof(out->node));
	return 0;
}

int64_t aon_consumer_processes(struct aon_consumer *c, uint32_t from)
{
	char text[ANSWER_MAX];
	int err = ask(c, "processes", from, text);

	return err ? err : (int64_t)strtoul(text, NULL, 10);
}

/* The name of version 0.1, for one release. */
AON_API int aon_consumer_lane(struct aon_consumer *c, uint32_t id, struct aon_consumer_track *out)
	__attribute__((alias("aon_consumer_track")));
