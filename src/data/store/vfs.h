/* SPDX-License-Identifier: Apache-2.0 */
/* vfs.h - the files of a writer's connection, with fewer and larger system calls. */
#pragma once

/* The name to give to sqlite3_open_v2(), or NULL (SQLite's own) where it cannot be made. */
const char *vfs_name(void);
/* Bytes that this process has written through it. */
unsigned long long vfs_written(void);
