/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_redfish.c - any bytes as what a BMC answers, as its stream of events and as the file of BMCs. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/bmc/bmc_conf.h"
#include "collect/bmc/redfish_body.h"
#include "collect/bmc/redfish_name.h"
#include "collect/bmc/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_leaf(void *arg, const struct redfish_leaf *l)
{
	char device[REDFISH_DEVICE];
	const struct redfish_row *row = redfish_row_of(l->key);
	double v = 0;

	(void)arg;
	if (strlen(l->path) >= REDFISH_PATH || strlen(l->pointer) >= REDFISH_PATH)
		abort();
	redfish_device(device, l->path, l->pointer, l->said);
	if (!*device || strlen(device) >= REDFISH_DEVICE)
		abort();
	if (row && redfish_value(row, l->value, &v) && !isfinite(v))
		abort();
}

static void on_link(void *arg, const char *key, const char *path, bool whole)
{
	(void)arg, (void)whole;
	if (strlen(key) > REDFISH_PATH || strlen(path) >= REDFISH_PATH)
		abort();
}

static void on_metric(void *arg, const struct redfish_metric *m)
{
	double v;

	(void)arg;
	if (!m->property.len)
		abort();
	redfish_number(m->value, &v);
}

static void on_event(void *arg, const struct redfish_event *e)
{
	(void)arg;
	if (!*e->message)
		abort();
}

static void on_data(void *arg, char *text, size_t n)
{
	redfish_events(text, n, on_event, arg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct redfish_fns fns = { .leaf = on_leaf, .link = on_link };
	char *body = malloc(size + JSON_PAD), text[64];
	struct bmc_confs confs = { 0 };
	struct bmc_why why = { "" };
	struct sse s = { 0 };

	memcpy(body, data, size);
	memset(body + size, '"', JSON_PAD);
	redfish_walk(body, size, &fns);
	redfish_report(body, size, on_metric, NULL);
	redfish_events(body, size, on_event, NULL);
	redfish_text(body, size, "Id", text, sizeof(text));
	sse_feed(&s, body, size, on_data, NULL);
	sse_fini(&s);
	if (bmc_conf_parse(&confs, "f", (const char *)data, size, &why) < 0 && !*why.text)
		abort();
	bmc_confs_fini(&confs);
	free(body);
	return 0;
}
