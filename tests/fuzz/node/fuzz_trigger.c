/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trigger.c - any text as a trigger: a place within it is named, or it can be looked at. */
#include <stdlib.h>
#include <string.h>

#include "detect/trigger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), said[300];
	struct trigger_why why = { .at = size + 1 };
	struct trigger_meter *m;
	struct trigger t;

	memcpy(text, data, size);
	text[size] = '\0';
	if (trigger_parse(&t, text, &why) < 0) {
		if (why.at > strlen(text) || !*why.text)
			abort();
		free(text);
		return 0;
	}
	if (!t.uses || t.n > TRIGGER_OPS)
		abort();
	m = malloc(trigger_meter_bytes(&t));
	trigger_meter_init(m, &t);
	if (trigger_look(&t, m) && size < 4)
		abort(); /* nothing so short can be true of what is not known */
	for (int i = 0; i < 300; i++)
		for (int q = 0; q < QUANTITIES; q++)
			trigger_put(m, (enum quantity)q, i * (q + 1) % 97);
	trigger_look(&t, m);
	trigger_say(&t, m, said, sizeof(said));
	free(m);
	free(text);
	return 0;
}
