/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour.c - other users of CUPTI in this process: torch.profiler (Kineto), jax.profiler, tools.
 *
 * The buffers, the enabled kinds and, in most versions, the subscriber are one for the process. The
 * probe must be gone before another tool begins, and may return only when it has ended. It learns of
 * both in two ways:
 *
 *	a library that links with libcupti    its imported functions lead here first (got.h)
 *	profilers that load libcupti          aon's hooks in Python ask libaon for room
 *
 *	their call                       before it          after it
 *	Subscribe, RegisterCallbacks     the probe leaves
 *	Enable(kind)                     the probe leaves   the kind is theirs
 *	Disable(kind), Unsubscribe                          the kind or the subscriber is free again
 *	Finalize                         the probe leaves   nothing is theirs
 *
 * The caller waits until the probe's thread has left CUPTI, at most LEAVE_MS. The thread waits for
 * no lock of the program's, so the two cannot wait for each other.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/clock.h"
#include "probe/cuda/cuda.h"
#include "probe/got.h"

#define LEAVE_MS 30000u /* without a CPU for the probe's thread; else some tens of milliseconds */
#define QUIET_NS 1000000000ull  /* after their last call: a profiler with a schedule begins again */
#define BEGIN_NS 60000000000ull /* after a call that begins, until they enable a kind */

/* clang-format off */
#define CALLS(X)                                                                \
	X(Subscribe, (void **sub, void *fn, void *user))                        \
	X(Subscribe_v2, (void **sub, void *fn, void *user, void *params))       \
	X(Unsubscribe, (void *sub))                                             \
	X(ActivityRegisterCallbacks, (void *request, void *complete))           \
	X(ActivityRegisterCallbacks_v2, (void *sub, void *request, void *done)) \
	X(ActivityEnable, (int kind))                                           \
	X(ActivityEnable_v2, (void *sub, int kind, void *config))               \
	X(ActivityDisable, (int kind))                                          \
	X(ActivityDisable_v2, (void *sub, int kind, void *config))              \
	X(Finalize, (void))
/* clang-format on */
#define REAL(name, args) static int(*real_##name) args;
CALLS(REAL)

/* --- what they have --- */

static void touch(struct neighbour *n)
{
	atomic_store_explicit(&n->last_ns, clock_mono_ns(), memory_order_relaxed);
}

static struct neighbour *them(void)
{
	return cuda && cuda->on ? &cuda->neighbour : NULL; /* a child of fork() has none */
}

static int set_kind(int kind, bool on, int err)
{
	uint64_t bit = 1ull << (kind & 63);
	struct neighbour *n = them();

	if (!n || kind < 0 || kind >= 128 || (on && err))
		return err;
	atomic_store_explicit(&n->beginning, 0, memory_order_relaxed);
	if (on)
		atomic_fetch_or_explicit(&n->kinds[kind / 64], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&n->kinds[kind / 64], ~bit, memory_order_relaxed);
	touch(n);
	return err;
}

static int set_sub(bool on, int err)
{
	struct neighbour *n = them();

	if (!n || err)
		return err;
	if (on)
		atomic_fetch_add_explicit(&n->subs, 1, memory_order_relaxed);
	else if (atomic_load_explicit(&n->subs, memory_order_relaxed))
		atomic_fetch_sub_explicit(&n->subs, 1, memory_order_relaxed);
	if (!on)
		atomic_store_explicit(&n->beginning, 0, memory_order_relaxed);
	touch(n);
	return err;
}

bool neighbour_busy(struct cuda *c)
{
	struct neighbour *n = &c->neighbour;
	uint64_t last = atomic_load_explicit(&n->last_ns, memory_order_relaxed);
	uint64_t quiet =
		atomic_load_explicit(&n->beginning, memory_order_relaxed) ? BEGIN_NS : QUIET_NS;

	return atomic_load_explicit(&n->kinds[0], memory_order_relaxed) ||
	       atomic_load_explicit(&n->kinds[1], memory_order_relaxed) ||
	       atomic_load_explicit(&n->rooms, memory_order_relaxed) ||
	       (last && clock_mono_ns() - last < quiet);
}

bool neighbour_subscribed(struct cuda *c)
{
	return atomic_load_explicit(&c->neighbour.subs, memory_order_relaxed) > 0;
}

/* --- on their thread --- */

static void comes(const char *who)
{
	struct neighbour *n = them();
	int saved = errno;

	if (!n)
		return;
	touch(n);
	strncpy(n->who, who, sizeof(n->who) - 1);
	keep_yield(cuda, LEAVE_MS);
	touch(n);
	errno = saved;
}

/* The library that the call comes from is the tool's name. */
static void called(void *from)
{
	const char *name = "another tool", *slash;
	Dl_info lib;

	if (dladdr(__builtin_extract_return_addr(from), &lib) && lib.dli_fname) {
		slash = strrchr(lib.dli_fname, '/');
		name = slash ? slash + 1 : lib.dli_fname;
	}
	comes(name);
}

#define COMES() called(__builtin_return_address(0))

/* Their buffers are registered, or they have subscribed: kinds follow, and must find that so. */
static int begins(int err)
{
	struct neighbour *n = them();

	if (n && !err)
		atomic_store_explicit(&n->beginning, 1, memory_order_relaxed);
	return err;
}

static int on_Subscribe(void **sub, void *fn, void *user)
{
	COMES();
	return begins(set_sub(true, real_Subscribe(sub, fn, user)));
}

static int on_Subscribe_v2(void **sub, void *fn, void *user, void *params)
{
	COMES();
	return begins(set_sub(true, real_Subscribe_v2(sub, fn, user, params)));
}

static int on_Unsubscribe(void *sub)
{
	return set_sub(false, real_Unsubscribe(sub));
}

static int on_ActivityRegisterCallbacks(void *request, void *complete)
{
	COMES();
	return begins(real_ActivityRegisterCallbacks(request, complete));
}

static int on_ActivityRegisterCallbacks_v2(void *sub, void *request, void *complete)
{
	COMES();
	return begins(real_ActivityRegisterCallbacks_v2(sub, request, complete));
}

static int on_ActivityEnable(int kind)
{
	COMES();
	return set_kind(kind, true, real_ActivityEnable(kind));
}

static int on_ActivityEnable_v2(void *sub, int kind, void *config)
{
	COMES();
	return set_kind(kind, true, real_ActivityEnable_v2(sub, kind, config));
}

static int on_ActivityDisable(int kind)
{
	return set_kind(kind, false, real_ActivityDisable(kind));
}

static int on_ActivityDisable_v2(void *sub, int kind, void *config)
{
	return set_kind(kind, false, real_ActivityDisable_v2(sub, kind, config));
}

static int on_Finalize(void)
{
	struct neighbour *n = them();
	int err;

	COMES();
	err = real_Finalize();
	if (n) {
		atomic_store_explicit(&n->kinds[0], 0, memory_order_relaxed);
		atomic_store_explicit(&n->kinds[1], 0, memory_order_relaxed);
		atomic_store_explicit(&n->subs, 0, memory_order_relaxed);
	}
	return err;
}

/* NULL: the tool that asked for room has ended. */
static void on_room(const char *who)
{
	struct neighbour *n = them();

	if (!n)
		return;
	if (who) {
		atomic_fetch_add_explicit(&n->rooms, 1, memory_order_relaxed);
		comes(who);
	} else if (atomic_load_explicit(&n->rooms, memory_order_relaxed)) {
		atomic_fetch_sub_explicit(&n->rooms, 1, memory_order_relaxed);
		touch(n);
	}
}

/* --- taking the entries --- */

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
#define PLACE(name, args) { "cupti" #name, (void *)on_##name },
	static const struct got_place places[] = { CALLS(PLACE) };
	struct neighbour *n = arg;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) && info->dlpi_adds == n->adds)
		return 1; /* nothing was loaded since */
	if (got_needs(info, n->soname))
		got_take(info, places, sizeof(places) / sizeof(places[0]));
	n->adds_next = info->dlpi_adds;
	return 0;
}

/* Libraries come at any time: again at every tick. */
void neighbour_look(struct cuda *c)
{
	if (c->neighbour.soname && !dl_iterate_phdr(look, &c->neighbour))
		c->neighbour.adds = c->neighbour.adds_next;
}

static void find(struct cuda *c, void *slot, const char *name)
{
	void *fn = dlsym(c->api.lib, name);

	memcpy(slot, &fn, sizeof(fn));
}

/*
 * Only calls of the libcupti that the probe uses are taken: those of another one in the process lead
 * elsewhere. A library that imports a call which libcupti does not have would not have been loaded.
 */
void neighbour_setup(struct cuda *c)
{
#define FIND(name, args) find(c, &real_##name, "cupti" #name);
	CALLS(FIND)
	c->neighbour.soname = got_soname(c->api.lib);
	aon_room_serve(on_room);
	neighbour_look(c);
}
