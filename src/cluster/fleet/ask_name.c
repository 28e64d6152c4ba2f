/* SPDX-License-Identifier: Apache-2.0 */
/* ask_name.c - translates hashes of names into texts, only for the names that an answer shows. */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define AT_ONCE 2000u /* hashes per query: a server accepts 256 KiB of text */

struct finding_texts {
	const struct ask_name *n;
	size_t names;
};

static int on_text(void *arg, const struct rowin_field *f)
{
	const struct finding_texts *x = arg;

	for (size_t i = 0; i < x->names; i++) {
		if (x->n[i].hash != f[0].u || *x->n[i].text)
			continue;
		*x->n[i].text = strdup(f[1].text);
		if (!*x->n[i].text)
			return -ENOMEM;
	}
	return 0;
}

static int some_names(struct fleet *f, const struct ask_name *n, size_t names,
		      struct store_why *why)
{
	struct finding_texts x = { n, names };
	struct sql q;

	sql_init(&q);
	sql_add(&q, "SELECT hash, any(text) FROM name WHERE ");
	ask_where(&q, f, NULL);
	sql_add(&q, " AND hash IN (");
	for (size_t i = 0; i < names; i++)
		sql_add(&q, "%s%" PRIu64, i ? "," : "", n[i].hash);
	sql_add(&q, ") GROUP BY hash");
	return ask_sql(f, &q, "qs", names, on_text, &x, why);
}

int ask_names(struct fleet *f, const struct ask_name *n, size_t names, struct store_why *why)
{
	int err = 0;

	for (size_t at = 0; at < names && !err; at += AT_ONCE)
		err = some_names(f, n + at, names - at < AT_ONCE ? names - at : AT_ONCE, why);
	for (size_t i = 0; i < names && !err; i++)
		if (!*n[i].text && asprintf(n[i].text, "#%016" PRIx64, n[i].hash) < 0) {
			*n[i].text = NULL;
			err = -ENOMEM;
		}
	return err;
}
