/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - the arrays that both kinds of feed fill. */
#include "tile/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow(void **p, size_t *cap, size_t need, size_t size)
{
	size_t to = *cap ? *cap : 16;
	void *more;

	if (need <= *cap)
		return 0;
	while (to < need)
		to *= 2;
	more = realloc(*p, to * size);
	if (!more)
		return -ENOMEM;
	memset((char *)more + *cap * size, 0, (to - *cap) * size);
	*p = more;
	*cap = to;
	return 0;
}

int feed_add_block(struct feed *f, const struct feed_block *b)
{
	int err = grow((void **)&f->block, &f->cap_block, f->blocks + 1, sizeof(*f->block));

	if (!err)
		f->block[f->blocks++] = *b;
	return err;
}

struct feed_process *feed_add_process(struct feed *f)
{
	if (grow((void **)&f->process, &f->cap_process, f->processes + 1, sizeof(*f->process)) < 0)
		return NULL;
	return &f->process[f->processes++];
}

int feed_set_track(struct feed *f, uint32_t id, const struct feed_track *l)
{
	int err;

	if (id >= FEED_IDS)
		return -EBADMSG;
	err = grow((void **)&f->track, &f->cap_track, (size_t)id + 1, sizeof(*f->track));
	if (err)
		return err;
	f->track[id] = *l;
	f->track[id].known = true;
	f->tracks = f->tracks > id ? f->tracks : (size_t)id + 1;
	return 0;
}

void feed_fini(struct feed *f)
{
	free(f->block);
	free(f->process);
	free(f->track);
}
