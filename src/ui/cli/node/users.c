/* SPDX-License-Identifier: Apache-2.0 */
/* users.c - see users.h. */
#include "cli/node/users.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/order.h"
#include "base/vec.h"
#include "cli/core/locate.h"
#include "read/procs.h"

#define LOOK_NS    250000000 /* between two looks: i915 and amdgpu count to the ms */
#define PYTHON_MAX 256u      /* processes of Python without a GPU that are looked into */

/* --- a process --- */

static void read_text(const char *root, pid_t pid, const char *name, char *out, size_t cap)
{
	char path[PATH_MAX];
	ssize_t n;

	*out = '\0';
	if (snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, name) >=
	    (int)sizeof(path))
		return;
	n = file_text(AT_FDCWD, path, out, cap);
	out[n > 0 ? n : 0] = '\0';
	while (n > 0 && (!out[n - 1] || out[n - 1] == '\n'))
		out[--n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		if (!out[i])
			out[i] = ' ';
}

static struct user *add(struct users *u, const char *root, pid_t pid)
{
	struct user *x;

	if (vec_more(&u->user, u->n, sizeof(*u->user)) < 0)
		return NULL;
	x = &u->user[u->n++];
	memset(x, 0, sizeof(*x));
	x->pid = pid;
	read_text(root, pid, "comm", x->comm, sizeof(x->comm));
	read_text(root, pid, "cmdline", x->command, sizeof(x->command));
	x->seen = maps_read(&x->maps, root, pid) == 0;
	return x;
}

static void from_gpus(struct users *u, const char *root)
{
	uint32_t n;
	const struct gpu_use *use = gpu_scan_uses(u->scan, &n);

	for (uint32_t i = 0, k; i < n; i = k) {
		bool is = false, worker = true;
		struct user *x;

		for (k = i; k < n && use[k].pid == use[i].pid; k++) {
			is |= gpu_use_is(&use[k]);
			worker &= use[k].inherited || !gpu_use_is(&use[k]);
		}
		x = is ? add(u, root, use[i].pid) : NULL;
		if (!x)
			continue;
		x->use = &use[i];
		x->uses = k - i;
		x->uid = use[i].uid;
		x->start = use[i].start;
		x->parent = use[i].parent;
		x->worker = worker;
	}
}

static struct user *find(const struct users *u, pid_t pid)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->user[i].pid == pid)
			return &u->user[i];
	return NULL;
}

/* Those that have a framework of training mapped: as users of a GPU in waiting, or on CPUs. */
static void from_python(struct users *u, const char *root)
{
	const pid_t *pid;
	uint32_t n, looked = 0;

	pid = gpu_scan_pids(u->scan, &n);
	for (uint32_t i = 0; i < n && looked < PYTHON_MAX; i++) {
		struct gpu_use id = { .pid = pid[i] };
		struct user *x;

		if (find(u, pid[i]) || !maps_is_python(root, pid[i]))
			continue;
		looked++;
		x = add(u, root, pid[i]);
		if (!x)
			return;
		if (!x->maps.frameworks) {
			u->n--;
			continue;
		}
		gpu_scan_identity(u->scan, &id);
		x->uid = id.uid;
		x->start = id.start;
		x->parent = id.parent;
	}
	/* A worker that was forked off has mapped what its parent had. */
	for (uint32_t i = 0; i < u->n; i++) {
		const struct user *up = find(u, u->user[i].parent);

		if (!u->user[i].uses && up)
			u->user[i].worker |= !strcmp(up->command, u->user[i].command);
	}
}

/* --- recorded or not --- */

/* Why it is not recorded, and the one command that changes that. */
static void explain(struct user *x, const struct users_want *w)
{
	char dir[PATH_MAX] = "", name[64];

	snprintf(x->fix, sizeof(x->fix), "aon run -- %s", *x->command ? x->command : x->comm);
	if (!*w->root && x->maps.aon)
		locate_run_dir_of(x->pid, dir);
	if (!x->seen) {
		snprintf(x->why, sizeof(x->why), "%s and belongs to %s, who can record it",
			 w->ps ? "it has no session with this aond"
			       : "it may be recorded: no store is readable here,",
			 procs_user(x->uid, name, sizeof(name)));
	} else if (!x->maps.aon) {
		snprintf(x->why, sizeof(x->why),
			 "it was started without aon, and no probe can be loaded into a running "
			 "process");
	} else if (*dir && strcmp(dir, locate_run_dir()) != 0) {
		snprintf(x->why, sizeof(x->why), "it belongs to another aond, in %.200s", dir);
		snprintf(x->fix, sizeof(x->fix), "AON_RUN_DIR=%.400s aon ps", dir);
	} else {
		snprintf(x->why, sizeof(x->why), "it has aon's library, and no session: %s",
			 w->ps ? "aond refused it, or it has not emitted anything"
			       : "no store of an aond is readable here");
		snprintf(x->fix, sizeof(x->fix), "aon doctor");
	}
}

static void judge(struct users *u, const struct users_want *w)
{
	for (uint32_t i = 0; i < u->n; i++) {
		struct user *x = &u->user[i];

		for (size_t k = 0; w->ps && k < w->ps->n && !x->recorded; k++)
			x->recorded = w->ps->p[k].pid == (uint32_t)x->pid &&
				      w->ps->p[k].pid_start == x->start && w->ps->p[k].connected;
		if (x->recorded || x->worker)
			continue;
		u->unrecorded++;
		explain(x, w);
	}
}

static int user_cmp(const void *a, const void *b)
{
	return cmp_num(((const struct user *)a)->pid, ((const struct user *)b)->pid);
}

static bool has_engines(const struct users *u)
{
	uint32_t n;
	const struct gpu_use *use = gpu_scan_uses(u->scan, &n);

	for (uint32_t i = 0; i < n; i++)
		if (use[i].engines)
			return true;
	return false;
}

int users_load(struct users *u, const struct users_want *w)
{
	struct timespec look = { .tv_nsec = LOOK_NS };
	int err;

	memset(u, 0, sizeof(*u));
	err = gpu_scan_new(&u->scan, w->root);
	if (err)
		return err;
	gpu_scan_poll(u->scan, clock_mono_ns(), true);
	u->hidden = gpu_scan_count(u->scan)->denied;
	if (w->shares && has_engines(u)) {
		nanosleep(&look, NULL);
		gpu_scan_poll(u->scan, clock_mono_ns(), false);
	}
	from_gpus(u, w->root);
	from_python(u, w->root);
	qsort(u->user, u->n, u->n ? sizeof(*u->user) : 1, user_cmp);
	judge(u, w);
	return 0;
}

void users_fini(struct users *u)
{
	gpu_scan_free(u->scan);
	free(u->user);
	memset(u, 0, sizeof(*u));
}

const struct user *users_of(const struct users *u, uint32_t pid, uint64_t start)
{
	const struct user *x = find(u, (pid_t)pid);

	return x && x->start == start && x->uses ? x : NULL;
}

/* --- what they use --- */

double user_share(const struct user *x)
{
	const char *engine;
	double best = NAN;

	for (uint32_t i = 0; i < x->uses; i++) {
		double v = gpu_use_share(&x->use[i], &engine);

		if (!isnan(v) && (isnan(best) || v > best))
			best = v;
	}
	return best;
}

bool user_memory(const struct user *x, uint64_t *bytes)
{
	bool any = false;
	uint64_t v;

	*bytes = 0;
	for (uint32_t i = 0; i < x->uses; i++)
		if (gpu_use_memory(&x->use[i], &v)) {
			*bytes += v;
			any = true;
		}
	return any;
}

static void frameworks(const struct user *x, char *out, size_t cap)
{
	size_t n = 0;

	*out = '\0';
	for (unsigned i = 0; i < FRAMEWORKS; i++)
		if (x->maps.frameworks >> i & 1 && n < cap)
			n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? ", " : "",
					      framework_name[i]);
}

static void put_gpu(const struct out *out, const struct users *u, const struct gpu_use *use)
{
	const char *engine = "";
	double share = gpu_use_share(use, &engine);
	char busy[FMT_LEN + 64] = "", n[FMT_LEN], memory[FMT_LEN + 8] = "";
	uint64_t bytes;

	if (!isnan(share))
		snprintf(busy, sizeof(busy), "  %s %s %%", engine, fmt_percent(n, share));
	if (gpu_use_memory(use, &bytes))
		snprintf(memory, sizeof(memory), "  %s", fmt_bytes(n, bytes));
	out_line(out, OUT_PLAIN, "    %s%s%s", gpu_scan_devices(u->scan)->d[use->device].name, busy,
		 memory);
}

static void put_user(const struct out *out, const struct users *u, const struct user *x)
{
	char name[64], with[64], clean[OUT_TEXT];

	frameworks(x, with, sizeof(with));
	out_line(out, OUT_BOLD, "  %d  %s%s%s  %s", (int)x->pid,
		 procs_user(x->uid, name, sizeof(name)), *with ? "  " : "", with,
		 fmt_clean(clean, sizeof(clean), *x->command ? x->command : x->comm, out->ascii));
	for (uint32_t i = 0; i < x->uses; i++)
		if (gpu_use_is(&x->use[i]))
			put_gpu(out, u, &x->use[i]);
	out_line(out, OUT_PLAIN, "    %s", fmt_clean(clean, sizeof(clean), x->why, out->ascii));
	out_line(out, OUT_PLAIN, "    -> %s", fmt_clean(clean, sizeof(clean), x->fix, out->ascii));
}

void users_text(const struct users *u, const struct out *out)
{
	if (u->unrecorded)
		out_line(out, OUT_PLAIN, "Not recorded:");
	for (uint32_t i = 0; i < u->n; i++)
		if (!u->user[i].recorded && !u->user[i].worker)
			put_user(out, u, &u->user[i]);
}

/* --- JSON --- */

static void gpu_json(struct json *j, const struct users *u, const struct gpu_use *use)
{
	const struct gpu_device *d = &gpu_scan_devices(u->scan)->d[use->device];
	uint64_t bytes = 0;
	bool has = gpu_use_memory(use, &bytes);

	json_open(j, NULL, '{');
	json_members(j, J_STR("device", d->name), J_STR("driver", *d->driver ? d->driver : NULL),
		     J_U64_IF("memory_bytes", has, bytes),
		     J_U64_IF("queues", use->by & GPU_BY_KFD, use->kfd.queues));
	json_open(j, "engines", '[');
	for (uint32_t i = 0; i < use->engines; i++) {
		const struct gpu_engine *e = &use->engine[i];

		json_object(j, NULL, J_STR("engine", e->name), J_REAL("share", e->share),
			    J_U64("count", e->capacity),
			    J_REAL("busy_s", e->has_ns ? e->busy_s : NAN));
	}
	json_close(j);
	json_open(j, "regions", '[');
	for (uint32_t i = 0; i < use->regions; i++) {
		const struct fdinfo_region *r = &use->region[i];

		json_open(j, NULL, '{');
		json_str(j, "region", r->name);
		for (unsigned k = 0; k < FDINFO_KINDS; k++)
			if (r->has >> k & 1)
				json_u64(j, fdinfo_kind_name[k], r->bytes[k]);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

void user_gpus_json(struct json *j, const struct users *u, const struct user *x)
{
	json_open(j, "gpus", '[');
	for (uint32_t i = 0; x && i < x->uses; i++)
		if (gpu_use_is(&x->use[i]))
			gpu_json(j, u, &x->use[i]);
	json_close(j);
}

void users_json(struct json *j, const struct users *u)
{
	json_open(j, "unrecorded", '[');
	for (uint32_t i = 0; i < u->n; i++) {
		const struct user *x = &u->user[i];

		if (x->recorded || x->worker)
			continue;
		json_open(j, NULL, '{');
		json_members(j, J_U64("pid", x->pid), J_U64("uid", x->uid), J_STR("comm", x->comm),
			     J_STR("command", x->command));
		json_open(j, "frameworks", '[');
		for (unsigned k = 0; k < FRAMEWORKS; k++)
			if (x->maps.frameworks >> k & 1)
				json_str(j, NULL, framework_name[k]);
		json_close(j);
		user_gpus_json(j, u, x);
		json_members(j, J_STR("why", x->why), J_STR("record", x->fix));
		json_close(j);
	}
	json_close(j);
	json_u64(j, "hidden", u->hidden);
}
