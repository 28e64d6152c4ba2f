/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redfish.c - the thread of one BMC: discovers its resources, then reads them once an interval.
 *
 * Each interval it reads all metric reports, then as many of the other resources as the rate limit
 * allows, in turn: those whose values are in no report. A value that does not change is polled ever
 * more rarely, until it changes or the BMC reports an event. Discovery is repeated every hour, and
 * when the BMC comes back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/bmc/redfish_look.h"

#define DISCOVER_NS  (3600 * S)
#define SLOW_NS      (600 * S) /* until one that did not answer is asked again */
#define BACK_MAX_NS  (120 * S)
#define MEMBERS      4096u
#define STILL_MAX    2u /* times that the time between two questions grows fourfold */
#define EXPAND_QUERY "?$expand=.($levels=1)"

static void take_facts(struct looker *l, const struct fetch_answer *a)
{
	struct redfish_fns fns = { .leaf = redfish_take_fact, .arg = l };

	pthread_mutex_lock(&l->b->lock);
	redfish_walk(a->body, a->len, &fns);
	pthread_mutex_unlock(&l->b->lock);
}

/* --- requests --- */

static void keep_etag(struct redfish_resource *res, const char *etag)
{
	free(res->etag);
	res->etag = *etag ? strdup(etag) : NULL;
}

static bool is_report(const struct redfish_resource *res)
{
	return res->use == USE_REPORT || res->use == USE_REPORTS;
}

/* Values of a resource that is as it was are as they were; of reports that should move they are not. */
static void unchanged(struct looker *l, struct redfish_resource *res)
{
	uint64_t step = (uint64_t)l->b->conf->interval * S, now = clock_mono_ns(), quiet = 0;

	if (!is_report(res) && res->use != USE_LOG) {
		res->still += res->still < STILL_MAX;
		quiet = step << 2 * res->still;
		res->quiet_ns = now + quiet - step / 2;
	}
	pthread_mutex_lock(&l->b->lock);
	if (!is_report(res) || !l->still)
		l->b->from_until_ns[l->at] = now + redfish_stale_ns(l) + quiet +
					     3 * (is_report(res) ? step : l->round_ns);
	pthread_mutex_unlock(&l->b->lock);
}

/* True: every byte is the one of last time; not every BMC says so by a tag. */
static bool same_body(struct redfish_resource *res, const struct fetch_answer *a)
{
	uint64_t was = res->body;

	res->body = bmc_hash(a->body, a->len);
	return res->body == was;
}

static void understand(struct looker *l, struct redfish_resource *res, const struct fetch_answer *a)
{
	struct redfish_fns fns = { .leaf = redfish_take_leaf, .arg = l };
	int n = 0;

	res->still = 0;
	res->quiet_ns = 0;
	l->fresh_values = false;
	pthread_mutex_lock(&l->b->lock);
	if (is_report(res))
		n = redfish_report(a->body, a->len, redfish_take_metric, l);
	else if (res->use == USE_LOG)
		n = redfish_events(a->body, a->len, redfish_take_log, l);
	else
		n = redfish_walk(a->body, a->len, &fns);
	l->b->failed += n < 0;
	pthread_mutex_unlock(&l->b->lock);
	if (n >= 0 && (res->use == USE_POLL || res->use == USE_EXPAND))
		res->covered = !l->fresh_values;
	if (n < 0) { /* the answer is not Redfish: read it in full next time */
		keep_etag(res, "");
		res->body = 0;
	}
}

static bool wants_expand(const struct looker *l, const struct redfish_resource *res)
{
	return (res->use == USE_EXPAND || res->use == USE_REPORTS) && l->tree.expand &&
	       !res->no_expand && !strchr(res->path, '?');
}

/* Falls back to reading a resource in parts. */
static void give_up_expand(struct looker *l, struct redfish_resource *res)
{
	size_t n = strlen(res->path);

	res->no_expand = true;
	res->got = false;
	keep_etag(res, "");
	for (uint32_t i = 0; i < l->tree.n; i++) {
		struct redfish_resource *one = &l->tree.res[i];

		if (!strncmp(one->path, res->path, n) && one->path[n] == '/' &&
		    !strchr(one->path + n + 1, '/')) {
			one->is_whole = false;
			one->got = false;
		}
	}
	l->discovered_ns = 0;
}

static bool goes_on(const struct looker *l, int err)
{
	return err >= 0 || (err != -ECANCELED && err != -EACCES && l->r.in_a_row < 2);
}

/* False: the BMC does not answer any more, or this is to end. */
static bool ask(struct looker *l, struct redfish_resource *res, bool paced)
{
	char path[REDFISH_PATH + sizeof(EXPAND_QUERY)];
	bool expand = wants_expand(l, res);
	struct fetch_answer a;
	int err;

	l->at = (uint32_t)(res - l->tree.res);
	snprintf(path, sizeof(path), "%s%s", res->path, expand ? EXPAND_QUERY : "");
	err = redfish_get(&l->r, path, res->etag, paced ? REDFISH_PACED : REDFISH_AT_ONCE, &a);
	if (!err)
		keep_etag(res, a.etag);
	if (err == 1 || (!err && same_body(res, &a)))
		unchanged(l, res);
	else if (!err)
		understand(l, res, &a);
	else if (expand && goes_on(l, err))
		give_up_expand(l, res);
	else
		res->not_before_ns = clock_mono_ns() + SLOW_NS;
	return goes_on(l, err);
}

/* --- discovery --- */

static void on_link(void *arg, const char *key, const char *path, bool whole)
{
	struct looker *l = arg;
	struct redfish_resource *res;

	if (!strcmp(key, "Sessions") && !l->at && strlen(path) < sizeof(l->r.sessions)) {
		snprintf(l->r.sessions, sizeof(l->r.sessions), "%s", path);
		l->r.has_sessions = true;
	}
	if (!redfish_follows(key) || strncmp(path, "/redfish/v1", 11) || strchr(path, '#') ||
	    strchr(path, '?'))
		return;
	if (!strcmp(key, "Members") && ++l->members > MEMBERS) {
		l->tree.dropped++;
		return;
	}
	res = redfish_tree_add(&l->tree, path);
	if (res && whole)
		res->is_whole = true; /* its collection is asked for in its place */
}

static void on_root(void *arg, const struct redfish_leaf *leaf)
{
	struct looker *l = arg;

	if (!strcmp(leaf->pointer, "/ProtocolFeaturesSupported/ExpandQuery/Levels"))
		l->tree.expand = json_tok_is(leaf->value, "true");
	if (!strcmp(leaf->pointer, "/ServerSentEventUri")) {
		struct json_tok uri = json_tok_text(leaf->value);

		pthread_mutex_lock(&l->b->lock);
		if (uri.len && uri.len < sizeof(l->b->events_uri) && *uri.s == '/') {
			memcpy(l->b->events_uri, uri.s, uri.len);
			l->b->events_uri[uri.len] = '\0';
		}
		pthread_mutex_unlock(&l->b->lock);
	}
}

/* The next part of a collection that comes in several. */
static void next_part(struct looker *l, const struct fetch_answer *a)
{
	char next[REDFISH_PATH];

	if (redfish_text(a->body, a->len, "Members@odata.nextLink", next, sizeof(next)) &&
	    !strncmp(next, "/redfish/v1", 11))
		redfish_tree_add(&l->tree, next);
}

/* One resource that was found: what it is, and where it leads to. False as ask(). */
static bool discover_one(struct looker *l, uint32_t at)
{
	struct redfish_fns fns = { .link = on_link, .arg = l };
	struct redfish_resource *res = &l->tree.res[at]; /* an array that does not move */
	char type[96] = "", path[REDFISH_PATH + sizeof(EXPAND_QUERY)];
	bool expand = wants_expand(l, res);
	struct fetch_answer a;
	int err;

	l->at = at;
	snprintf(path, sizeof(path), "%s%s", res->path, expand ? EXPAND_QUERY : "");
	err = redfish_get(&l->r, path, NULL, REDFISH_FINDING, &a);
	res->got = true;
	if (err && expand && goes_on(l, err))
		return give_up_expand(l, res), true;
	if (err && at)
		res->not_before_ns = clock_mono_ns() + SLOW_NS;
	if (err)
		return at && goes_on(l, err);
	redfish_text(a.body, a.len, "@odata.type", type, sizeof(type));
	res->use = redfish_use_of(type);
	if (!at || !strncmp(type, "#EventService.", 14))
		fns.leaf = on_root;
	if (wants_expand(l, res) && !expand) {
		res->got = false; /* once more, as a whole */
		return true;
	}
	l->members = 0;
	if (res->use != USE_LOG) {
		next_part(l, &a);
		redfish_walk(a.body, a.len, &fns);
	}
	if (!at) /* a service without sessions may say 401 to whoever asks for one */
		l->r.basic |= !l->r.has_sessions;
	if (res->use == USE_FACT || (expand && strstr(res->path, "/FirmwareInventory")))
		take_facts(l, &a);
	keep_etag(res, a.etag);
	same_body(res, &a);
	understand(l, res, &a);
	return true;
}

/* Goes on with it for the time of a look; *done: nothing new turned up any more. False as ask(). */
static bool discover(struct looker *l, uint64_t until_ns, bool *done)
{
	bool more = true, fine = true;

	while (more && fine && clock_mono_ns() < until_ns) {
		more = false;
		for (uint32_t i = 0; fine && i < l->tree.n && clock_mono_ns() < until_ns; i++) {
			struct redfish_resource *res = &l->tree.res[i];

			if (res->got || res->is_whole || res->not_before_ns > clock_mono_ns())
				continue;
			more = true;
			fine = discover_one(l, i);
		}
	}
	*done = fine && !more;
	pthread_mutex_lock(&l->b->lock);
	l->b->resources = l->tree.n;
	l->b->dropped += l->tree.dropped;
	l->tree.dropped = 0;
	l->b->discovered |= *done;
	pthread_mutex_unlock(&l->b->lock);
	return fine;
}

/* Begins anew where it is time to. */
static bool find_resources(struct looker *l, uint64_t began, uint64_t until_ns)
{
	bool done;

	if (l->discovered_ns && began - l->discovered_ns < DISCOVER_NS)
		return true;
	if (l->discovered_ns || !l->tree.n) {
		redfish_tree_add(&l->tree, "/redfish/v1");
		for (uint32_t i = 0; i < l->tree.n; i++)
			l->tree.res[i].got = false;
		l->discovered_ns = 0;
	}
	if (!discover(l, until_ns, &done))
		return false;
	if (done)
		l->discovered_ns = clock_mono_ns();
	return true;
}

/* --- looks --- */

static bool look_at_reports(struct looker *l)
{
	l->still = l->moved_ns && clock_mono_ns() - l->moved_ns > redfish_stale_ns(l);
	for (uint32_t i = 0; i < l->tree.n; i++) {
		struct redfish_resource *res = &l->tree.res[i];
		bool wanted = res->use == USE_REPORTS ? wants_expand(l, res)
						      : res->use == USE_REPORT && !res->is_whole;

		if (wanted && res->not_before_ns <= clock_mono_ns() && !ask(l, res, false))
			return false;
	}
	return true;
}

static bool look_at_logs(struct looker *l)
{
	if (l->logs_ns && clock_mono_ns() - l->logs_ns < redfish_stale_ns(l))
		return true;
	l->logs_ns = clock_mono_ns();
	for (uint32_t i = 0; i < l->tree.n; i++)
		if (l->tree.res[i].use == USE_LOG &&
		    l->tree.res[i].not_before_ns <= clock_mono_ns() &&
		    !ask(l, &l->tree.res[i], true))
			return false;
	l->logs_known = true;
	return true;
}

static bool due(const struct redfish_resource *res, uint64_t now)
{
	return (res->use == USE_POLL || res->use == USE_EXPAND) && !res->covered &&
	       !res->is_whole && res->not_before_ns <= now && res->quiet_ns <= now;
}

/* An event says that something moved, and not always what. */
static void wake(struct looker *l)
{
	uint64_t told;

	pthread_mutex_lock(&l->b->lock);
	told = l->b->told;
	pthread_mutex_unlock(&l->b->lock);
	for (uint32_t i = 0; told != l->told && i < l->tree.n; i++)
		l->tree.res[i].quiet_ns = 0;
	l->told = told;
}

/* As many of the others as the rate allows until the next look. */
static bool look_in_turn(struct looker *l, uint64_t until_ns)
{
	uint64_t budget = (uint64_t)(l->b->conf->interval * l->b->conf->rate), in_turn = 0;
	uint64_t now = clock_mono_ns();

	wake(l);
	for (uint32_t i = 0; i < l->tree.n; i++)
		in_turn += due(&l->tree.res[i], now);
	l->round_ns = (in_turn / (budget ? budget : 1) + 1) * (uint64_t)l->b->conf->interval * S;
	for (uint32_t i = 0; i < l->tree.n && budget; i++) {
		struct redfish_resource *res = &l->tree.res[l->turn++ % l->tree.n];

		if (!due(res, now))
			continue;
		budget--;
		if (!ask(l, res, in_turn > budget))
			return false;
		if (clock_mono_ns() > until_ns)
			break;
	}
	return true;
}

/* One that was down answers to the least that it can be asked: then all is asked anew. */
static bool is_back(struct looker *l)
{
	struct fetch_answer a;

	if (redfish_get(&l->r, "/redfish/v1", NULL, REDFISH_PACED, &a) < 0)
		return false;
	for (uint32_t i = 0; i < l->tree.n; i++) {
		l->tree.res[i].not_before_ns = 0;
		l->tree.res[i].got = false;
	}
	l->discovered_ns = 0;
	return true;
}

static bool look(struct looker *l, uint64_t began)
{
	uint64_t until = began + (uint64_t)l->b->conf->interval * S;

	if (l->down && !is_back(l))
		return false;
	if (!look_at_reports(l) || !find_resources(l, began, until))
		return false;
	return !l->discovered_ns || (look_at_logs(l) && look_in_turn(l, until));
}

/* Readings of reports that are not renewed. */
static uint32_t count_stale(const struct bmc *b)
{
	uint64_t now = clock_mono_ns();
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->values; i++)
		n += b->value[i].metric && b->value[i].reading && b->value[i].by_report &&
		     !bmc_value_holds(b, &b->value[i], now);
	return n;
}

static void tell(struct looker *l, bool fine, uint64_t began)
{
	pthread_mutex_lock(&l->b->lock);
	bmc_looked(l->b, fine, began);
	l->b->stale = count_stale(l->b);
	pthread_mutex_unlock(&l->b->lock);
}

void *redfish_thread(void *arg)
{
	struct bmc *b = arg;
	struct looker *l = calloc(1, sizeof(*l));
	uint64_t back = 0, step = (uint64_t)b->conf->interval * S;

	b->from_until_ns = calloc((size_t)b->conf->resources, sizeof(*b->from_until_ns));
	if (!l || !b->from_until_ns ||
	    redfish_tree_init(&l->tree, (uint32_t)b->conf->resources) < 0 ||
	    redfish_open(&l->r, b) < 0) {
		log_err("%s: no memory", b->conf->name);
		goto out;
	}
	l->b = b;
	l->round_ns = step;
	while (!bmc_stops(b)) {
		uint64_t began = clock_mono_ns(), took;
		bool fine = look(l, began);

		if (bmc_stops(b))
			break;
		tell(l, fine, began);
		l->down = !fine;
		back = fine ? 0 : back ? back * 2 : step;
		back = back > BACK_MAX_NS ? BACK_MAX_NS : back;
		took = clock_mono_ns() - began;
		bmc_sleep(b, back ? back : took < step ? step - took : 0);
	}
	redfish_close(&l->r);
	redfish_tree_fini(&l->tree);
out:
	free(l);
	return NULL;
}
