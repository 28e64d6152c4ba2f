/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h - a place at which a test lets the process die, as by a power cut.
 *
 * AON_FAULT=PLACE ends it with SIGKILL there, AON_FAULT=PLACE:3 the third time that it comes by. Only for
 * our own programs, at places where what is on disk and what was said differ; never in an app.
 */
#ifndef AON_BASE_FAULT_H
#define AON_BASE_FAULT_H

void fault_point(const char *place);

#endif /* AON_BASE_FAULT_H */
