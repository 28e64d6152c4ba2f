/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_guard.h - evidence that a process without progress is writing a checkpoint. */
#pragma once

struct sess;
struct signs;

/* Fills in what detect.h wants to know about a process without progress. */
void saving_look(const struct sess *s, struct signs *out);
