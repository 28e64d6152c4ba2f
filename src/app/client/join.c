/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.c - how a process finds aond, stays with it, and finds it again.
 *
 *	          no answer                     HELLO            WELCOME
 *	AWAY  <----------------  (try)  -----------> WAITING ----------> JOINED
 *	  ^  gate: the rendezvous page's next word        gate: announcement          gate: the session's
 *	  +------------------------- the socket has closed --------------+
 *
 * There is no extra thread: the thread that enters the slow path when a step is due does it, and
 * `turn` admits one thread at a time. No thread waits for the turn, except for the very first
 * answer, and then no longer than join_ms. A process keeps its segment for life: threads continue
 * to fill it while aond is away, and the next aond is offered it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <aon/aon.h>

#include "client/client.h"

#define JOIN_MS_MAX 1000u

struct client aon_client = { .sock.fd = -1, .pool.fd = -1 };

static struct client *const c = &aon_client;
#define NOTES 6u

static struct aon_msg_note
	notes[NOTES]; /* the last of each source, for every daemon; guarded by turn */

static uint32_t state(void)
{
	return atomic_load_explicit(&c->state, memory_order_acquire);
}

static void set_state(uint32_t s)
{
	atomic_store_explicit(&c->state, s, memory_order_release);
}

static bool ready(void)
{
	return atomic_load_explicit(&c->ready, memory_order_acquire) != 0;
}

static bool take_turn(void)
{
	uintptr_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&c->turn, &nobody, (uintptr_t)&aon_self,
						       memory_order_acquire, memory_order_relaxed);
}

/* And not the thread that this signal handler has interrupted. */
static bool another_has_turn(void)
{
	uintptr_t who = atomic_load_explicit(&c->turn, memory_order_relaxed);

	return who && who != (uintptr_t)&aon_self;
}

static void give_turn(void)
{
	atomic_store_explicit(&c->turn, 0, memory_order_release);
}

/* Has `ticks` passed since *last? Then it is now, and true for one caller. */
static bool due(_Atomic uint64_t *last, uint64_t tsc, uint64_t ticks)
{
	uint64_t then = atomic_load_explicit(last, memory_order_relaxed);

	return tsc - then > ticks &&
	       atomic_compare_exchange_strong_explicit(last, &then, tsc, memory_order_relaxed,
						       memory_order_relaxed);
}

bool client_quiet(void)
{
	const struct aon_gate *g = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);

	if (g && __atomic_load_n(&g->flags, __ATOMIC_RELAXED) & AON_GATE_QUIET)
		return true;
	/* aond announces it within a second, but may be too late, or gone. */
	if (!c->born_filtered && !atomic_load_explicit(&c->filtered, memory_order_relaxed) &&
	    link_filtered())
		atomic_store_explicit(&c->filtered, 1, memory_order_relaxed);
	return atomic_load_explicit(&c->filtered, memory_order_relaxed);
}

/* --- waiting for a daemon, at no cost --- */

/* Watch the word that the next daemon will set: c->generation is the one that failed us. */
static void watch_rendezvous(void)
{
	if (!c->rendezvous) {
		client_gate_off();
		return;
	}
	client_gate_watch(&c->rendezvous->generation_word[(c->generation + 1) % AON_GENERATIONS]);
}

/* For good: nothing more can come of asking. */
static void stay_silent(void)
{
	client_gate_off();
	set_state(CLIENT_INERT);
}

/* --- the segment --- */

static bool head_fits(const struct aon_seg_head *h, size_t bytes)
{
	uint64_t table = (uint64_t)h->chunk_count * sizeof(uint32_t);

	return h->magic == AON_SEG_MAGIC && h->version == AON_SEG_VERSION && h->chunk_count &&
	       h->chunk_bytes >= AON_CHUNK_BYTES_MIN && h->chunk_bytes <= AON_CHUNK_BYTES_MAX &&
	       h->state_off >= AON_PAGE && h->state_off + table <= bytes &&
	       (uint64_t)h->heap_off + h->heap_bytes <= bytes &&
	       h->chunk_off + (uint64_t)h->chunk_count * h->chunk_bytes <= bytes;
}

int client_use(void *map, size_t bytes)
{
	struct aon_seg_head *h = map;
	uint8_t *base = map;

	if (bytes < AON_PAGE || !head_fits(h, bytes))
		return -EPROTO;
	c->seg = (struct aon_seg){ .head = h,
				   .state = (_Atomic uint32_t *)(void *)(base + h->state_off),
				   .chunks = base + h->chunk_off,
				   .heap = base + h->heap_off,
				   .chunk_bytes = h->chunk_bytes,
				   .chunk_count = h->chunk_count,
				   .heap_bytes = h->heap_bytes };
	memcpy(c->pool_id, h->pool_id, sizeof(c->pool_id));
	c->seg_bytes = bytes;
	/* S: from here on a thread that interns copies for itself (intern.c), and one that
	 * loses a record counts it in the segment (emit.c). */
	atomic_store_explicit(&c->ready, 1, memory_order_seq_cst);
	intern_publish();
	client_settle();
	return 0;
}

void client_settle(void)
{
	aon_lose(&c->seg, 0, AON_LOSS_JOINING,
		 atomic_exchange_explicit(&c->early, 0, memory_order_seq_cst));
}

/* --- the conversation --- */

static int say_hello(void)
{
	struct aon_msg_hello m = {
		.head = { AON_MSG_MAGIC, AON_MSG_HELLO, sizeof(m) },
		.version = AON_MSG_VERSION,
		.features = AON_FEATURES,
		.pool_kib = c->pool_kib,
		.library = AON_VERSION,
	};

	memcpy(m.run, c->run, sizeof(m.run));
	memcpy(m.job, c->job, sizeof(m.job));
	memcpy(m.node, c->node, sizeof(m.node));
	memcpy(m.pod, c->pod, sizeof(m.pod));
	memcpy(m.namespace, c->namespace, sizeof(m.namespace));
	memcpy(m.gpus, c->gpus, sizeof(m.gpus));
	memcpy(m.account, c->account, sizeof(m.account));
	m.rank = c->rank;
	m.world = c->world;
	m.local_rank = c->local_rank;
	if (ready()) {
		m.flags = AON_HELLO_OFFER;
		memcpy(m.pool_id, c->pool_id, sizeof(m.pool_id));
	}
	return link_send(&c->sock, &m, sizeof(m), ready() ? c->pool.fd : -1);
}

static void be_away(void)
{
	link_drop(&c->sock);
	set_state(CLIENT_AWAY);
	/* While the segment has room, the session's gate stays open, so that nothing is lost. */
	if (!ready())
		watch_rendezvous();
}

static void go_and_ask(uint64_t tsc)
{
	if (ready() && !link_ours(&c->pool)) {
		stay_silent(); /* the app has closed what we would have to offer */
		return;
	}
	if (!c->rendezvous)
		c->rendezvous = link_map_rendezvous(c->run_dir);
	/* Before connecting: an aond that starts after this check makes another announcement. */
	c->generation =
		c->rendezvous ? __atomic_load_n(&c->rendezvous->generation, __ATOMIC_ACQUIRE) : 0;
	if (link_connect(c->run_dir, &c->sock) || say_hello()) {
		be_away();
		return;
	}
	atomic_store_explicit(&c->hello_tsc, tsc, memory_order_relaxed);
	set_state(CLIENT_WAITING);
	if (!ready())
		client_gate_slow();
}

static int map_gate(int fd)
{
	const struct aon_gate *g;

	/* Over the old one, which threads may be reading at this moment. */
	g = link_map(fd, AON_PAGE, false, c->gate);
	if (!g || g->magic != AON_GATE_MAGIC)
		return -EPROTO;
	__atomic_store_n(&c->gate, g, __ATOMIC_RELEASE);
	return 0;
}

static int map_pool(int fd, size_t bytes)
{
	void *map;
	int err;

	if (link_size(fd) < bytes || bytes > AON_SEG_BYTES_MAX)
		return -EPROTO;
	map = link_map(fd, bytes, true, NULL);
	if (!map)
		return -ENOMEM;
	err = client_use(map, bytes);
	if (err)
		munmap(map, bytes);
	return err;
}

/* The daemon's answer: 0 when joined. fds[] stay the caller's but for those set to -1. */
static int take_welcome(const struct aon_msg_welcome *m, int len, int fds[AON_MSG_FDS], int nfds)
{
	int err;

	if (len < (int)sizeof(*m) || m->head.magic != AON_MSG_MAGIC ||
	    m->head.type != AON_MSG_WELCOME)
		return -EPROTO;
	if (m->error)
		return m->error;
	if (ready() && !(m->flags & AON_WELCOME_KEEP))
		return -EPROTO;
	atomic_store_explicit(&c->features, m->features, memory_order_relaxed);
	if (nfds < (ready() ? 1 : 2))
		return -EMFILE; /* the app's limit, or it has none left */
	err = map_gate(fds[0]);
	if (err)
		return err;
	if (!ready()) {
		err = map_pool(fds[1], m->pool_bytes);
		if (err)
			return err;
		link_hold(fds[1], &c->pool); /* to offer it again; without it, no second daemon */
		fds[1] = -1;
	}
	return 0;
}

static void send_notes(void)
{
	for (uint32_t i = 0; i < NOTES && notes[i].head.size; i++)
		link_send(&c->sock, &notes[i], sizeof(notes[i]), -1);
}

static int hear_answer(void)
{
	struct aon_msg_welcome m; /* a longer one is cut: signal stacks are small */
	int fds[AON_MSG_FDS], nfds, n, err;

	n = link_recv(&c->sock, &m, sizeof(m), fds, &nfds);
	if (n == -EAGAIN || n == -EINTR)
		return -EAGAIN;
	err = n > 0 ? take_welcome(&m, n, fds, nfds) : -ECONNRESET;
	for (int i = 0; i < nfds; i++) {
		struct held_fd scrap;

		if (fds[i] >= 0 && !link_hold(fds[i], &scrap))
			link_drop(&scrap);
	}
	if (err) {
		be_away();
		c->refused = err;
		if (err == -EPROTO)
			stay_silent(); /* another language */
		return err;
	}
	c->refused = 0;
	set_state(CLIENT_JOINED);
	client_gate_watch(&c->gate->want);
	send_notes();
	return 0;
}

bool client_step(uint64_t tsc, unsigned wait_ms)
{
	if (state() == CLIENT_INERT || state() == CLIENT_JOINED)
		return true;
	if (!take_turn())
		return false;
	if (client_quiet()) {
		if (!ready())
			stay_silent();
		give_turn();
		return true;
	}
	if (state() == CLIENT_AWAY)
		go_and_ask(tsc);
	if (state() == CLIENT_WAITING) {
		if (wait_ms)
			link_wait(&c->sock, wait_ms);
		hear_answer();
	}
	give_turn();
	return true;
}

/* The wait is given once: an aond that is stopped must not slow the app down. */
void client_try_join(uint64_t tsc)
{
	uint64_t asked = atomic_load_explicit(&c->hello_tsc, memory_order_relaxed);

	if (state() == CLIENT_AWAY)
		client_step(tsc, asked ? 0 : c->join_ms);
	else if (due(&c->looked_tsc, tsc, tsc - asked < TICKS_1S ? TICKS_1MS : TICKS_200MS))
		client_step(tsc, 0);
	/* Who comes while the first one waits, waits with it. */
	for (uint32_t ms = 0; ms < c->join_ms && !ready() && another_has_turn(); ms++)
		if (!client_quiet())
			link_wait(NULL, 1);
}

void client_poll(uint64_t tsc)
{
	if (client_was_forked() && !client_forked())
		return;
	if (state() == CLIENT_JOINED)
		client_look(tsc);
	else if (state() != CLIENT_INERT && due(&c->tried_tsc, tsc, TICKS_1S))
		client_try_join(tsc);
}

void client_look(uint64_t tsc)
{
	if (!due(&c->looked_tsc, tsc, TICKS_200MS) || client_quiet())
		return;
	if (state() == CLIENT_JOINED && take_turn()) {
		/* Closed by the app itself: aond goes on reading our memory, we say no more. */
		if (link_gone(&c->sock) == 1)
			be_away();
		give_turn();
	}
	client_step(tsc, 0);
}

/* The segment is full: while nobody reads it, emitting is no use. */
void client_full(void)
{
	if (state() == CLIENT_AWAY && take_turn()) {
		if (state() == CLIENT_AWAY)
			watch_rendezvous();
		give_turn();
	}
}

void client_doorbell(void)
{
	static const struct aon_msg_head doorbell = { AON_MSG_MAGIC, AON_MSG_DOORBELL,
						      sizeof(doorbell) };
	_Atomic uint32_t *word = (_Atomic uint32_t *)&c->seg.head->doorbell;

	if (state() != CLIENT_JOINED || client_quiet())
		return;
	if (atomic_load_explicit(word, memory_order_relaxed) == 0 &&
	    atomic_exchange_explicit(word, 1, memory_order_relaxed) == 0)
		link_send(&c->sock, &doorbell, sizeof(doorbell), -1);
}

void client_note_send(const struct aon_msg_note *note)
{
	uint32_t i = 0;

	if ((client_was_forked() && !client_forked()) || client_quiet() || !take_turn())
		return;
	while (i < NOTES - 1 && notes[i].head.size &&
	       memcmp(notes[i].source, note->source, sizeof(note->source)))
		i++;
	notes[i] = *note;
	if (state() == CLIENT_JOINED)
		link_send(&c->sock, note, sizeof(*note), -1);
	give_turn();
}

/* --- fork, start --- */

bool client_was_forked(void)
{
	return thread_wiped();
}

/* What probes said is of the parent; what the program is written with is so of its child, too. */
static void forget_notes(void)
{
	struct aon_msg_note kept = { 0 };

	for (uint32_t i = 0; i < NOTES && notes[i].head.size; i++)
		if (!strcmp(notes[i].source, "framework"))
			kept = notes[i];
	memset(notes, 0, sizeof(notes));
	notes[0] = kept;
}

/* In a child, once: leave the parent's session alone and be a process without one. */
bool client_forked(void)
{
	if (!thread_claim_reset())
		return !thread_wiped(); /* another thread of the child is at it */
	atomic_store_explicit(&c->early, 0, memory_order_relaxed);
	atomic_store_explicit(&c->hello_tsc, 0, memory_order_relaxed);
	atomic_store_explicit(&c->features, 0, memory_order_relaxed);
	link_drop(&c->sock);
	link_drop(&c->pool);
	c->gate = NULL;                 /* stays mapped: a thread may be reading it */
	c->seg = (struct aon_seg){ 0 }; /* fork() did not map it here */
	atomic_store_explicit(&c->ready, 0, memory_order_relaxed);
	forget_notes();
	if (state() != CLIENT_INERT) {
		set_state(CLIENT_AWAY);
		client_gate_slow();
	}
	give_turn();
	thread_mark();
	return true;
}

static void copy_env(char *out, size_t cap, const char *name, const char *otherwise)
{
	const char *v = secure_getenv(name);
	size_t n;

	if (!v || !*v)
		v = otherwise;
	n = strlen(v);
	if (n >= cap)
		n = cap - 1;
	memcpy(out, v, n);
	out[n] = 0;
}

static uint32_t env_number(const char *name)
{
	const char *v = secure_getenv(name);
	uint32_t n = 0;

	for (; v && *v >= '0' && *v <= '9' && n < 1000000; v++)
		n = n * 10 + (uint32_t)(*v - '0');
	return n;
}

/* A number + 1, or 0. */
static uint32_t env_rank(const char *name)
{
	const char *v = secure_getenv(name);

	return v && *v >= '0' && *v <= '9' ? env_number(name) + 1 : 0;
}

/* Letters, digits and what joins them: a name, and no secret by accident. */
static void env_word(char *out, size_t cap, const char *name, bool cut, bool list)
{
	const char *v = secure_getenv(name);
	size_t n = 0;

	for (; v && v[n] && n < cap - 1; n++)
		if (!((v[n] >= 'a' && v[n] <= 'z') || (v[n] >= 'A' && v[n] <= 'Z') ||
		      (v[n] >= '-' && v[n] <= ':' && (v[n] != '/' || list)) || v[n] == '_' ||
		      (list && v[n] == ',')))
			return;
	if (v && v[n] && !cut) /* half a value would be another value */
		return;
	if (v && strcmp(v, "none")) /* torchrun's for no name */
		memcpy(out, v, n);
}

/* At the start alone: later the program may change its environment while we read. */
static void look_for_job(void)
{
	enum what { RANK, WORLD, LOCAL, JOB, NODE, POD, NAMESPACE, GPUS, ACCOUNT, WHATS };
	static const struct {
		enum what what;
		const char *name;
	} table[] = {
#define ENV(what, name) { what, name },
#include "client/env.tbl.h"
	};
	uint32_t *const number[] = { &c->rank, &c->world, &c->local_rank };
	const struct {
		char *to;
		size_t cap;
	} word[WHATS] = { [JOB] = { c->job, sizeof(c->job) },
			  [NODE] = { c->node, sizeof(c->node) },
			  [POD] = { c->pod, sizeof(c->pod) },
			  [NAMESPACE] = { c->namespace, sizeof(c->namespace) },
			  [GPUS] = { c->gpus, sizeof(c->gpus) },
			  [ACCOUNT] = { c->account, sizeof(c->account) } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		enum what what = table[i].what;

		if (what < JOB && !*number[what])
			*number[what] = env_rank(table[i].name);
		else if (what >= JOB && !*word[what].to)
			env_word(word[what].to, word[what].cap, table[i].name, what <= NODE,
				 what == GPUS);
	}
	c->world -= c->world != 0;
}

/* Before main(), or when dlopen() brings us: no daemon is asked until the first event. */
__attribute__((constructor)) static void start(void)
{
	int saved = errno;

	if (getauxval(AT_SECURE) || env_number(AON_ENV_OFF) || !thread_setup() || !intern_setup())
		goto out;
	copy_env(c->run_dir, sizeof(c->run_dir), AON_ENV_RUN_DIR, AON_RUN_DIR);
	copy_env(c->run, sizeof(c->run), AON_ENV_RUN, "");
	look_for_job();
	c->pool_kib = env_number(AON_ENV_POOL_KIB);
	c->join_ms = env_number(AON_ENV_JOIN_MS);
	if (c->join_ms == 0)
		c->join_ms = 1;
	if (c->join_ms > JOIN_MS_MAX)
		c->join_ms = JOIN_MS_MAX;
	c->born_filtered = link_born_filtered();
	set_state(CLIENT_AWAY);
	c->rendezvous = link_map_rendezvous(c->run_dir);
	if (c->rendezvous)
		client_gate_slow();
out:
	errno = saved;
}

/* A process that ends before aond's answer came takes it now: its losses are to be counted. */
__attribute__((destructor)) static void stop(void)
{
	struct detour d = detour_begin();

	if (state() == CLIENT_WAITING && !client_was_forked() && !client_quiet())
		client_step(aon_tsc(), c->join_ms);
	detour_end(d);
}
