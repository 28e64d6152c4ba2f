/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.c - files of /proc as series.
 *
 * Lines of a file rarely move: the series of a line's numbers are cached by line, with a hash of
 * its first word, and searched again only when that hash changes.
 */
#include "collect/host.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
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

/* A file that is read: what the parsers are given. */
struct reading {
	struct memory *m;
	struct text t;
	struct emit *e;
	unsigned due;                /* groups, a bit each */
	const struct proc_row *file; /* which it is */
};

struct column {
	const char *metric; /* NULL: not measured */
	double scale;
};

struct proc_row {
	const char *path;
	enum host_group group; /* how often it is read; lines of PROC_STAT differ */
	void (*parse)(struct reading *f);
	const char *some, *full;  /* of pressure: the metrics of its two lines */
	const struct column *col; /* of a table */
	unsigned cols;
	unsigned heads;                                              /* lines before it */
	bool (*key)(struct text *t, struct word *key, char *device); /* false: not this line */
};

#define DEVICE_MAX 64u

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

/* A series whose name is made of the file's words, if it is a metric. */
__attribute__((format(printf, 2, 3))) static uint32_t named(struct emit *e, const char *fmt, ...)
{
	char name[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return metric_by_name(name) ? emit_series(e, name, "", "") : EMIT_NONE;
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

static void parse_stat(struct reading *f)
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

	for (uint32_t n = 0; f->t.p < f->t.end; n++, text_line(&f->t)) {
		struct word key = text_word(&f->t);
		bool fresh, core = key.len > 3 && !memcmp(key.p, "cpu", 3);
		enum host_group group = core ? HOST_CORE : counted(key) ? HOST_MID : HOST_FAST;
		struct line *l;
		double v;

		if (!(f->due >> group & 1))
			continue;
		emit_group(f->e, group);
		l = line_of(f->m, n, key, &fresh);
		if (!l)
			return;
		if (core || word_is(key, "cpu")) {
			cpu_line(&f->t, l, f->e, key, fresh);
			continue;
		}
		if (word_is(key, "softirq")) {
			softirq_line(&f->t, l, f->e, fresh);
			continue;
		}
		for (size_t i = 0; fresh && i < sizeof(one) / sizeof(one[0]); i++)
			if (word_is(key, one[i].key))
				l->id[0] = emit_series(f->e, one[i].metric, "", "");
		if (l->id[0] != EMIT_NONE && text_number(&f->t, &v))
			emit_count(f->e, l->id[0], v);
	}
	emit_group(f->e, HOST_FAST);
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

static void parse_meminfo(struct reading *f)
{
	for (uint32_t n = 0; f->t.p < f->t.end; n++, text_line(&f->t)) {
		struct word key = text_word(&f->t);
		struct line *l;
		bool fresh, kb;
		double v;

		l = line_of(f->m, n, key, &fresh);
		if (!l)
			return;
		if (!fresh && l->id[0] == EMIT_NONE)
			continue;
		if (!text_number(&f->t, &v))
			continue;
		kb = word_is(text_word(&f->t), "kB");
		if (fresh)
			l->id[0] = memory_series(f->e, key, kb);
		emit_count(f->e, l->id[0], kb ? v * 1024 : v);
	}
}

static void parse_vmstat(struct reading *f)
{
	for (uint32_t n = 0; f->t.p < f->t.end; n++, text_line(&f->t)) {
		struct word key = text_word(&f->t);
		struct line *l;
		bool fresh;
		double v;

		l = line_of(f->m, n, key, &fresh);
		if (!l)
			return;
		if (fresh)
			l->id[0] = named(f->e, "node_vmstat_%.*s",
					 (int)(key.len < 40 ? key.len : 40), key.p);
		if (l->id[0] != EMIT_NONE && text_number(&f->t, &v))
			emit_count(f->e, l->id[0], v);
	}
}

static void parse_loadavg(struct reading *f)
{
	static const char *const name[] = { "node_load1", "node_load5", "node_load15" };
	double v;

	for (unsigned i = 0; i < 3 && text_number(&f->t, &v); i++)
		emit_count(f->e, emit_series(f->e, name[i], "", ""), v);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=14036781", then full. */
static void parse_psi(struct reading *f)
{
	for (; f->t.p < f->t.end; text_line(&f->t)) {
		struct word kind = text_word(&f->t), w;
		const char *metric = word_is(kind, "some") ? f->file->some : f->file->full;
		double v;

		while ((w = text_word(&f->t)).len) {
			struct text num = { w.p + 6, w.p + w.len };

			if (metric && w.len > 6 && !memcmp(w.p, "total=", 6) &&
			    text_number(&num, &v))
				emit_count(f->e, emit_series(f->e, metric, "", ""), v / 1e6);
		}
	}
}

/* --- tables --- */

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

static bool disk_key(struct text *t, struct word *key, char *device)
{
	text_word(t);
	text_word(t);
	*key = text_word(t);
	return !is_part(copy(device, DEVICE_MAX, *key));
}

static const struct column disk_col[] = {
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

static bool net_key(struct text *t, struct word *key, char *device)
{
	const char *colon;

	*key = text_word(t);
	colon = memchr(key->p, ':', key->len);
	if (!colon)
		return false;
	key->len = (size_t)(colon - key->p); /* numbers may follow it without a blank */
	t->p = colon + 1;
	copy(device, DEVICE_MAX, *key);
	return true;
}

static const struct column net_col[] = {
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

/* "cpu0 a b c d e f running waiting slices", times in ns. */
static bool cpu_key(struct text *t, struct word *key, char *device)
{
	*key = text_word(t);
	if (key->len < 4 || memcmp(key->p, "cpu", 3))
		return false;
	copy(device, DEVICE_MAX, (struct word){ key->p + 3, key->len - 3 });
	return true;
}

static const struct column sched_col[] = {
	[6] = { "node_schedstat_running_seconds_total", 1e-9 },
	[7] = { "node_schedstat_waiting_seconds_total", 1e-9 },
	[8] = { "node_schedstat_timeslices_total", 1 },
};

/* A line a device. */
static void parse_table(struct reading *f)
{
	for (unsigned i = 0; i < f->file->heads; i++)
		text_line(&f->t);
	for (uint32_t n = 0; f->t.p < f->t.end; n++, text_line(&f->t)) {
		char device[DEVICE_MAX];
		struct word key;
		struct line *l;
		bool fresh;

		if (!f->file->key(&f->t, &key, device))
			continue;
		l = line_of(f->m, n, key, &fresh);
		if (!l)
			return;
		put_columns(&f->t, l, f->e, fresh, device, f->file->col, f->file->cols);
	}
}

/* Two lines a protocol: names, then numbers. */
static void parse_snmp(struct reading *f)
{
	struct text t = f->t;
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
			l = line_of(f->m, n, w, &fresh);
			if (!l)
				return;
			if (fresh)
				l->id[0] = named(f->e, "node_netstat_%.*s_%.*s",
						 (int)(proto.len < 16 ? proto.len : 16), proto.p,
						 (int)(w.len < 30 ? w.len : 30), w.p);
			if (l->id[0] != EMIT_NONE)
				emit_count(f->e, l->id[0], v);
		}
	}
}

/* Reads two lines only: machine checks and thermal events, a column a core. */
static void parse_interrupts(struct reading *f)
{
	for (; f->t.p < f->t.end; text_line(&f->t)) {
		struct word key = text_word(&f->t);
		const char *metric = word_is(key, "MCE:")   ? "aon_machine_checks_total"
				     : word_is(key, "TRM:") ? "aon_thermal_events_total"
							    : NULL;
		double v, sum = 0;

		if (!metric)
			continue;
		while (text_number(&f->t, &v))
			sum += v;
		emit_count(f->e, emit_series(f->e, metric, "", ""), sum);
	}
}

/* --- all --- */

#define TABLE(columns) .col = columns, .cols = sizeof(columns) / sizeof((columns)[0])

/* clang-format off */
static const struct proc_row files[PROC_FILES] = {
	[PROC_STAT] = { "/proc/stat", HOST_FAST, .parse = parse_stat },
	[PROC_LOADAVG] = { "/proc/loadavg", HOST_MID, .parse = parse_loadavg },
	[PROC_MEMINFO] = { "/proc/meminfo", HOST_MID, .parse = parse_meminfo },
	[PROC_VMSTAT] = { "/proc/vmstat", HOST_MID, .parse = parse_vmstat },
	[PROC_DISKSTATS] = { "/proc/diskstats", HOST_MID, parse_table, TABLE(disk_col), .key = disk_key },
	[PROC_NET_DEV] = { "/proc/net/dev", HOST_MID, parse_table, TABLE(net_col), .heads = 2, .key = net_key },
	[PROC_PSI_CPU] = { "/proc/pressure/cpu", HOST_FAST, parse_psi,
			   .some = "node_pressure_cpu_waiting_seconds_total" },
	[PROC_PSI_IO] = { "/proc/pressure/io", HOST_FAST, parse_psi,
			  .some = "node_pressure_io_waiting_seconds_total",
			  .full = "node_pressure_io_stalled_seconds_total" },
	[PROC_PSI_MEMORY] = { "/proc/pressure/memory", HOST_FAST, parse_psi,
			      .some = "node_pressure_memory_waiting_seconds_total",
			      .full = "node_pressure_memory_stalled_seconds_total" },
	[PROC_PSI_IRQ] = { "/proc/pressure/irq", HOST_FAST, parse_psi,
			   .full = "node_pressure_irq_stalled_seconds_total" },
	[PROC_SNMP] = { "/proc/net/snmp", HOST_SLOW, .parse = parse_snmp },
	[PROC_NETSTAT] = { "/proc/net/netstat", HOST_SLOW, .parse = parse_snmp },
	[PROC_SCHEDSTAT] = { "/proc/schedstat", HOST_CORE, parse_table, TABLE(sched_col), .key = cpu_key },
	[PROC_INTERRUPTS] = { "/proc/interrupts", HOST_SLOW, .parse = parse_interrupts },
};
/* clang-format on */

int proc_new(struct proc **out, const char *root)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; i < PROC_FILES; i++)
		p->fd[i] = host_open(root, files[i].path);
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

static void parse(struct proc *p, enum proc_file f, struct text t, struct emit *e, unsigned due)
{
	struct reading r = { &p->memory[f], t, e, due, &files[f] };

	emit_group(e, files[f].group);
	files[f].parse(&r);
}

void proc_parse(struct proc *p, enum proc_file f, struct text t, struct emit *e)
{
	parse(p, f, t, e, HOST_ALL);
}

void proc_poll(struct proc *p, struct emit *e, char *buf, unsigned due)
{
	struct text t;

	for (unsigned f = 0; f < PROC_FILES; f++)
		if (p->fd[f] >= 0 && due >> files[f].group & 1 && host_read(p->fd[f], buf, &t))
			parse(p, (enum proc_file)f, t, e, due);
}
