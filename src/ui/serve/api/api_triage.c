/* SPDX-License-Identifier: Apache-2.0 */
/* api_triage.c - people's decisions about findings: the only data that clients can write. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "read/procs.h"
#include "serve/api/api.h"
#include "serve/triage.h"

static void triages_json(struct json *j, const struct triages *ts)
{
	char user[64];

	json_open(j, "states", '[');
	for (size_t i = 0; i < ts->n; i++) {
		const struct triage *t = &ts->t[i];

		if (!strcmp(t->state, "new"))
			continue;
		json_object(j, NULL, J_STR("key", t->key), J_STR("state", t->state),
			    J_STR("note", t->note),
			    J_STR("user", procs_user(t->uid, user, sizeof(user))),
			    J_U64("at", t->at_s));
	}
	json_close(j);
}

static int decide(struct ask *q)
{
	const char *key = url_get(&q->url, "key"), *state = url_get(&q->url, "state");
	const char *note = url_get(&q->url, "note");
	struct triage t = { .uid = q->who->uid, .at_s = (uint64_t)time(NULL) };
	int err;

	if (!key || !triage_key_ok(key))
		return ask_mistake(
			q, "key is the family, rank and device of a finding: straggler:5:0");
	if (!state || ask_choice(q, "state", TRIAGE_STATES) < 0)
		return ask_mistake(q, "state is one of %s", TRIAGE_STATES);
	if (note && strlen(note) >= sizeof(t.note))
		return ask_mistake(q, "note is a text of up to %zu bytes", sizeof(t.note) - 1);
	snprintf(t.run, sizeof(t.run), "%s", q->run.id);
	snprintf(t.key, sizeof(t.key), "%s", key);
	snprintf(t.state, sizeof(t.state), "%s", state);
	snprintf(t.note, sizeof(t.note), "%s", note ? note : "");
	err = *q->s->decided ? triage_put(q->s->decided, &t) : -ENODATA;
	if (err < 0 && err != -ENOMEM) {
		q->mistake = "The decision cannot be saved: the file of decisions is not writable.";
		err = -ENODATA;
	}
	return err;
}

int api_states(struct ask *q, struct json *j)
{
	struct triages ts;
	int err = 0;

	q->fleeting = true; /* another client may decide at any time */
	if (q->post)
		err = decide(q);
	else if (q->url.args)
		err = ask_mistake(q, "use POST to decide; GET only reads");
	err = err ? err : triages_read(&ts, q->s->decided, q->run.id);
	if (err < 0)
		return err;
	triages_json(j, &ts);
	triages_fini(&ts);
	return 0;
}
