/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - logfmt lines: written whole or not at all, with repeated lines limited. */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define LOG_SLOTS 64u

static const char *const level_word[] = { "err", "warn", "info", "debug" };

static _Atomic int max_level = LOG_LEVEL_INFO;
static _Atomic int out_fd = STDERR_FILENO;

/* Guards slot[]. Held for a few loads and stores, never across the write. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot {
	const char *fmt; /* borrowed: a literal, so its address names the call */
	time_t since;
	uint64_t seen;
	uint64_t muted;
} slot[LOG_SLOTS];

void log_level(enum log_level level)
{
	atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

void log_fd(int fd)
{
	atomic_store_explicit(&out_fd, fd, memory_order_relaxed);
}

/* May this line be written? *muted gets how many of its kind were suppressed since the last one. */
static bool may_write(const char *fmt, time_t now, uint64_t *muted)
{
	struct slot *s = &slot[((uintptr_t)fmt >> 3) % LOG_SLOTS];
	bool ok;

	pthread_mutex_lock(&lock);
	if (s->fmt != fmt || now - s->since >= LOG_WINDOW_S || now < s->since) {
		*muted = s->fmt == fmt ? s->muted : 0;
		*s = (struct slot){ .fmt = fmt, .since = now };
	} else {
		*muted = 0;
	}
	ok = s->seen++ < LOG_BURST;
	if (!ok)
		s->muted++;
	pthread_mutex_unlock(&lock);
	return ok;
}

/* Foreign text must not end the line or the quotes. */
static void make_safe(char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
		else if (*s == '"' || *s == '\\')
			*s = '\'';
	}
}

static int put_head(char *line, size_t cap, enum log_level level, const char *file)
{
	const char *base = strrchr(file, '/');
	uint64_t ms = clock_wall_ns() / 1000000u;
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	char when[32];

	base = base ? base + 1 : file;
	gmtime_r(&s, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	return snprintf(line, cap, "ts=%s.%03uZ level=%s mod=%.*s msg=\"", when,
			(unsigned)(ms % 1000), level_word[level], (int)strcspn(base, "."), base);
}

void log_line(enum log_level level, const char *file, const char *fmt, ...)
{
	int err = errno, len;
	uint64_t muted;
	char line[1024];
	va_list ap;

	if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed))
		return;
	if (!may_write(fmt, (time_t)(clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u), &muted))
		goto done;
	len = put_head(line, sizeof(line), level, file);
	va_start(ap, fmt);
	errno = err;
	vsnprintf(line + len, sizeof(line) - (size_t)len - 48, fmt, ap);
	va_end(ap);
	make_safe(line + len);
	len += (int)strlen(line + len);
	if (muted)
		len += snprintf(line + len, sizeof(line) - (size_t)len, "\" muted=%llu\n",
				(unsigned long long)muted);
	else
		len += snprintf(line + len, sizeof(line) - (size_t)len, "\"\n");
	if (write(atomic_load_explicit(&out_fd, memory_order_relaxed), line, (size_t)len) < 0)
		goto done; /* nobody reads the log: nobody to tell */
done:
	errno = err;
}
