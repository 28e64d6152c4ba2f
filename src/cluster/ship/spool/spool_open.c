/* SPDX-License-Identifier: Apache-2.0 */
/* spool_open.c - opens a spool after a crash or an orderly end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/log.h"
#include "ship/spool/durable.h"
#include "ship/spool/spool_priv.h"

uint64_t spool_number(const char *name)
{
	uint64_t seq = 0;
	size_t i;

	for (i = 0; i < 20; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		seq = seq * 10 + (uint64_t)(name[i] - '0');
	}
	return strcmp(name + i, ".batch") ? 0 : seq;
}

static bool is_gone(const struct state *st, uint64_t seq)
{
	for (uint32_t i = 0; i < st->gones; i++)
		if (st->gone[i] == seq)
			return true;
	return false;
}

/* What its head says; of a damaged one only that it is there. */
static void read_head(int dir, const char *name, struct entry *e)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint8_t raw[BATCH_HEAD];
	struct batch_head h;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0)
		e->bytes = st.st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)st.st_size;
	if (read(fd, raw, sizeof(raw)) == (ssize_t)sizeof(raw) &&
	    batch_parse_head(&h, raw, sizeof(raw)) == 0) {
		e->rows = h.rows;
		e->made_ns = h.made_ns;
		e->table = (uint8_t)batch_table(&h);
	}
	close(fd);
}

/* What lies in the folder, into s->entry; what no commit or state has is unlinked, unless `look`. */
static int spool_scan(struct spool *s, bool look, struct spool_why *why)
{
	struct dirent **list;
	int n = scandirat(s->dir, ".", &list, NULL, alphasort), err = 0;

	if (n < 0)
		return why_say(why, -errno, "the spool's folder cannot be read: %s",
			       strerror(errno));
	for (int i = 0; i < n; i++) {
		struct entry e = { .seq = spool_number(list[i]->d_name) };

		if (e.seq && s->st.next && (e.seq >= s->st.next || is_gone(&s->st, e.seq))) {
			if (!look && !err)
				err = durable_unlink(s->dir, list[i]->d_name);
		} else if (e.seq && !err) {
			read_head(s->dir, list[i]->d_name, &e);
			err = spool_add(s, &e);
		}
		free(list[i]);
	}
	free(list);
	s->kept = s->entries;
	return err ? why_say(why, err, "the spool cannot be read: %s", strerror(-err)) : 0;
}

static uint64_t identity(const struct spool_opts *o)
{
	char text[512];

	snprintf(text, sizeof(text), "%s\n%s", o->cluster, o->host);
	return ship_hash_text(text);
}

/* A new src, under which nobody else has sent or will: chance decides, and who and when we are. */
static int new_src(struct state *st, const struct spool_opts *o, uint64_t now_ns)
{
	struct {
		uint64_t identity, now_ns, chance[2];
	} seed = { identity(o), now_ns, { 0 } };

	if (getrandom(seed.chance, sizeof(seed.chance), 0) != (ssize_t)sizeof(seed.chance))
		return -errno;
	st->src = ship_hash(&seed, sizeof(seed));
	st->identity = seed.identity;
	return 0;
}

/*
 * Batches that lie there without a state keep their own src and number, and are sent; numbers go on behind
 * them, under another src, because what was put last may not have been committed.
 */
static int begin_anew(struct spool *s, const struct spool_opts *o, uint64_t now_ns,
		      struct spool_why *why)
{
	int err = new_src(&s->st, o, now_ns);
	bool doubt;

	if (!err) {
		s->st.next = s->entries ? s->entry[s->entries - 1].seq + 1 : s->st.next;
		if (!s->st.next)
			s->st.next = 1;
		err = state_write(s->dir, &s->st, s->cursor, &doubt);
	}
	return err ? why_say(why, err, "%s: %s", o->dir, strerror(-err)) : 0;
}

static int load(struct spool *s, const struct spool_opts *o, uint64_t now_ns, struct spool_why *why)
{
	int err = state_read(s->dir, &s->st, &s->cursor);
	bool doubt;

	if (err == -EPROTO)
		return why_say(why, err, "%s: a newer version of aon made this spool", o->dir);
	if (err && err != -ENOENT && err != -EBADMSG)
		return why_say(why, err, "%s/state: %s", o->dir, strerror(-err));
	if (err == -EBADMSG) {
		log_warn("%s/state is damaged: it is now state.bad, and numbers begin anew",
			 o->dir);
		durable_rename(s->dir, "state", s->dir, "state.bad");
	}
	if (err)
		memset(&s->st, 0, sizeof(s->st));
	if (spool_scan(s, false, why))
		return -EIO;
	if (!err && s->st.identity == identity(o)) {
		if (!s->st.gones)
			return 0;
		s->st.gones = 0;
		err = state_write(s->dir, &s->st, s->cursor, &doubt);
		return err ? why_say(why, err, "%s/state: %s", o->dir, strerror(-err)) : 0;
	}
	if (!err) { /* of another node or cluster: what was read there means nothing here */
		log_warn("%s was made as part of another cluster or host: numbers begin anew",
			 o->dir);
		s->st.cursor_len = 0;
		s->st.gones = 0;
	}
	return begin_anew(s, o, now_ns, why);
}

static int open_dir(struct spool *s, const struct spool_opts *o, struct spool_why *why)
{
	if (mkdir(o->dir, 0700) < 0 && errno != EEXIST)
		return why_say(why, -errno, "%s: %s", o->dir, strerror(errno));
	s->dir = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0)
		return why_say(why, -errno, "%s: %s", o->dir, strerror(errno));
	s->lock = openat(s->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return why_say(why, -errno, "%s/lock: %s", o->dir, strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return why_say(why, -EBUSY, "%s: another process has this spool", o->dir);
	return 0;
}

int spool_open(struct spool **out, const struct spool_opts *o, uint64_t now_ns,
	       struct spool_why *why)
{
	struct spool *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return why_say(why, -ENOMEM, "out of memory");
	s->dir = s->lock = -1;
	s->max_bytes = o->max_bytes;
	s->max_age_ns = o->max_age_ns;
	snprintf(s->cluster, sizeof(s->cluster), "%s", o->cluster);
	snprintf(s->host, sizeof(s->host), "%s", o->host);
	err = open_dir(s, o, why);
	err = err ? err : load(s, o, now_ns, why);
	if (err) {
		s->kept = s->entries;
		s->st.gones = 0;
		s->news = false;
		spool_close(s);
		return err;
	}
	s->tried = s->st.tried;
	*out = s;
	return 0;
}

int spool_look(const char *dir, struct spool_stat *out, struct spool_why *why)
{
	struct spool s = { .dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .lock = -1 };
	int err;

	if (s.dir < 0)
		return why_say(why, -errno, "%s: %s", dir, strerror(errno));
	err = state_read(s.dir, &s.st, &s.cursor);
	if (err)
		why_say(why, err, "%s/state: %s", dir,
			err == -ENOENT ? "no spool" : "it cannot be read");
	else
		err = spool_scan(&s, true, why);
	if (!err)
		spool_stat(&s, out);
	free(s.entry);
	free(s.cursor);
	close(s.dir);
	return err;
}
