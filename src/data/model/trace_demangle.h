/* SPDX-License-Identifier: Apache-2.0 */
/* trace_demangle.h - the names of a trace as their authors wrote them. */
#pragma once

struct trace;

/* Demangles all names of a trace that nothing is added to any more. */
void demangle_trace(struct trace *t);
