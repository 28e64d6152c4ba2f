/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.tbl.h - sums that the servers keep as rows come in, once: what overviews read instead of all rows.
 *
 *	VIEW(name, FROM, "order", "partition", days, "what a row is")
 *	KEY("type", name, "how it is computed from a row")  part of the order, or follows from it
 *	SUM("type", name, "what is added up")
 *	LAST("type", name, "of the newest row")            instead of sums, with one
 *	NEWEST("type", name, "which row is newer")
 *	DONE
 *
 * Column names differ from those of the table that they come from: ClickHouse takes an alias for the
 * column wherever both could be meant. A row may be in several pieces: readers add them up, or
 * take the newest.
 */
/* clang-format off */
#define HOUR "intDiv(t_ns, 3600000000000) * 3600000000000"

VIEW(kernel_hour, WINDOW, "cluster, job, kind, name, hour_ns", "toYYYYMM(day)", 400, "what one name did in a job in an hour")
	KEY("String",  cluster,  "cluster")
	KEY("String",  job,      "job")
	KEY("UInt8",   kind,     "kind")
	KEY("UInt64",  name,     "name")
	KEY("Date",    day,      "day")
	KEY("UInt64",  hour_ns,  HOUR)
	SUM("UInt64",  calls,    "count")
	SUM("UInt64",  busy_ns,  "total_ns")
	SUM("UInt64",  limit_ns, "floor_ns")
	SUM("UInt64",  moved,    "bytes")
DONE

VIEW(rank_hour, STEP, "cluster, hour_ns, job, rank", "toYYYYMM(day)", 400, "where the time of a rank's steps went in an hour")
	KEY("String",  cluster,  "cluster")
	KEY("String",  job,      "job")
	KEY("Int32",   rank,     "rank")
	KEY("Date",    day,      "day")
	KEY("UInt64",  hour_ns,  HOUR)
	SUM("UInt64",  steps,      "1")
	SUM("Float64", all_ns,     "step_ns")
	SUM("Float64", busy_ns,    "compute_ns")
	SUM("Float64", talk_ns,    "comm_ns")
	SUM("Float64", bare_ns,    "exposed_ns")
	SUM("Float64", rest_ns,    "idle_ns")
	SUM("UInt64",  token_sum,  "tokens")
	SUM("UInt64",  lost_sum,   "lost")
DONE

VIEW(job_hour, STEP, "cluster, job, hour_ns", "toYYYYMM(day)", 400, "the same for all ranks of a job: GPU time busy, in exposed communication, idle")
	KEY("String",  cluster,  "cluster")
	KEY("String",  job,      "job")
	KEY("Date",    day,      "day")
	KEY("UInt64",  hour_ns,  HOUR)
	SUM("UInt64",  steps,      "1")
	SUM("Float64", all_ns,     "step_ns")
	SUM("Float64", busy_ns,    "compute_ns")
	SUM("Float64", talk_ns,    "comm_ns")
	SUM("Float64", bare_ns,    "exposed_ns")
	SUM("Float64", rest_ns,    "idle_ns")
	SUM("Float64", late_ns,    "host_ns")
	SUM("Float64", input_sum_ns, "input_ns")
	SUM("UInt64",  token_sum,  "tokens")
	SUM("UInt64",  lost_sum,   "lost")
DONE

VIEW(node_hour, NODE, "cluster, hour_ns, host", "toYYYYMM(day)", 30, "the last heartbeat of a node in an hour")
	KEY("String",  cluster,  "cluster")
	KEY("Date",    day,      "day")
	KEY("UInt64",  hour_ns,  HOUR)
	KEY("String",  host,     "host")
	NEWEST("UInt64", seen_ns, "t_ns")
	LAST("String", rack,     "rack")
	LAST("UInt32", leaf,     "leaf")
	LAST("String", version,  "version")
	LAST("UInt32", processes, "processes")
	LAST("UInt64", lost,     "lost")
	LAST("UInt64", spool_bytes, "spool_bytes")
	LAST("Int32",  clock_off_us, "clock_off_us")
	LAST("UInt32", clock_err_us, "clock_err_us")
DONE
/* clang-format on */
#undef HOUR
#undef VIEW
#undef KEY
#undef SUM
#undef LAST
#undef NEWEST
#undef DONE
