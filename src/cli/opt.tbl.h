/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt.tbl.h - every option of every command, once. Parser, help, man page, completions.
 *
 *	OPT(ID, 'short' or 0, "long", "ARGUMENT" or NULL, commands, "what it does")
 *
 * commands: C(ID of cmd.tbl.h) | ..., or EVERY. An ARGUMENT with bars lists its values.
 * Two rows may share a long name if no command has both.
 */
/* clang-format off */
OPT(OUTPUT,   'o', "output",   "FILE",   C(RUN) | C(RECOVER) | C(IMPORT), "write the store to FILE")
OPT(OUTPUT_TO, 'o', "output",  "FILE",   C(EXPORT), "write to FILE, or a file for each rank to DIR/ (standard output unless told)")
OPT(FORMAT,   'f', "format",   "perfetto|kineto|pprof|collapsed|csv", C(EXPORT), "the format, if the ending of -o does not tell it")
OPT(NAME,      0,  "name",     "LABEL",  C(RUN), "call the run LABEL (up to 15 of a-z A-Z 0-9 . _ -)")
OPT(PROBE,     0,  "probe",    "nvtx|opencl|cuda|nccl|torch|jax|none", C(RUN), "load only these, with commas (all probes unless told)")
OPT(NOREPORT,  0,  "no-report", NULL,    C(RUN), "print nothing at the end")
OPT(STORE,     0,  "store",    "FILE",   C(PS) | C(TOP), "read FILE instead of the node's store")
OPT(GONE,     'a', "all",      NULL,     C(PS), "also processes that have left")
OPT(ONCE,     '1', "once",     NULL,     C(TOP), "print once and exit")
OPT(DELAY,    'd', "delay",    "S",      C(TOP), "seconds between two looks (2 unless told)")
OPT(SORT,     's', "sort",     "total|count|avg|max|name", C(TOP), "order of the names (total unless told)")
OPT(PROCESS,  'P', "process",  "N",      C(REPORT), "only the process with this number in the store")
OPT(PID,      'p', "pid",      "P",      C(REPORT), "only processes with this pid")
OPT(RUN,      'r', "run",      "R",      C(REPORT), "only processes of this run")
OPT(SCALE,     0,  "scale",    "NAME=F", C(WHATIF), "kernels and copies called NAME take F of their time (NAME=F,...)")
OPT(SCALEHOST, 0,  "scale-host", "NAME=F", C(WHATIF), "the same for ranges and calls of the program")
OPT(NOSYNC,    0,  "no-sync",  NULL,     C(WHATIF), "no call waits for the GPU")
OPT(OVERLAP,   0,  "overlap-comm", NULL, C(WHATIF), "nothing waits for communication but communication")
OPT(FREEHOST,  0,  "free-host", NULL,    C(WHATIF), "the program takes no time between its calls")
OPT(FREELAUNCH, 0, "free-launch", NULL,  C(WHATIF), "neither do calls, nor the way from a launch to the GPU")
OPT(BY,       'b', "by",       "name|lane|process|kernel|class|op|module|step|rank|stream", C(REPORT), "a row for each of these (name unless told)")
OPT(MEMORY,    0,  "memory",   NULL,     C(REPORT), "what each allocator held, step by step")
OPT(EXPLAIN,   0,  "explain",  NULL,     C(WHY), "say what each finding means")
OPT(ALL,      'a', "all",      NULL,     C(RUN) | C(TOP) | C(REPORT) | C(WHY), "fold nothing: show every row")
OPT(WIDE,     'w', "wide",     NULL,     C(RUN) | C(PS) | C(TOP) | C(REPORT) | C(WHY), "full names and all columns, however wide")
OPT(FULL,      0,  "full",     NULL,     C(DOCTOR), "name host and user in the JSON")
OPT(JSON,     'j', "json",     NULL,     EVERY & ~(C(RUN) | C(HELP)), "one JSON object on stdout")
OPT(ASCII,     0,  "ascii",    NULL,     EVERY, "draw with ASCII only")
OPT(NOCOLOR,   0,  "no-color", NULL,     EVERY, "no colours (also: NO_COLOR, TERM=dumb)")
OPT(RANKS,     0,  "ranks",    "A,B",    C(DIFF), "compare two ranks of one run")
OPT(STEPS,     0,  "steps",    "A-B,C-D", C(DIFF), "compare two windows of steps of one run")
OPT(CHANGED,  'b', "by",       "kernel|op|module", C(DIFF), "show what changed most of these (kernel unless told)")
OPT(EVERYROW, 'a', "all",      NULL,     C(DIFF), "fold nothing: show every row that changed")
OPT(AGAINST,   0,  "against",  "BASE",   C(CHECK), "the run to compare with")
OPT(LIMITS,    0,  "limits",   "FILE",   C(CHECK), "the limits (without: not 5 % slower than BASE)")
OPT(WRITE,     0,  "write",    NULL,     C(CHECK), "print limits that RUN keeps, to begin with")
OPT(VERDICTS,  0,  "format",   "text|junit|github", C(CHECK), "how to print it (text unless told)")
OPT(TABLES,    0,  "tables",   NULL,     C(SQL), "list the tables and their columns")
OPT(CSV,       0,  "csv",      NULL,     C(SQL), "comma-separated values")
OPT(TSV,       0,  "tsv",      NULL,     C(SQL), "tab-separated values")
OPT(TIMEOUT,   0,  "timeout",  "S",      C(SQL), "stop after so many seconds (60 unless told, 0: never)")
OPT(UNCUT,    'w', "wide",     NULL,     C(SQL), "whole texts and all columns, however wide")
OPT(LISTEN,   'l', "listen",   "WHERE",  C(SERVE), "HOST:PORT or unix:PATH (127.0.0.1:0 unless told: any free port)")
OPT(TOKENFILE, 0,  "token-file", "FILE", C(SERVE), "the token is in FILE, or is written there if there is none")
OPT(ROFF,      0,  "roff",     NULL,     C(HELP), NULL)
OPT(COMPLETE,  0,  "complete", "bash|zsh|fish", C(HELP), NULL)
OPT(HELP,     'h', "help",     NULL,     EVERY, "this text")
/* clang-format on */
#undef OPT
