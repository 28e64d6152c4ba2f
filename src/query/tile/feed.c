/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - the arrays that both kinds of feed fill. */
#include "tile/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

int feed_add_block(struct feed *f, const struct feed_block *b)
{
	int err = vec_room0(&f->block, &f->cap_block, f->blocks + 1, sizeof(*f->block));

	if (!err)
		f->block[f->blocks++] = *b;
	return err;
}

struct feed_process *feed_add_process(struct feed *f)
{
	if (vec_room0(&f->process, &f->cap_process, f->processes + 1, sizeof(*f->process)) < 0)
		return NULL;
	return &f->process[f->processes++];
}

int feed_set_track(struct feed *f, uint32_t id, const struct feed_track *l)
{
	int err;

	if (id >= FEED_IDS)
		return -EBADMSG;
	err = vec_room0(&f->track, &f->cap_track, (size_t)id + 1, sizeof(*f->track));
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
