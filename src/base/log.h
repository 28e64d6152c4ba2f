/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - one logfmt line on stderr, for aon's own programs; never for code in an app.
 *
 *	ts=2026-11-15T21:04:53.120Z level=warn mod=sess msg="pid 41: refused: too many"
 *
 * The module is the file's name. errno is kept. A line that repeats (the same call) is written
 * LOG_BURST times in LOG_WINDOW_S seconds, then counted; the count goes out with the next one.
 */
#pragma once

enum log_level { LOG_LEVEL_ERR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

#define LOG_BURST    5
#define LOG_WINDOW_S 10

void log_level(enum log_level level); /* lines above it are not written; INFO by default */
void log_fd(int fd);                  /* where to; 2 by default */

void log_line(enum log_level level, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define log_err(...)   log_line(LOG_LEVEL_ERR, __FILE__, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __FILE__, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __FILE__, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __FILE__, __VA_ARGS__)
