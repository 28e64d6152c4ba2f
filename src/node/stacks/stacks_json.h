/* SPDX-License-Identifier: Apache-2.0 */
/* stacks_json.h - what aon-stacks said, once it is a line of a journal. */
#ifndef AON_STACKS_SAID_H
#define AON_STACKS_SAID_H

#include "base/json.h"

/* "ranks 0-2,4 of job j: f <- g" as the arrays "ranks" and "frames" of the open object; whatever else
 * a line is, they are valid. */
void stacks_json(struct json *j, const char *text);

#endif /* AON_STACKS_SAID_H */
