/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to event blobs, windows and small rows, under true sums: the input is the body, so that
 * the fuzzer need not find a hash. What decodes as events must encode and decode to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/blob.h"
#include "store/rows.h"
#include "store/seal.h"
#include "store/steps.h"
#include "store/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 65536u

static struct blob_dec *dec;
static struct blob_enc *enc;
static struct blob_packer *packer;
static struct window_codec *win;
static struct steps_codec *steps;

static void begin(void)
{
	if (dec)
		return;
	if (blob_dec_new(&dec) < 0 || blob_enc_new(&enc) < 0 || blob_packer_new(&packer) < 0 ||
	    window_codec_new(&win) < 0 || steps_codec_new(&steps) < 0)
		abort();
}

/* The events that the decoder holds, in memory of the caller's. */
static struct event *events_of(const struct event_columns *c)
{
	struct event *ev = malloc(c->n * sizeof(*ev) + 1);

	for (size_t i = 0; i < c->n; i++)
		ev[i] = event_at(c, i);
	return ev;
}

static void again(const struct event_columns *c)
{
	struct event *copy = events_of(c), *out = NULL;
	struct event_columns back = { 0 };
	size_t n = c->n;
	struct blob b;

	if (n &&
	    (blob_add(enc, copy, n) != n || blob_seal(enc, &b) < 0 || blob_pack(packer, &b) < 0 ||
	     blob_columns(dec, b.data, b.len, EVENT_COLS_ALL, ~0u, &back) < 0 || back.n != n))
		abort();
	out = events_of(&back);
	if (memcmp(out, copy, n * sizeof(*copy)) != 0)
		abort();
	if (n)
		blob_fini(&b);
	free(out);
	free(copy);
}

/* Each column alone says what the events say; what is damaged may lie in a column not read. */
static void by_column(const uint8_t *data, size_t len, const struct event_columns *whole)
{
	struct event *copy = events_of(whole);
	struct event_columns c;
	size_t n = whole->n;

	for (uint32_t want = 1; n && want < EVENT_COLS_ALL; want <<= 1)
		if (blob_columns(dec, data, len, want, ~0u, &c) < 0 || c.n != n)
			abort();
		else
			for (size_t i = 0; i < n; i++)
				if (0
#define X(bit, NAME, field, type) || (c.field && c.field[i] != copy[i].field)
				    EVENT_COLUMNS(X)
#undef X
				)
					abort();
	free(copy);
}

static void read_small(const struct seal *s, const uint8_t *body)
{
	struct stack_frame frame[STACK_FRAMES_MAX];
	struct stack_row stack;
	struct journal_entry e;
	char old[ENTRY_OLD];
	struct process p;
	struct node_ident node;
	struct track l;
	struct geo g;

	row_get_process(s, body, &p);
	row_get_node(s, body, &node);
	row_get_track(s, body, &l);
	row_get_geo(s, body, &g);
	row_get_entry(s, body, &e, old);
	row_get_stack(s, body, &stack, frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t buf[sizeof(struct seal) + INPUT_MAX];
	struct event_columns c;
	struct store_steps b;
	struct window w;
	struct seal s = { 0 };

	if (size < 3 || size > INPUT_MAX)
		return 0;
	begin();
	s.type = data[0] & 1 ? SEAL_EVENTS : data[0] & 64 ? SEAL_STEPS : SEAL_WINDOW;
	s.count = (uint32_t)data[1] | (uint32_t)(data[2] & 0x3f) << 8;
	s.len = (uint32_t)size - 3;
	memcpy(buf + sizeof(s), data + 3, s.len);
	seal_close(&s, buf + sizeof(s));
	memcpy(buf, &s, sizeof(s));
	if (blob_columns(dec, buf, sizeof(s) + s.len, EVENT_COLS_ALL, ~0u, &c) == 0)
		by_column(buf, sizeof(s) + s.len, &c);
	if (blob_columns(dec, buf, sizeof(s) + s.len, EVENT_COLS_ALL, ~0u, &c) == 0)
		again(&c);
	blob_columns(dec, buf, sizeof(s) + s.len, data[0] >> 1, ~0u, &c);
	window_unpack(win, buf, sizeof(s) + s.len, &w);
	steps_unpack(steps, buf, sizeof(s) + s.len, &b);
	read_small(&s, buf + sizeof(s));
	blob_columns(dec, data, size, EVENT_COLS_ALL, ~0u, &c);
	return 0;
}
