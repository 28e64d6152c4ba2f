/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight.h - torch's Flight Recorder of running ranks, also of those that hang.
 *
 * A rank that hangs in a collective runs no Python. So this must be enabled in advance: aon run
 * --flight-recorder names a directory, and the hook lets torch's own worker server, a thread of
 * torch, answer on a socket there.
 */
#pragma once

#include "cli/core/cli.h"

#define FLIGHT_ENV "AON_TORCH_FLIGHT"
#define FLIGHT_DIR 64u

/* Makes the directory, of the user alone, and tells the program to come. "": not made, it said so. */
void flight_prepare(char dir[FLIGHT_DIR]);

/* aon capture --flight-recorder: an exit status. */
int flight_capture(const struct opts *o);
