/* SPDX-License-Identifier: Apache-2.0 */
/* match.c - the Aho-Corasick automaton; each state knows the first rule that it completes. */
#include "names/match.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS 45u /* letters, digits, and what else names are made of; 0: all other bytes */
#define START   44u /* '^' */

struct match {
	const struct match_rule *rule; /* borrowed */
	uint16_t (*next)[SYMBOLS];     /* owned, by state */
	uint8_t *first;                /* owned, by state: rule, or MATCH_NONE */
	uint8_t symbol[256];
	size_t states;
};

static void fill_symbols(uint8_t symbol[256])
{
	static const char other[] = "_:-</. ";

	memset(symbol, 0, 256);
	for (uint8_t i = 0; i < 26; i++)
		symbol['a' + i] = symbol['A' + i] = (uint8_t)(1 + i);
	for (uint8_t i = 0; i < 10; i++)
		symbol['0' + i] = (uint8_t)(27 + i);
	for (uint8_t i = 0; other[i]; i++)
		symbol[(uint8_t)other[i]] = (uint8_t)(37 + i);
}

static size_t count_letters(const struct match_rule *rule, size_t rules)
{
	size_t sum = 0;

	for (size_t i = 0; i < rules; i++)
		sum += strlen(rule[i].words);
	return sum;
}

/* The tree of all words. */
static void plant(struct match *m, const char *words, uint8_t rule)
{
	uint16_t at = 0;

	for (const char *s = words;; s++) {
		uint8_t c = *s == '^' ? START : m->symbol[(uint8_t)*s];

		if (*s == '|' || !*s) {
			if (m->first[at] > rule)
				m->first[at] = rule;
			at = 0;
			if (!*s)
				return;
			continue;
		}
		assert(c);
		if (!m->next[at][c])
			m->next[at][c] = (uint16_t)m->states++;
		at = m->next[at][c];
	}
}

/* Breadth first, so that where a word fails its longest tail is known already. */
static int link_tails(struct match *m)
{
	uint16_t *queue = calloc(m->states, 2 * sizeof(*queue)), *tail;
	size_t head = 0, end = 0;

	if (!queue)
		return -ENOMEM;
	tail = queue + m->states;
	for (size_t c = 0; c < SYMBOLS; c++)
		if (m->next[0][c])
			queue[end++] = m->next[0][c];
	while (head < end) {
		uint16_t at = queue[head++];

		if (m->first[tail[at]] < m->first[at])
			m->first[at] = m->first[tail[at]];
		for (size_t c = 0; c < SYMBOLS; c++) {
			uint16_t to = m->next[at][c];

			if (!to) {
				m->next[at][c] = m->next[tail[at]][c];
				continue;
			}
			tail[to] = m->next[tail[at]][c];
			queue[end++] = to;
		}
	}
	free(queue);
	return 0;
}

int match_new(struct match **out, const struct match_rule *rule, size_t rules)
{
	size_t max = count_letters(rule, rules) + 1;
	struct match *m;

	assert(rules < MATCH_NONE && max < UINT16_MAX);
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->rule = rule;
	m->next = calloc(max, sizeof(*m->next));
	m->first = malloc(max);
	if (!m->next || !m->first)
		goto free_match;
	memset(m->first, MATCH_NONE, max);
	fill_symbols(m->symbol);
	m->states = 1;
	for (size_t i = 0; i < rules; i++)
		plant(m, rule[i].words, (uint8_t)i);
	if (link_tails(m) < 0)
		goto free_match;
	*out = m;
	return 0;

free_match:
	match_free(m);
	return -ENOMEM;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	free(m->next);
	free(m->first);
	free(m);
}

uint8_t match_find(const struct match *m, const char *name, size_t len, uint8_t or_else)
{
	uint16_t at = m->next[0][START];
	uint8_t best = m->first[at];

	for (size_t i = 0; i < len; i++) {
		at = m->next[at][m->symbol[(uint8_t)name[i]]];
		if (m->first[at] < best)
			best = m->first[at];
	}
	return best == MATCH_NONE ? or_else : m->rule[best].value;
}
