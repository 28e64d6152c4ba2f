/* SPDX-License-Identifier: Apache-2.0 */
/* rights.h - looking into others' processes with no more rights than that takes, and why it fails. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * From root to the user of "UID:GID", with CAP_SYS_PTRACE: one that may still look into processes
 * where a user alone may not. 1: it is who it was, and has what it had; -errno.
 */
int rights_as(const char *who);
int rights_drop(void); /* that one, too */

/*
 * For one that looks into processes as long as it runs: from root to the user of "UID:GID" (NULL:
 * nobody), and of all capabilities at most two stay: CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH for
 * rights_search(). 1: it is who it was, and has what it had; -errno.
 */
int rights_sampler(const char *who);
/* Around the opening of a file that only its owner may open: those of /proc/PID, libraries in a home.
 * Without rights_sampler(), or without the capability, nothing changes. Keeps errno. */
void rights_search(bool on);

/* Why a thread could not be looked into; err is the -errno. */
void why_not(pid_t pid, pid_t tid, int err, char *out, size_t cap);
