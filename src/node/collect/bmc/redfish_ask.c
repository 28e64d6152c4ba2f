/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_ask.c - sessions and requests of a BMC. Passwords are in memory only during one. */
#include "collect/bmc/redfish_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

#define REFUSED_NS 300000000000ull /* after a password was wrong */

int redfish_open(struct redfish *r, struct bmc *b)
{
	struct fetch_opts o = { .base = b->conf->url,
				.ca_file = *b->conf->ca ? b->conf->ca : NULL,
				.pin = *b->conf->pin ? b->conf->pin : NULL,
				.insecure = b->conf->insecure,
				.connect_ms = (uint32_t)b->conf->timeout * 500,
				.timeout_ms = (uint32_t)b->conf->timeout * 1000,
				.body_max = REDFISH_BODY,
				.stop = b->stop };

	*r = (struct redfish){ .b = b, .sessions = "/redfish/v1/SessionService/Sessions" };
	return fetch_new(&r->f, &o);
}

static void say(struct redfish *r, const char *why)
{
	pthread_mutex_lock(&r->b->lock);
	snprintf(r->b->why, sizeof(r->b->why), "%s", why);
	pthread_mutex_unlock(&r->b->lock);
}

static int read_login(struct redfish *r, struct bmc_login *l)
{
	struct bmc_why why;
	int err;

	*l = (struct bmc_login){ 0 };
	if (!*r->b->conf->login)
		return 0;
	err = bmc_login_read(l, r->b->conf->login, &why);
	if (err)
		say(r, why.text);
	return err ? -EACCES : 0;
}

/* {"UserName":...,"Password":...}: the caller wipes and frees it. */
static char *login_body(const struct bmc_login *l)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct json j;

	if (!f)
		return NULL;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_members(&j, J_STR("UserName", l->user), J_STR("Password", l->password));
	json_end(&j);
	fclose(f);
	return text;
}

/* Some say where a session is with their host before it. */
static const char *path_of(const char *location)
{
	const char *host = strstr(location, "://"), *path = host ? strchr(host + 3, '/') : location;

	return path ? path : "";
}

/* A session, where there are such; else every request says who asks. */
static int log_in(struct redfish *r)
{
	struct fetch_ask ask = { .method = "POST", .path = r->sessions };
	struct fetch_answer a;
	struct bmc_login l;
	char *body;
	int err = read_login(r, &l);

	if (err || !*l.user)
		return err;
	body = login_body(&l);
	explicit_bzero(&l, sizeof(l));
	if (!body)
		return -ENOMEM;
	ask.body = body;
	err = fetch_do(r->f, &ask, &a);
	explicit_bzero(body, strlen(body));
	free(body);
	pthread_mutex_lock(&r->b->lock);
	r->b->requests++;
	pthread_mutex_unlock(&r->b->lock);
	if (err)
		return err;
	if (a.status == 401 || a.status == 403) {
		r->refused_ns = clock_mono_ns();
		say(r, "it does not take the user and password of its login file; asked again in 5 "
		       "minutes");
		return -EACCES;
	}
	if (a.status / 100 == 2 && *a.token) {
		memcpy(r->token, a.token, sizeof(r->token));
		snprintf(r->session, sizeof(r->session), "%s", path_of(a.location));
	} else {
		r->basic = true;
	}
	return 0;
}

int redfish_sign(struct redfish *r, struct fetch_ask *ask, struct bmc_login *login)
{
	int err = 0;

	if (r->refused_ns && clock_mono_ns() - r->refused_ns < REFUSED_NS)
		return -EACCES;
	r->refused_ns = 0;
	if (!*r->token && !r->basic && *r->b->conf->login)
		err = log_in(r);
	if (err)
		return err;
	if (*r->token)
		ask->token = r->token;
	else if (r->basic && !(err = read_login(r, login))) {
		ask->user = login->user;
		ask->password = login->password;
	}
	return err;
}

static void pace(struct redfish *r, uint64_t times)
{
	uint64_t now = clock_mono_ns(), step = 1000000000u / ((uint64_t)r->b->conf->rate * times);

	if (r->next_ns > now)
		bmc_sleep(r->b, r->next_ns - now);
	r->next_ns = (r->next_ns > now ? r->next_ns : now) + step;
}

/* One request, signed. */
static int once(struct redfish *r, struct fetch_ask *ask, struct fetch_answer *out)
{
	struct bmc_login login = { 0 };
	bool open = !strcmp(ask->path, "/redfish/v1");
	int err = open ? 0 : redfish_sign(r, ask, &login);

	if (!err) {
		err = fetch_do(r->f, ask, out);
		if (err)
			say(r, fetch_why(r->f));
	} else if (err != -EACCES) {
		say(r, fetch_why(r->f));
	}
	explicit_bzero(&login, sizeof(login));
	return err;
}

static int result(struct redfish *r, int err, const struct fetch_answer *a)
{
	pthread_mutex_lock(&r->b->lock);
	r->b->requests++;
	r->b->failed += err || (a->status != 200 && a->status != 304);
	r->b->unchanged += !err && a->status == 304;
	pthread_mutex_unlock(&r->b->lock);
	r->in_a_row = err ? r->in_a_row + 1 : 0;
	if (err)
		return err;
	if (a->status == 200 || a->status == 304)
		return a->status == 304;
	return a->status == 401 || a->status == 403 ? -EACCES
	       : a->status / 100 == 4               ? -ENOENT
						    : -EBADMSG;
}

int redfish_get(struct redfish *r, const char *path, const char *etag, enum redfish_pace how,
		struct fetch_answer *out)
{
	struct fetch_ask ask = { .path = path, .etag = etag };
	int err;

	if (how != REDFISH_AT_ONCE)
		pace(r, how == REDFISH_FINDING ? 10 : 1);
	if (bmc_stops(r->b))
		return -ECANCELED;
	err = once(r, &ask, out);
	if (!err && out->status == 401 && *r->token) { /* the session ended: once more */
		r->token[0] = r->session[0] = '\0';
		ask = (struct fetch_ask){ .path = path, .etag = etag };
		err = once(r, &ask, out);
	} else if (!err && out->status == 401 && r->basic) {
		r->refused_ns = clock_mono_ns();
		say(r, "it does not take the user and password of its login file; asked again in 5 "
		       "minutes");
	}
	return result(r, err, out);
}

void redfish_close(struct redfish *r)
{
	struct fetch_ask ask = { .method = "DELETE", .path = r->session, .token = r->token };
	struct fetch_answer a;

	if (r->f && *r->token && *r->session == '/' && !r->in_a_row) {
		fetch_urgent(r->f, 1000); /* whoever waits for it does not wait long */
		fetch_do(r->f, &ask, &a);
	}
	fetch_free(r->f);
	explicit_bzero(r, sizeof(*r));
}
