/* SPDX-License-Identifier: Apache-2.0 */
/* sample_most.c - see sample_most.h. */
#include "model/sample_most.h"

void sample_most_add(struct sample_most *m, uint64_t start_ns, uint64_t dur_ns, uint32_t name,
		     uint64_t b)
{
	enum sample_state state = sample_state(b);
	size_t k = 0;

	if (sample_flags(b) & SAMPLE_HOLDER)
		return;
	m->samples++;
	m->ns += dur_ns;
	m->state_ns[state] += dur_ns;
	m->newest_ns = start_ns > m->newest_ns ? start_ns : m->newest_ns;
	while (k < m->n && (m->at[k].name != name || m->at[k].state != state))
		k++;
	if (k == SAMPLE_PLACES)
		return;
	if (k == m->n)
		m->at[m->n++] = (struct sample_place){ name, state, 0 };
	m->at[k].ns += dur_ns;
}

const struct sample_place *sample_most(const struct sample_most *m)
{
	const struct sample_place *best = m->n ? m->at : NULL;

	for (size_t i = 1; i < m->n; i++)
		best = m->at[i].ns > best->ns ? &m->at[i] : best;
	return best;
}
