/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.tbl.h - every counter of aond itself, once. `aon ps`, admin `status`, /metrics and the
 * man page come from it.
 *
 *	COUNT(name, kind, "what it counts")
 *
 * kind  SUM: only rises; NOW: the present value
 */
/* clang-format off */
COUNT(sessions_opened,     SUM, "processes that joined")
COUNT(sessions_adopted,    SUM, "of these, with a pool that an earlier aond had made")
COUNT(sessions_ended,      SUM, "processes whose session ended")
COUNT(sessions_lied,       SUM, "sessions ended because their pool or their messages broke the rules")
COUNT(refused_full,        SUM, "processes refused: sessions_max, or no descriptors left")
COUNT(refused_uid,         SUM, "processes refused: sessions_per_uid")
COUNT(refused_memory,      SUM, "processes refused: pools_mib, or no memory")
COUNT(refused_hello,       SUM, "processes refused: not an aon process, or another version")
COUNT(refused_unknown,     SUM, "processes refused: the kernel does not say who they are")
COUNT(refused_late,        SUM, "connections closed because they did not say HELLO in time")
COUNT(offers_refused,      SUM, "processes refused: the pool that they offered was not one of ours, or lied")
COUNT(messages_unknown,    SUM, "messages of an unknown type, skipped")
COUNT(messages_bad,        SUM, "messages that were too short, too long or carried descriptors they should not")
COUNT(bells,               SUM, "times a process said that its pool is half full")
COUNT(bells_ignored,       SUM, "seconds in which a process rang too often and was not heard")
COUNT(records,             SUM, "records taken from pools")
COUNT(events,              SUM, "events understood")
COUNT(batches,             SUM, "batches of events handed to the writer")
COUNT(batches_dropped,     SUM, "batches of events dropped: the writer was behind queue_mib")
COUNT(windows,             SUM, "windows of rollups handed to the writer")
COUNT(windows_dropped,     SUM, "windows dropped: the writer was behind queue_mib")
COUNT(names_other,         SUM, "names of processes that read (other): over names_max, or half of it by one process")
COUNT(queue_bytes,         NOW, "waiting for the writer")
COUNT(queue_bytes_max,     NOW, "most that ever waited for the writer")
COUNT(pool_bytes,          NOW, "memory of all pools")
COUNT(commits,             SUM, "commits to the store")
COUNT(commit_us_max,       NOW, "longest commit, in microseconds")
COUNT(store_errors,        SUM, "transactions that the store refused")
COUNT(store_lost,          SUM, "records in those")
COUNT(windows_lost,        SUM, "windows in those")
COUNT(store_bytes,         NOW, "store and its log on disk")
COUNT(accounts_wrong,      SUM, "accounts that did not add up at a commit: a bug in aond")
COUNT(shed_level,          NOW, "what the budget of CPU has cost: 0 nothing, 1 events are only rolled up, 2 records are only counted")
COUNT(shed_moves,          SUM, "changes of that")
COUNT(stalls,              SUM, "times the loop was held up for more than half a second")
COUNT(turn_us_max,         NOW, "longest turn of the loop, in microseconds")
COUNT(clock_unsteady,      SUM, "times the processor's counter did not run evenly")
COUNT(admin_requests,      SUM, "requests on the admin socket")
COUNT(admin_refused,       SUM, "admin connections refused, or closed because they did not read")
COUNT(reloads,             SUM, "settings read again")
COUNT(reloads_failed,      SUM, "settings read again with an error: the old ones were kept")
/* clang-format on */
#undef COUNT
