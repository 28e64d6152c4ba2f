/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.h - what the parts of aon roofline share. */
#ifndef AON_CLI_ROOFLINE_H
#define AON_CLI_ROOFLINE_H

#include "cli/core/cli.h"

int roofline_measure(const struct opts *o);

#endif /* AON_CLI_ROOFLINE_H */
