/* SPDX-License-Identifier: Apache-2.0 */
/* dict.c - loads a store's dictionaries. */
#include "sql/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "names/class.h"

/* Ids may be sparse by this much; ids beyond are treated as "none". */
#define MAP_SPARE (16u << 20)

void dict_fini(struct dict *d)
{
	for (uint32_t i = 0; i < d->names; i++)
		free(d->name[i].text);
	free(d->name);
	free(d->track);
	free(d->class);
	free(d->geo);
	free(d->process);
	free(d->by_name.at);
	free(d->by_track.at);
	free(d->by_geo.at);
	free(d->by_process.at);
	memset(d, 0, sizeof(*d));
}

/* Appends a zeroed element. */
static int grow(void *array, uint32_t n, size_t size)
{
	char **p = array;
	int err = vec_more(array, n, size);

	if (!err)
		memset(*p + n * size, 0, size);
	return err;
}

static int add_name(void *arg, uint32_t id, const char *text, size_t len)
{
	struct dict *d = arg;
	int err = grow(&d->name, d->names, sizeof(*d->name));

	if (err < 0)
		return err;
	d->name[d->names] = (struct dict_name){ malloc(len + 1), id, (uint32_t)len };
	if (!d->name[d->names].text)
		return -ENOMEM;
	memcpy(d->name[d->names].text, text, len);
	d->name[d->names++].text[len] = 0;
	return 0;
}

static int add_track(void *arg, const struct track *l)
{
	struct dict *d = arg;
	int err = grow(&d->track, d->tracks, sizeof(*d->track));

	if (err == 0)
		d->track[d->tracks++].track = *l;
	return err;
}

static int add_geo(void *arg, const struct geo *g)
{
	struct dict *d = arg;
	int err = grow(&d->geo, d->geos, sizeof(*d->geo));

	if (err == 0)
		d->geo[d->geos++] = *g;
	return err;
}

static int add_process(void *arg, const struct process *p)
{
	struct dict *d = arg;
	int err = grow(&d->process, d->processes, sizeof(*d->process));

	if (err == 0)
		d->process[d->processes++] = *p;
	return err;
}

/*
 * Indexes the entries from 1 on; `id` points to the id of the first, the next is `size` bytes
 * further.
 */
static int index_ids(struct dict_map *m, const void *entries, size_t id, size_t size, uint32_t n)
{
	const char *p = (const char *)entries + id;
	uint32_t lo = UINT32_MAX, hi = 0, v;

	for (uint32_t i = 1; i < n; i++) {
		memcpy(&v, p + i * size, sizeof(v));
		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
	}
	if (n < 2)
		return 0;
	m->first = lo;
	m->span = hi - lo < MAP_SPARE ? hi - lo + 1 : MAP_SPARE;
	m->at = calloc(m->span, sizeof(*m->at));
	if (!m->at)
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++) {
		memcpy(&v, p + i * size, sizeof(v));
		if (v - lo < m->span)
			m->at[v - lo] = i;
	}
	return 0;
}

#define INDEX(d, what, id)                                                          \
	index_ids(&(d)->by_##what, (d)->what, offsetof(__typeof__(*(d)->what), id), \
		  sizeof(*(d)->what), (d)->what##s)

static int index_all(struct dict *d)
{
	int err = INDEX(d, name, id);

	if (err == 0)
		err = INDEX(d, track, track.id);
	if (err == 0)
		err = INDEX(d, geo, id);
	if (err == 0)
		err = index_ids(&d->by_process, d->process, offsetof(struct process, id),
				sizeof(*d->process), d->processes);
	for (uint32_t i = 1; err == 0 && i < d->tracks; i++)
		d->track[i].process = dict_at(&d->by_process, d->track[i].track.process);
	return err;
}

int dict_load(struct dict *d, struct store *st)
{
	struct dict new = { 0 };
	int err;

	/* Blobs first, then the names in them: a name is stored before the blob that uses it. */
	err = store_extent(st, &new.last_blob, &new.events);
	if (err == 0 && (grow(&new.name, 0, sizeof(*new.name)) < 0 ||
			 grow(&new.track, 0, sizeof(*new.track)) < 0 ||
			 grow(&new.geo, 0, sizeof(*new.geo)) < 0 ||
			 grow(&new.process, 0, sizeof(*new.process)) < 0))
		err = -ENOMEM;
	new.names = new.tracks = new.geos = new.processes = 1;
	if (err == 0)
		err = store_each_name(st, add_name, &new);
	if (err == 0)
		err = store_each_track(st, 0, add_track, &new);
	if (err == 0)
		err = store_each_geo(st, add_geo, &new);
	if (err == 0)
		err = store_each_process(st, add_process, &new);
	if (err == 0)
		err = index_all(&new);
	if (err < 0) {
		new.names = new.name ? new.names : 0;
		dict_fini(&new);
		return err;
	}
	dict_fini(d);
	*d = new;
	return 0;
}

int dict_classes(struct dict *d)
{
	struct names *n;
	int err;

	if (d->class)
		return 0;
	err = names_new(&n, NULL);
	if (err < 0)
		return err;
	d->class = calloc(d->names, sizeof(*d->class));
	for (uint32_t i = 1; d->class && i < d->names; i++)
		d->class[i] = class_word[names_kernel_text(n, d->name[i].text)];
	names_free(n);
	return d->class ? 0 : -ENOMEM;
}
