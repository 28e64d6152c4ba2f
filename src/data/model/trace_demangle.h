/* SPDX-License-Identifier: Apache-2.0 */
/* trace_demangle.h - demangled names of a trace. */
#pragma once

struct trace;

/* Demangles all names of a trace that nothing is added to any more. */
void demangle_trace(struct trace *t);
