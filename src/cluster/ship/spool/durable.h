/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - files of a folder that are complete after a crash, or absent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Called before each step that a crash could interrupt; NULL except in tests, which end the process
 * there, or make the step fail: a result other than 0 becomes the step's result.
 */
extern int (*durable_hook)(const char *step, const char *name);

/* Writes the file anew and waits for the disk; the folder is not synced. On failure the file is gone. */
int durable_write(int dir, const char *name, const void *data, size_t len);
/* Writes NAME.new, waits for the disk, renames it over NAME, and waits for the folder. *doubt: that last step
 * failed, so that a crash may leave either. */
int durable_replace(int dir, const char *name, const void *data, size_t len, bool *doubt);
int durable_sync(int dir);
int durable_unlink(int dir, const char *name); /* 0 also if it is not there */
int durable_rename(int dir, const char *from, int to_dir, const char *to);

/* A file of at most `max` bytes into memory of the caller's to free. -EFBIG; -ENOENT ... */
int durable_read(int dir, const char *name, size_t max, void **out, size_t *len);
