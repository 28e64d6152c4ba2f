/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline.h - baselines in a few lines each: rules of thumb and the core of published methods, on
 * the same records as the diagnoser that should beat them.
 */
#ifndef AON_LAB_BASELINE_H
#define AON_LAB_BASELINE_H

#include "model/diagnoser.h"

extern const struct diagnoser base_job, base_own, base_peers, base_peers_often, base_nvrx,
	base_nvrx_tuned, base_eroica, base_greyhound, base_aegis, base_minder, base_holmes,
	base_hang;

#endif /* AON_LAB_BASELINE_H */
