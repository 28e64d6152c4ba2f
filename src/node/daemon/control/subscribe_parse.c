/* SPDX-License-Identifier: Apache-2.0 */
/* subscribe_parse.c - see subscribe_parse.h. The words are untrusted. */
#include "daemon/control/subscribe_parse.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

const char *const need_word[NEED_PRIORITIES] = { "low", "normal", "high" };

static int take_pids(struct need *n, char *list)
{
	char *one;

	while ((one = strsep(&list, ","))) {
		uint64_t pid;

		if (n->pids == NEED_PIDS || num_u64(one, 1, INT32_MAX, &pid))
			return -EINVAL;
		n->pid[n->pids++] = (uint32_t)pid;
	}
	return 0;
}

static int take_priority(struct need *n, const char *word)
{
	for (int i = 0; i < NEED_PRIORITIES; i++) {
		if (strcmp(word, need_word[i]))
			continue;
		n->priority = (enum need_priority)i;
		return 0;
	}
	return -EINVAL;
}

static int take(struct need *n, char *word)
{
	char *value = word, *key = strsep(&value, "=");
	uint64_t rate;
	int err = 0;

	if (!value) {
		n->window |= !strcmp(key, "window");
		n->detail |= !strcmp(key, "detail");
	} else if (!strcmp(key, "kinds")) {
		err = num_hex(value, &n->kinds) || !n->kinds ? -EINVAL : 0;
	} else if (!strcmp(key, "pids")) {
		err = take_pids(n, value);
	} else if (!strcmp(key, "priority")) {
		err = take_priority(n, value);
	} else if (!strcmp(key, "rate")) {
		err = num_u64(value, 1, UINT32_MAX, &rate);
		n->rate = err ? 0 : (uint32_t)rate;
	}
	return err;
}

int need_parse(struct need *out, char *words)
{
	char *word;
	int err = 0;

	*out = (struct need){ .kinds = UINT64_MAX, .priority = NEED_NORMAL };
	while (!err && (word = strsep(&words, " ")))
		err = *word ? take(out, word) : 0;
	return err;
}

bool need_pid(const struct need *n, uint32_t pid)
{
	for (uint32_t i = 0; i < n->pids; i++)
		if (n->pid[i] == pid)
			return true;
	return !n->pids;
}
