/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_guard.h - evidence that a process without progress writes a checkpoint. */
#ifndef AON_DAEMON_SAVING_H
#define AON_DAEMON_SAVING_H

struct sess;
struct signs;

/* Fills in what detect.h wants to know about a process without progress. */
void saving_look(const struct sess *s, struct signs *out);

#endif /* AON_DAEMON_SAVING_H */
