/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipmi_sdr.h - decodes a BMC's sensor records: names, units, and the conversion of a byte to a
 * value. Pure; accepts any bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPMI_NAME 32u

struct ipmi_sensor {
	char name[IPMI_NAME];
	uint8_t owner, lun, number, type;
	bool analog;    /* its reading is a number; else a mask of states */
	uint8_t sign;   /* of the byte: 0 none, 1 ones' complement, 2 two's complement */
	uint8_t linear; /* IPMI's code of the function behind it */
	uint8_t base, modifier;
	bool percent;
	int16_t m, b;
	int8_t b_exp, r_exp;
};

/* A whole record, its head with it. 0, or -ENOENT: it is of no sensor that can be read. */
int ipmi_sensor_parse(struct ipmi_sensor *out, const uint8_t *record, size_t len);

/* The value of a reading; NAN: the function is one that has no formula. */
double ipmi_sensor_value(const struct ipmi_sensor *s, uint8_t raw);

/* Which metric it is, and what the value has to be multiplied by and then added; NULL never. */
const char *ipmi_sensor_metric(const struct ipmi_sensor *s, double *factor, double *plus);

struct ipmi_sel {
	uint16_t id, next;
	uint32_t t; /* seconds since 1970 by the BMC's clock */
	uint8_t type, sensor_type, sensor, event_type, data[3];
	bool gone; /* the event ended */
};

/* An answer to Get SEL Entry behind its completion code. 0, or -EBADMSG. */
int ipmi_sel_parse(struct ipmi_sel *out, const uint8_t *answer, size_t len);
const char *ipmi_sensor_type(uint8_t type); /* "Temperature" */
