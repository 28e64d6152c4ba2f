/* SPDX-License-Identifier: Apache-2.0 */
/* A run that is too large to be loaded: what is said of it is what would be said if it were. */
#include "runkit.h"
#include "serve/analysis.h"
#include "storekit.h"

static void must(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	abort();
}

/* Of the store, by those of the trace. */
static uint32_t name_id[4096], track_id[64];

/* As aon records it: own kinds for operators and modules, no External ids. */
static struct event as_recorded(const struct event *e)
{
	struct event to = *e;

	to.name = name_id[e->name];
	to.track = track_id[e->track];
	if (e->kind != EVENT_RANGE)
		return to;
	if (e->a == TRACE_OP) {
		to.kind = EVENT_OP;
		to.a = trace_op_backward(e);
		to.corr = trace_op_sequence(e);
	} else if (e->a == TRACE_MODULE) {
		to.kind = EVENT_MODULE;
	} else {
		to.a = 0;
	}
	to.b = 0;
	return to;
}

static void put_rows(struct store *st, const struct trace *t, struct process *p)
{
	memset(name_id, 0, sizeof(name_id));
	memset(track_id, 0, sizeof(track_id));
	for (uint32_t i = 1; i < t->names && i < T_LEN(name_id); i++)
		must(store_name(st, t->name[i].s, t->name[i].len, &name_id[i]), "name");
	for (uint32_t r = 0; r < t->processes; r++) {
		p[r] = (struct process){ .pid = 100 + r,
					 .pid_start = 7,
					 .boot_id = { 1, 2 },
					 .pool_id = { r, 3 },
					 .comm = "train",
					 .exe = "/usr/bin/train",
					 .job = "job",
					 .first_ns = 1,
					 .origin = { .rank = r + 1, .world = RUN_RANKS } };
		must(store_process(st, &p[r]), "process");
	}
	for (uint32_t i = 0; i < t->tracks && i < T_LEN(track_id); i++) {
		const struct trace_track *from = &t->track[i];
		struct track l = { .process = p[from->process].id,
				   .stream = from->stream,
				   .device = from->device == TRACK_HOST
						     ? TRACK_HOST
						     : t->device[from->device].device };

		must(store_track(st, &l, &track_id[i]), "lane");
	}
}

static int by_end(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	uint64_t ex = x->start_ns + x->dur_ns, ey = y->start_ns + y->dur_ns;

	return ex < ey ? -1 : ex > ey;
}

static void put_events(struct store *st, struct process *p, const struct event *ev, size_t n,
		       size_t each)
{
	struct blob_packer *z;
	struct blob_enc *e;

	must(blob_packer_new(&z), "packer");
	must(blob_enc_new(&e), "encoder");
	for (size_t i = 0; i < n; i += each) {
		size_t some = n - i < each ? n - i : each;
		struct blob b = { 0 };

		if (blob_add(e, ev + i, some) != some)
			abort();
		must(blob_seal(e, &b), "seal");
		must(blob_pack(z, &b), "pack");
		must(store_blob(st, p->id, &b), "blob");
		p->account.emitted += b.records;
		p->account.stored += b.records;
		blob_fini(&b);
	}
	p->last_ns = ev[n - 1].start_ns + ev[n - 1].dur_ns;
	must(store_process(st, p), "account");
	blob_enc_free(e);
	blob_packer_free(z);
}

/* Events as they ended, process by process; in small blobs, so that there is where to cut. */
static size_t make_store(const char *path, uint64_t with)
{
	struct store *st = kit_open(path, 0, 0);
	struct trace *t = run_make(with);
	struct event *ev = malloc(t->events * sizeof(*ev));
	struct process p[RUN_RANKS];
	size_t all = t->events;

	put_rows(st, t, p);
	for (uint32_t r = 0; ev && r < t->processes; r++) {
		size_t n = 0;

		for (size_t i = 0; i < t->events; i++)
			if (t->track[t->event[i].track].process == r)
				ev[n++] = as_recorded(&t->event[i]);
		qsort(ev, n, sizeof(*ev), by_end);
		put_events(st, &p[r], ev, n, 50);
	}
	must(store_commit(st, 1), "commit");
	store_close(st);
	free(ev);
	trace_free(t);
	return all;
}

/* The answer for a view of the one run, owned by the caller. */
static char *ask(struct serve *s, const char *view)
{
	struct viewer root = { .all = true };
	struct runs rs;
	struct answer a;
	char target[128];

	if (runs_load(&rs, s, &root) < 0 || rs.n != 1)
		abort();
	snprintf(target, sizeof(target), "/api/v1/run/%s/%s", rs.run[0].id, view);
	runs_fini(&rs);
	serve_ask(s, &root, target, &a);
	return a.body ? a.body : strdup("");
}

static struct serve *open_serve(const char *path, uint32_t whole, uint32_t part, uint32_t stretch)
{
	struct store_why why;
	struct serve *s;

	if (serve_new(&s) < 0 || serve_add(s, path, NULL, &why) < 0)
		abort();
	s->whole = whole;
	s->part = part;
	s->stretch = stretch;
	return s;
}

/* The end of a member's value: texts have commas. */
static char *value_end(char *at)
{
	at += strcspn(at, ":") + 1;
	return *at == '"' ? at + 1 + strcspn(at + 1, "\"") + 1 : at + strcspn(at, ",}");
}

/* Takes out what may differ: quantiles by a sketch, and what rests on the replay, which is of the
 * newest steps. Which findings there are, what they cost and in which order they are stays. */
static char *common(char *text)
{
	static const char *const key[] = {
		"\"p50\":",        "\"p99\":",         "\"p50_ns\":",     "\"p99_ns\":",
		"\"replay_ns\":",  "\"replayed_ns\":", "\"replay\":",     "\"replay_gain\":",
		"\"gain_lo_ns\":", "\"gain_hi_ns\":",  "\"confidence\":", "\"expect\":",
		"\"not\":"
	};
	char *path = strstr(text, "\"critical_path\"");

	if (path)
		*path = '\0';
	for (size_t i = 0; i < T_LEN(key); i++)
		for (char *at = text; (at = strstr(at, key[i])) != NULL;)
			memmove(at, value_end(at), strlen(value_end(at)) + 1);
	return text;
}

static void show(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	i = i > 200 ? i - 200 : 0;
	fprintf(stderr, "loaded:    %.400s\nstretches: %.400s\n", a + i, b + i);
}

static void compare(struct serve *all, struct serve *few, const char *view)
{
	char *a = ask(all, view), *b = ask(few, view);
	bool whole = strstr(b, "\"partial\":false") != NULL, same;

	T_OK(whole && strstr(a, "\"partial\":false"), "%s of a large run are of all of it", view);
	same = !strcmp(common(a), common(b));
	T_OK(same, "%s of a large run are what they were if it were loaded", view);
	if (!same)
		show(a, b);
	free(a);
	free(b);
}

static uint64_t mix(uint64_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3ull;
	return h * 0x9e3779b97f4a7c15ull;
}

/* One number of all stacks with their times, in whatever order they are told. */
static uint64_t stacks(const char *body)
{
	const char *name = strstr(body, "\"names\":["), *node = strstr(body, "\"nodes\":[");
	uint64_t path[512], sum = 0;
	size_t n = 0;

	if (!name || !node)
		return 0;
	name += strlen("\"names\":[");
	for (node += strlen("\"nodes\":"); n < T_LEN(path) && *node && *++node == '['; n++) {
		size_t len = strcspn(name + 1, "\"");
		long long parent;

		if (sscanf(node, "[%*u,%lld", &parent) != 1)
			return 0;
		path[n] = mix(parent < 0 ? 1 : path[parent], name + 1, len);
		node = strchr(strchr(node, ',') + 1, ','); /* self, total and class */
		sum += mix(path[n], node, strcspn(node, "]"));
		node += strcspn(node, "]") + 1;
		name += len + 3;
	}
	return n > 10 ? sum : 0;
}

static void compare_flames(struct serve *all, struct serve *few, const char *view)
{
	char *a = ask(all, view), *b = ask(few, view);

	T_OK(stacks(a) && stacks(a) == stacks(b) && strstr(b, "\"partial\":false"),
	     "%s of a large run has the same stacks", view);
	free(a);
	free(b);
}

static void compare_all(struct serve *all, uint64_t with, size_t events)
{
	static const char *const view[] = { "devices",          "steps",    "findings", "ops",
					    "ops?group=module", "overview", "memory",   "heat",
					    "heat?measure=dur" };
	const char *path = kit_path("large.db");

	for (uint32_t stretch = 100; stretch <= 1000; stretch += 450) {
		struct serve *few = open_serve(path, 500, 1000000, stretch);

		for (size_t i = 0; i < T_LEN(view); i++)
			compare(all, few, view[i]);
		compare_flames(all, few, "flame?min=0");
		compare_flames(all, few, "flame?min=0&weight=launches");
		T_OK(few->kept && few->kept->in->parted && !few->kept->t->events,
		     "run %u of %zu events is read in stretches of %u, and no event is kept",
		     (unsigned)with, events, stretch);
		serve_free(few);
	}
}

static void look_at_window(struct serve *few)
{
	char *b = ask(few, "whatif?no_sync=1");

	T_OK(strstr(b, "\"partial\":true") && strstr(b, "\"whole\":false"),
	     "what-if of a large run says that it is of a part");
	T_OK(few->kept->window && few->kept->window->events &&
		     few->kept->window->events <= few->part + 50,
	     "of which no more is loaded than it may");
	free(b);
	b = ask(few, "findings");
	T_OK(strstr(b, "\"critical_path\":{\"partial\":true"), "and so does the critical path");
	free(b);
	b = ask(few, "download?format=csv");
	T_OK(strstr(b, "413"), "what is too large to be saved is refused");
	free(b);
	b = ask(few, "steps?t0=0&t1=2000000");
	T_OK(strstr(b, "\"t1\":2000000") && strstr(b, "\"whole\":true"), "a part may be asked for");
	free(b);
}

/* Nobody waits for the whole; it is there in the end. */
static void look_without_patience(struct serve *all)
{
	struct serve *few = open_serve(kit_path("large.db"), 500, 300, 200);
	char *a = ask(all, "steps"), *b = NULL;
	bool part;

	few->patience_ns = 0;
	do {
		free(b);
		b = ask(few, "steps");
		part = strstr(b, "\"partial\":true") != NULL;
		if (part)
			usleep(1000);
	} while (part);
	T_OK(!strcmp(a, b), "who does not wait gets a part, and all of it when it was read");
	free(a);
	free(b);
	serve_free(few);
	few = open_serve(kit_path("large.db"), 500, 300, 100);
	few->patience_ns = 0;
	free(ask(few, "steps"));
	serve_free(few);
	T_OK(true, "a server ends while a run is being read");
}

int main(void)
{
	struct serve *all, *few;
	size_t events;

	kit_begin();
	for (uint64_t with = 1; with <= 3; with++) {
		unlink(kit_path("large.db"));
		events = make_store(kit_path("large.db"), with);
		all = open_serve(kit_path("large.db"), 1000000, 1000000, 0);
		compare_all(all, with, events);
		T_OK(all->kept && all->kept->t->events == events, "a small run is loaded");
		look_without_patience(all);
		serve_free(all);
	}
	few = open_serve(kit_path("large.db"), 500, 300, 200);
	look_at_window(few);
	serve_free(few);
	return kit_end();
}
