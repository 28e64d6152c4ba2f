/* SPDX-License-Identifier: Apache-2.0 */
/* ipmi_sdr.c - sensor records of IPMI 2.0, chapter 43, and the conversion of chapter 36. */
#include "collect/bmc/ipmi_sdr.h"

#include <errno.h>
#include <math.h>

#define TYPE_FULL    0x01
#define TYPE_COMPACT 0x02
#define FULL_NAME    47u
#define COMPACT_NAME 31u

static int16_t sign10(unsigned v)
{
	return (int16_t)(v & 0x200 ? (int)v - 0x400 : (int)v);
}

static int8_t sign4(unsigned v)
{
	return (int8_t)(v & 8 ? (int)v - 16 : (int)v);
}

/* Six bits a letter, the first in the lowest ones. */
static size_t six_bits(char *out, size_t cap, const uint8_t *p, size_t n)
{
	size_t k = 0, bits = n * 8;

	for (size_t at = 0; at + 6 <= bits && k + 1 < cap; at += 6) {
		unsigned word = p[at / 8] | (at / 8 + 1 < n ? p[at / 8 + 1] << 8 : 0);

		out[k++] = (char)(0x20 + (word >> at % 8 & 0x3f));
	}
	return k;
}

static void read_name(char out[IPMI_NAME], const uint8_t *p, size_t left)
{
	static const char bcd[] = "0123456789 -.:,_";
	size_t n, k = 0;

	out[0] = '\0';
	if (!left)
		return;
	n = p[0] & 0x1f;
	if (n > left - 1)
		n = left - 1;
	switch (p[0] >> 6) {
	case 1:
		for (size_t i = 0; i < n && k + 3 < IPMI_NAME; i++) {
			out[k++] = bcd[p[1 + i] & 15];
			out[k++] = bcd[p[1 + i] >> 4];
		}
		break;
	case 2:
		k = six_bits(out, IPMI_NAME, p + 1, n);
		break;
	default:
		for (size_t i = 0; i < n && k + 1 < IPMI_NAME && p[1 + i]; i++)
			out[k++] = (char)p[1 + i];
	}
	while (k && out[k - 1] == ' ')
		k--;
	out[k] = '\0';
	for (size_t i = 0; i < k; i++) /* it becomes a label */
		if (out[i] < ' ' || out[i] > '~' || out[i] == '"' || out[i] == '\\')
			out[i] = '_';
}

int ipmi_sensor_parse(struct ipmi_sensor *out, const uint8_t *r, size_t len)
{
	bool full = len > FULL_NAME && r[3] == TYPE_FULL;
	struct ipmi_sensor s = { 0 };
	size_t name = full ? FULL_NAME : COMPACT_NAME;

	if (!full && !(len > COMPACT_NAME && r[3] == TYPE_COMPACT))
		return -ENOENT;
	s.owner = r[5];
	s.lun = r[6] & 3;
	s.number = r[7];
	s.type = r[12];
	s.sign = r[20] >> 6;
	s.percent = r[20] & 1;
	s.base = r[21];
	s.modifier = r[22];
	s.analog = full && r[13] == 0x01 && s.sign != 3;
	if (full) {
		s.linear = r[23] & 0x7f;
		s.m = sign10((unsigned)r[24] | (unsigned)(r[25] & 0xc0) << 2);
		s.b = sign10((unsigned)r[26] | (unsigned)(r[27] & 0xc0) << 2);
		s.r_exp = sign4(r[29] >> 4);
		s.b_exp = sign4(r[29] & 15);
	}
	read_name(s.name, r + name, len - name);
	if (!*s.name || (s.owner & 1)) /* of software: nobody answers */
		return -ENOENT;
	*out = s;
	return 0;
}

static double function(uint8_t code, double v)
{
	switch (code) {
	case 0:
		return v;
	case 1:
		return log(v);
	case 2:
		return log10(v);
	case 3:
		return log2(v);
	case 4:
		return exp(v);
	case 5:
		return pow(10, v);
	case 6:
		return exp2(v);
	case 7:
		return v != 0 ? 1 / v : NAN;
	case 8:
		return v * v;
	case 9:
		return v * v * v;
	case 10:
		return sqrt(v);
	case 11:
		return cbrt(v);
	default:
		return NAN;
	}
}

double ipmi_sensor_value(const struct ipmi_sensor *s, uint8_t raw)
{
	double x = raw;

	if (s->sign == 1)
		x = raw & 0x80 ? -(double)(uint8_t)~raw : raw;
	else if (s->sign == 2)
		x = (int8_t)raw;
	return function(s->linear, (s->m * x + s->b * pow(10, s->b_exp)) * pow(10, s->r_exp));
}

const char *ipmi_sensor_metric(const struct ipmi_sensor *s, double *factor, double *plus)
{
	static const struct {
		uint8_t base;
		const char *metric;
		double factor, plus;
	} units[] = {
		{ 1, "bmc_temperature_celsius", 1, 0 },
		{ 2, "bmc_temperature_celsius", 5.0 / 9, -160.0 / 9 },
		{ 3, "bmc_temperature_celsius", 1, -273.15 },
		{ 4, "bmc_voltage_volts", 1, 0 },
		{ 5, "bmc_current_amperes", 1, 0 },
		{ 6, "bmc_power_watts", 1, 0 },
		{ 7, "bmc_energy_joules_total", 1, 0 },
		{ 11, "bmc_pressure_kpa", 1, 0 },
		{ 18, "bmc_fan_rpm", 1, 0 },
		{ 19, "bmc_clock_mhz", 1e-6, 0 },
	};

	*factor = 1;
	*plus = 0;
	if (!s->analog)
		return "bmc_discrete";
	if (s->percent)
		return "bmc_percent";
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].base == s->base) {
			*factor = units[i].factor;
			*plus = units[i].plus;
			return units[i].metric;
		}
	return "bmc_reading";
}

int ipmi_sel_parse(struct ipmi_sel *out, const uint8_t *p, size_t len)
{
	if (len < 18)
		return -EBADMSG;
	*out = (struct ipmi_sel){ .next = (uint16_t)(p[0] | p[1] << 8),
				  .id = (uint16_t)(p[2] | p[3] << 8),
				  .type = p[4],
				  .t = p[5] | (uint32_t)p[6] << 8 | (uint32_t)p[7] << 16 |
				       (uint32_t)p[8] << 24,
				  .sensor_type = p[12],
				  .sensor = p[13],
				  .event_type = p[14] & 0x7f,
				  .gone = p[14] >> 7,
				  .data = { p[15], p[16], p[17] } };
	return 0;
}

const char *ipmi_sensor_type(uint8_t type)
{
	static const char *const names[] = {
		"",
		"Temperature",
		"Voltage",
		"Current",
		"Fan",
		"Physical security",
		"Platform security",
		"Processor",
		"Power supply",
		"Power unit",
		"Cooling",
		"Other unit",
		"Memory",
		"Drive slot",
		"POST memory",
		"Firmware progress",
		"Event log",
		"Watchdog",
		"System event",
		"Critical interrupt",
		"Button",
		"Module",
		"Microcontroller",
		"Add-in card",
		"Chassis",
		"Chip set",
		"Other FRU",
		"Cable",
		"Terminator",
		"System boot",
		"Boot error",
		"OS boot",
		"OS stop",
		"Slot",
		"ACPI power",
		"Watchdog",
		"Platform alert",
		"Entity presence",
		"Monitor",
		"LAN",
		"Management",
		"Battery",
		"Session",
		"Version change",
		"FRU state",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "OEM";
}
