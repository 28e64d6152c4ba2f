/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dcgm.c - a stand-in for libdcgm.so with the public ABI: answers are the lines of a file.
 *
 *	AON_DCGM_STATE=FILE	lines "GPU KEY VALUE", read at each call; * is every GPU, - the system
 *
 * Keys: "- gpus N", "- engine 1" a hostengine runs, "- inuse 1" another has the counters, "- paused 1", "- hang S",
 * "0 capability 8.0", "0 1004 0.42" a field ('b' for a blank), "- log FILE" what was called. Structs of another
 * version than DCGM 3 and 4 have are refused as these do, and what is not watched has no value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/dcgm_abi.h"

#define API __attribute__((visibility("default")))

static unsigned short watched[64];
static unsigned watches, grouped;
static unsigned short group[64];
static int open_handles;

int dcgmInit(void);
int dcgmShutdown(void);
int dcgmConnect_v2(const char *, struct dcgm_connect *, dcgm_handle *);
int dcgmDisconnect(dcgm_handle);
int dcgmStartEmbedded_v2(struct dcgm_embedded *);
int dcgmStopEmbedded(dcgm_handle);
int dcgmGetAllSupportedDevices(dcgm_handle, unsigned *, int *);
int dcgmFieldGroupCreate(dcgm_handle, int, const unsigned short *, const char *, dcgm_handle *);
int dcgmFieldGroupDestroy(dcgm_handle, dcgm_handle);
int dcgmWatchFields(dcgm_handle, dcgm_handle, dcgm_handle, long long, double, int);
int dcgmUnwatchFields(dcgm_handle, dcgm_handle, dcgm_handle);
int dcgmEntitiesGetLatestValues(dcgm_handle, struct dcgm_entity *, unsigned, const unsigned short *,
				unsigned, unsigned, struct dcgm_value *);
int dcgmProfGetSupportedMetricGroups(dcgm_handle, struct dcgm_prof_groups *);
int dcgmProfPause(dcgm_handle);
int dcgmProfResume(dcgm_handle);

static int get(int gpu, const char *key, char value[96])
{
	const char *path = getenv("AON_DCGM_STATE");
	char who[8], k[32], v[96], text[256];
	FILE *f = path ? fopen(path, "re") : NULL;
	int found = 0;

	while (f && !found && fgets(text, sizeof(text), f))
		if (sscanf(text, "%7s %31s %95[^\n]", who, k, v) == 3 && !strcmp(k, key) &&
		    (gpu < 0 ? *who == '-' : *who == '*' || (*who != '-' && atoi(who) == gpu))) {
			memcpy(value, v, sizeof(v));
			found = 1;
		}
	if (f)
		fclose(f);
	return found;
}

static int number(const char *key)
{
	char v[96];

	return get(-1, key, v) ? atoi(v) : 0;
}

static void note(const char *what)
{
	char path[96];
	FILE *f = get(-1, "log", path) ? fopen(path, "ae") : NULL;

	if (f) {
		fprintf(f, "%s\n", what);
		fclose(f);
	}
}

API int dcgmInit(void)
{
	return DCGM_OK;
}

API int dcgmShutdown(void)
{
	note(open_handles ? "shutdown with open handles" : "shutdown");
	return DCGM_OK;
}

API int dcgmConnect_v2(const char *address, struct dcgm_connect *how, dcgm_handle *out)
{
	if (how->version != DCGM_VERSION(struct dcgm_connect, 2))
		return -12;
	if (strcmp(address, "127.0.0.1") || !number("engine"))
		return DCGM_CONNECTION_NOT_VALID;
	*out = 7;
	open_handles++;
	return DCGM_OK;
}

API int dcgmDisconnect(dcgm_handle h)
{
	open_handles -= h == 7;
	return DCGM_OK;
}

API int dcgmStartEmbedded_v2(struct dcgm_embedded *p)
{
	if (p->version != DCGM_VERSION(struct dcgm_embedded, 1))
		return -12;
	note("embedded");
	p->handle = 8;
	open_handles++;
	return DCGM_OK;
}

API int dcgmStopEmbedded(dcgm_handle h)
{
	open_handles -= h == 8;
	return DCGM_OK;
}

API int dcgmGetAllSupportedDevices(dcgm_handle h, unsigned *id, int *n)
{
	(void)h;
	*n = number("gpus");
	for (int i = 0; i < *n; i++)
		id[i] = (unsigned)i;
	return DCGM_OK;
}

API int dcgmFieldGroupCreate(dcgm_handle h, int n, const unsigned short *field, const char *name,
			     dcgm_handle *out)
{
	(void)h, (void)name;
	if (n < 1 || n > 64)
		return -1;
	memcpy(group, field, (size_t)n * sizeof(*field));
	grouped = (unsigned)n;
	*out = 9;
	return DCGM_OK;
}

API int dcgmFieldGroupDestroy(dcgm_handle h, dcgm_handle fields)
{
	(void)h, (void)fields;
	return DCGM_OK;
}

API int dcgmWatchFields(dcgm_handle h, dcgm_handle gpus, dcgm_handle fields, long long us,
			double age, int samples)
{
	(void)h, (void)us, (void)age, (void)samples;
	if (gpus != DCGM_ALL_GPUS || fields != 9)
		return -1;
	if (number("inuse"))
		return note("refused"), DCGM_IN_USE;
	memcpy(watched, group, sizeof(group));
	watches = grouped;
	note("watch");
	return DCGM_OK;
}

API int dcgmUnwatchFields(dcgm_handle h, dcgm_handle gpus, dcgm_handle fields)
{
	(void)h, (void)gpus, (void)fields;
	watches = 0;
	note("unwatch");
	return DCGM_OK;
}

static void about(struct dcgm_value *v, int gpu)
{
	char text[96];
	double capability = get(gpu, "capability", text) ? atof(text) : 8.0;

	v->type = 's';
	switch (v->field) {
	case 1:
		snprintf(v->value.text, 256, "590.48");
		break;
	case 50:
		snprintf(v->value.text, 256, "NVIDIA A100");
		break;
	case 52:
		v->type = 'i';
		v->value.i = gpu;
		break;
	case 54:
		snprintf(v->value.text, 256, "GPU-%d", gpu);
		break;
	case 63:
		v->type = 'i';
		v->value.i = (int64_t)capability << 16;
		break;
	default:
		v->status = DCGM_NOT_SUPPORTED;
	}
}

static void measured(struct dcgm_value *v, int gpu)
{
	char key[16], text[96];

	v->type = v->field >= 1009 && v->field <= 1012 ? 'i' : 'd';
	v->status = DCGM_NO_DATA;
	for (unsigned i = 0; i < watches; i++)
		if (watched[i] == v->field)
			v->status = DCGM_OK;
	snprintf(key, sizeof(key), "%u", v->field);
	if (v->status == DCGM_OK && (!get(gpu, key, text) || *text == 'b')) {
		v->value.i = 0x7ffffffffffffff2;
		if (v->type == 'd')
			v->value.d = 140737488355330.0;
	} else if (v->type == 'd') {
		v->value.d = atof(text);
	} else {
		v->value.i = atoll(text);
	}
}

API int dcgmEntitiesGetLatestValues(dcgm_handle h, struct dcgm_entity *who, unsigned n,
				    const unsigned short *field, unsigned fields, unsigned flags,
				    struct dcgm_value *out)
{
	int64_t now = (int64_t)time(NULL) * 1000000;

	(void)flags;
	sleep((unsigned)number("hang"));
	if (h == 7 && !number("engine"))
		return DCGM_CONNECTION_NOT_VALID;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < fields; k++) {
			struct dcgm_value *v = &out[i * fields + k];

			*v = (struct dcgm_value){ .version = DCGM_VERSION(struct dcgm_value, 2),
						  .group = who[i].group,
						  .id = who[i].id,
						  .field = field[k],
						  .t_us = number("paused") ? now - 3600000000
									   : now };
			if (field[k] < 1000)
				about(v, (int)who[i].id);
			else
				measured(v, (int)who[i].id);
		}
	return DCGM_OK;
}

/* As an A100 has them: tensor pipes in one group, other pipes in one that cannot be had at the same time. */
API int dcgmProfGetSupportedMetricGroups(dcgm_handle h, struct dcgm_prof_groups *g)
{
	static const unsigned short a[] = { 1002, 1003, 1004, 1007 }, b[] = { 1006, 1008 },
				    c[] = { 1001, 1005, 1009, 1010, 1011, 1012 };

	(void)h;
	if (g->version != DCGM_VERSION(struct dcgm_prof_groups, 3))
		return -12;
	g->groups = 3;
	g->group[0].major = g->group[1].major = 1;
	g->group[1].minor = 1;
	g->group[2].major = 2;
	g->group[0].fields = 4;
	memcpy(g->group[0].field, a, sizeof(a));
	g->group[1].fields = 2;
	memcpy(g->group[1].field, b, sizeof(b));
	g->group[2].fields = 6;
	memcpy(g->group[2].field, c, sizeof(c));
	return DCGM_OK;
}

API int dcgmProfPause(dcgm_handle h)
{
	(void)h;
	note(watches ? "paused under a watch" : "paused");
	return DCGM_OK;
}

API int dcgmProfResume(dcgm_handle h)
{
	(void)h;
	note("resumed");
	return DCGM_OK;
}
