/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_listen.c - the thread that receives a BMC's events, over a connection of its own. */
#include <string.h>

#include "collect/bmc/redfish_ask.h"
#include "collect/bmc/redfish_body.h"
#include "collect/bmc/sse.h"

#define S        1000000000ull
#define QUIET_S  600u /* without a byte: it is dialled anew */
#define AGAIN_NS (30 * S)

struct listener {
	struct bmc *b;
	struct sse sse;
};

static void on_event(void *arg, const struct redfish_event *e)
{
	struct bmc *b = arg;

	bmc_event(b, "event", "%s%s%s%s%s", e->severity, *e->severity ? " " : "", e->message,
		  *e->origin ? " " : "", e->origin);
}

static void on_data(void *arg, char *data, size_t n)
{
	struct listener *l = arg;

	pthread_mutex_lock(&l->b->lock);
	l->b->told++;
	redfish_events(data, n, on_event, l->b);
	pthread_mutex_unlock(&l->b->lock);
}

static int on_bytes(void *arg, const char *bytes, size_t n)
{
	struct listener *l = arg;

	sse_feed(&l->sse, bytes, n, on_data, l);
	return 0;
}

static void listen_once(struct bmc *b, const char *uri)
{
	struct listener l = { .b = b };
	struct bmc_login login = { 0 };
	struct fetch_ask ask = { .path = uri };
	struct redfish r;

	if (redfish_open(&r, b) < 0)
		return;
	if (redfish_sign(&r, &ask, &login) == 0)
		fetch_stream(r.f, &ask, QUIET_S, on_bytes, &l);
	explicit_bzero(&login, sizeof(login));
	redfish_close(&r);
	sse_fini(&l.sse);
}

void *redfish_listener(void *arg)
{
	struct bmc *b = arg;
	char uri[sizeof(b->events_uri)];
	bool up;

	do {
		pthread_mutex_lock(&b->lock);
		up = b->up && *b->events_uri;
		memcpy(uri, b->events_uri, sizeof(uri));
		pthread_mutex_unlock(&b->lock);
		if (up)
			listen_once(b, uri);
	} while (bmc_sleep(b, up ? AGAIN_NS : S));
	return NULL;
}
