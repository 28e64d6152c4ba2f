/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_entry.c - any bytes as an entry of a journal, or as a line of one of before; shown as text and as JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct journal_entry *e)
{
	char text[ENTRY_TEXT], line[ENTRY_TEXT], *object = entry_object(e);

	if (!object || strlen(entry_line(e, line)) < strlen(entry_text(e, text)))
		abort();
	if (e->kind == ENTRY_HANG_STACKS && e->text &&
	    (!entry_has(e, FIELD_RANKS) || !entry_has(e, FIELD_FRAMES)))
		abort();
	free(object);
}

/* What was read is written, and read the same. */
static void again(const struct journal_entry *e)
{
	static uint8_t bytes[ENTRY_BYTES];
	char was[ENTRY_TEXT], is[ENTRY_TEXT];
	struct journal_entry back;

	if (entry_decode(&back, bytes, entry_encode(e, bytes)) < 0 || back.kind != e->kind)
		abort();
	if (back.have == e->have && strcmp(entry_text(e, was), entry_text(&back, is)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal_entry e;
	char old[ENTRY_OLD], *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] & 1) {
		entry_from_line(&e, old, data[0] & 2 ? "alarm" : "capture", text);
		show(&e);
	} else if (entry_decode(&e, text, size - 1) == 0) {
		show(&e);
		again(&e);
	}
	free(text);
	return 0;
}
