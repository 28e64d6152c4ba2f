/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/bmc/redfish_body.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/bmc/bmc_conf.h"
#include "collect/bmc/redfish_name.h"
#include "collect/bmc/redfish_tree.h"
#include "collect/bmc/sse.h"
#include "t.h"

static char *padded(const char *text)
{
	size_t n = strlen(text);
	char *copy = malloc(n + JSON_PAD + 1);

	memcpy(copy, text, n);
	memset(copy + n, '"', JSON_PAD);
	copy[n + JSON_PAD] = '\0';
	return copy;
}

static struct json_tok tok(const char *s)
{
	return (struct json_tok){ s, strlen(s) };
}

/* --- values and times --- */

static void times(void)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: none */
	} at[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-06-29T08:05:10.759+00:00", 1782720310759000000 },
		{ "2026-06-29T10:05:10.759+02:00", 1782720310759000000 },
		{ "2024-02-29T23:59:59.000000001Z", 1709251199000000001 },
		{ "1969-12-31T23:59:59Z", -1 },
		{ "2026-13-01T00:00:00Z", -1 },
		{ "2026-06-29 08:05:10", -1 },
		{ "", -1 },
	};
	static const struct {
		const char *text;
		double s;
	} took[] = { { "PT0S", 0 },
		     { "PT1M2.5S", 62.5 },
		     { "P6DT23H36M51.224568128S", 603411.224568128 },
		     { "PT", 0 },
		     { "P1M", -1 },
		     { "PT1X", -1 },
		     { "1S", -1 },
		     { "P", -1 } };

	for (size_t i = 0; i < T_LEN(at); i++) {
		int64_t ns = -1;

		T_OK(redfish_time(tok(at[i].text), &ns) == (at[i].ns >= 0) && ns == at[i].ns,
		     "'%s' is the time that it is", at[i].text);
	}
	for (size_t i = 1; i < T_LEN(took); i++) {
		double s = -1;

		if (!strcmp(took[i].text, "PT"))
			continue;
		T_OK(redfish_duration(tok(took[i].text), &s) == (took[i].s >= 0) &&
			     fabs(s - took[i].s) < 1e-9,
		     "'%s' is the duration that it is", took[i].text);
	}
}

static void values(void)
{
	static const struct {
		const char *key, *value;
		double want; /* NAN: none */
	} c[] = {
		{ "ReadingCelsius", "24.5", 24.5 },
		{ "ReadingCelsius", "0", NAN },
		{ "ReadingCelsius", "null", NAN },
		{ "ReadingCelsius", "\"nan\"", NAN },
		{ "PowerConsumedWatts", "0", 0 },
		{ "PowerConsumedWatts", "\"1361.53\"", 1361.53 },
		{ "TXErrors", "4294967295", NAN },
		{ "TXErrors", "18446744073709551615", NAN },
		{ "BitErrorRate", "1.5e-254", NAN },
		{ "EffectiveBER", "\"0.000000\"", NAN },
		{ "TotalRawBER", "\"0.000009\"", 9e-6 },
		{ "LinkStatus", "\"LinkUp\"", 1 },
		{ "LinkStatus", "\"LinkDown\"", 0 },
		{ "Health", "\"Critical\"", 2 },
		{ "Health", "\"Splendid\"", NAN },
		{ "ThermalLimitThrottleDuration", "\"PT1M\"", 60 },
		{ "SMActivityPercent", "99.5", 99.5 },
		{ "CorrectableECCErrorCount", "3", 3 },
		{ "OperatingSpeedMHz", "0", NAN },
		{ "RXBytes", "9460179599974", 9460179599974 },
		{ "RXBytes", "{}", NAN },
		{ "RXBytes", "1e999", NAN },
	};

	for (size_t i = 0; i < T_LEN(c); i++) {
		const struct redfish_row *row = redfish_row_of(c[i].key);
		double v = NAN;
		bool got = row && redfish_value(row, tok(c[i].value), &v);

		T_OK(row && got == !isnan(c[i].want) && (!got || v == c[i].want), "%s of %s is %s",
		     c[i].key, c[i].value, isnan(c[i].want) ? "none" : "taken");
	}
	T_OK(!redfish_row_of("SerialNumber") && !redfish_row_of(""),
	     "what is no measure has no row");
	T_OK(redfish_row_of_reading("Hz", "")->factor == 1e-6, "a clock in Hz is told in MHz");
}

static void devices(void)
{
	static const struct {
		const char *path, *pointer, *said, *want;
	} c[] = {
		{ "/redfish/v1/Systems/B/Processors/GPU_0/Ports/NVLink_3/Metrics", "/RXBytes",
		  "Metrics", "B/GPU_0/NVLink_3" },
		{ "/redfish/v1/Chassis/HGX_GPU_0/Sensors/T0", "", "T 0", "HGX_GPU_0/T0" },
		{ "/redfish/v1/Chassis/T/Thermal", "/Temperatures/1/ReadingCelsius", "Inlet",
		  "T/Inlet" },
		{ "/redfish/v1/Chassis/T/ThermalSubsystem/Fans/F1", "/SpeedPercent/SpeedRPM", "Fan",
		  "T/F1" },
		{ "/redfish/v1/UpdateService/FirmwareInventory/BMC", "/Version", "", "BMC" },
		{ "/redfish/v1/Systems/B/Processors/GPU_0/MemorySummary/MemoryMetrics", "", "",
		  "B/GPU_0/MemorySummary" },
		{ "/redfish/v1", "", "", "BMC" },
		{ "/elsewhere/x\"\\\n", "", "", "x___" },
	};
	char out[REDFISH_DEVICE];

	for (size_t i = 0; i < T_LEN(c); i++) {
		redfish_device(out, c[i].path, c[i].pointer, c[i].said);
		T_OK(!strcmp(out, c[i].want), "a device is called %s", c[i].want);
	}
}

/* --- bodies --- */

struct seen {
	char text[2048];
};

static void on_leaf(void *arg, const struct redfish_leaf *l)
{
	struct seen *s = arg;
	size_t n = strlen(s->text);

	snprintf(s->text + n, sizeof(s->text) - n, "%s|%s|%s|%s|%d|%.*s\n", l->path, l->pointer,
		 l->key, l->said, l->absent, (int)l->value.len, l->value.s);
}

static void on_link(void *arg, const char *key, const char *path, bool whole)
{
	struct seen *s = arg;
	size_t n = strlen(s->text);

	snprintf(s->text + n, sizeof(s->text) - n, "%s>%s%s\n", key, path, whole ? "!" : "");
}

static void walks(void)
{
	struct seen leaves = { "" }, links = { "" };
	struct redfish_fns a = { .leaf = on_leaf, .arg = &leaves },
			   b = { .link = on_link, .arg = &links };
	char *body = padded(
		"{\"@odata.id\":\"/r/T\",\"Name\":\"Th\",\"Sensors\":{\"@odata.id\":\"/r/S\"},"
		"\"Temperatures\":[{\"@odata.id\":\"/r/T#/Temperatures/"
		"0\",\"Name\":\"Inlet\",\"ReadingCelsius\":24},"
		"{\"Name\":\"Gone\",\"ReadingCelsius\":0,\"Status\":{\"State\":\"Absent\","
		"\"Health\":\"Critical\"}}],"
		"\"PowerWatts\":{\"Reading\":5},\"Copy\":{\"DataSourceUri\":\"/r/S/"
		"1\",\"Reading\":6}}");

	T_OK(!redfish_walk(body, (size_t)(strrchr(body, '}') - body) + 1, &a) &&
		     strstr(leaves.text,
			    "/r/T|/Temperatures/0/ReadingCelsius|ReadingCelsius|Inlet|0|24\n"),
	     "a value has the name of its object");
	T_OK(strstr(leaves.text, "/r/T|/Temperatures/1/ReadingCelsius|ReadingCelsius|Gone|1|0\n") &&
		     strstr(leaves.text, "/Temperatures/1/Status/Health|Health||1|"),
	     "what is absent is told with its value and with its health");
	T_OK(strstr(leaves.text, "/r/T|/PowerWatts/Reading|PowerWatts|") &&
		     !strstr(leaves.text, "/Copy/"),
	     "a reading has its object's key, and what repeats a sensor is left to the sensor");
	T_OK(!redfish_walk(body, (size_t)(strrchr(body, '}') - body) + 1, &b) &&
		     strstr(links.text, "Sensors>/r/S\n"),
	     "links are told with their keys");
	free(body);
	body = padded("{\"a\":");
	T_OK(redfish_walk(body, 5, &a) == -EBADMSG && redfish_walk(body, 0, &a) == -EBADMSG,
	     "half an object is none");
	free(body);
	body = padded("{\"Members\":[{\"@odata.id\":\"/r/"
		      "1\",\"Id\":\"1\"}],\"ServerSentEventUri\":\"/r/SSE\"}");
	links.text[0] = '\0';
	redfish_walk(body, (size_t)(strrchr(body, '}') - body) + 1, &b);
	T_OK(!strcmp(links.text, "Members>/r/1!\n"),
	     "a member that is in its collection is told as whole");
	T_OK(redfish_text(body, (size_t)(strrchr(body, '}') - body) + 1, "ServerSentEventUri",
			  links.text, 32) &&
		     !strcmp(links.text, "/r/SSE"),
	     "a text of the outermost object is found");
	free(body);
}

struct metrics {
	int n, stale;
	double sum;
};

static void on_metric(void *arg, const struct redfish_metric *m)
{
	struct metrics *s = arg;
	double v;

	s->n++;
	s->stale += m->stale;
	if (redfish_number(m->value, &v))
		s->sum += v;
}

static void reports(void)
{
	struct metrics m = { 0 };
	char *body = padded("{\"MetricValues\":[{\"MetricProperty\":\"/r/S/"
			    "1\",\"MetricValue\":\"1.5\",\"Timestamp\":\"2026-06-29T08:05:10Z\"},"
			    "{\"MetricProperty\":\"/r/S/"
			    "2\",\"MetricValue\":\"nan\",\"Oem\":{\"V\":{\"MetricValueStale\": "
			    "true}}},{\"MetricValue\":\"7\"},5]}");
	size_t len = (size_t)(strrchr(body, '}') - body) + 1;

	T_OK(redfish_report(body, len, on_metric, &m) == 2 && m.n == 2 && m.stale == 1 &&
		     m.sum == 1.5,
	     "a report has its values, and says which are stale");
	T_OK(redfish_report(body, len - 2, on_metric, &m) == -EBADMSG, "half a report is none");
	free(body);
	m = (struct metrics){ 0 };
	body = padded(
		"{\"Name\":\"all\",\"Members\":[{\"Id\":\"a\",\"MetricValues\":[{"
		"\"MetricProperty\":"
		"\"/r/1\",\"MetricValue\":\"2\"}]},{\"@odata.id\":\"/r/x\"},{\"MetricValues\":"
		"[{\"MetricProperty\":\"/r/2\",\"MetricValue\":\"3\"}]}]}");
	len = (size_t)(strrchr(body, '}') - body) + 1;
	T_OK(redfish_report(body, len, on_metric, &m) == 2 && m.sum == 5,
	     "a collection that came with its reports has the values of all");
	free(body);
}

/* --- the file of BMCs --- */

static void confs(void)
{
	static const struct {
		const char *what, *text, *say;
	} bad[] = {
		{ "no section", "url https://x", "KEY = VALUE" },
		{ "a setting not known", "[a]\nurl = https://x\npassword = y\n",
		  "bmc.conf:3: 'password' is no setting" },
		{ "a number too large", "interval = 99999\n[a]\nurl=https://x", "1 to 3600" },
		{ "a flag that is none", "[a]\nurl=https://x\nevents = maybe", "yes or no" },
		{ "two of a name", "[a]\nurl=https://x\n[a]\n", "already" },
		{ "a name that is none", "[a b]\n", "letters" },
		{ "a password in the address", "[a]\nurl = https://root:pw@x", "login" },
		{ "a password for who listens", "[a]\nurl = http://x", "insecure" },
		{ "no address", "[a]\nrack = 1", "url" },
		{ "a kind not known", "[a]\nurl=https://x\nkind=toaster", "toaster" },
	};
	static const char good[] =
		"# all\ninterval = 5\nlogin = /l\n\n[n1]\nurl = https://10.0.0.7\nrack = "
		"A\n[p1]\nurl=ipmi://10.0.0.8\nkind = power\ninterval=60\n";
	struct bmc_confs c = { 0 };
	struct bmc_why why;

	for (size_t i = 0; i < T_LEN(bad); i++)
		T_OK(bmc_conf_parse(&c, "bmc.conf", bad[i].text, strlen(bad[i].text), &why) ==
				     -EINVAL &&
			     strstr(why.text, bad[i].say) && !c.n,
		     "%s is refused with a word on it", bad[i].what);
	T_OK(!bmc_conf_parse(&c, "f", good, strlen(good), &why) && c.n == 2 &&
		     c.bmc[0].interval == 5 && c.bmc[1].interval == 60 &&
		     !strcmp(c.bmc[1].login, "/l") && !strcmp(c.bmc[0].kind, "node") &&
		     !*c.bmc[1].rack,
	     "what stands before the sections is for all of them");
	bmc_confs_fini(&c);
}

static void logins(void)
{
	char path[] = "/tmp/aon-login-XXXXXX";
	struct bmc_login l = { 0 };
	struct bmc_why why;
	FILE *f = fdopen(mkstemp(path), "w");

	fputs("root:pass:word with spaces\n", f);
	fclose(f);
	T_OK(!bmc_login_read(&l, path, &why) && !strcmp(l.user, "root") &&
		     !strcmp(l.password, "pass:word with spaces"),
	     "a login is one line");
	chmod(path, 0640);
	T_OK(bmc_login_read(&l, path, &why) == -EPERM && strstr(why.text, "chmod 600"),
	     "a login that others may read is refused");
	remove(path);
	T_OK(bmc_login_read(&l, path, &why) == -ENOENT && !strstr(why.text, "pass"),
	     "a login that is not there is said");
}

/* --- events --- */

static void on_data(void *arg, char *data, size_t n)
{
	struct seen *s = arg;
	size_t at = strlen(s->text);

	snprintf(s->text + at, sizeof(s->text) - at, "<%.*s>", (int)n, data);
}

static void streams(void)
{
	static const char text[] =
		": hello\r\nid: 1\r\ndata: {\"a\":1}\r\n\r\nevent: x\ndata: b\ndata: c\n\ndata\n\n";
	struct seen a = { "" }, b = { "" };
	struct sse s = { 0 };

	sse_feed(&s, text, strlen(text), on_data, &a);
	T_OK(!strcmp(a.text, "< {\"a\":1}\n>< b\n c\n>"), "events end with an empty line");
	sse_fini(&s);
	for (const char *p = text; *p; p++)
		sse_feed(&s, p, 1, on_data, &b);
	T_OK(!strcmp(a.text, b.text), "wherever the stream is cut");
	sse_feed(&s, "data: ", 6, on_data, &a);
	for (unsigned i = 0; i < SSE_LARGEST; i++)
		sse_feed(&s, "x", 1, on_data, &a);
	sse_feed(&s, "\n\ndata: y\n\n", 11, on_data, &b);
	T_OK(s.dropped == 1 && strstr(b.text, "< y\n>"),
	     "one that is too long is dropped whole, and counted");
	sse_fini(&s);
}

static void trees(void)
{
	struct redfish_tree t;
	struct redfish_resource *a;

	redfish_tree_init(&t, 2);
	a = redfish_tree_add(&t, "/redfish/v1/");
	T_OK(a && redfish_tree_add(&t, "/redfish/v1") == a &&
		     redfish_tree_add(&t, "/redfish/v1/Chassis") && !redfish_tree_add(&t, "/x") &&
		     t.dropped == 1,
	     "a resource is met once, and what is too many is counted");
	redfish_tree_fini(&t);
	T_OK(redfish_use_of("#Sensor.v1_7_0.Sensor") == USE_POLL &&
		     redfish_use_of("#SensorCollection.SensorCollection") == USE_EXPAND &&
		     redfish_use_of("#Sensors.v1") == USE_NONE && redfish_follows("Sensors") &&
		     !redfish_follows("JsonSchemas"),
	     "the schema says what a resource is for");
}

int main(void)
{
	times();
	values();
	devices();
	walks();
	reports();
	confs();
	logins();
	streams();
	trees();
	return t_done();
}
