/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_guard.h - evidence that a process without progress is writing a checkpoint. */
#pragma once

struct sess;
struct signs;

/* Fills in the signs of a checkpoint that detect.h needs for a process without progress. */
void checkpoint_guard_look(const struct sess *s, struct signs *out);
