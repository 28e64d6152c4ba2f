/* SPDX-License-Identifier: Apache-2.0 */
/* contender.c - all diagnosers that can be scored, by name. */
#include "lab/contender.h"

#include "diagnose/diagnose.h"
#include "lab/baseline.h"

const struct diagnoser *const contender[CONTENDERS] = {
	&diagnoser_aon, &base_job,        &base_own,    &base_peers,     &base_peers_often,
	&base_nvrx,     &base_nvrx_tuned, &base_eroica, &base_greyhound, &base_aegis,
	&base_minder,   &base_holmes,     &base_hang,
};
