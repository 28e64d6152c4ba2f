/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - shared by the files of the host collector: files that stay open and are read again at
 * each poll, and parsers that allocate nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/emit.h"

#define HOST_TEXT (256u << 10) /* bytes: the longest file that is read */

/* How often: at each poll, every 10 s, every 15 s; each core the more rarely the more there are. */
enum host_group { HOST_FAST, HOST_MID, HOST_SLOW, HOST_CORE };
#define HOST_ALL 15u /* a bit for each group that a poll looks at */

/* Text that is being read, with a NUL behind its end. */
struct text {
	const char *p, *end;
};

/* A word of a line; empty: the line has no more. */
struct word {
	const char *p;
	size_t len;
};

struct word text_word(struct text *t);         /* up to a blank or the line's end */
bool text_number(struct text *t, double *out); /* a decimal number, with a fraction or none */
void text_line(struct text *t);                /* to the next line */
bool word_is(struct word w, const char *text);
uint32_t word_hash(struct word w); /* never 0 */

/* One read from the beginning into buf[HOST_TEXT + 1]. False: it cannot be read, or is empty. */
bool host_read(int fd, char *buf, struct text *out);
int host_open(const char *root, const char *path); /* -1: it is not there */

/* --- /proc --- */

struct proc;
int proc_new(struct proc **out, const char *root);
void proc_free(struct proc *p);
void proc_poll(struct proc *p, struct emit *e, char *buf, unsigned due);

/* What it makes of one file's text; for tests. */
enum proc_file {
	PROC_STAT,
	PROC_LOADAVG,
	PROC_MEMINFO,
	PROC_VMSTAT,
	PROC_DISKSTATS,
	PROC_NET_DEV,
	PROC_PSI_CPU,
	PROC_PSI_IO,
	PROC_PSI_MEMORY,
	PROC_PSI_IRQ,
	PROC_SNMP,
	PROC_NETSTAT,
	PROC_SCHEDSTAT,
	PROC_INTERRUPTS,
	PROC_FILES,
};
void proc_parse(struct proc *p, enum proc_file f, struct text t, struct emit *e);

/* --- /sys: files by patterns (sysfs.tbl.h) --- */

struct sysfs;
int sysfs_new(struct sysfs **out, const char *root);
void sysfs_free(struct sysfs *s);
void sysfs_scan(struct sysfs *s, struct emit *e); /* devices come and go */
void sysfs_poll(struct sysfs *s, struct emit *e, char *buf, unsigned due);

/* --- the kernel's log --- */

struct kmsg;
int kmsg_new(struct kmsg **out, const char *root);
void kmsg_free(struct kmsg *k);
void kmsg_poll(struct kmsg *k, struct emit *e);
/* The kind of fault that a line tells of, NULL: none. *number: of an XID. */
const char *kmsg_kind(const char *line, unsigned *number);
