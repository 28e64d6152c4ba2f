/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.tbl.h - the tables of events and their columns, once. Declarations, planning, docs.
 *
 *	TABLE(ID, "name", bits of the kinds of events it shows)
 *	COL(ID, name, "TYPE", DOMAIN, columns of the event it needs, tables)
 *
 * DOMAIN says what the value depends on: NAME, TRACK and KIND are dictionaries, so that a
 * condition is tested once for each entry and a GROUP BY can be served in order; ROW is the
 * event itself. HIDDEN columns are for `select track_id`, and not in `select *`.
 */
#ifdef TABLE
/* clang-format off */
TABLE(EVENT,      event,      ~(1u << EVENT_SAMPLE)) /* a sample is no work: samples.c */
TABLE(STEP,       step,       1u << EVENT_STEP)
TABLE(RANGE,      range,      1u << EVENT_RANGE)
TABLE(KERNEL,     kernel,     1u << EVENT_KERNEL)
TABLE(COPY,       copy,       1u << EVENT_COPY)
TABLE(MEMSET,     memset,     1u << EVENT_MEMSET)
TABLE(SYNC,       sync,       1u << EVENT_SYNC)
TABLE(COLLECTIVE, collective, 1u << EVENT_COLLECTIVE)
TABLE(GRAPH,      graph,      1u << EVENT_GRAPH)
TABLE(ALLOC,      alloc,      1u << EVENT_ALLOC)
TABLE(API,        api,        1u << EVENT_API)
TABLE(COUNTER,    counter,    1u << EVENT_COUNTER)
TABLE(MARK,       mark,       1u << EVENT_MARK)
/* clang-format on */
#undef TABLE
#endif

#ifdef COL
#define T(ID)  (1u << TABLE_##ID)
#define N(ID)  EVENT_COL_##ID
#define EVERY  (~0u)
#define MOMENT (T(COUNTER) | T(MARK))
#define GPU    (T(KERNEL) | T(COPY) | T(MEMSET))
/* clang-format off */
COL(ID,          id,             "INTEGER", ROW,  0,                     EVERY)
COL(TS,          ts,             "INTEGER", ROW,  N(START),              EVERY)
COL(DUR,         dur,            "INTEGER", ROW,  N(DUR),                EVERY & ~MOMENT)
COL(NAME,        name,           "TEXT",    NAME, N(NAME),               EVERY)
COL(KIND,        kind,           "TEXT",    KIND, N(KIND),               T(EVENT))
COL(DEVICE,      device,         "INTEGER", TRACK, N(TRACK),               EVERY)
COL(STREAM,      stream,         "INTEGER", TRACK, N(TRACK),               EVERY)
COL(CONTEXT,     context,        "INTEGER", TRACK, N(TRACK),               EVERY)
COL(TID,         tid,            "INTEGER", TRACK, N(TRACK),               EVERY)
COL(PID,         pid,            "INTEGER", TRACK, N(TRACK),               EVERY)
COL(PROCESS,     process,        "INTEGER", TRACK, N(TRACK),               EVERY)
COL(TRACK,       track,          "INTEGER", TRACK, N(TRACK),               EVERY)
COL(CORRELATION, correlation,    "INTEGER", ROW,  N(CORR),               EVERY & ~(T(STEP) | T(COUNTER)))
COL(NUMBER,      number,         "INTEGER", ROW,  N(A),                  T(STEP))
COL(OPEN,        open,           "INTEGER", ROW,  N(FLAGS),              T(STEP) | T(RANGE))
COL(DEPTH,       depth,          "INTEGER", ROW,  N(DEPTH),              T(EVENT) | T(RANGE))
COL(BYTES,       bytes,          "INTEGER", ROW,  N(A),                  T(COPY) | T(MEMSET) | T(COLLECTIVE) | T(ALLOC))
COL(DIRECTION,   direction,      "TEXT",    ROW,  N(FLAGS),              T(COPY))
COL(ADDRESS,     address,        "INTEGER", ROW,  N(B),                  T(ALLOC))
COL(FREED,       freed,          "INTEGER", ROW,  N(FLAGS),              T(ALLOC))
COL(SEQUENCE,    sequence,       "INTEGER", ROW,  N(B),                  T(COLLECTIVE))
COL(GRAPH_ID,    graph_id,       "INTEGER", ROW,  N(A),                  T(GRAPH))
COL(VALUE,       value,          "NUMERIC", ROW,  N(A) | N(FLAGS),       T(COUNTER))
COL(GRID_X,      grid_x,         "INTEGER", ROW,  N(A),                  T(KERNEL))
COL(GRID_Y,      grid_y,         "INTEGER", ROW,  N(A),                  T(KERNEL))
COL(GRID_Z,      grid_z,         "INTEGER", ROW,  N(A),                  T(KERNEL))
COL(BLOCK_X,     block_x,        "INTEGER", ROW,  N(A),                  T(KERNEL))
COL(BLOCK_Y,     block_y,        "INTEGER", ROW,  N(A),                  T(KERNEL))
COL(BLOCK_Z,     block_z,        "INTEGER", ROW,  N(A),                  T(KERNEL))
COL(REGISTERS,   registers,      "INTEGER", ROW,  N(A),                  T(KERNEL))
COL(SHARED_STATIC,  shared_static,  "INTEGER", ROW,  N(A),               T(KERNEL))
COL(SHARED_DYNAMIC, shared_dynamic, "INTEGER", ROW,  N(A),               T(KERNEL))
COL(CLASS,       class,          "TEXT",    NAME, N(NAME),               T(KERNEL))
COL(GRAPH_NODE,  graph_node,     "INTEGER", ROW,  N(B),                  GPU)
COL(OF_GRAPH,    graph_id,       "INTEGER", ROW,  N(B),                  GPU)
COL(END_TS,      end_ts,         "INTEGER", ROW,  N(START) | N(DUR),     EVERY)
COL(WALL,        wall,           "INTEGER", ROW,  N(START) | N(TRACK),    EVERY)
COL(A,           a,              "INTEGER HIDDEN", ROW,  N(A),           EVERY)
COL(B,           b,              "INTEGER HIDDEN", ROW,  N(B),           EVERY)
COL(NAME_ID,     name_id,        "INTEGER HIDDEN", NAME, N(NAME),        EVERY)
COL(TRACK_ID,    track_id,       "INTEGER HIDDEN", TRACK, N(TRACK),        EVERY)
COL(LANE,        lane,           "INTEGER HIDDEN", TRACK, N(TRACK),        EVERY) /* track until 0.1 */
COL(UPID,        upid,           "INTEGER HIDDEN", TRACK, N(TRACK),        EVERY)
/* clang-format on */
#undef T
#undef N
#undef EVERY
#undef MOMENT
#undef GPU
#undef COL
#endif
