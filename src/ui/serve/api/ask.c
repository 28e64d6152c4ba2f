/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - finds the handler for a request, and produces the answer. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "serve/api/api.h"
#include "serve/cache.h"
#include "serve/timeline.h"

const struct route route_table[] = {
#define ROUTE(path, name, flags, args) { path, args, api_##name, NULL, flags },
#define JSON(path, name, flags, args)  { path, args, NULL, api_##name, flags },
#include "serve/api/route.tbl.h"
};
const size_t routes = sizeof(route_table) / sizeof(route_table[0]);

void answer_fini(struct answer *a)
{
	free(a->body);
	if (a->fd >= 0)
		close(a->fd);
	*a = (struct answer){ .fd = -1 };
}

void answer_error(struct answer *a, int status, const char *what, const char *hint)
{
	struct json j;
	FILE *f;

	answer_fini(a);
	a->status = status;
	a->type = "application/json";
	f = open_memstream(&a->body, &a->len);
	if (!f)
		return;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_members(&j, J_U64("v", 1), J_I64("status", status), J_STR("error", what),
		     J_STR("hint", hint));
	json_end(&j);
	if (fclose(f) != 0) {
		free(a->body);
		a->body = NULL;
		a->len = 0;
	}
}

/* --- parameters --- */

int ask_mistake(struct ask *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(q->text, sizeof(q->text), fmt, ap);
	va_end(ap);
	q->mistake = q->text;
	return -EINVAL;
}

int ask_number(struct ask *q, const char *key, uint64_t lo, uint64_t hi, uint64_t *out)
{
	const char *text = url_get(&q->url, key);

	if (text && num_u64(text, lo, hi, out) < 0)
		return ask_mistake(q, "%s is a whole number from %llu to %llu", key,
				   (unsigned long long)lo, (unsigned long long)hi);
	return 0;
}

int ask_real(struct ask *q, const char *key, double lo, double hi, double *out)
{
	const char *text = url_get(&q->url, key);

	if (text && num_real(text, lo, hi, out) < 0)
		return ask_mistake(q, "%s is a number from %g to %g", key, lo, hi);
	return 0;
}

int ask_choice(struct ask *q, const char *key, const char *words)
{
	const char *text = url_get(&q->url, key), *w = words;

	if (!text)
		return 0;
	for (int i = 0;; i++) {
		size_t n = strcspn(w, "|");

		if (strlen(text) == n && !strncmp(text, w, n))
			return i;
		if (!w[n])
			break;
		w += n + 1;
	}
	return ask_mistake(q, "%s is one of %s", key, words);
}

#define TIME_MAX ((1ull << 53) - 1) /* the largest integer that JSON numbers hold exactly */

int ask_range(struct ask *q, uint64_t *t0, uint64_t *t1)
{
	*t0 = 0;
	*t1 = UINT64_MAX;
	if (ask_number(q, "t0", 0, TIME_MAX, t0) < 0 || ask_number(q, "t1", 0, TIME_MAX, t1) < 0)
		return -EINVAL;
	return *t0 < *t1 ? 0 : ask_mistake(q, "t0 must be before t1");
}

int ask_ranks(struct ask *q, const char **list)
{
	*list = url_get(&q->url, "ranks");
	return url_list(*list) < 0 ? ask_mistake(q, "ranks is a list like 0,2,4-7") : 0;
}

static bool takes(const char *args, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = args; n && (p = strstr(p, key)); p += n)
		if ((p == args || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

static int check(struct ask *q)
{
	if (q->route->flags & ROUTE_FLEET && !q->s->fleet) {
		q->mistake = "No cluster is served: aon serve clickhouse://HOST:PORT/DATABASE";
		return -ENODATA;
	}
	for (size_t i = 0; i < q->url.args; i++)
		if (!takes(q->route->args, q->url.arg[i].key))
			return *q->route->args
				       ? ask_mistake(q, "no such parameter here; there are: %s",
						     q->route->args)
				       : ask_mistake(q, "this takes no parameters");
	return 0;
}

/* --- routes --- */

/* Whether `path` matches the route. {id} and {x} are cut out of it into *id and *tail. */
static bool meets(const char *route, char *path, char **id, char **tail)
{
	while (*route && *path) {
		if (*route != '{') {
			if (*route++ != *path++)
				return false;
			continue;
		}
		*(strncmp(route, "{id}", 4) ? tail : id) = path;
		route += strcspn(route, "}") + 1;
		if (!strcspn(path, "/"))
			return false;
		path += strcspn(path, "/");
		if (!*route != !*path)
			return false;
	}
	return !*route && !*path;
}

static const struct route *find_route(struct url *u, char **id, char **tail)
{
	for (size_t i = 0; i < routes; i++) {
		*id = *tail = NULL;
		if (!meets(route_table[i].path, u->path, id, tail))
			continue;
		if (*id && strchr(*id, '/'))
			*strchr(*id, '/') = '\0';
		return &route_table[i];
	}
	*id = *tail = NULL;
	return NULL;
}

/* --- the answer --- */

static int answer_json(struct ask *q, struct answer *a)
{
	struct json j;
	int err;
	FILE *f = open_memstream(&a->body, &a->len);

	if (!f)
		return -ENOMEM;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_members(&j, J_U64("v", 1), J_U64("asof", q->run.t1 - q->run.t0),
		     J_U64("lost", q->run.lost));
	if (!(q->route->flags & (ROUTE_HEAVY | ROUTE_PARTIAL)))
		json_bool(&j, "partial", false);
	err = q->route->json(q, &j);
	json_end(&j);
	if (fclose(f) != 0)
		err = err ? err : -ENOMEM;
	a->type = "application/json";
	a->fleeting |= q->fleeting;
	return err;
}

static void say_error(struct ask *q, struct answer *a, int err)
{
	switch (-err) {
	case EINVAL:
		answer_error(a, 400, q->mistake ? q->mistake : "A parameter is wrong.", "");
		break;
	case EPERM:
		answer_error(a, 403, q->mistake, "");
		break;
	case ENOENT:
		answer_error(a, 404, "Not found.", "");
		break;
	case EFBIG:
		answer_error(a, 413, "The answer would be too large.",
			     "Ask for less time: t0 and t1.");
		break;
	case ENODATA:
		answer_error(a, 422, q->mistake ? q->mistake : "The run lacks the data for this.",
			     "");
		break;
	case ETIMEDOUT:
	case ECANCELED:
	case EBUSY:
		answer_error(a, 503, q->mistake ? q->mistake : "This takes too long now.",
			     "Ask for less time, or later.");
		a->retry_s = 5;
		break;
	case EHOSTDOWN: /* the cluster's server */
		answer_error(a, 503, q->mistake, "");
		a->retry_s = 5;
		break;
	case EBADMSG:
		answer_error(a, 500, "The store is damaged.", "Save what is intact: aon recover");
		break;
	default:
		answer_error(a, 500, "The request failed.", strerror(-err));
	}
}

static void answer_route(struct ask *q, struct answer *a)
{
	bool heavy = q->route->flags & ROUTE_HEAVY;
	int err;

	if (heavy)
		pthread_mutex_lock(&q->s->heavy);
	err = q->route->json ? answer_json(q, a) : q->route->fn(q, a);
	if (heavy)
		pthread_mutex_unlock(&q->s->heavy);
	if (err < 0)
		say_error(q, a, err);
}

static enum serve_slow how_slow(const struct ask *q)
{
	const char *soon = url_get(&q->url, "soon");

	if (q->route->flags & ROUTE_HEAVY)
		return SERVE_HEAVY;
	if (!(q->route->flags & ROUTE_WAITS) || (soon && !strcmp(soon, "1")))
		return SERVE_DONE;
	return timeline_ready(q) ? SERVE_DONE : SERVE_WAITS;
}

/* With `now`, a slow request is not answered. */
static enum serve_slow answer_run(struct ask *q, const char *target, bool now, struct answer *a)
{
	struct cache_key key = {
		.run = q->run.id, .asof = q->run.t1, .blob = q->run.blob, .target = target
	};
	bool kept = *q->run.id && q->route->json;

	if (kept && cache_get(q->s->cache, &key, a))
		return SERVE_DONE;
	if (now && how_slow(q))
		return how_slow(q);
	answer_route(q, a);
	/* Cached: the same request gives the same answer as long as the run has not changed. */
	if (kept && a->status == 200 && a->body && !a->fleeting)
		cache_put(q->s->cache, &key, a);
	return SERVE_DONE;
}

static enum serve_slow ask_by(struct serve *s, const struct viewer *who, const char *method,
			      const char *target, bool now, struct answer *out)
{
	struct ask q = { .s = s, .who = who, .post = !strcmp(method, "POST") };
	bool change = strcmp(method, "GET") != 0;
	enum serve_slow slow = SERVE_DONE;
	char text[URL_BYTES], *id, *tail;
	int err;

	*out = (struct answer){ .status = 200, .fd = -1 };
	if (strlen(target) >= sizeof(text)) {
		answer_error(out, 414, "The address is too long.", "");
		return SERVE_DONE;
	}
	if (url_parse(&q.url, strcpy(text, target)) < 0) {
		answer_error(out, 400, q.url.why, "");
		return SERVE_DONE;
	}
	q.route = find_route(&q.url, &id, &tail);
	q.tail = tail;
	err = !q.route ? -ENOENT : id ? run_find(&q.run, s, who, id) : 0;
	if (err == -ENOENT)
		answer_error(out, 404, id ? "There is no such run." : "There is no such address.",
			     "See /api/v1/openapi.json");
	else if (change && !(q.post && q.route->flags & ROUTE_POST))
		answer_error(out, 405, "This address does not allow that method.", "");
	else if (err < 0 || (err = check(&q)) < 0)
		say_error(&q, out, err);
	else
		slow = answer_run(&q, target, now, out);
	out->takes_post = q.route && q.route->flags & ROUTE_POST;
	run_fini(&q.run);
	return slow;
}

void serve_ask_by(struct serve *s, const struct viewer *who, const char *method, const char *target,
		  struct answer *out)
{
	ask_by(s, who, method, target, false, out);
}

void serve_ask(struct serve *s, const struct viewer *who, const char *target, struct answer *out)
{
	ask_by(s, who, "GET", target, false, out);
}

enum serve_slow serve_ask_now(struct serve *s, const struct viewer *who, const char *target,
			      struct answer *out)
{
	return ask_by(s, who, "GET", target, true, out);
}
