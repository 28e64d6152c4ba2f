/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h - places at which a test can kill the process, as a power cut would.
 *
 * AON_FAULT=PLACE kills the process with SIGKILL there, AON_FAULT=PLACE:3 the third time. Only for
 * aon's own programs, at places where the disk and what was acknowledged differ; never in an app.
 */
#pragma once

void fault_point(const char *place);
