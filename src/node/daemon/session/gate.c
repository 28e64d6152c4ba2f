/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - one page, mapped by aond, then sealed against every other writer. */
#include "daemon/session/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <aon/aon.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

int gate_open(struct gate *g)
{
	void *map;
	int fd, err;

	fd = memfd_create("aon-gate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, AON_PAGE) < 0)
		goto close_fd;
	map = mmap(NULL, AON_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		goto close_fd;
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
		goto unmap;
	g->fd = fd;
	g->map = map;
	g->map->magic = AON_GATE_MAGIC;
	return 0;

unmap:
	err = errno;
	munmap(map, AON_PAGE);
	errno = err;
close_fd:
	err = -errno;
	close(fd);
	return err;
}

void gate_close(struct gate *g)
{
	if (!g->map)
		return;
	munmap(g->map, AON_PAGE);
	close(g->fd);
	g->map = NULL;
	g->fd = -1;
}

/* A set of AON_WANT_*. */
static uint32_t gate_wants(enum tier tier)
{
	switch (tier) {
	case TIER_OFF:
		return 0;
	case TIER_HEARTBEAT:
		return AON_WANT_STEP;
	case TIER_ROLLUP:
	case TIER_FLIGHT:
		return AON_WANT_ALL & ~AON_WANT_API;
	case TIER_FULL:
		return AON_WANT_ALL;
	}
	return 0;
}

/* What an unsampled step still shows: that it was there, and ranges, whose ends would be
 * missing where they began before it. */
#define WANT_OFF (AON_WANT_STEP | AON_WANT_RANGE)

/* Each word stands alone: readers act on one at a time, so relaxed stores are enough. */
static void gate_want(struct gate *g, uint32_t want)
{
	__atomic_store_n(&g->map->want_tier, want, __ATOMIC_RELAXED);
	__atomic_store_n(&g->map->want, g->unsampled ? want & WANT_OFF : want, __ATOMIC_RELAXED);
	__atomic_store_n(&g->map->want_off, g->stepless ? want : want & WANT_OFF, __ATOMIC_RELAXED);
}

void gate_tier(struct gate *g, enum tier tier)
{
	__atomic_store_n(&g->map->tier, (uint32_t)tier, __ATOMIC_RELAXED);
	gate_want(g, g->locked ? 0 : gate_wants(tier) & ~(tier == TIER_FULL ? 0 : g->drop));
}

void gate_ops(struct gate *g, enum tier tier, uint32_t every)
{
	__atomic_store_n(&g->map->ops_every, tier == TIER_FULL ? 1 : every, __ATOMIC_RELAXED);
}

void gate_capture(struct gate *g, uint32_t number, uint32_t ms)
{
	__atomic_store_n(&g->map->capture_ms, ms, __ATOMIC_RELAXED);
	__atomic_store_n(&g->map->capture, number, __ATOMIC_RELEASE); /* pairs with aon_capture() */
}

void gate_room(struct gate *g, uint32_t number, uint32_t ms)
{
	__atomic_store_n(&g->map->room_ms, ms, __ATOMIC_RELAXED);
	__atomic_store_n(&g->map->room, number, __ATOMIC_RELEASE); /* pairs with aon_room() */
}

void gate_counters(struct gate *g, bool free)
{
	uint32_t flags = free ? g->map->flags & ~AON_GATE_NO_PM : g->map->flags | AON_GATE_NO_PM;

	__atomic_store_n(&g->map->flags, flags, __ATOMIC_RELAXED);
}

void gate_trial(struct gate *g, struct aon_trial t, uint64_t seed)
{
	__atomic_store_n(&g->map->seed, seed, __ATOMIC_RELAXED);
	__atomic_store_n(&g->map->trial, aon_trial_word(t), __ATOMIC_RELEASE); /* client_trial() */
}

void gate_shut(struct gate *g)
{
	gate_want(g, 0);
}

void gate_lock(struct gate *g)
{
	g->locked = true;
	gate_shut(g);
}

void gate_quiet(struct gate *g)
{
	__atomic_store_n(&g->map->flags, g->map->flags | AON_GATE_QUIET, __ATOMIC_RELAXED);
}

void gate_beat(struct gate *g)
{
	__atomic_store_n(&g->map->beat, g->map->beat + 1, __ATOMIC_RELAXED);
}
