/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_traffic.c - rules on copies and collectives that take longer than their links need. Waiting
 * for late ranks does not count, and transfers hidden behind compute cost nothing.
 */

#include "insight/find/finding.h"
#include "theory/copy.h"

static const struct traffic_row *worst(const struct insight *in, uint32_t device, bool collective,
				       uint64_t *sum, uint64_t *known)
{
	const struct traffic_row *top = NULL;

	*sum = *known = 0;
	for (size_t i = 0; i < in->traffic.rows; i++) {
		const struct traffic_row *r = &in->traffic.row[i];
		uint64_t lost = traffic_lost_ns(r);

		if (r->device != device || r->collective != collective || !r->is)
			continue;
		*known += r->total_ns;
		*sum += lost;
		if (lost && (!top || lost > traffic_lost_ns(top)))
			top = r;
	}
	return top;
}

static uint64_t cost(const struct insight *in, const struct insight_device *d, bool collective)
{
	uint64_t most = collective ? d->b.exposed_comm_ns : d->b.exposed_copy_ns, sum, known;
	const uint64_t *ns = d->account.ns;

	worst(in, d->device, collective, &sum, &known);
	if (!known)
		return UINT64_MAX;
	return finding_in_base(sum < most ? sum : most, most,
			       collective ? ns[ACCOUNT_COMM] + ns[ACCOUNT_COMM_SEND]
					  : ns[ACCOUNT_COPY]);
}

static void show_calls(const struct insight *in, const struct traffic_row *r, struct finding *f)
{
	for (size_t i = 0; i < in->t->events && !in->parted && f->events < 3; i++) {
		const struct event *e = &in->t->event[i];

		if (in->t->track[e->track].device == r->device && event_is_gpu(e) &&
		    (r->collective ? event_class(in->names, in->t, i) == CLASS_COMM &&
					     e->dur_ns >= r->total_ns / r->count / 2
				   : e->kind == EVENT_COPY &&
					     e->flags >> EVENT_COPY_SHIFT == r->direction))
			finding_event(f, e);
	}
}

static void facts(struct finding *f, const struct traffic_row *r, uint64_t known)
{
	finding_facts(
		f, FACT_N("slow_ns", f->cost_ns), FACT_N("known_ns", known),
		FACT_N("top_ns", r->total_ns), FACT_N("top_calls", r->count),
		FACT_N("top_bytes", r->bytes), FACT_N("top_should_ns", (uint64_t)r->should_ns),
		FACT_X("bytes_per_s", traffic_Bps(r)), FACT_X("wire_bytes_per_s", r->wire_Bps));
}

/* --- copies --- */

static uint64_t copies_cost(const struct insight *in, const struct insight_device *d)
{
	return cost(in, d, false);
}

static void copies_action(struct finding *f, const struct traffic_row *r, const char *older)
{
	const char *what = "see what else uses these links, and whether the host's memory is on "
			   "the GPU's own NUMA node (nvidia-smi topo -m)";

	if (r->is == TRAFFIC_PAGEABLE)
		what = "pin the host's memory (pin_memory=True, torch.empty(..., "
		       "pin_memory=True)): the driver copies unpinned memory once more on the host";
	else if (older)
		what = "look at the slot: nvidia-smi -q -d PCIE shows generation and lanes in use "
		       "and at most; a riser, a switch or the BIOS may hold them back";
	SAY(action, "%s", what);
}

static bool copies_fill(const struct insight *in, struct finding *f)
{
	uint64_t sum, known;
	const struct traffic_row *r = worst(in, f->on->device, false, &sum, &known);
	const char *older;

	if (!r)
		return false;
	older = copy_older_pcie(in->roofs.gpu[r->device], traffic_Bps(r));
	f->sure = r->is == TRAFFIC_PAGEABLE || older ? SURE_HIGH : SURE_MEDIUM;
	SAY(title, "Slow copies: %s at %.1f GB/s, %s %% of the link", traffic_direction(r),
	    traffic_Bps(r) / 1e9, P(traffic_fraction(r)));
	finding_seen(f, "%s copies %s%s: %s in %s; the model expects %s", N(r->count),
		     traffic_direction(r), r->pageable ? ", of memory that is not pinned" : "",
		     B(r->bytes), D(r->total_ns), D((uint64_t)r->should_ns));
	if (older && !r->pageable)
		finding_seen(f, "the device could reach %.0f GB/s; PCIe %s gives this much",
			     r->wire_Bps / 1e9, older);
	facts(f, r, known);
	copies_action(f, r, r->pageable ? NULL : older);
	show_calls(in, r, f);
	return true;
}

const struct rule rule_SLOW_COPIES = { copies_cost, copies_fill };

/* --- collectives --- */

static uint64_t collectives_cost(const struct insight *in, const struct insight_device *d)
{
	return cost(in, d, true);
}

static bool collectives_fill(const struct insight *in, struct finding *f)
{
	uint64_t sum, known;
	const struct traffic_row *r = worst(in, f->on->device, true, &sum, &known);

	if (!r)
		return false;
	SAY(title, "Slow links: %s of %s takes %.1f x what it should", coll_op_word[r->op],
	    B(r->bytes / r->count), r->carry_ns / r->should_ns);
	finding_seen(f, "%s calls of %u ranks, %s each without waiting; the model expects %s",
		     N(r->count), r->ranks, D((uint64_t)(r->carry_ns / (double)r->count)),
		     D((uint64_t)(r->should_ns / (double)r->count)));
	finding_seen(f, "that is %.1f GB/s on the bus, of %.0f that a rank's links carry",
		     traffic_bus_Bps(r) / 1e9, r->wire_Bps / 1e9);
	finding_seen(f, "not counting the wait for late ranks: %s %% of the time in these calls",
		     P(ratio(r->waited_ns, r->matched_ns)));
	facts(f, r, known);
	finding_facts(f, FACT_N("waited_ns", r->waited_ns),
		      FACT_X("bus_bytes_per_s", traffic_bus_Bps(r)));
	SAY(action, "look at the links: nvidia-smi nvlink -e and topo -m, NCCL_DEBUG=INFO for the "
		    "transport that NCCL chose, nccl-tests on these ranks alone");
	show_calls(in, r, f);
	return true;
}

const struct rule rule_SLOW_LINKS = { collectives_cost, collectives_fill };
