/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/bmc/ipmi_sdr.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collect/bmc/rmcp.h"
#include "t.h"

/* A full record of a sensor called "T". */
static size_t record(uint8_t r[64], uint8_t units1, uint8_t base, int m, int b, int b_exp,
		     int r_exp, uint8_t linear)
{
	memset(r, 0, 64);
	r[3] = 0x01;
	r[5] = 0x20;
	r[7] = 9;
	r[12] = 1;
	r[13] = 1;
	r[20] = units1;
	r[21] = base;
	r[23] = linear;
	r[24] = (uint8_t)m;
	r[25] = (uint8_t)((m >> 8 & 3) << 6);
	r[26] = (uint8_t)b;
	r[27] = (uint8_t)((b >> 8 & 3) << 6);
	r[29] = (uint8_t)((r_exp & 15) << 4 | (b_exp & 15));
	r[47] = 0xc1;
	r[48] = 'T';
	r[4] = 44;
	return 49;
}

static const struct {
	const char *what;
	uint8_t units1, base;
	int m, b, b_exp, r_exp;
	uint8_t linear, raw;
	double want;
	const char *metric;
} cases[] = {
	/* clang-format off */
	{ "a plain one",          0x00,  1,    1,    0, 0,  0,  0,  60,   60,    "bmc_temperature_celsius" },
	{ "two decimals",         0x00,  4,    6,    0, 0, -2,  0,  70,    4.2,  "bmc_voltage_volts" },
	{ "a factor",             0x00, 18,  100,    0, 0,  0,  0,  80, 8000,    "bmc_fan_rpm" },
	{ "an offset below 0",    0x00,  1,    1,  -50, 0,  0,  0,  90,   40,    "bmc_temperature_celsius" },
	{ "an offset times ten",  0x00,  6,    2,    5, 2,  0,  0,  10,  520,    "bmc_power_watts" },
	{ "two's complement",     0x80,  1,    1,    0, 0,  0,  0, 0xf6, -10,    "bmc_temperature_celsius" },
	{ "ones' complement",     0x40,  1,    1,    0, 0,  0,  0, 0xf5, -10,    "bmc_temperature_celsius" },
	{ "a factor below 0",     0x00,  1,   -1,    0, 0,  0,  0,  20,  -20,    "bmc_temperature_celsius" },
	{ "Fahrenheit",           0x00,  2,    1,    0, 0,  0,  0, 212,  100,    "bmc_temperature_celsius" },
	{ "percent",              0x01,  0,    1,    0, 0,  0,  0,  40,   40,    "bmc_percent" },
	{ "a square",             0x00,  6,    1,    0, 0,  0,  8,   9,   81,    "bmc_power_watts" },
	{ "one divided by it",    0x00, 18,    1,    0, 0,  0,  7,   4,    0.25, "bmc_fan_rpm" },
	{ "a logarithm",          0x00,  4,    1,    0, 0,  0,  2, 100,    2,    "bmc_voltage_volts" },
	{ "a unit of its own",    0x00, 30,    1,    0, 0,  0,  0,   7,    7,    "bmc_reading" },
	{ "no formula",           0x00,  4,    1,    0, 0,  0, 0x70, 7,   NAN,   "bmc_voltage_volts" },
	/* clang-format on */
};

static void sensors(void)
{
	struct ipmi_sensor s;
	uint8_t r[64];
	size_t n;

	for (size_t i = 0; i < T_LEN(cases); i++) {
		double factor, plus, v;
		const char *metric;

		n = record(r, cases[i].units1, cases[i].base, cases[i].m, cases[i].b,
			   cases[i].b_exp, cases[i].r_exp, cases[i].linear);
		if (ipmi_sensor_parse(&s, r, n)) {
			T_OK(false, "%s is a sensor", cases[i].what);
			continue;
		}
		metric = ipmi_sensor_metric(&s, &factor, &plus);
		v = ipmi_sensor_value(&s, cases[i].raw) * factor + plus;
		T_OK(!strcmp(metric, cases[i].metric) &&
			     (isnan(cases[i].want) ? isnan(v) : fabs(v - cases[i].want) < 1e-9),
		     "%s: %g %s", cases[i].what, v, metric);
	}
	n = record(r, 0, 1, 1, 0, 0, 0, 0);
	T_OK(!strcmp((ipmi_sensor_parse(&s, r, n), s.name), "T") && s.number == 9,
	     "a sensor has its name");
	for (size_t k = 0; k < 48; k++)
		if (!ipmi_sensor_parse(&s, r, k)) {
			T_OK(false, "a record of %zu bytes is none", k);
			return;
		}
	T_OK(true, "a record that is cut is none");
	r[47] = 0x9f; /* six bits a letter, more than there are */
	T_OK(ipmi_sensor_parse(&s, r, n) == -ENOENT || strlen(s.name) < IPMI_NAME,
	     "a name that is longer than its record ends with it");
	r[3] = 0x11;
	T_OK(ipmi_sensor_parse(&s, r, n) == -ENOENT, "a record of something else is none");
}

static void packets(void)
{
	uint8_t msg[] = { 0x20, 0x18, 0xc8, 0x81, 0x04, 0x3b, 0x02, 0x3e }, iv[16] = { 7 },
		out[512], back[IPMI_DATA];
	struct rmcp_keys k[2] = {
		{ .sha256 = true, .k1 = { 1 }, .k2 = { 2 }, .hash = 32, .icv = 16 },
		{ .sha256 = false, .k1 = { 3 }, .k2 = { 4 }, .hash = 20, .icv = 12 }
	};
	const uint8_t *payload;

	for (int i = 0; i < 2; i++) {
		size_t n = rmcp_seal(out, &k[i], 0x11223344, 5, iv, msg, sizeof(msg));
		int wrong = 0;

		T_OK(rmcp_unseal(back, &k[i], 0x11223344, out, n) == sizeof(msg) &&
			     !memcmp(back, msg, sizeof(msg)),
		     "what was sealed is unsealed");
		T_OK(rmcp_unseal(back, &k[i], 0x11223345, out, n) == -EBADMSG &&
			     rmcp_unseal(back, &k[!i], 0x11223344, out, n) == -EBADMSG,
		     "but not with another session or another key");
		for (size_t at = 0; at < n; at++) {
			out[at] ^= 1;
			wrong += rmcp_unseal(back, &k[i], 0x11223344, out, n) >= 0;
			out[at] ^= 1;
		}
		for (size_t cut = 0; cut < n; cut++)
			wrong += rmcp_unseal(back, &k[i], 0x11223344, out, cut) >= 0;
		T_OK(!wrong, "and not with any bit changed, nor cut");
	}
	T_OK(rmcp_payload(out, 10, 0x11, &payload) == -EBADMSG, "half a packet is none");
}

int main(void)
{
	struct ipmi_sel e;
	uint8_t entry[18] = { 0xff, 0xff, 3, 0,    2, 1,    2,    3,    4,
			      0x20, 0,    4, 0x01, 9, 0x81, 0x57, 0x5f, 0x5a };

	sensors();
	packets();
	T_OK(!ipmi_sel_parse(&e, entry, 18) && e.id == 3 && e.next == 0xffff && e.gone &&
		     e.sensor == 9 && !strcmp(ipmi_sensor_type(e.sensor_type), "Temperature"),
	     "an entry of the log is read");
	T_OK(ipmi_sel_parse(&e, entry, 17) == -EBADMSG, "half an entry is none");
	return t_done();
}
