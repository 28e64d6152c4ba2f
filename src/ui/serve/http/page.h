/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - the files of the page. */
#pragma once

#include <stdbool.h>

struct answer;

bool page_has(const char *target);
/* Whether `target` (with or without a query) is the page or one of its files; then *a is filled. */
bool page_answer(struct answer *a, const char *target);
