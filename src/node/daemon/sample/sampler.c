/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the connection of aon-sample; see sampler.h. */
#include "daemon/sample/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/vec.h"
#include "daemon/core/aond.h"
#include "daemon/core/count.h"
#include "model/event.h"
#include "names/part.h"
#include "store/store.h"

#define READS       16u             /* messages in one turn of the loop */
#define OLD_NS      120000000000ull /* a time further back than this is a lie, */
#define AHEAD_NS    1000000000ull   /* and one that is not yet */
#define RUN         256u            /* samples of one process at a time */
#define LATELY      200u            /* samples of a process: four seconds, at 49 Hz */
#define RUNNABLE_OF 20u /* one sample of so many without a CPU: it is worth to know who has it */
#define BEFORE_NS   2000000000ull /* looks begin when it was preempted for a second or two */

/* --- stacks --- */

/* A name of samples: a quarter of the table at most, so that they leave room for work's names. */
static uint32_t name_id(struct sampler *s, const char *text, size_t len)
{
	char copy[SWIRE_TEXT + 1], clean[4 * SWIRE_TEXT + 1];
	struct plant *pl = &s->aond->plant;
	uint64_t hash = fnv_bytes(s->seed, text, len), *known;
	uint32_t id = 0;

	if (!len)
		return 0;
	known = map_find(&s->names, hash);
	if (known)
		return (uint32_t)*known;
	memcpy(copy, text, len);
	copy[len] = '\0';
	fmt_clean(clean, sizeof(clean), copy, false);
	if (s->names.used >= pl->names_max / 4 ||
	    store_name(pl->store, clean, strlen(clean), &id) < 0 || id == STORE_NAME_OTHER) {
		s->names_full = true;
		count_add(COUNT_sample_names_other, 1);
		return STORE_NAME_OTHER;
	}
	map_put(&s->names, hash, id);
	return id;
}

/* "__getitem__ (dataset.py:42)" */
static uint32_t blame_id(struct sampler *s, const struct swire_frame *f)
{
	const char *slash = memrchr(f->file, '/', f->file_len);
	size_t base = slash ? (size_t)(slash + 1 - f->file) : 0;
	char text[SWIRE_TEXT + 1];
	int n = f->file_len == base ? snprintf(text, sizeof(text), "%.*s", f->name_len, f->name)
		: f->line           ? snprintf(text, sizeof(text), "%.*s (%.*s:%u)",
                                     f->name_len > 300 ? 300 : f->name_len, f->name,
					       (int)(f->file_len - base), f->file + base, f->line)
				    : snprintf(text, sizeof(text), "%.*s (%.*s)",
                                     f->name_len > 300 ? 300 : f->name_len, f->name,
					       (int)(f->file_len - base), f->file + base);

	return name_id(s, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* The part of a step that its frames tell, as readers of raw samples find it (insight/samples). */
static enum host_part part_of(const struct parts *parts, const struct swire_frame *f, size_t n)
{
	char name[SWIRE_TEXT + 1], file[SWIRE_TEXT + 1];
	enum host_part part = HOST_PARTS;

	for (size_t i = 0; i < n && part == HOST_PARTS; i++) {
		memcpy(name, f[i].name, f[i].name_len);
		name[f[i].name_len] = '\0';
		memcpy(file, f[i].file, f[i].file_len);
		file[f[i].file_len] = '\0';
		if (!strcmp(name, "<module>")) /* an import */
			continue;
		if (f[i].kind == FRAME_PYTHON)
			part = parts_frame(parts, file, name);
		if (part == HOST_PARTS && f[i].flags & FRAME_USER)
			part = parts_function(parts, name);
	}
	return part;
}

static int on_stack(void *arg, uint32_t id, const struct swire_frame *f, size_t n)
{
	struct sampler *s = arg;
	struct stack_frame frame[STACK_FRAMES_MAX];
	struct sampled_stack x = { .n = (uint32_t)n, .blame = swire_blame(f, n) };

	if (id != s->stacks + 1)
		return -EBADMSG;
	if (vec_room(&s->stack, &s->stacks_cap, id, sizeof(*s->stack)) < 0)
		return -ENOMEM;
	x.names = malloc(n * sizeof(*x.names));
	if (!x.names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		x.names[i] = name_id(s, f[i].name, f[i].name_len);
		frame[i] = (struct stack_frame){ .name = x.names[i],
						 .file = name_id(s, f[i].file, f[i].file_len),
						 .line = f[i].line,
						 .kind = f[i].kind,
						 .flags = f[i].flags };
	}
	x.text = blame_id(s, &f[x.blame]);
	store_stack(s->aond->plant.store, frame, (uint32_t)n, &x.id);
	plant_stack(&s->aond->plant, x.id, part_of(s->aond->plant.means.parts, f, n));
	s->stack[s->stacks++] = x;
	s->aond->plant.dirty = true;
	count_add(COUNT_sample_stacks, 1);
	return 0;
}

static void drop_stacks(struct sampler *s)
{
	for (size_t i = 0; i < s->stacks; i++)
		free(s->stack[i].names);
	free(s->stack);
	s->stack = NULL;
	s->stacks = s->stacks_cap = 0;
}

/* --- samples --- */

static struct event event_of(const struct sampler *s, const struct swire_sample *w,
			     struct launchers *l)
{
	const struct sampled_stack *x = w->stack ? &s->stack[w->stack - 1] : NULL;
	struct event e = {
		.kind = EVENT_SAMPLE,
		.start_ns = (w->t_ns + SAMPLE_TICK_NS / 2) / SAMPLE_TICK_NS * SAMPLE_TICK_NS,
		.dur_ns = 100000000000ull / w->centihertz,
		.b = sample_b((enum sample_state)w->state, w->flags,
			      w->state == SAMPLE_RUNNABLE ? 0 : w->detail),
	};

	l->looked++;
	l->runnable += w->state == SAMPLE_RUNNABLE;

	if (x) {
		e.a = x->id;
		e.name = w->blame == UINT32_MAX ? 0
			 : w->blame == x->blame ? x->text
						: x->names[w->blame];
	}
	return e;
}

static struct sess *session(const struct sampler *s, uint64_t id)
{
	struct sess *x = s->aond->roster.first;

	while (x && (x->id != id || !x->stream))
		x = x->next;
	return x;
}

static bool sample_ok(const struct sampler *s, const struct swire_sample *w, uint64_t now)
{
	return w->stack <= s->stacks && w->t_ns + OLD_NS > now && w->t_ns < now + AHEAD_NS &&
	       (w->blame == UINT32_MAX || (w->stack && w->blame < s->stack[w->stack - 1].n));
}

static int on_samples(void *arg, const struct swire_sample *w, size_t n)
{
	struct sampler *s = arg;
	uint64_t now = clock_mono_ns();
	const struct sampled_thread *t;
	struct event ev[RUN];
	uint32_t tid[RUN];
	struct sess *to = NULL;
	size_t some = 0;

	for (size_t i = 0; i < n; i++)
		if (!sample_ok(s, &w[i], now))
			return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		t = sampler_thread(s, w[i].pid, w[i].tid, w[i].flags & SAMPLE_HOLDER);
		if (some && (!t || some == RUN || t->sess != to->id)) {
			stream_samples(to->stream, ev, tid, some);
			some = 0;
		}
		if (t && !some)
			to = session(s, t->sess);
		if (!t || !to) {
			count_add(COUNT_samples_unknown, 1);
			continue;
		}
		tid[some] = t->own_tid;
		ev[some++] = event_of(s, &w[i], &to->stream->launchers);
	}
	if (some)
		stream_samples(to->stream, ev, tid, some);
	return 0;
}

static int on_status(void *arg, const struct swire_status *st)
{
	struct sampler *s = arg;
	char text[SWIRE_REASON + 1], clean[sizeof(s->reason)];

	if (st->cpu_ns < s->cpu_ns || st->missed < s->missed)
		return -EBADMSG;
	count_add(COUNT_sampler_cpu_ms, st->cpu_ns / 1000000 - s->cpu_ns / 1000000);
	count_add(COUNT_samples_missed, st->missed - s->missed);
	s->cpu_ns = st->cpu_ns;
	s->missed = st->missed;
	memcpy(text, st->reason, st->reason_len);
	text[st->reason_len] = '\0';
	fmt_clean(clean, sizeof(clean), text, true);
	if (*clean && strcmp(clean, s->reason))
		log_warn("sampling: %s", clean);
	memcpy(s->reason, clean, sizeof(clean));
	return 0;
}

/* That is ours to say. */
static int on_targets(void *arg, const struct swire_target *t, size_t n)
{
	(void)arg, (void)t, (void)n;
	return -EBADMSG;
}

static int on_budget(void *arg, uint32_t permille)
{
	(void)arg, (void)permille;
	return -EBADMSG;
}

static const struct swire_fns fns = { .targets = on_targets,
				      .stack = on_stack,
				      .samples = on_samples,
				      .status = on_status,
				      .budget = on_budget };

/* --- the connection --- */

static void hang_up(struct sampler *s)
{
	if (s->conn.fd < 0)
		return;
	loop_del(&s->aond->loop, &s->conn);
	close(s->conn.fd);
	s->conn.fd = -1;
	s->peer = 0;
	s->deaf = s->told = false;
	s->cpu_ns = s->missed = s->cpu_before_ns = 0;
	*s->reason = '\0';
	drop_stacks(s);
	count_add(COUNT_sampler_ends, s->targets != 0);
}

static void on_said(struct watch *w, uint32_t events)
{
	static _Alignas(8) uint8_t msg[SWIRE_BYTES];
	struct sampler *s = container_of(w, struct sampler, conn);
	int err = 0;

	(void)events;
	for (unsigned i = 0; i < READS && !err; i++) {
		ssize_t n = recv(w->fd, msg, sizeof(msg), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			hang_up(s);
			return;
		}
		err = swire_read(msg, (size_t)n, &fns, s);
		s->bytes += (uint64_t)n;
		if (!err && s->bytes > SAMPLER_RATE) {
			s->deaf = true;
			count_add(COUNT_sampler_deaf, 1);
			loop_mod(&s->aond->loop, w, 0);
			return;
		}
	}
	if (!err)
		return;
	count_add(COUNT_sampler_bad, 1);
	log_warn("sampler, pid %d: %s; connection ended", (int)s->peer,
		 err == -EBADMSG ? "says what cannot be" : strerror(-err));
	hang_up(s);
}

/* Root, or our own user. Who is in our group may read the store, but not say what programs do, nor keep
 * the sampler away. */
static bool may_sample(int fd, pid_t *pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	*pid = cred.pid;
	return !cred.uid || cred.uid == geteuid();
}

static void on_connect(struct watch *w, uint32_t events)
{
	struct sampler *s = container_of(w, struct sampler, listen);
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	pid_t pid = 0;

	(void)events;
	if (fd < 0)
		return;
	if (s->conn.fd >= 0 || !may_sample(fd, &pid)) {
		count_add(COUNT_sampler_refused, 1);
		close(fd);
		return;
	}
	s->conn = (struct watch){ fd, on_said };
	if (loop_add(&s->aond->loop, &s->conn, EPOLLIN) < 0) {
		close(fd);
		s->conn.fd = -1;
		return;
	}
	s->peer = pid;
	s->told = false;
	s->budget = -1;
	s->bytes = 0;
	log_info("sampler: pid %d", (int)pid);
	sampler_aim(s, clock_mono_ns());
}

/* --- who takes their CPUs --- */

/* The thread of the process that is asked for first. */
static const struct sampled_thread *first_thread(const struct sampler *s, uint64_t sess)
{
	for (size_t i = 0; i < s->targets; i++)
		if (s->thread[i].sess == sess)
			return &s->thread[i];
	return NULL;
}

/* Is the process kept from running, so that it is worth to know by whom? Lately: counts fade away. */
static bool is_preempted(struct launchers *l)
{
	if (l->looked > LATELY) {
		l->looked /= 2;
		l->runnable /= 2;
	}
	return l->runnable * RUNNABLE_OF > l->looked;
}

/* Of samples that wait to be stored: that is known only afterwards. */
static void find_takers(struct sampler *s, uint64_t now)
{
	uint64_t since = s->preempt.look_ns;
	bool any = false;

	for (struct sess *x = s->aond->roster.first; x; x = x->next)
		any |= x->stream && is_preempted(&x->stream->launchers);
	if (!any || !preempt_look(&s->preempt, now))
		return;
	for (struct sess *x = s->aond->roster.first; x; x = x->next) {
		const struct sampled_thread *t = NULL;
		char who[PREEMPT_TEXT];

		if (x->stream && is_preempted(&x->stream->launchers))
			t = first_thread(s, x->id);
		if (t && preempt_who(&s->preempt, (pid_t)t->pid, (pid_t)t->tid, who))
			stream_preempted(x->stream, since - BEFORE_NS,
					 name_id(s, who, strlen(who)));
	}
}

/* --- the whole --- */

int sampler_init(struct sampler *s, struct aond *d, int listen_fd)
{
	*s = (struct sampler){
		.aond = d, .listen = { listen_fd, on_connect }, .conn = { -1, on_said }, .wait_s = 1
	};
	s->run_dir = d->param.run_dir.s;
	s->ours = !geteuid() || !d->given[0]; /* a service of another user may read nobody */
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) < 0)
		s->seed = clock_mono_ns();
	return loop_add(&d->loop, &s->listen, EPOLLIN);
}

void sampler_fini(struct sampler *s)
{
	s->targets = 0;
	hang_up(s);
	sampler_child_end(s);
	loop_del(&s->aond->loop, &s->listen);
	close(s->listen.fd);
	map_fini(&s->names);
	map_fini(&s->users);
	map_fini(&s->waiting);
	preempt_fini(&s->preempt);
}

void sampler_tick(struct sampler *s, uint64_t now)
{
	s->bytes = 0;
	if (s->deaf && s->conn.fd >= 0)
		loop_mod(&s->aond->loop, &s->conn, EPOLLIN);
	s->deaf = false;
	find_takers(s, now);
	sampler_budget(s, now);
	sampler_aim(s, now);
	sampler_child(s, now, s->aond->param.sample);
}

const char *sampler_why(const struct sampler *s)
{
	if (!s->aond->param.sample)
		return "off: setting sample";
	if (s->level == SAMPLER_OFF || s->shed.level)
		return "off: over the budget of CPU";
	if (*s->reason)
		return s->reason;
	if (s->names_full)
		return "new functions are stored as (other): a quarter of names_max is used up";
	if (s->conn.fd >= 0 || !s->aond->roster.count)
		return "";
	if (!s->ours)
		return "no sampler is here: start aon-sample.service";
	return s->missing ? "aon-sample is not installed" : "aon-sample does not run";
}

void sampler_json(const struct sampler *s, struct json *j)
{
	json_open(j, "sampler", '{');
	json_bool(j, "on", s->conn.fd >= 0 && s->targets);
	json_u64(j, "pid", (uint64_t)s->peer);
	json_u64(j, "threads", s->targets);
	json_real(j, "cpu_percent", s->percent);
	json_str(j, "why", sampler_why(s));
	json_close(j);
}
