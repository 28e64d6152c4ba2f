/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redfish_body.h - parses a BMC's answers by schema, whoever made the BMC: links to other
 * resources, values, metric reports. Pure; accepts any bytes. JSON_PAD quotes follow a body.
 *
 * A value is identified by its resource and a pointer into it, as metric reports do:
 * "/redfish/v1/Chassis/Tray/Sensors/T0" and "/Oem/Nvidia/BitErrorRate".
 */
#pragma once

#include "base/json_read.h"

#define REDFISH_PATH  256u /* bytes of a resource's path; longer ones are not followed */
#define REDFISH_DEPTH 12u  /* of objects in a resource */

struct redfish_leaf {
	const char *path;    /* of the resource */
	const char *pointer; /* "" or "/PCIeErrors/FatalErrorCount" */
	const char
		*key; /* the last word of the pointer that is no index; of a Reading its object's */
	const char *said;         /* what its object is called; "": nothing */
	const char *kind, *units; /* ReadingType and ReadingUnits of its object; "" */
	bool absent;              /* its object says that it is not there, or off */
	struct json_tok value;    /* with its quotes if it is a string */
};

struct redfish_fns {
	void (*leaf)(void *arg, const struct redfish_leaf *l);
	/* `key`: of the property that links; `whole`: the resource itself is in this body. */
	void (*link)(void *arg, const char *key, const char *path, bool whole);
	void *arg;
};

/* 0, or -EBADMSG: it is no object. Either function may be NULL. */
int redfish_walk(const char *body, size_t len, const struct redfish_fns *fns);

/* The text of a property of the outermost object; false: it has none, or it is too long. */
bool redfish_text(const char *body, size_t len, const char *key, char *out, size_t cap);

struct redfish_metric {
	struct json_tok property, value; /* without quotes */
	int64_t t_ns;                    /* since 1970 by the BMC's clock; 0: unknown */
	bool stale;                      /* the BMC says so */
};

typedef void redfish_metric_fn(void *arg, const struct redfish_metric *m);

/*
 * Of a report, or of a collection that came with its reports: how many values. -EBADMSG: no report, or not
 * whole; earlier values were reported.
 */
int redfish_report(const char *body, size_t len, redfish_metric_fn *fn, void *arg);

/* "2026-06-29T08:05:10.759+00:00" as ns since 1970; false: it is no time. */
bool redfish_time(struct json_tok text, int64_t *ns);
/* "P6DT23H36M51.2S" in seconds. */
bool redfish_duration(struct json_tok text, double *seconds);
/* A number, in quotes or not, or a duration. */
bool redfish_number(struct json_tok value, double *out);

struct redfish_event {
	char severity[16], message[192], id[96], created[40], origin[REDFISH_PATH];
};

typedef void redfish_event_fn(void *arg, const struct redfish_event *e);

/* Events of an Event, entries of a collection of LogEntry. How many, or -EBADMSG. */
int redfish_events(const char *body, size_t len, redfish_event_fn *fn, void *arg);
