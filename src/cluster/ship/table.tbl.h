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
 * days    how long rows are kept by default; 0: for ever
 * TYPE    U8 U16 U32 U64 I32 F32 F64 DAY STR, WORD: a string with few values
 * CODEC   how current releases pack it: ANY, DELTA, TIME (DoubleDelta), REAL (Gorilla)
 * since   the version of the schema that brought it. A new column goes to the end of its table, with the
 *         next SHIP_SCHEMA: batches of older versions lie in spools
 *
 * Times are nanoseconds since 1970, UTC; durations nanoseconds. Every row names the batch that brought it
 * (src, seq), so that two batches with the same rows are not mistaken for one that was sent twice.
 */
/* clang-format off */
#define COMMON                                                                                     \
	COL(WORD, cluster,  ANY,   1, "name of the cluster, from its nodes' settings")                               \
	COL(U64,  src,      ANY,   1, "the spool that made the batch")                                  \
	COL(U64,  seq,      DELTA, 1, "number of the batch within src")                              \
	COL(DAY,  day,      ANY,   1, "day of the row, UTC")

TABLE(PROCESS, process, "end_ns", begin_ns, "cluster, proc", "toYYYYMM(day)", 400, "a recorded process; its newest row counts")
	COMMON
	COL(U64,  proc,       ANY,   1, "the process: hash of host, boot, pid and start")
	COL(WORD, host,       ANY,   1, "node")
	COL(WORD, rack,       ANY,   1, "rack of the node, if known")
	COL(U32,  leaf,       ANY,   1, "switch of the node; 0: not known")
	COL(STR,  boot,       ANY,   1, "boot of the node, 32 hex digits")
	COL(WORD, job,        ANY,   1, "job, may be empty")
	COL(WORD, user,       ANY,   1, "user, else the uid")
	COL(I32,  rank,       ANY,   1, "rank in the job; -1: none")
	COL(U32,  world,      ANY,   1, "ranks of the job; 0: not known")
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
	COL(U64,  end_ns,     ANY,   1, "last heard from")
	COL(U8,   live,       ANY,   1, "1: connected when this was written")
	COL(U64,  emitted,    ANY,   1, "records: emitted = stored + lost + overwritten + in flight")
	COL(U64,  stored,     ANY,   1, "part of emitted: stored on the node")
	COL(U64,  lost,       ANY,   1, "part of emitted: lost, for any reason")
	COL(U64,  overwritten, ANY,  1, "part of emitted: overwritten on the node since")
	COL(STR,  note,       ANY,   1, "last message of its probes")
END(PROCESS, process)

TABLE(NAME, name, "t_ns", t_ns, "cluster, hash", "", 0, "the text of a name; sent again now and then")
	COMMON
	COL(U64,  hash,       ANY,   1, "XXH3 of the text")
	COL(STR,  text,       ANY,   1, "kernel, range, counter or operator, as written")
	COL(U64,  t_ns,       ANY,   1, "when it was sent")
END(NAME, name)

TABLE(WINDOW, window, "", t_ns, "cluster, job, name, t_ns, rank", "day", 30, "what one name did in one process in ten seconds")
	COMMON
	COL(WORD, job,        ANY,   1, "job of the process")
	COL(I32,  rank,       ANY,   1, "rank in the job; -1: none")
	COL(U64,  proc,       ANY,   1, "process")
	COL(WORD, host,       ANY,   1, "node")
	COL(U64,  t_ns,       TIME,  1, "start of the window")
	COL(U64,  dur_ns,     ANY,   1, "its length")
	COL(U8,   kind,       ANY,   1, "kind of event: docs/store.md, event.tbl.h")
	COL(U64,  name,       ANY,   1, "hash of its name")
	COL(U64,  count,      ANY,   1, "how often; weighted for unsampled steps")
	COL(U64,  total_ns,   ANY,   1, "sum of the durations")
	COL(U64,  min_ns,     ANY,   1, "min; for a counter its min value")
	COL(U64,  max_ns,     ANY,   1, "max; for a counter its max value")
	COL(U64,  bytes,      ANY,   1, "bytes of copies, memsets, collectives, allocations")
	COL(F64,  variance,   ANY,   1, "variance of total_ns, from unsampled steps; 0: none")
	COL(U8,   bound,      ANY,   1, "what limits it: enum roof_limit; 0: not known")
	COL(U64,  floor_ns,   ANY,   1, "the time it would take at its limit instead of total_ns; 0: not known")
	COL(STR,  hist,       ANY,   1, "sketch of the durations, sparse: docs/cluster.md")
END(WINDOW, window)

TABLE(STEP, step, "", t_ns, "cluster, job, step, rank", "day", 30, "what one rank did in one step")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in the job")
	COL(U64,  proc,       ANY,   1, "process")
	COL(WORD, host,       ANY,   1, "node")
	COL(U32,  leaf,       ANY,   1, "switch of the node; 0: not known")
	COL(U32,  step,       DELTA, 1, "number of the step")
	COL(U64,  t_ns,       TIME,  1, "start of the step")
	COL(U32,  flags,      ANY,   1, "enum step_flag")
#define TIME(name, what, who) COL(F32, name##_ns, REAL, 1, what)
#include "model/step_rec.tbl.h"
	COL(U32,  tokens,     ANY,   1, "tokens; 0: not reported")
	COL(U32,  lost,       ANY,   1, "events of the step that were lost")
	COL(STR,  rec,        ANY,   1, "the whole record: docs/step-record.md")
END(STEP, step)

TABLE(COLLECTIVE, collective, "", t_ns, "cluster, job, step, comm, rank", "day", 14, "collectives of one communicator and kind in a rank's step")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in the job")
	COL(U64,  proc,       ANY,   1, "process")
	COL(U32,  step,       DELTA, 1, "number of the step")
	COL(U64,  t_ns,       TIME,  1, "start of the step")
	COL(U64,  comm,       ANY,   1, "hash of the communicator; 0: several")
	COL(U8,   op,         ANY,   1, "enum step_op")
	COL(U32,  peers,      ANY,   1, "members of the communicator")
	COL(U32,  n,          ANY,   1, "number of collectives")
	COL(U64,  bytes,      ANY,   1, "bytes of all of them")
	COL(F32,  sum_ns,     REAL,  1, "sum of the durations")
	COL(F32,  min_ns,     REAL,  1, "the shortest")
	COL(F32,  max_ns,     REAL,  1, "the longest")
	COL(F32,  exposed_ns, REAL,  1, "the part of sum_ns while no kernel of the rank ran")
END(COLLECTIVE, collective)

TABLE(FINDING, finding, "", t_ns, "cluster, job, t_ns", "toYYYYMM(day)", 400, "a problem that was found, and where")
	COMMON
	COL(WORD, job,        ANY,   1, "job, may be empty")
	COL(I32,  rank,       ANY,   1, "rank; -1: not about one rank")
	COL(U64,  proc,       ANY,   1, "process; 0: not about one process")
	COL(WORD, host,       ANY,   1, "node")
	COL(U64,  t_ns,       ANY,   1, "since when")
	COL(U64,  until_ns,   ANY,   1, "until when; 0: it lasts")
	COL(WORD, kind,       ANY,   1, "kind of problem: an alarm's name, F1 to F30, a finding's name")
	COL(WORD, level,      ANY,   1, "level of the place: rank, host, leaf, stage, job, process")
	COL(STR,  part,       ANY,   1, "the places at that level, the likeliest first, with commas")
	COL(U8,   act,        ANY,   1, "1: actionable; 0: advisory")
	COL(F32,  gain,       ANY,   1, "the share of a step's time that a fix would save; 0 to 1")
	COL(F32,  confidence, ANY,   1, "0 to 1")
	COL(STR,  text,       ANY,   1, "one line for people")
	COL(STR,  detail,     ANY,   1, "evidence, JSON")
	COL(WORD, source,     ANY,   1, "found by: aond, why, diagnose")
END(FINDING, finding)

TABLE(OVERHEAD, overhead, "", t_ns, "cluster, job, rank, proc, t_ns", "day", 30, "what recording costs a process")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in the job; -1: none")
	COL(U64,  proc,       ANY,   1, "process")
	COL(U64,  t_ns,       TIME,  1, "when it was measured")
	COL(U64,  pairs,      ANY,   1, "blocks of steps compared; 0: not measured")
	COL(F32,  slowdown,   ANY,   1, "share of a step's time")
	COL(F32,  lo,         ANY,   1, "95 % confidence interval of slowdown, lower end")
	COL(F32,  hi,         ANY,   1, "its upper end")
	COL(F32,  accounted,  ANY,   1, "records times the cost of one, as a share of a step's time")
	COL(U8,   rung,       ANY,   1, "fidelity level: docs/budget.md")
END(OVERHEAD, overhead)

TABLE(NODE, node, "", t_ns, "cluster, host, t_ns", "day", 30, "a node's heartbeat")
	COMMON
	COL(WORD, host,         ANY,   1, "node")
	COL(WORD, rack,         ANY,   1, "rack, if known")
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
	COL(U64,  spool_bytes,  ANY,   1, "bytes that wait to be sent")
	COL(U64,  spool_batches, ANY,  1, "number of batches that wait")
	COL(I32,  clock_off_us, ANY,   1, "offset of the node's clock to the relay's")
	COL(U32,  clock_err_us, ANY,   1, "error of clock_off_us; 4294967295: not known")
END(NODE, node)

TABLE(TELEMETRY, telemetry, "", t_ns, "cluster, metric, host, device, t_ns", "day", 14, "a measured value of a node or device")
	COMMON
	COL(WORD, host,       ANY,   1, "node")
	COL(WORD, device,     ANY,   1, "device of the node; empty: the node itself")
	COL(WORD, metric,     ANY,   1, "what was measured")
	COL(WORD, labels,     ANY,   1, "further labels: key=value, with commas")
	COL(U64,  t_ns,       TIME,  1, "when")
	COL(F64,  value,      REAL,  1, "value")
	COL(WORD, unit,       ANY,   1, "its unit")
END(TELEMETRY, telemetry)

TABLE(EVENT, event, "", t_ns, "cluster, job, capture, rank, t_ns", "day", 3, "an event of a capture")
	COMMON
	COL(WORD, job,        ANY,   1, "job")
	COL(I32,  rank,       ANY,   1, "rank in the job; -1: none")
	COL(U64,  proc,       ANY,   1, "process")
	COL(WORD, capture,    ANY,   1, "which capture")
	COL(U64,  t_ns,       TIME,  1, "start")
	COL(U64,  dur_ns,     ANY,   1, "duration")
	COL(U8,   kind,       ANY,   1, "kind of event")
	COL(U64,  name,       ANY,   1, "hash of its name; 0: none")
	COL(U32,  lane,       ANY,   1, "track on the node")
	COL(U32,  device,     ANY,   1, "device; 4294967295: a thread of the host")
	COL(U64,  stream,     ANY,   1, "stream of the device, or thread")
	COL(U32,  corr,       ANY,   1, "correlation id")
	COL(U64,  bytes,      ANY,   1, "bytes of copies, memsets, collectives; for other kinds see event.tbl.h")
END(EVENT, event)

TABLE(DROP, drop, "", t_ns, "cluster, host, t_ns", "toYYYYMM(day)", 400, "data that was given up before it arrived here")
	COMMON
	COL(WORD, host,       ANY,   1, "node or relay")
	COL(U64,  t_ns,       ANY,   1, "when this was reported")
	COL(WORD, what,       ANY,   1, "table, or other data")
	COL(WORD, reason,     ANY,   1, "full, age, poison, damage, gap")
	COL(U64,  batches,    ANY,   1, "number of batches since the last report")
	COL(U64,  rows,       ANY,   1, "number of rows in them")
	COL(U64,  bytes,      ANY,   1, "their size")
	COL(U64,  of,         ANY,   1, "src of the batches")
	COL(U64,  first_seq,  ANY,   1, "number of the first batch; 0: none had a number")
	COL(U64,  last_seq,   ANY,   1, "number of the last batch")
END(DROP, drop)
/* clang-format on */
#undef COMMON
#undef TABLE
#undef COL
#undef END
