/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab.tbl.h - the options of aon-lab. Both commands take all of them that make sense there.
 *
 *	OPT(ID, 'short' or 0, "long", "ARGUMENT" or NULL, "what it does")
 */
/* clang-format off */
OPT(OUTPUT,   'o', "output",       "FOLDER",  "corpus: where to write the cases")
OPT(CASES,     0,  "cases",        "N",       "number of jobs (default 100)")
OPT(SEED,      0,  "seed",         "N",       "draws the jobs (default 1); same seed, same bytes")
OPT(STEPS,     0,  "steps",        "N",       "steps of a job (default 192)")
OPT(RANKS,     0,  "ranks",        "N[-N]",   "ranks of a job, or the range to draw from")
OPT(LAYOUTS,   0,  "layouts",      "NAME,..", "only these layouts (see --list-layouts)")
OPT(KINDS,     0,  "kinds",        "F1,F2",   "only these faults (see aon sim --list-faults)")
OPT(MISSING,   0,  "missing",      "X",       "share of records that never arrive")
OPT(CLEAN,     0,  "clean",        "X",       "share of jobs without a fault (default 0.25)")
OPT(PACKED,    0,  "packed",       "S",       "pack sequences whose lengths have this spread")
OPT(DEVICE,    0,  "device",       "NAME",    "GPU of all jobs (default H100_SXM)")
OPT(FINDINGS,  0,  "findings",     "FILE",    "score: findings of your diagnoser, one JSON object a line")
OPT(AGAINST,   0,  "against",      "NAME,..", "score: only these, as aon,B1,B8; baselines; none")
OPT(LAYOUTLIST, 0, "list-layouts", NULL,      "list the layouts")
OPT(JSON,     'j', "json",         NULL,      "one JSON object on stdout")
OPT(HELP,     'h', "help",         NULL,      "this text")
/* clang-format on */
#undef OPT
