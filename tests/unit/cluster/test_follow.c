/* SPDX-License-Identifier: Apache-2.0 */
/* How far jobs were read, kept as bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow/cursor.h"
#include "t.h"

static struct cursor_job some(const char *name, uint32_t opens)
{
	struct cursor_job j = { .next = 7, .from_ns = 8, .t_ns = 9, .opens = opens };

	snprintf(j.job, sizeof(j.job), "%s", name);
	for (uint32_t i = 0; i < opens; i++)
		j.open[i] = (struct cursor_open){ .t_ns = 100 + i,
						  .part = { { DIAG_RANK, i } },
						  .parts = 1,
						  .kind = 4,
						  .act = 1 };
	return j;
}

int main(void)
{
	struct cursor_job a = some("a", 0), b = some("job 'b'", CURSOR_OPEN), *got;
	const struct cursor_job *list[] = { &a, &b };
	size_t len = 0, n = 0;
	uint8_t *bytes = cursor_encode(list, 2, &len);
	uint32_t taken = 0;

	T_OK(bytes && cursor_decode(&got, &n, bytes, len) == 0 && n == 2,
	     "what is written is read");
	T_OK(!memcmp(&got[0], &a, sizeof(a)) && !memcmp(&got[1], &b, sizeof(b)), "as it was");
	free(got);
	for (size_t cut = 0; cut < len; cut++)
		if (cursor_decode(&got, &n, bytes, cut) == 0) {
			taken++;
			free(got);
		}
	T_OK(!taken, "cut anywhere it is none");
	b.open[3].why = DIAG_WHYS;
	free(bytes);
	bytes = cursor_encode(list, 2, &len);
	T_OK(cursor_decode(&got, &n, bytes, len) == -EBADMSG, "what no verdict says is refused");
	free(bytes);
	return t_done();
}
