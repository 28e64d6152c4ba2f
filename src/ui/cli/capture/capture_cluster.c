/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_cluster.c - orders a capture at a relay, waits for the nodes, fetches one trace per rank,
 * and writes them as one, as aon export does. docs/relay.md has the protocol.
 */
#include "cli/capture/capture_cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/core/out.h"
#include "net/http.h"

#define ASK_MS    20000u
#define TRACE_MAX (256u << 20)
#define FILES_MAX 4096u
#define LOOK_MS   250

struct order {
	const struct opts *o;
	struct cluster_url url;
	struct http *http;
	uint64_t id, nodes, from;
	char dir[32];
	char *file[FILES_MAX]; /* owned from [0] to n */
	size_t n;
	int failed; /* nodes */
};

static uint64_t number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? num_front(at + strlen(key), NULL) : 0;
}

static int ask(struct order *r, const char *target, const char *body, struct http_answer *a)
{
	struct http_ask q = { .server = &r->url.server[0],
			      .target = target,
			      .body = body,
			      .len = body ? strlen(body) : 0,
			      .timeout_ms = ASK_MS };
	struct net_why why = { "" };
	int err = http_do(r->http, &q, a, &why);

	if (err)
		return cli_say(CLI_FAIL, "the relay does not answer: %s", why.text);
	if (a->status != 200)
		return cli_say(CLI_FAIL, "the relay refuses: %.*s", (int)strcspn(a->data, "\n"),
			       a->data);
	return CLI_OK;
}

static int open_relay(struct order *r)
{
	const struct opts *o = r->o;
	struct http_opts ho = {
		.files = { .ca = o->val[OPT_CA], .cert = o->val[OPT_CERT], .key = o->val[OPT_KEY] },
		.tls = true,
		.answer_max = TRACE_MAX
	};
	struct net_why why;

	if (cluster_url_parse(&r->url, o->val[OPT_RELAY], &why) < 0)
		return cli_misuse("--cluster: %s", why.text);
	if (r->url.kind != CLUSTER_RELAY)
		return cli_misuse("--cluster takes a relay, as https://relay:8417");
	if (!o->val[OPT_CERT] || !o->val[OPT_KEY])
		return cli_misuse("--cluster needs --cert FILE and --key FILE: who you are");
	if (http_new(&r->http, &ho, &why) < 0)
		return cli_say(CLI_FAIL, "%s", why.text);
	return CLI_OK;
}

static int place(struct order *r, const struct profiler_want *w)
{
	char target[512], job[200];
	struct http_answer a;
	int rc;

	http_escape(job, sizeof(job), r->o->val[OPT_JOB]);
	snprintf(target, sizeof(target),
		 "/v1/capture?job=%s&%s=%" PRIu64 "&timeout_s=%" PRIu64 "%s%s", job,
		 w->steps ? "steps" : "ms", w->steps ? w->steps : w->ms, w->timeout_ms / 1000,
		 r->o->val[OPT_RANK] ? "&ranks=" : "",
		 r->o->val[OPT_RANK] ? r->o->val[OPT_RANK] : "");
	rc = ask(r, target, "", &a);
	if (rc != CLI_OK)
		return rc;
	r->id = number(a.data, "id ");
	r->nodes = number(a.data, "nodes ");
	r->from = number(a.data, "from ");
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%" PRIu64 " nodes, from step %" PRIu64 " on\n", r->nodes, r->from);
	return CLI_OK;
}

/* Until every node has answered; the relay says of those that do not that they did not. */
static int wait_for(struct order *r, struct http_answer *a)
{
	char target[64];
	int rc;

	snprintf(target, sizeof(target), "/v1/capture?id=%" PRIu64, r->id);
	while ((rc = ask(r, target, NULL, a)) == CLI_OK && strncmp(a->data, "state done", 10) != 0)
		nanosleep(&(struct timespec){ 0, LOOK_MS * 1000000l }, NULL);
	return rc;
}

static int fetch(struct order *r, const char *node, const char *part)
{
	char target[400], path[400];
	struct http_answer a;
	FILE *f;
	int rc;

	if (strchr(node, '/') || strchr(part, '/'))
		return cli_say(CLI_FAIL, "the relay names a file that it must not: %s %s", node,
			       part);
	if (r->n == FILES_MAX)
		return cli_say(CLI_FAIL, "these are more than %u ranks", FILES_MAX);
	snprintf(target, sizeof(target), "/v1/trace?id=%" PRIu64 "&node=%s&part=%s", r->id, node,
		 part);
	rc = ask(r, target, NULL, &a);
	if (rc != CLI_OK)
		return rc;
	snprintf(path, sizeof(path), "%s/%s.%s.pt.trace.json", r->dir, node, part);
	f = fopen(path, "wxe");
	if (!f || fwrite(a.data, 1, a.len, f) != a.len || fclose(f) != 0)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
	r->file[r->n++] = strdup(path);
	return CLI_OK;
}

/* Who gave what; a node that gave nothing is named. */
static int collect(struct order *r, char *text)
{
	char *save, name[200], state[16], part[64];
	int rc = CLI_OK, at;

	for (char *l = strtok_r(text, "\n", &save); l && rc == CLI_OK;
	     l = strtok_r(NULL, "\n", &save)) {
		at = 0;
		if (sscanf(l, "node %199s %15s %*u %n", name, state, &at) == 2 &&
		    strcmp(state, "done") != 0) {
			cli_say(0, "%s gave no trace: %s", name, at ? l + at : state);
			r->failed++;
		} else if (sscanf(l, "part %199s %63s", name, part) == 2) {
			rc = fetch(r, name, part);
		}
	}
	return rc;
}

static int write_all(struct order *r)
{
	struct opts o = { .cmd = CMD_EXPORT, .argc = (int)r->n, .argv = r->file };
	const char *to = r->o->val[OPT_OUTPUT_TRACE];

	o.val[OPT_JSON] = r->o->val[OPT_JSON];
	o.val[OPT_FORMAT] = r->o->val[OPT_FORMAT];
	o.val[OPT_OUTPUT_TO] = to ? to : "aon-capture.pftrace";
	return cmd_export(&o);
}

int capture_cluster(const struct opts *o, const struct profiler_want *w)
{
	struct order *r = calloc(1, sizeof(*r));
	struct http_answer a;
	char *text = NULL;
	int rc;

	if (!r)
		return cli_say(CLI_FAIL, "out of memory");
	r->o = o;
	strcpy(r->dir, "/tmp/aon-cluster-XXXXXX");
	if (!o->val[OPT_JOB])
		rc = cli_misuse("--cluster needs --job J");
	else if (o->val[OPT_OUTPUT_TRACE] && access(o->val[OPT_OUTPUT_TRACE], F_OK) == 0)
		rc = cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE",
			     o->val[OPT_OUTPUT_TRACE]);
	else
		rc = open_relay(r);
	if (rc == CLI_OK && !mkdtemp(r->dir))
		rc = cli_say(CLI_FAIL, "%s: %s", r->dir, strerror(errno));
	if (rc == CLI_OK)
		rc = place(r, w);
	if (rc == CLI_OK)
		rc = wait_for(r, &a);
	if (rc == CLI_OK && !(text = strdup(a.data)))
		rc = cli_say(CLI_FAIL, "out of memory");
	if (rc == CLI_OK)
		rc = collect(r, text);
	if (rc == CLI_OK)
		rc = r->n ? write_all(r) : cli_say(CLI_FAIL, "no node gave a trace");
	for (size_t i = 0; i < r->n; i++) {
		unlink(r->file[i]);
		free(r->file[i]);
	}
	rmdir(r->dir);
	http_free(r->http);
	rc = rc == CLI_OK && r->failed ? CLI_FAIL : rc;
	free(text);
	free(r);
	return rc;
}
