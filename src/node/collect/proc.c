/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.c - files of /proc as series.
 *
 * Lines of a file keep their places: the series of a line's numbers are remembered by the line, with a hash
 * of its first word, and looked for again only when that has changed.
 */
#include "collect/host.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "model/telemetry.h"

#define LINES 2048u /* of a file that are remembered */
#define COLS  18u

struct line {
	uint32_t hash;
	uint32_t id[COLS];
};

struct memory {
	struct line *line; /* owned */
	size_t n;
};

struct proc {
	int fd[PROC_FILES]; /* owned; -1 */
	struct memory memory[PROC_FILES];
};

static const char *const path[PROC_FILES] = {
	[PROC_STAT] = "/proc/stat",
	[PROC_LOADAVG] = "/proc/loadavg",
	[PROC_MEMINFO] = "/proc/meminfo",
	[PROC_VMSTAT] = "/proc/vmstat",
	[PROC_DISKSTATS] = "/proc/diskstats",
	[PROC_NET_DEV] = "/proc/net/dev",
	[PROC_PSI_CPU] = "/proc/pressure/cpu",
	[PROC_PSI_IO] = "/proc/pressure/io",
	[PROC_PSI_MEMORY] = "/proc/pressure/memory",
	[PROC_PSI_IRQ] = "/proc/pressure/irq",
	[PROC_SNMP] = "/proc/net/snmp",
	[PROC_NETSTAT] = "/proc/net/netstat",
	[PROC_SCHEDSTAT] = "/proc/schedstat",
	[PROC_INTERRUPTS] = "/proc/interrupts",
};

/* How often each is read; FAST by default. Lines of PROC_STAT differ. */
static const uint8_t file_group[PROC_FILES] = {
	[PROC_MEMINFO] = HOST_MID,  [PROC_VMSTAT] = HOST_MID,      [PROC_DISKSTATS] = HOST_MID,
	[PROC_NET_DEV] = HOST_MID,  [PROC_LOADAVG] = HOST_MID,     [PROC_SCHEDSTAT] = HOST_CORE,
	[PROC_NETSTAT] = HOST_SLOW, [PROC_INTERRUPTS] = HOST_SLOW, [PROC_SNMP] = HOST_SLOW,
};

int proc_new(struct proc **out, const char *root)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; i < PROC_FILES; i++)
		p->fd[i] = host_open(root, path[i]);
	*out = p;
	return 0;
}

void proc_free(struct proc *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < PROC_FILES; i++) {
		if (p->fd[i] >= 0)
			close(p->fd[i]);
		free(p->memory[i].line);
	}
	free(p);
}

/* The n-th line of a file; *fresh: what it held is another. NULL: no memory, or too many. */
static struct line *line_of(struct memory *m, uint32_t n, struct word key, bool *fresh)
{
	uint32_t hash = word_hash(key);

	if (n >= LINES || vec_room0(&m->line, &m->n, n + 1, sizeof(*m->line)) < 0)
		return NULL;
	*fresh = m->line[n].hash != hash;
	m->line[n].hash = hash;
	if (*fresh)
		memset(m->line[n].id, 0xff, sizeof(m->line[n].id));
	return &m->line[n];
}

static char *copy(char *out, size_t cap, struct word w)
{
	snprintf(out, cap, "%.*s", (int)(w.len < cap ? w.len : cap - 1), w.p);
	return out;
}

static uint32_t labelled(struct emit *e, const char *metric, const char *device, const char *key,
			 const char *value)
{
	char labels[SERIES_LABELS_MAX + 1] = "";

	series_label(labels, key, value);
	return emit_series(e, metric, device, labels);
}

/* --- /proc/stat --- */

static const char *const mode[] = { "user",   "nice", "system",  "idle",
				    "iowait", "irq",  "softirq", "steal" };

static void cpu_series(struct emit *e, struct line *l, const char *cpu)
{
	for (unsigned i = 0; i < 10; i++) {
		if (!*cpu && i < 8)
			l->id[i] = labelled(e, "aon_cpu_seconds_total", "", "mode", mode[i]);
		else if (*cpu && i < 8)
			l->id[i] = labelled(e, "node_cpu_seconds_total", cpu, "mode", mode[i]);
		else if (*cpu)
			l->id[i] = labelled(e, "node_cpu_guest_seconds_total", cpu, "mode",
					    i == 8 ? "user" : "nice");
	}
}

static void cpu_line(struct text *t, struct line *l, struct emit *e, struct word key, bool fresh)
{
	char cpu[16];
	double v;

	if (fresh)
		cpu_series(e, l, copy(cpu, sizeof(cpu), (struct word){ key.p + 3, key.len - 3 }));
	for (unsigned i = 0; i < 10 && text_number(t, &v); i++)
		emit_count(e, l->id[i], v / 100); /* USER_HZ */
}

static void softirq_line(struct text *t, struct line *l, struct emit *e, bool fresh)
{
	static const char *const vector[] = { "hi",      "timer",        "net_tx",  "net_rx",
					      "block",   "block_iopoll", "tasklet", "sched",
					      "hrtimer", "rcu" };
	double v;

	text_number(t, &v); /* their sum */
	for (unsigned i = 0; i < 10 && text_number(t, &v); i++) {
		if (fresh)
			l->id[i] = emit_series(e, "node_softirqs_total", vector[i], "");
		emit_count(e, l->id[i], v);
	}
}

/* Lines of /proc/stat that count what comes by the thousand: every few seconds is enough. */
static bool counted(struct word key)
{
	return word_is(key, "softirq") || word_is(key, "intr") || word_is(key, "ctxt") ||
	       word_is(key, "processes");
}

static void parse_stat(struct memory *m, struct text t, struct emit *e, unsigned due)
{
	static const struct {
		const char *key, *metric;
	} one[] = {
		{ "intr", "node_intr_total" },
		{ "ctxt", "node_context_switches_total" },
		{ "btime", "node_boot_time_seconds" },
		{ "processes", "node_forks_total" },
		{ "procs_running", "node_procs_running" },
		{ "procs_blocked", "node_procs_blocked" },
	};

	for (uint32_t n = 0; t.p < t.end; n++, text_line(&t)) {
		struct word key = text_word(&t);
		bool fresh, core = key.len > 3 && !memcmp(key.p, "cpu", 3);
		enum host_group group = core ? HOST_CORE : counted(key) ? HOST_MID : HOST_FAST;
		struct line *l;
		double v;

		if (!(due >> group & 1))
			continue;
		emit_group(e, group);
		l = line_of(m, n, key, &fresh);
		if (!l)
			return;
		if (core || word_is(key, "cpu")) {
			cpu_line(&t, l, e, key, fresh);
			continue;
		}
		if (word_is(key, "softirq")) {
			softirq_line(&t, l, e, fresh);
			continue;
		}
		for (size_t i = 0; fresh && i < sizeof(one) / sizeof(one[0]); i++)
			if (word_is(key, one[i].key))
				l->id[0] = emit_series(e, one[i].metric, "", "");
		if (l->id[0] != EMIT_NONE && text_number(&t, &v))
			emit_count(e, l->id[0], v);
	}
	emit_group(e, HOST_FAST);
}

/* --- files of one number a line --- */

/* node_memory_Active_anon_bytes of "Active(anon): 4 kB". */
static uint32_t memory_series(struct emit *e, struct word key, bool kb)
{
	char name[64] = "node_memory_";
	size_t n = strlen(name);

	for (size_t i = 0; i < key.len && n < sizeof(name) - 8; i++) {
		char c = key.p[i];

		if (c == ':' || c == ')')
			continue;
		name[n++] = c == '(' ? '_' : c;
	}
	snprintf(name + n, sizeof(name) - n, "%s", kb ? "_bytes" : "");
	return metric_by_name(name) ? emit_series(e, name, "", "") : EMIT_NONE;
}

static void parse_meminfo(struct memory *m, struct text t, struct emit *e)
{
	for (uint32_t n = 0; t.p < t.end; n++, text_line(&t)) {
		struct word key = text_word(&t);
		struct line *l;
		bool fresh, kb;
		double v;

		l = line_of(m, n, key, &fresh);
		if (!l)
			return;
		if (!fresh && l->id[0] == EMIT_NONE)
			continue;
		if (!text_number(&t, &v))
			continue;
		kb = word_is(text_word(&t), "kB");
		if (fresh)
			l->id[0] = memory_series(e, key, kb);
		emit_count(e, l->id[0], kb ? v * 1024 : v);
	}
}

static void parse_vmstat(struct memory *m, struct text t, struct emit *e)
{
	for (uint32_t n = 0; t.p < t.end; n++, text_line(&t)) {
		struct word key = text_word(&t);
		struct line *l;
		char name[64];
		bool fresh;
		double v;

		l = line_of(m, n, key, &fresh);
		if (!l)
			return;
		if (fresh) {
			snprintf(name, sizeof(name), "node_vmstat_%.*s",
				 (int)(key.len < 40 ? key.len : 40), key.p);
			if (metric_by_name(name))
				l->id[0] = emit_series(e, name, "", "");
		}
		if (l->id[0] != EMIT_NONE && text_number(&t, &v))
			emit_count(e, l->id[0], v);
	}
}

static void parse_loadavg(struct text t, struct emit *e)
{
	static const char *const name[] = { "node_load1", "node_load5", "node_load15" };
	double v;

	for (unsigned i = 0; i < 3 && text_number(&t, &v); i++)
		emit_count(e, emit_series(e, name[i], "", ""), v);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=14036781", then full. */
static void parse_psi(struct text t, struct emit *e, const char *some, const char *full)
{
	for (; t.p < t.end; text_line(&t)) {
		struct word kind = text_word(&t), w;
		const char *metric = word_is(kind, "some") ? some : full;
		double v;

		while ((w = text_word(&t)).len) {
			struct text num = { w.p + 6, w.p + w.len };

			if (metric && w.len > 6 && !memcmp(w.p, "total=", 6) &&
			    text_number(&num, &v))
				emit_count(e, emit_series(e, metric, "", ""), v / 1e6);
		}
	}
}

/* --- tables --- */

struct column {
	const char *metric; /* NULL: not measured */
	double scale;
};

static void put_columns(struct text *t, struct line *l, struct emit *e, bool fresh,
			const char *device, const struct column *col, unsigned n)
{
	double v;

	for (unsigned i = 0; i < n && text_number(t, &v); i++) {
		if (fresh && col[i].metric)
			l->id[i] = emit_series(e, col[i].metric, device, "");
		if (col[i].metric)
			emit_count(e, l->id[i], v * col[i].scale);
	}
}

/* Partitions and memory disks, as node_exporter leaves them out. */
static bool is_part(const char *d)
{
	static const char *const not [] = { "ram[0-9]*",
					    "zram[0-9]*",
					    "loop[0-9]*",
					    "fd[0-9]*",
					    "[hsv]d[a-z][0-9]*",
					    "xvd[a-z][0-9]*",
					    "nvme[0-9]*n[0-9]*p[0-9]*" };

	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		if (!fnmatch(not [i], d, 0))
			return true;
	return false;
}

static void parse_diskstats(struct memory *m, struct text t, struct emit *e)
{
	static const struct column col[] = {
		{ "node_disk_reads_completed_total", 1 },
		{ "node_disk_reads_merged_total", 1 },
		{ "node_disk_read_bytes_total", 512 },
		{ "node_disk_read_time_seconds_total", 1e-3 },
		{ "node_disk_writes_completed_total", 1 },
		{ "node_disk_writes_merged_total", 1 },
		{ "node_disk_written_bytes_total", 512 },
		{ "node_disk_write_time_seconds_total", 1e-3 },
		{ "node_disk_io_now", 1 },
		{ "node_disk_io_time_seconds_total", 1e-3 },
		{ "node_disk_io_time_weighted_seconds_total", 1e-3 },
		{ "node_disk_discards_completed_total", 1 },
		{ "node_disk_discards_merged_total", 1 },
		{ "node_disk_discarded_sectors_total", 1 },
		{ "node_disk_discard_time_seconds_total", 1e-3 },
		{ "node_disk_flush_requests_total", 1 },
		{ "node_disk_flush_requests_time_seconds_total", 1e-3 },
	};

	for (uint32_t n = 0; t.p < t.end; n++, text_line(&t)) {
		struct word key;
		struct line *l;
		char name[64];
		bool fresh;

		text_word(&t);
		text_word(&t);
		key = text_word(&t);
		l = line_of(m, n, key, &fresh);
		if (!l)
			return;
		copy(name, sizeof(name), key);
		if (is_part(name))
			continue;
		put_columns(&t, l, e, fresh, name, col, sizeof(col) / sizeof(col[0]));
	}
}

static void parse_net_dev(struct memory *m, struct text t, struct emit *e)
{
	static const struct column col[] = {
		{ "node_network_receive_bytes_total", 1 },
		{ "node_network_receive_packets_total", 1 },
		{ "node_network_receive_errs_total", 1 },
		{ "node_network_receive_drop_total", 1 },
		{ "node_network_receive_fifo_total", 1 },
		{ "node_network_receive_frame_total", 1 },
		{ "node_network_receive_compressed_total", 1 },
		{ "node_network_receive_multicast_total", 1 },
		{ "node_network_transmit_bytes_total", 1 },
		{ "node_network_transmit_packets_total", 1 },
		{ "node_network_transmit_errs_total", 1 },
		{ "node_network_transmit_drop_total", 1 },
		{ "node_network_transmit_fifo_total", 1 },
		{ "node_network_transmit_colls_total", 1 },
		{ "node_network_transmit_carrier_total", 1 },
		{ "node_network_transmit_compressed_total", 1 },
	};

	text_line(&t);
	text_line(&t);
	for (uint32_t n = 0; t.p < t.end; n++, text_line(&t)) {
		struct word key = text_word(&t);
		const char *colon = memchr(key.p, ':', key.len);
		struct line *l;
		char name[64];
		bool fresh;

		if (!colon)
			continue;
		key.len = (size_t)(colon - key.p); /* numbers may follow it without a blank */
		t.p = colon + 1;
		l = line_of(m, n, key, &fresh);
		if (!l)
			return;
		copy(name, sizeof(name), key);
		put_columns(&t, l, e, fresh, name, col, sizeof(col) / sizeof(col[0]));
	}
}

/* "cpu0 a b c d e f running waiting slices", times in ns. */
static void parse_schedstat(struct memory *m, struct text t, struct emit *e)
{
	static const struct column col[] = {
		{ NULL, 0 },
		{ NULL, 0 },
		{ NULL, 0 },
		{ NULL, 0 },
		{ NULL, 0 },
		{ NULL, 0 },
		{ "node_schedstat_running_seconds_total", 1e-9 },
		{ "node_schedstat_waiting_seconds_total", 1e-9 },
		{ "node_schedstat_timeslices_total", 1 },
	};

	for (uint32_t n = 0; t.p < t.end; n++, text_line(&t)) {
		struct word key = text_word(&t);
		struct line *l;
		char cpu[16];
		bool fresh;

		if (key.len < 4 || memcmp(key.p, "cpu", 3))
			continue;
		l = line_of(m, n, key, &fresh);
		if (!l)
			return;
		copy(cpu, sizeof(cpu), (struct word){ key.p + 3, key.len - 3 });
		put_columns(&t, l, e, fresh, cpu, col, sizeof(col) / sizeof(col[0]));
	}
}

/* Two lines a protocol: names, then numbers. */
static void parse_snmp(struct memory *m, struct text t, struct emit *e)
{
	uint32_t n = 0;

	while (t.p < t.end) {
		struct text names = t, values = t;
		struct word proto, w;
		struct line *l;
		bool fresh;
		double v;

		text_line(&values);
		t = values;
		text_line(&t);
		proto = text_word(&names);
		if (!word_is(text_word(&values), "") && proto.len < 2)
			return;
		proto.len -= proto.len > 0;
		for (; (w = text_word(&names)).len && text_number(&values, &v); n++) {
			char metric[64];

			l = line_of(m, n, w, &fresh);
			if (!l)
				return;
			if (fresh) {
				snprintf(metric, sizeof(metric), "node_netstat_%.*s_%.*s",
					 (int)(proto.len < 16 ? proto.len : 16), proto.p,
					 (int)(w.len < 30 ? w.len : 30), w.p);
				if (metric_by_name(metric))
					l->id[0] = emit_series(e, metric, "", "");
			}
			if (l->id[0] != EMIT_NONE)
				emit_count(e, l->id[0], v);
		}
	}
}

/* Reads two lines only: machine checks and thermal events, a column a core. */
static void parse_interrupts(struct text t, struct emit *e)
{
	for (; t.p < t.end; text_line(&t)) {
		struct word key = text_word(&t);
		const char *metric = word_is(key, "MCE:")   ? "aon_machine_checks_total"
				     : word_is(key, "TRM:") ? "aon_thermal_events_total"
							    : NULL;
		double v, sum = 0;

		if (!metric)
			continue;
		while (text_number(&t, &v))
			sum += v;
		emit_count(e, emit_series(e, metric, "", ""), sum);
	}
}

/* --- all --- */

static void parse(struct proc *p, enum proc_file f, struct text t, struct emit *e, unsigned due)
{
	struct memory *m = &p->memory[f];

	switch (f) {
	case PROC_STAT:
		parse_stat(m, t, e, due);
		return;
	case PROC_LOADAVG:
		parse_loadavg(t, e);
		return;
	case PROC_MEMINFO:
		parse_meminfo(m, t, e);
		return;
	case PROC_VMSTAT:
		parse_vmstat(m, t, e);
		return;
	case PROC_DISKSTATS:
		parse_diskstats(m, t, e);
		return;
	case PROC_NET_DEV:
		parse_net_dev(m, t, e);
		return;
	case PROC_PSI_CPU:
		parse_psi(t, e, "node_pressure_cpu_waiting_seconds_total", NULL);
		return;
	case PROC_PSI_IO:
		parse_psi(t, e, "node_pressure_io_waiting_seconds_total",
			  "node_pressure_io_stalled_seconds_total");
		return;
	case PROC_PSI_MEMORY:
		parse_psi(t, e, "node_pressure_memory_waiting_seconds_total",
			  "node_pressure_memory_stalled_seconds_total");
		return;
	case PROC_PSI_IRQ:
		parse_psi(t, e, NULL, "node_pressure_irq_stalled_seconds_total");
		return;
	case PROC_SNMP:
	case PROC_NETSTAT:
		parse_snmp(m, t, e);
		return;
	case PROC_SCHEDSTAT:
		parse_schedstat(m, t, e);
		return;
	case PROC_INTERRUPTS:
		parse_interrupts(t, e);
		return;
	case PROC_FILES:
		return;
	}
}

void proc_parse(struct proc *p, enum proc_file f, struct text t, struct emit *e)
{
	emit_group(e, file_group[f]);
	parse(p, f, t, e, HOST_ALL);
}

void proc_poll(struct proc *p, struct emit *e, char *buf, unsigned due)
{
	struct text t;

	for (unsigned f = 0; f < PROC_FILES; f++) {
		if (p->fd[f] < 0 || !(due >> file_group[f] & 1) || !host_read(p->fd[f], buf, &t))
			continue;
		emit_group(e, file_group[f]);
		parse(p, (enum proc_file)f, t, e, due);
	}
}
