/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipmi.c - the thread of one BMC that speaks IPMI. It reads the sensor records once an hour; once
 * an interval it reads the sensors, the power by DCMI, and new entries of the event log.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collect/bmc/bmc.h"
#include "collect/bmc/ipmi_sdr.h"
#include "collect/bmc/rmcp.h"
#include "model/telemetry.h"

#define S           1000000000ull
#define SENSORS     512u
#define SDR_NS      (3600 * S)
#define CHUNK       16u /* bytes of a record at a time: what every BMC can send */
#define RECORDS     4096u
#define SEL_A_LOOK  16u
#define BACK_MAX_NS (120 * S)
#define REFUSED_NS  (300 * S)

struct looker {
	struct bmc *b;
	struct ipmi *i;             /* owned; NULL: not connected */
	struct ipmi_sensor *sensor; /* owned */
	uint32_t sensors;
	uint64_t sdr_ns;
	uint16_t sel_last; /* the last reported entry; 0: none */
	uint32_t sel_entries, sel_t;
	bool sel_known, no_dcmi;
};

static int command(struct looker *l, uint8_t netfn, uint8_t cmd, const void *data, size_t len,
		   uint8_t answer[IPMI_DATA])
{
	struct ipmi_ask ask = { .netfn = netfn, .cmd = cmd, .len = len };
	uint8_t code;
	int n;

	memcpy(ask.data, data, len);
	n = ipmi_do(l->i, &ask, answer, &code);
	pthread_mutex_lock(&l->b->lock);
	l->b->requests++;
	l->b->failed += n < 0 && n != -EREMOTEIO;
	pthread_mutex_unlock(&l->b->lock);
	return n;
}

/* --- connecting --- */

static void say(struct looker *l, const char *why)
{
	pthread_mutex_lock(&l->b->lock);
	snprintf(l->b->why, sizeof(l->b->why), "%s", why);
	pthread_mutex_unlock(&l->b->lock);
}

/* "ipmi://HOST:PORT", "ipmi://[::1]:623", "ipmi:/dev/ipmi0". */
static bool address(const char *url, char host[256], char port[16], const char **device)
{
	const char *at = url + 7, *colon;
	size_t n;

	*device = NULL;
	if (strncmp(url, "ipmi://", 7)) {
		*device = url + 5;
		return **device == '/';
	}
	if (*at == '[') {
		n = strcspn(++at, "]");
		colon = at[n] ? at + n + 1 : at + n;
	} else {
		n = strcspn(at, ":/");
		colon = at + n;
	}
	snprintf(host, 256, "%.*s", (int)n, at);
	snprintf(port, 16, "%.*s", (int)strcspn(colon + (*colon == ':'), "/"),
		 *colon == ':' ? colon + 1 : "623");
	return n > 0;
}

static int connect_to(struct looker *l)
{
	char host[256] = "", port[16] = "623";
	struct bmc_login login = { 0 };
	struct ipmi_opts o = { .host = host,
			       .port = port,
			       .user = login.user,
			       .password = login.password,
			       .timeout_ms = (uint32_t)l->b->conf->timeout * 1000 };
	struct bmc_why why = { "" };
	int err = 0;

	if (!address(l->b->conf->url, host, port, &o.device)) {
		say(l, "url: expected ipmi://HOST[:PORT] or ipmi:/dev/ipmi0");
		return -EINVAL;
	}
	if (!o.device && *l->b->conf->login)
		err = bmc_login_read(&login, l->b->conf->login, &why);
	err = err ? err : ipmi_open(&l->i, &o);
	explicit_bzero(&login, sizeof(login));
	if (err && !*why.text)
		snprintf(why.text, sizeof(why.text), "%s",
			 err == -EACCES    ? "it does not take the user and password of its login "
					     "file; asked again in 5 minutes"
			 : err == -ENOTSUP ? "it offers no cipher suite that is safe (3 or 17)"
					   : strerror(-err));
	if (err)
		say(l, why.text);
	return err;
}

/* --- sensor records --- */

/* A whole record into `out` (at least 64 bytes are asked for): its length. *next: the record behind it. */
static int read_record(struct looker *l, uint16_t reservation, uint16_t id, uint8_t out[IPMI_DATA],
		       uint16_t *next)
{
	uint8_t answer[IPMI_DATA];
	size_t have = 0, want = 5;

	while (have < want) {
		size_t part = want - have < CHUNK ? want - have : CHUNK;
		uint8_t ask[6] = { (uint8_t)reservation, (uint8_t)(reservation >> 8),
				   (uint8_t)id,          (uint8_t)(id >> 8),
				   (uint8_t)have,        (uint8_t)part };
		int n = command(l, 0x0a, 0x23, ask, sizeof(ask), answer);

		if (n < 3)
			return n < 0 ? n : -EPROTO;
		if (have + (size_t)(n - 2) > IPMI_DATA)
			return -EPROTO;
		if (!have)
			*next = (uint16_t)(answer[0] | answer[1] << 8);
		memcpy(out + have, answer + 2, (size_t)n - 2);
		have += (size_t)n - 2;
		if (have >= 5)
			want = 5u + out[4];
		if (want > IPMI_DATA - CHUNK)
			return -EPROTO;
	}
	return (int)have;
}

static int read_records(struct looker *l)
{
	uint8_t answer[IPMI_DATA], record[IPMI_DATA];
	uint16_t reservation, id = 0, next = 0xffff;
	int n = command(l, 0x0a, 0x22, "", 0, answer);

	if (n < 2)
		return n < 0 ? n : -EPROTO;
	reservation = (uint16_t)(answer[0] | answer[1] << 8);
	l->sensors = 0;
	for (unsigned k = 0; k < RECORDS && id != 0xffff && !bmc_stops(l->b); k++, id = next) {
		n = read_record(l, reservation, id, record, &next);
		if (n == -EREMOTEIO) /* there is none, or it changed meanwhile */
			break;
		if (n < 0)
			return n;
		if (l->sensors == SENSORS) {
			pthread_mutex_lock(&l->b->lock);
			l->b->dropped++;
			pthread_mutex_unlock(&l->b->lock);
			continue;
		}
		l->sensors += ipmi_sensor_parse(&l->sensor[l->sensors], record, (size_t)n) == 0;
		if (next == id) /* it would never end */
			break;
	}
	return 0;
}

/* --- values --- */

static struct bmc_value *value_of(struct bmc *b, const char *metric, const char *name, uint64_t key)
{
	struct bmc_value *v = bmc_value_at(b, key);

	if (!v)
		v = bmc_value_add(b, key, name, NULL);
	if (v)
		v->metric = metric;
	return v;
}

static void set(struct looker *l, const char *metric, const char *name, uint64_t key, double x)
{
	struct bmc *b = l->b;
	struct bmc_value *v;

	pthread_mutex_lock(&b->lock);
	v = value_of(b, metric, name, key);
	if (v) {
		v->v = x;
		v->until_ns = telemetry_is_none(x)
				      ? 0
				      : clock_mono_ns() + 6 * (uint64_t)b->conf->interval * S;
	}
	pthread_mutex_unlock(&b->lock);
}

static int read_sensor(struct looker *l, const struct ipmi_sensor *s)
{
	struct ipmi_ask ask = {
		.netfn = 0x04, .lun = s->lun, .cmd = 0x2d, .data = { s->number }, .len = 1
	};
	uint8_t answer[IPMI_DATA], code;
	uint64_t key = bmc_hash(s->name, strlen(s->name)) ^ (uint64_t)s->number << 8 ^ s->lun;
	double factor, plus, x = NAN;
	const char *metric = ipmi_sensor_metric(s, &factor, &plus);
	int n = ipmi_do(l->i, &ask, answer, &code);

	pthread_mutex_lock(&l->b->lock);
	l->b->requests++;
	pthread_mutex_unlock(&l->b->lock);
	if (n < 0 && n != -EREMOTEIO)
		return n;
	/* Not scanned, or not there at the moment: nothing was read, whatever the byte says. */
	if (n >= 2 && answer[1] & 0x40 && !(answer[1] & 0x20)) {
		if (s->analog)
			x = ipmi_sensor_value(s, answer[0]) * factor + plus;
		else if (n >= 3)
			x = answer[2] | (n >= 4 ? (answer[3] & 0x7f) << 8 : 0);
	}
	set(l, metric, s->name, key, x);
	return 0;
}

static int read_power(struct looker *l)
{
	static const uint8_t ask[4] = { 0xdc, 0x01, 0, 0 };
	uint8_t answer[IPMI_DATA];
	int n;

	if (l->no_dcmi)
		return 0;
	n = command(l, 0x2c, 0x02, ask, sizeof(ask), answer);
	if (n == -EREMOTEIO || (n >= 0 && (n < 18 || answer[0] != 0xdc))) {
		l->no_dcmi = true;
		return 0;
	}
	if (n < 0)
		return n;
	if (answer[17] & 0x40) /* it measures */
		set(l, "bmc_power_watts", "DCMI", bmc_hash("DCMI", 4), answer[1] | answer[2] << 8);
	return 0;
}

/* --- the log --- */

static void tell_entry(struct looker *l, const struct ipmi_sel *e)
{
	const char *name = "";

	for (uint32_t i = 0; i < l->sensors; i++)
		if (l->sensor[i].number == e->sensor && e->type == 0x02)
			name = l->sensor[i].name;
	pthread_mutex_lock(&l->b->lock);
	bmc_event(l->b, "log", "SEL %u: %s %s%s event %02x %02x %02x %02x", e->id,
		  ipmi_sensor_type(e->sensor_type), name, e->gone ? " ended:" : "", e->event_type,
		  e->data[0], e->data[1], e->data[2]);
	pthread_mutex_unlock(&l->b->lock);
}

static int read_entry(struct looker *l, uint16_t id, struct ipmi_sel *e)
{
	uint8_t ask[6] = { 0, 0, (uint8_t)id, (uint8_t)(id >> 8), 0, 0xff }, answer[IPMI_DATA];
	int n = command(l, 0x0a, 0x43, ask, sizeof(ask), answer);

	return n < 0 ? n : ipmi_sel_parse(e, answer, (size_t)n);
}

/* Those behind the last that is known, some at a time. */
static void read_entries(struct looker *l)
{
	uint16_t id = l->sel_last; /* 0: the first */
	bool told = id != 0;
	struct ipmi_sel e;

	for (unsigned k = 0; k < SEL_A_LOOK; k++) {
		if (read_entry(l, id, &e) < 0) {
			if (!told)
				break;
			id = 0; /* it was cleared meanwhile: all are new */
			told = false;
			continue;
		}
		if (!told)
			tell_entry(l, &e);
		told = false;
		l->sel_last = e.id;
		if (e.next == 0xffff || e.next == id)
			break;
		id = e.next;
	}
}

/* Entries that were there at first are history. */
static int read_log(struct looker *l)
{
	uint8_t answer[IPMI_DATA];
	struct ipmi_sel e;
	uint32_t entries, t;
	int n = command(l, 0x0a, 0x40, "", 0, answer);

	if (n == -EREMOTEIO || (n >= 0 && n < 9))
		return 0;
	if (n < 0)
		return n;
	entries = (uint32_t)(answer[1] | answer[2] << 8);
	t = answer[5] | (uint32_t)answer[6] << 8 | (uint32_t)answer[7] << 16 |
	    (uint32_t)answer[8] << 24;
	set(l, "bmc_log_entries", "SEL", bmc_hash("SEL", 3), entries);
	if (!l->sel_known)
		l->sel_last = entries && read_entry(l, 0xffff, &e) == 0 ? e.id : 0;
	else if (entries && (entries != l->sel_entries || t != l->sel_t))
		read_entries(l);
	l->sel_known = true;
	l->sel_entries = entries;
	l->sel_t = t;
	return 0;
}

/* --- looks --- */

static int look(struct looker *l)
{
	int err = l->i ? 0 : connect_to(l);

	if (!err && (!l->sdr_ns || clock_mono_ns() - l->sdr_ns > SDR_NS)) {
		err = read_records(l);
		if (!err)
			l->sdr_ns = clock_mono_ns();
	}
	for (uint32_t i = 0; !err && i < l->sensors && !bmc_stops(l->b); i++)
		err = read_sensor(l, &l->sensor[i]);
	err = err ? err : read_power(l);
	err = err ? err : read_log(l);
	if (err && l->i) {
		say(l, strerror(-err));
		ipmi_close(l->i);
		l->i = NULL;
		l->sdr_ns = 0;
	}
	return err;
}

static void tell(struct looker *l, bool fine, uint64_t began)
{
	pthread_mutex_lock(&l->b->lock);
	bmc_looked(l->b, fine, began);
	l->b->resources = l->sensors;
	l->b->discovered = fine;
	pthread_mutex_unlock(&l->b->lock);
}

void *ipmi_thread(void *arg)
{
	struct bmc *b = arg;
	struct looker l = { .b = b };
	uint64_t back = 0, step = (uint64_t)b->conf->interval * S;

	l.sensor = calloc(SENSORS, sizeof(*l.sensor));
	while (l.sensor && !bmc_stops(b)) {
		uint64_t began = clock_mono_ns(), took;
		int err = look(&l);

		if (bmc_stops(b))
			break;
		tell(&l, !err, began);
		back = !err ? 0 : err == -EACCES ? REFUSED_NS : back ? back * 2 : step;
		back = back > BACK_MAX_NS && err != -EACCES ? BACK_MAX_NS : back;
		took = clock_mono_ns() - began;
		bmc_sleep(b, back ? back : took < step ? step - took : 0);
	}
	ipmi_close(l.i);
	free(l.sensor);
	return NULL;
}
