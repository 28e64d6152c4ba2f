/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hlo.c - see hlo.h. Fields by their numbers in hlo.proto and xla_data.proto:
 *
 *	HloProto            1 hlo_module
 *	HloModuleProto      3 computations
 *	HloComputationProto 2 instructions  5 id  6 root_id
 *	HloInstructionProto 1 name  2 opcode  3 shape  9 parameter_number  15 window
 *	                    16 convolution_dimension_numbers  28 custom_call_target
 *	                    30 dot_dimension_numbers  35 id  36 operand_ids
 *	                    38 called_computation_ids  43 backend_config  50 feature_group_count
 *	                    58 batch_group_count
 *	ShapeProto          2 element_type  3 dimensions  4 tuple_shapes
 */
#include "import/hlo.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"

#define INSTS_MAX (1u << 22)
#define DEPTH_MAX 8u /* tuples in tuples */

static const struct {
	uint8_t form;
	const char *words;
} forms[] = {
#define HLO(FORM, words) { HLO_##FORM, words },
#include "import/hlo.tbl.h"
};

/* --- numbers and parts of messages --- */

bool hlo_number(struct pb in, uint32_t field, uint32_t i, uint64_t *out)
{
	struct pb_field f;

	while (pb_next(&in, &f)) {
		if (f.num != field)
			continue;
		while (f.wire == 2 && f.data.p < f.data.end && !f.data.bad) {
			uint64_t v = pb_varint(&f.data);

			if (!f.data.bad && !i--) {
				*out = v;
				return true;
			}
		}
		if (f.wire == 0 && !i--) {
			*out = f.v;
			return true;
		}
	}
	return false;
}

struct pb hlo_part(struct pb in, uint32_t field)
{
	struct pb_field f;

	while (pb_next(&in, &f))
		if (f.num == field && f.wire == 2)
			return f.data;
	return (struct pb){ in.end, in.end, false };
}

/* --- shapes --- */

/* xla_data.proto's PrimitiveType as c10::ScalarType; + 1, 0: none such. */
static const uint8_t types[] = {
	[1] = 12,  [2] = 2,   [3] = 3,   [4] = 4,   [5] = 5,   [6] = 1,   [7] = 28,
	[8] = 29,  [9] = 30,  [10] = 6,  [11] = 7,  [12] = 8,  [15] = 10, [16] = 16,
	[18] = 11, [19] = 24, [20] = 25, [24] = 26, [25] = 27,
};

static void read_shape(struct hlo_shape *s, struct pb in, uint32_t depth)
{
	struct pb_field f;
	uint64_t type = 0, v;
	uint32_t dims = 0;
	bool tuple = false;

	*s = (struct hlo_shape){ .elements = 1, .type = UINT32_MAX };
	for (struct pb at = in; pb_next(&at, &f);) {
		struct hlo_shape part;

		if (f.num == 2)
			type = f.v;
		if (f.num != 4 || f.wire != 2 || depth == DEPTH_MAX)
			continue;
		read_shape(&part, f.data, depth + 1);
		if (!tuple) {
			part.all_bytes += s->all_bytes;
			*s = part;
		} else if (__builtin_add_overflow(s->all_bytes, part.all_bytes, &s->all_bytes)) {
			s->all_bytes = UINT64_MAX;
		}
		tuple = true;
	}
	if (tuple)
		return;
	if (type < sizeof(types) && types[type])
		s->type = types[type] - 1u;
	for (; dims < HLO_DIMS && hlo_number(in, 3, dims, &v); dims++) {
		s->size[dims] = v;
		if (__builtin_mul_overflow(s->elements, v, &s->elements))
			s->elements = UINT64_MAX;
	}
	s->dims = dims;
	v = op_type_bytes(s->type);
	if (__builtin_mul_overflow(s->elements, v, &s->bytes))
		s->bytes = UINT64_MAX;
	s->all_bytes = s->bytes;
}

/* --- a module --- */

static uint8_t form_of(const struct pb *op)
{
	size_t len = (size_t)(op->end - op->p);

	for (size_t i = 0; len && i < sizeof(forms) / sizeof(forms[0]); i++) {
		const char *s = forms[i].words;

		for (size_t n; *s; s += n + (s[n] == ' ')) {
			n = strcspn(s, " ");
			if (n == len && !memcmp(s, op->p, len))
				return forms[i].form;
		}
	}
	return HLO_OTHER;
}

static int read_inst(struct hlo_module *m, struct pb in)
{
	struct pb op = hlo_part(in, 2);
	struct hlo_inst *i;

	if (m->insts == INSTS_MAX)
		return 0;
	if (vec_more(&m->inst, m->insts, sizeof(*i)) < 0)
		return -ENOMEM;
	i = &m->inst[m->insts++];
	*i = (struct hlo_inst){ .name = hlo_part(in, 1), .all = in, .form = form_of(&op) };
	hlo_number(in, 35, 0, &i->id);
	read_shape(&i->shape, hlo_part(in, 3), 0);
	return 0;
}

static int read_comp(struct hlo_module *m, struct pb in)
{
	struct hlo_comp *c;
	struct pb_field f;
	int err = 0;

	if (vec_more(&m->comp, m->comps, sizeof(*c)) < 0)
		return -ENOMEM;
	c = &m->comp[m->comps];
	*c = (struct hlo_comp){ .first = m->insts };
	while (!err && pb_next(&in, &f)) {
		if (f.num == 2 && f.wire == 2)
			err = read_inst(m, f.data);
		else if (f.num == 5 && f.wire == 0)
			c->id = f.v;
		else if (f.num == 6 && f.wire == 0)
			c->root = f.v;
	}
	c->n = m->insts - c->first;
	m->comps++;
	return err;
}

static int inst_by_id(const void *a, const void *b, void *arg)
{
	const struct hlo_inst *inst = arg;
	uint64_t x = inst[*(const size_t *)a].id, y = inst[*(const size_t *)b].id;

	return x < y ? -1 : x > y;
}

static int comp_by_id(const void *a, const void *b)
{
	const struct hlo_comp *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

const struct hlo_inst *hlo_inst(const struct hlo_module *m, uint64_t id)
{
	size_t at = first_where(i, 0, m->insts, m->inst[m->by_id[i]].id >= id);
	const struct hlo_inst *found = at < m->insts ? &m->inst[m->by_id[at]] : NULL;

	return found && found->id == id ? found : NULL;
}

struct hlo_comp *hlo_comp(struct hlo_module *m, uint64_t id)
{
	struct hlo_comp key = { .id = id };

	return m->comps ? bsearch(&key, m->comp, m->comps, sizeof(key), comp_by_id) : NULL;
}

static int read_module(struct hlo_module *m, struct pb in)
{
	struct pb_field f;
	uint64_t id;
	int err = 0;

	while (!err && pb_next(&in, &f))
		if (f.num == 3 && f.wire == 2)
			err = read_comp(m, f.data);
	m->by_id = malloc((m->insts + 1) * sizeof(*m->by_id));
	if (err || !m->by_id)
		return -ENOMEM;
	for (size_t i = 0; i < m->insts; i++)
		m->by_id[i] = i;
	if (m->insts)
		qsort_r(m->by_id, m->insts, sizeof(*m->by_id), inst_by_id, m->inst);
	if (m->comps)
		qsort(m->comp, m->comps, sizeof(*m->comp), comp_by_id);
	/* Operations of a fusion, and of what is applied to elements, run as a part of another. */
	for (size_t i = 0; i < m->insts; i++)
		for (uint32_t n = 0; n < 8 && m->inst[i].form != HLO_HOLDS &&
				     hlo_number(m->inst[i].all, 38, n, &id);
		     n++) {
			struct hlo_comp *c = hlo_comp(m, id);

			if (c)
				c->fused = true;
		}
	return 0;
}

static int add(struct hlo *h, const struct hlo_work *w)
{
	if (vec_more(&h->work, h->n, sizeof(*h->work)) < 0)
		return -ENOMEM;
	h->work[h->n++] = *w;
	h->sorted = false;
	return 0;
}

int hlo_read(struct hlo *h, uint64_t program, struct pb proto)
{
	struct hlo_module m = { .budget = HLO_TURNS };
	int err = read_module(&m, hlo_part(proto, 1));

	for (size_t c = 0; c < m.comps && !err; c++)
		for (size_t i = 0; i < m.comp[c].n && !m.comp[c].fused && !err; i++) {
			const struct hlo_inst *inst = &m.inst[m.comp[c].first + i];
			struct hlo_work w = { .program = program, .name = inst->name };

			if (hlo_cost(&m, inst, &w))
				err = add(h, &w);
		}
	free(m.inst);
	free(m.comp);
	free(m.by_id);
	return err;
}

void hlo_fini(struct hlo *h)
{
	free(h->work);
	*h = (struct hlo){ 0 };
}

static int by_name(const void *a, const void *b)
{
	const struct hlo_work *x = a, *y = b;
	size_t n = (size_t)(x->name.end - x->name.p), k = (size_t)(y->name.end - y->name.p);

	return cmp_num(x->program, y->program) ?: cmp_num(n, k) ?:
	       (n ? memcmp(x->name.p, y->name.p, n) : 0);
}

const struct hlo_work *hlo_find(struct hlo *h, uint64_t program, const struct pb *name)
{
	struct hlo_work key = { .program = program, .name = *name };

	if (!h->n)
		return NULL;
	if (!h->sorted)
		qsort(h->work, h->n, sizeof(key), by_name);
	h->sorted = true;
	return bsearch(&key, h->work, h->n, sizeof(key), by_name);
}
