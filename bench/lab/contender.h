/* SPDX-License-Identifier: Apache-2.0 */
/* contender.h - all diagnosers that can be scored, by name. */
#ifndef AON_LAB_CONTENDER_H
#define AON_LAB_CONTENDER_H

#include "model/diagnoser.h"

#define CONTENDERS 13u
extern const struct diagnoser *const contender[CONTENDERS];

#endif /* AON_LAB_CONTENDER_H */
