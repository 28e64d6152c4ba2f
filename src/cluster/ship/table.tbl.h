/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.tbl.h - what the cluster keeps, once: every table and column. Row structs, RowBinary, the DDL
 * of all dialects, readers' column lists and docs/cluster.md follow from it.
 *
 *	TABLE(ID, name, "newest", time, "order", "partition", days, "what a row is")
 *	COL(TYPE, name, CODEC, since, "what it is")
 *	END(ID, name)
 *
 * newest  of rows with the same order, the one with the highest of this column stays; empty: all do
 * time    the column whose UTC day is `day`
 * days    how long rows are kept unless told; 0: for ever
 * TYPE    U8 U16 U32 U64 I32 F32 F64 DAY STR, WORD: a string with few values
 * CODEC   how current releases pack it: ANY, DELTA, TIME (DoubleDelta), REAL (Gorilla)
 * since   the version of the schema that brought it. A new column goes to the end of its table, with the
 *         next SHIP_SCHEMA: batches of older versions lie in spools
 *
 * Times are nanoseconds since 1970, UTC; durations nanoseconds. Every row says which batch brought it
 * (src, seq), so that batches with the same rows are not taken for one that was sent twice.
 */
/* clang-format off */
#define COMMON                                                                                     \
	COL(WORD, cluster,  ANY,   1, "cluster, as its nodes are told")                               \
	COL(U64,  src,      ANY,   1, "who made the batch: a spool")                                  \
	COL(U64,  seq,      DELTA, 1, "number of the batch of that src")                              \
	COL(DAY,  day,      ANY,   1, "day of the row, UTC")

TABLE(PROCESS, process, "end_ns", begin_ns, "cluster, proc", "toYYYYMM(day)", 400, "a process that was watched; its newest row counts")
	COMMON
	COL(U64,  proc,       ANY,   1, "the process: hash of host, boot, pid and start")
	COL(WORD, host,       ANY,   1, "node")
	COL(WORD, rack,       ANY,   1, "rack of the node, if told")
	COL(U32,  leaf,       ANY,   1, "switch of the node; 0: not known")
	COL(STR,  boot,       ANY,   1, "boot of the node, 32 hex digits")
	COL(WORD, job,        ANY,   1, "job, may be empty")
	COL(WORD, user,       ANY,   1, "user, else the uid")
	COL(I32,  rank,       ANY,   1, "rank in the job; -1: none")
	COL(U32,  world,      ANY,   1, "ranks of the job; 0: not said")
	COL(I32,  local_rank, ANY,   1, "rank on the node; -1: none")
	COL(U32,  pid,        ANY,   1, "pid")
	COL(U64,  start_ns,   ANY,   1, "when it started")
	COL(WORD, comm,       ANY,   1, "its name")
	COL(STR,  exe,        ANY,   1, "its program")
	COL(STR,  run,        ANY,   1, "label of aon run")
	COL(STR,  pod,        ANY,   1, "Kubernetes: pod")
	COL(WORD, namespace,  ANY,   1, "Kubernetes: namespace")
	COL(STR,  container,  ANY,   1, "container")
	COL(STR,  gpu_uuid,   ANY,   1, "GPUs that it uses, with commas")
	COL(WORD, gpu_model,  ANY,   1, "their model")
	COL(STR,  mig,        ANY,   1, "MIG instance")
	COL(STR,  nic,        ANY,   1, "network card")
	COL(WORD, driver,     ANY,   1, "version of the driver")
	COL(WORD, framework,  ANY,   1, "framework and its version")
	COL(U64,  begin_ns,   ANY,   1, "joined")
	COL(U64,  end_ns,     ANY,   1, "last heard of")
	COL(U8,   live,       ANY,   1, "1: connected when this was written")
	COL(U64,  emitted,    ANY,   1, "records: emitted = stored + lost + overwritten + in flight")
	COL(U64,  stored,     ANY,   1, "of these, stored on the node")
	COL(U64,  lost,       ANY,   1, "of these, lost, for all reasons")
	COL(U64,  overwritten, ANY,  1, "of these, overwritten on the node since")
	COL(STR,  note,       ANY,   1, "last word of its probes")
END(PROCESS, process)

TABLE(NAME, name, "t_ns", t_ns, "cluster, hash", "", 0, "the text of a name; said again now and then")
	COMMON
	COL(U64,  hash,       ANY,   1, "XXH3 of the text")
	COL(STR,  text,       ANY,   1, "kernel, range, counter or operator, as written")
	COL(U64,  t_ns,       ANY,   1, "when it was said")
END(NAME, name)

TABLE(WINDOW, window, "", t_ns, "cluster, job, name, t_ns, rank", "day", 30, "what one name did in one process in ten seconds")
	COMMON
	COL(WORD, job,        ANY,   1, "job of the process")
	COL(I32,  rank,       ANY,   1, "rank in it; -1: none")
	COL(U64,  proc,       ANY,   1, "process")
	COL(WORD, host,       ANY,   1, "node")
	COL(U64,  t_ns,       TIME,  1, "begin of the window")
	COL(U64,  dur_ns,     ANY,   1, "its length")
	COL(U8,   kind,       ANY,   1, "kind of event: docs/store.md, event.tbl.h")
	COL(U64,  name,       ANY,   1, "hash of its name")
	COL(U64,  count,      ANY,   1, "how often; steps left out by chance are weighed in")
	COL(U64,  total_ns,   ANY,   1, "sum of the durations")
	COL(U64,  min_ns,     ANY,   1, "the shortest; of a counter the least value")
	COL(U64,  max_ns,     ANY,   1, "the longest; of a counter the greatest value")
	COL(U64,  bytes,      ANY,   1, "of copies, memsets, collectives, allocations")
	COL(F64,  variance,   ANY,   1, "of total_ns, from what chance left out; 0: none")
	COL(U8,   bound,      ANY,   1, "what limits it: enum roof_limit; 0: not known")
	COL(U64,  floor_ns,   ANY,   1, "of total_ns, what it would take at its limit; 0: not known")
	COL(STR,  hist,       ANY,   1, "sketch of the durations, sparse: docs/cluster.md")
END(WINDOW, window)

TABLE(STEP, step, "", t_ns, "cluster, job, step, rank", "day", 30, "what one rank did in one step")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in it")
	COL(U64,  proc,       ANY,   1, "process")
	COL(WORD, host,       ANY,   1, "node")
	COL(U32,  leaf,       ANY,   1, "switch of the node; 0: not known")
	COL(U32,  step,       DELTA, 1, "number of the step")
	COL(U64,  t_ns,       TIME,  1, "begin of the step")
	COL(U32,  flags,      ANY,   1, "enum step_flag")
#define TIME(name, what, who) COL(F32, name##_ns, REAL, 1, what)
#include "model/step_rec.tbl.h"
	COL(U32,  tokens,     ANY,   1, "tokens; 0: not told")
	COL(U32,  lost,       ANY,   1, "events of the step that were lost")
	COL(STR,  rec,        ANY,   1, "the whole record: docs/step-record.md")
END(STEP, step)

TABLE(COLLECTIVE, collective, "", t_ns, "cluster, job, step, comm, rank", "day", 14, "exchanges of one communicator and kind in a rank's step")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in it")
	COL(U64,  proc,       ANY,   1, "process")
	COL(U32,  step,       DELTA, 1, "number of the step")
	COL(U64,  t_ns,       TIME,  1, "begin of the step")
	COL(U64,  comm,       ANY,   1, "hash of the communicator; 0: several")
	COL(U8,   op,         ANY,   1, "enum step_op")
	COL(U32,  peers,      ANY,   1, "members of the communicator")
	COL(U32,  n,          ANY,   1, "exchanges")
	COL(U64,  bytes,      ANY,   1, "of all of them")
	COL(F32,  sum_ns,     REAL,  1, "durations: their sum")
	COL(F32,  min_ns,     REAL,  1, "the shortest")
	COL(F32,  max_ns,     REAL,  1, "the longest")
	COL(F32,  exposed_ns, REAL,  1, "of sum_ns, no kernel of the rank ran")
END(COLLECTIVE, collective)

TABLE(FINDING, finding, "", t_ns, "cluster, job, t_ns", "toYYYYMM(day)", 400, "what was found to be wrong, and where")
	COMMON
	COL(WORD, job,        ANY,   1, "job, may be empty")
	COL(I32,  rank,       ANY,   1, "rank; -1: not of one")
	COL(U64,  proc,       ANY,   1, "process; 0: not of one")
	COL(WORD, host,       ANY,   1, "node")
	COL(U64,  t_ns,       ANY,   1, "since when")
	COL(U64,  until_ns,   ANY,   1, "until when; 0: it lasts")
	COL(WORD, kind,       ANY,   1, "what: an alarm's name, F1 to F30, a finding's name")
	COL(WORD, level,      ANY,   1, "where: rank, host, leaf, stage, job, process")
	COL(STR,  part,       ANY,   1, "which of them, the likeliest first, with commas")
	COL(U8,   act,        ANY,   1, "1: somebody should do something; 0: a note")
	COL(F32,  gain,       ANY,   1, "of a step's time, what would be saved; 0 to 1")
	COL(F32,  confidence, ANY,   1, "0 to 1")
	COL(STR,  text,       ANY,   1, "one line for people")
	COL(STR,  detail,     ANY,   1, "evidence, JSON")
	COL(WORD, source,     ANY,   1, "who found it: aond, why, diagnose")
END(FINDING, finding)

TABLE(OVERHEAD, overhead, "", t_ns, "cluster, job, rank, proc, t_ns", "day", 30, "what recording costs a process")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in it; -1: none")
	COL(U64,  proc,       ANY,   1, "process")
	COL(U64,  t_ns,       TIME,  1, "when it was looked at")
	COL(U64,  pairs,      ANY,   1, "blocks of steps compared; 0: not measured")
	COL(F32,  slowdown,   ANY,   1, "share of a step's time")
	COL(F32,  lo,         ANY,   1, "its interval of 95 %")
	COL(F32,  hi,         ANY,   1, "")
	COL(F32,  accounted,  ANY,   1, "records times what one costs, the same share")
	COL(U8,   rung,       ANY,   1, "of the ladder: docs/budget.md")
END(OVERHEAD, overhead)

TABLE(NODE, node, "", t_ns, "cluster, host, t_ns", "day", 30, "a node's heartbeat")
	COMMON
	COL(WORD, host,         ANY,   1, "node")
	COL(WORD, rack,         ANY,   1, "rack, if told")
	COL(U32,  leaf,         ANY,   1, "switch; 0: not known")
	COL(STR,  boot,         ANY,   1, "boot, 32 hex digits")
	COL(U64,  t_ns,         TIME,  1, "when")
	COL(WORD, version,      ANY,   1, "version of aon")
	COL(U32,  processes,    ANY,   1, "connected")
	COL(U64,  aond_cpu_ns,  DELTA, 1, "CPU of aond since its start; 0: not known")
	COL(U64,  ship_cpu_ns,  DELTA, 1, "CPU of aon ship since its start")
	COL(U64,  rss_bytes,    ANY,   1, "memory of aond; 0: not known")
	COL(U64,  stored,       DELTA, 1, "records stored, of all processes of the store")
	COL(U64,  lost,         DELTA, 1, "records lost")
	COL(U64,  spool_bytes,  ANY,   1, "what waits to be sent")
	COL(U64,  spool_batches, ANY,  1, "")
	COL(I32,  clock_off_us, ANY,   1, "the node's clock against the relay's")
	COL(U32,  clock_err_us, ANY,   1, "and how sure; 4294967295: not known")
END(NODE, node)

TABLE(TELEMETRY, telemetry, "", t_ns, "cluster, metric, host, device, t_ns", "day", 14, "a measured value of a node or device")
	COMMON
	COL(WORD, host,       ANY,   1, "node")
	COL(WORD, device,     ANY,   1, "device of it; empty: the node itself")
	COL(WORD, metric,     ANY,   1, "what was measured")
	COL(WORD, labels,     ANY,   1, "further labels: key=value, with commas")
	COL(U64,  t_ns,       TIME,  1, "when")
	COL(F64,  value,      REAL,  1, "value")
	COL(WORD, unit,       ANY,   1, "its unit")
END(TELEMETRY, telemetry)

TABLE(EVENT, event, "", t_ns, "cluster, job, capture, rank, t_ns", "day", 3, "an event of a capture")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in it; -1: none")
	COL(U64,  proc,       ANY,   1, "process")
	COL(WORD, capture,    ANY,   1, "which capture")
	COL(U64,  t_ns,       TIME,  1, "start")
	COL(U64,  dur_ns,     ANY,   1, "duration")
	COL(U8,   kind,       ANY,   1, "kind of event")
	COL(U64,  name,       ANY,   1, "hash of its name; 0: none")
	COL(U32,  lane,       ANY,   1, "lane on the node")
	COL(U32,  device,     ANY,   1, "device; 4294967295: a thread of the host")
	COL(U64,  stream,     ANY,   1, "stream of the device, or thread")
	COL(U32,  corr,       ANY,   1, "correlation id")
	COL(U64,  bytes,      ANY,   1, "of copies, memsets, collectives; of others as event.tbl.h says")
END(EVENT, event)

TABLE(DROP, drop, "", t_ns, "cluster, host, t_ns", "toYYYYMM(day)", 400, "what was given up before it came here")
	COMMON
	COL(WORD, host,       ANY,   1, "node or relay")
	COL(U64,  t_ns,       ANY,   1, "when this was told")
	COL(WORD, what,       ANY,   1, "table, or what else")
	COL(WORD, reason,     ANY,   1, "full, age, poison, damage, gap")
	COL(U64,  batches,    ANY,   1, "since it was last told")
	COL(U64,  rows,       ANY,   1, "")
	COL(U64,  bytes,      ANY,   1, "")
	COL(U64,  of,         ANY,   1, "src of them")
	COL(U64,  first_seq,  ANY,   1, "the first and the last of them; 0: none had a number")
	COL(U64,  last_seq,   ANY,   1, "")
END(DROP, drop)
/* clang-format on */
#undef COMMON
#undef TABLE
#undef COL
#undef END
