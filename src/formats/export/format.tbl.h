/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.tbl.h - every format that `aon export` writes, once.
 *
 *	FORMAT(ID, "name", "ending", flags, "what opens it")
 */
/* clang-format off */
FORMAT(PERFETTO,  "perfetto",  ".pftrace",   EXPORT_BINARY,             "ui.perfetto.dev, trace_processor")
FORMAT(KINETO,    "kineto",    ".json",      EXPORT_ONE,                "HTA, TensorBoard, chrome://tracing")
FORMAT(PPROF,     "pprof",     ".pb",        EXPORT_BINARY | EXPORT_GZ, "go tool pprof, speedscope")
FORMAT(COLLAPSED, "collapsed", ".collapsed", 0,                         "flame graphs, speedscope")
FORMAT(OTLP_PROFILE, "otlp-profile", ".otlp", EXPORT_BINARY,            "OpenTelemetry (v1development)")
FORMAT(CSV,       "csv",       ".csv",       0,                         "tables")
/* clang-format on */
#undef FORMAT
