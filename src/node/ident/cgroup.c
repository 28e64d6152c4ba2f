/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - see cgroup.h. */
#include "ident/cgroup.h"

#include <stdbool.h>
#include <string.h>

#define CONTAINER_DIGITS 64u
#define STATIC_DIGITS    32u /* the hash of a static pod's file */
#define UID_BYTES        36u
#define JOB_DIGITS       20u

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 8-4-4-4-12; systemd's names have _ for -. */
static size_t read_uid(const char *p, size_t len, char out[40])
{
	size_t n = 0;

	for (; n < UID_BYTES && n < len; n++) {
		bool dash = n == 8 || n == 13 || n == 18 || n == 23;

		if (dash ? p[n] != '-' && p[n] != '_' : !is_hex(p[n]))
			break;
	}
	if (n == UID_BYTES) {
		for (size_t i = 0; i < n; i++)
			out[i] = p[i] == '_' ? '-' : p[i];
		out[n] = '\0';
		return n;
	}
	for (n = 0; n < len && is_hex(p[n]); n++)
		;
	if (n != STATIC_DIGITS)
		return 0;
	memcpy(out, p, n);
	out[n] = '\0';
	return n;
}

static void find_pod(struct cgroup_ident *out, const char *p, size_t len)
{
	for (size_t i = 0; i + 3 < len && !*out->pod_uid; i++)
		if (!memcmp(p + i, "pod", 3) && (!i || p[i - 1] == '/' || p[i - 1] == '-'))
			read_uid(p + i + 3, len - i - 3, out->pod_uid);
}

/* The innermost: 64 digits and no more. */
static void find_container(struct cgroup_ident *out, const char *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = 0;

		while (i + n < len && is_hex(p[i + n]))
			n++;
		if (n == CONTAINER_DIGITS && (!i || strchr("/-:", p[i - 1]))) {
			memcpy(out->container, p + i, n);
			out->container[n] = '\0';
		}
		i += n + 1;
	}
}

static void find_job(struct cgroup_ident *out, const char *p, size_t len)
{
	for (size_t i = 0; i + 5 < len && !*out->job; i++) {
		size_t n = 0;

		if (memcmp(p + i, "/job_", 5))
			continue;
		while (i + 5 + n < len && n <= JOB_DIGITS && is_digit(p[i + 5 + n]))
			n++;
		if (!n || n > JOB_DIGITS || (i + 5 + n < len && p[i + 5 + n] != '/'))
			continue;
		memcpy(out->job, p + i + 5, n);
		out->job[n] = '\0';
	}
}

void cgroup_read(struct cgroup_ident *out, const char *text, size_t len)
{
	const char *end = text + len;

	*out = (struct cgroup_ident){ 0 };
	while (text < end) {
		const char *line = memchr(text, '\n', (size_t)(end - text));
		const char *stop = line ? line : end, *path = text;

		for (int i = 0; i < 2 && path; i++) {
			path = memchr(path, ':', (size_t)(stop - path));
			path += path != NULL;
		}
		if (path) {
			size_t n = (size_t)(stop - path);

			find_pod(out, path, n);
			if (!*out->container)
				find_container(out, path, n);
			find_job(out, path, n);
		}
		text = stop + 1;
	}
}
