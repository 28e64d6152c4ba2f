/* SPDX-License-Identifier: Apache-2.0 */
/* thrift.c - Thrift's compact protocol; see thrift.h. */
#include "import/parquet/thrift.h"

#include "base/varint.h"

#define DEPTH_MAX 32u

static uint64_t varint(struct thrift *in)
{
	struct varint_in at = { in->p, in->end, in->bad };
	uint64_t v = varint_get(&at);

	in->p = at.p;
	in->bad |= at.bad;
	return v;
}

static uint8_t byte(struct thrift *in)
{
	if (in->p < in->end && !in->bad)
		return *in->p++;
	in->bad = true;
	return 0;
}

bool thrift_next(struct thrift *in, int *id, uint8_t *type)
{
	uint8_t head = byte(in);

	*type = head & 15;
	if (in->bad || !*type)
		return false;
	if (head >> 4)
		*id += head >> 4;
	else
		*id = (int16_t)unzigzag(varint(in));
	if (*type > THRIFT_STRUCT || *id < 0 || *id > INT16_MAX)
		in->bad = true;
	return !in->bad;
}

static void jump(struct thrift *in, uint64_t len)
{
	if (in->bad || len > (uint64_t)(in->end - in->p))
		in->bad = true;
	else
		in->p += len;
}

/* Elements have a byte at least, so the list's length has a limit. */
static uint32_t list_head(struct thrift *in, uint8_t *of)
{
	uint8_t head = byte(in);
	uint64_t n = head >> 4;

	*of = head & 15;
	if (n == 15)
		n = varint(in);
	if (n > (uint64_t)(in->end - in->p))
		in->bad = true;
	return in->bad ? 0 : (uint32_t)n;
}

static void skip(struct thrift *in, uint8_t type, bool element, unsigned depth);

static void skip_list(struct thrift *in, unsigned depth)
{
	uint8_t of;
	uint32_t n = list_head(in, &of);

	while (n-- && !in->bad)
		skip(in, of, true, depth);
}

static void skip_map(struct thrift *in, unsigned depth)
{
	uint64_t n = varint(in);
	uint8_t of = n ? byte(in) : 0;

	while (n-- && !in->bad) {
		skip(in, of >> 4, true, depth);
		skip(in, of & 15, true, depth);
	}
}

static void skip(struct thrift *in, uint8_t type, bool element, unsigned depth)
{
	uint8_t of;

	if (depth > DEPTH_MAX) {
		in->bad = true;
		return;
	}
	switch (type) {
	case THRIFT_TRUE:
	case THRIFT_FALSE:
		jump(in, element); /* of a field the type says it */
		break;
	case THRIFT_I8:
		jump(in, 1);
		break;
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64:
		varint(in);
		break;
	case THRIFT_DOUBLE:
		jump(in, 8);
		break;
	case THRIFT_BINARY:
		jump(in, varint(in));
		break;
	case THRIFT_LIST:
	case THRIFT_SET:
		skip_list(in, depth + 1);
		break;
	case THRIFT_MAP:
		skip_map(in, depth + 1);
		break;
	case THRIFT_STRUCT:
		for (int id = 0; thrift_next(in, &id, &of);)
			skip(in, of, false, depth + 1);
		break;
	default:
		in->bad = true;
	}
}

void thrift_skip(struct thrift *in, uint8_t type)
{
	skip(in, type, false, 0);
}

bool thrift_int(struct thrift *in, uint8_t type, int64_t *v)
{
	if (type == THRIFT_TRUE || type == THRIFT_FALSE)
		*v = type == THRIFT_TRUE;
	else if (type == THRIFT_I8)
		*v = (int8_t)byte(in);
	else if (type >= THRIFT_I16 && type <= THRIFT_I64)
		*v = (int64_t)unzigzag(varint(in));
	else
		thrift_skip(in, type);
	return !in->bad && type <= THRIFT_I64;
}

bool thrift_text(struct thrift *in, uint8_t type, const char **s, size_t *len)
{
	uint64_t n;

	if (type != THRIFT_BINARY) {
		thrift_skip(in, type);
		return false;
	}
	n = varint(in);
	*s = (const char *)in->p;
	jump(in, n);
	if (in->bad)
		return false;
	*len = n;
	return true;
}

bool thrift_list(struct thrift *in, uint8_t type, uint8_t of, uint32_t *n)
{
	struct thrift at = *in;
	uint8_t is;

	if (type == THRIFT_LIST) {
		*n = list_head(&at, &is);
		if (!at.bad && (is == of || !*n)) {
			*in = at;
			return true;
		}
	}
	thrift_skip(in, type);
	return false;
}

bool thrift_struct(struct thrift *in, uint8_t type)
{
	if (type == THRIFT_STRUCT)
		return true;
	thrift_skip(in, type);
	return false;
}
