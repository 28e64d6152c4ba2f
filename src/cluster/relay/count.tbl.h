/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.tbl.h - the relay's counters since its start, for status and /metrics.
 *
 *	COUNT(name, "what it is")
 */
/* clang-format off */
COUNT(batches,        "batches taken, on disk before they were acknowledged")
COUNT(rows,           "rows of these")
COUNT(wire_bytes,     "bytes of these, as they came")
COUNT(repeated,       "batches that were here already: acknowledged, not taken again")
COUNT(out_of_order,   "batches that came before their forerunner: asked for it")
COUNT(bad_batches,    "batches refused: damaged, unknown, or of another cluster")
COUNT(held_back,      "requests refused because their node sent too much")
COUNT(no_room,        "requests refused because disk or memory were full")
COUNT(strangers,      "requests refused by certificate or access list")
COUNT(commits,        "transactions")
COUNT(inserts,        "inserts that ClickHouse took")
COUNT(insert_rows,    "rows of these")
COUNT(insert_retries, "inserts sent again")
COUNT(insert_splits,  "inserts that were refused and sent batch by batch")
COUNT(aside,          "batches set aside, refused by ClickHouse")
COUNT(orders,         "captures ordered")
COUNT(orders_refused, "captures refused")
COUNT(traces,         "traces that came from nodes")
/* clang-format on */
#undef COUNT
