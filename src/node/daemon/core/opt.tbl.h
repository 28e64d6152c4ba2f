/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt.tbl.h - every option of aond, once. Parser, --help and man page.
 *
 *	OPT(ID, 'short' or 0, "long", "ARGUMENT" or NULL, "what it does" or NULL: hidden)
 */
/* clang-format off */
OPT(CONFIG,    'c', "config",     "FILE",      "read settings from FILE (default /etc/aon/aond.conf, if it exists)")
OPT(CHECK,     'n', "check",      NULL,        "check the settings and exit: 0 if they are valid")
OPT(FOREGROUND,'f', "foreground", NULL,        "stay in the foreground, which aond always does")
OPT(RUN_DIR,    0,  "run-dir",    "DIR",       "the same as --set run_dir=DIR")
OPT(STORE,      0,  "store",      "FILE",      "the same as --set store=FILE")
OPT(SET,        0,  "set",        "KEY=VALUE", "a setting that overrides the file")
OPT(PARENT_FD,  0,  "parent-fd",  "N",         NULL) /* ends when the pipe N closes */
OPT(READY_FD,   0,  "ready-fd",   "N",         NULL) /* a line to N once processes can join */
OPT(VERSION,   'V', "version",    NULL,        "print the version")
OPT(HELP,      'h', "help",       NULL,        "print this text")
/* clang-format on */
#undef OPT
