/* SPDX-License-Identifier: Apache-2.0 */
/* scan_use.c - the account of processes on devices, from what their clients said. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "gpuuse/scan_priv.h"

struct gpu_use *scan_use(struct gpu_scan *s, pid_t pid, uint32_t device)
{
	struct gpu_use *u;

	for (uint32_t i = 0; i < s->uses; i++) {
		u = &s->use[i];
		if (u->pid == pid && u->device == device) {
			if (u->poll != s->poll) {
				u->poll = s->poll;
				u->by = u->clients = u->regions = 0;
				u->kfd = (struct gpu_kfd){ 0 };
			}
			return u;
		}
	}
	if (s->uses == USES_MAX || vec_more(&s->use, s->uses, sizeof(*s->use)) < 0) {
		s->count.left++;
		return NULL;
	}
	u = &s->use[s->uses++];
	memset(u, 0, sizeof(*u));
	u->pid = pid;
	u->device = device;
	u->poll = u->since = s->poll;
	gpu_scan_identity(s, u);
	return u;
}

/* --- clients --- */

/* The client, and whether it was known before; NULL: seen in this poll already, or too many. */
static struct dri_client *client_of(struct gpu_scan *s, const struct gpu_use *u,
				    const struct fdinfo *f, bool *known)
{
	/* Without a number, several files of a process on a device are one client. */
	uint64_t id = f->has_client ? f->client : (uint64_t)u->pid;
	uint64_t key = hash_mix(hash_mix(u->device + 1, f->has_client), id);
	struct dri_client *c;
	uint32_t row;

	for (size_t at = 0; lookup_next(&s->by_key, key, &at, &row);) {
		c = &s->client[row];
		if (c->key != key || c->id != id || c->device != u->device)
			continue;
		*known = true;
		return c->poll == s->poll ? NULL : c;
	}
	*known = false;
	if (s->clients == CLIENTS_MAX || vec_more(&s->client, s->clients, sizeof(*s->client)) < 0 ||
	    lookup_put(&s->by_key, key, s->clients) < 0) {
		s->count.left++;
		return NULL;
	}
	c = &s->client[s->clients++];
	memset(c, 0, sizeof(*c));
	c->key = key;
	c->id = id;
	c->device = u->device;
	return c;
}

static struct gpu_engine *engine_of(struct gpu_scan *s, struct gpu_use *u, const char *name)
{
	for (uint32_t i = 0; i < u->engines; i++)
		if (!strcmp(u->engine[i].name, name))
			return &u->engine[i];
	if (u->engines == FDINFO_ENGINES) {
		s->count.left++;
		return NULL;
	}
	u->engine[u->engines] = (struct gpu_engine){ .capacity = 1, .share = NAN };
	snprintf(u->engine[u->engines].name, FDINFO_NAME, "%s", name);
	return &u->engine[u->engines++];
}

static void share_add(struct gpu_engine *e, double share)
{
	if (share >= 0)
		e->share = (isnan(e->share) ? 0 : e->share) + share;
}

/* A process that was there may open a client between two polls: all of its time is then new. */
static void take_engine(struct gpu_scan *s, struct gpu_use *u, struct dri_client *c, bool known,
			const struct fdinfo_engine *x)
{
	struct gpu_engine *e = engine_of(s, u, x->name);
	double passed = (double)(s->now_ns - s->before_ns);
	bool compare = s->before_ns && u->since != s->poll;
	uint32_t k = 0;

	while (k < c->engines && strcmp(c->engine[k].name, x->name) != 0)
		k++;
	if (!e || k == FDINFO_ENGINES)
		return;
	if (k == c->engines) {
		memset(&c->engine[k], 0, sizeof(c->engine[k]));
		memcpy(c->engine[k].name, x->name, FDINFO_NAME);
		c->engines++;
	}
	e->capacity = x->capacity;
	if (x->has_ns) {
		uint64_t more = x->ns > c->engine[k].ns ? x->ns - c->engine[k].ns : 0;

		e->has_ns = true;
		e->busy_s += (double)more / 1e9;
		if (compare)
			share_add(e, (double)more / passed / x->capacity);
		c->engine[k].ns += more;
	}
	if (x->has_cycles) {
		uint64_t more =
			x->cycles > c->engine[k].cycles ? x->cycles - c->engine[k].cycles : 0;
		double all = x->has_total ? (double)x->total - (double)c->engine[k].total
					  : (double)x->max_hz * passed / 1e9;

		if (!x->has_ns && compare && (known || !x->has_total) && all > 0)
			share_add(e, (double)more / all / x->capacity);
		c->engine[k].cycles += more;
		if (x->total > c->engine[k].total)
			c->engine[k].total = x->total;
	}
}

static void take_region(struct gpu_scan *s, struct gpu_use *u, const struct fdinfo_region *x)
{
	struct fdinfo_region *r = NULL;

	for (uint32_t i = 0; i < u->regions && !r; i++)
		if (!strcmp(u->region[i].name, x->name))
			r = &u->region[i];
	if (!r && u->regions == FDINFO_REGIONS) {
		s->count.left++;
		return;
	}
	if (!r) {
		r = &u->region[u->regions++];
		memset(r, 0, sizeof(*r));
		memcpy(r->name, x->name, FDINFO_NAME);
	}
	r->has |= x->has;
	for (unsigned k = 0; k < FDINFO_KINDS; k++)
		if (__builtin_add_overflow(r->bytes[k], x->bytes[k], &r->bytes[k]))
			r->bytes[k] = UINT64_MAX;
}

void scan_client(struct gpu_scan *s, struct gpu_use *u, const struct fdinfo *f)
{
	struct dri_client *c;
	bool known;

	s->count.left += f->left;
	u->by |= GPU_BY_DRM;
	c = client_of(s, u, f, &known);
	if (!c)
		return;
	c->poll = s->poll;
	u->clients++;
	for (uint32_t i = 0; i < f->engines; i++)
		take_engine(s, u, c, known, &f->engine[i]);
	for (uint32_t i = 0; i < f->regions; i++)
		take_region(s, u, &f->region[i]);
}

/* --- a poll --- */

static int by_pid(const void *a, const void *b)
{
	const struct gpu_use *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
				: (x->device > y->device) - (x->device < y->device);
}

void scan_begin(struct gpu_scan *s)
{
	for (uint32_t i = 0; i < s->uses; i++)
		for (uint32_t k = 0; k < s->use[i].engines; k++)
			s->use[i].engine[k].share = NAN;
}

void scan_end(struct gpu_scan *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->uses; i++)
		if (s->use[i].poll == s->poll)
			s->use[n++] = s->use[i];
	s->uses = n;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < s->use[i].engines; k++)
			if (s->use[i].engine[k].share > 1)
				s->use[i].engine[k].share = 1;
	if (n)
		qsort(s->use, n, sizeof(*s->use), by_pid);
	lookup_clear(&s->by_key);
	n = 0;
	for (uint32_t i = 0; i < s->clients; i++)
		if (s->client[i].poll == s->poll &&
		    lookup_put(&s->by_key, s->client[i].key, n) == 0)
			s->client[n++] = s->client[i];
	s->clients = n;
}

/* --- questions --- */

bool gpu_use_memory(const struct gpu_use *u, uint64_t *bytes)
{
	uint64_t local = 0, all = 0;
	bool has_local = false;

	for (uint32_t i = 0; i < u->regions; i++) {
		uint64_t v = fdinfo_bytes(&u->region[i]);

		has_local |= fdinfo_is_local(&u->region[i]);
		local += fdinfo_is_local(&u->region[i]) ? v : 0;
		all += v;
	}
	/* What amdkfd gave is also the memory of the DRM client that it came with. */
	if (u->kfd.has_vram && (!has_local || u->kfd.vram_bytes > local)) {
		*bytes = u->kfd.vram_bytes;
		return true;
	}
	*bytes = has_local ? local : all;
	return u->regions > 0;
}

bool gpu_use_is(const struct gpu_use *u)
{
	return u->clients || u->by & (GPU_BY_KFD | GPU_BY_UVM);
}

double gpu_use_share(const struct gpu_use *u, const char **engine)
{
	double best = NAN;

	for (uint32_t i = 0; i < u->engines; i++)
		if (!isnan(u->engine[i].share) && (isnan(best) || u->engine[i].share > best)) {
			best = u->engine[i].share;
			*engine = u->engine[i].name;
		}
	return best;
}
