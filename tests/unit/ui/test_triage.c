/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions about findings: the last one counts, and they are there after a restart. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/triage.h"
#include "t.h"

static struct triage made(const char *run, const char *key, const char *state, const char *note)
{
	struct triage t = { .uid = 1000, .at_s = 1700000000 };

	snprintf(t.run, sizeof(t.run), "%s", run);
	snprintf(t.key, sizeof(t.key), "%s", key);
	snprintf(t.state, sizeof(t.state), "%s", state);
	snprintf(t.note, sizeof(t.note), "%s", note);
	return t;
}

static void kept(const char *path)
{
	struct triage a = made("0123abcd", "straggler:5:0", "known", "");
	struct triage b =
		made("0123abcd", "straggler:5:0", "accepted", "the node is replaced\ttomorrow");
	struct triage c = made("ffffffff", "straggler:5:0", "fixed", "");
	struct triages ts;
	struct stat sb;

	T_OK(triages_read(&ts, path, "0123abcd") == 0 && !ts.n,
	     "without a file nothing is decided");
	T_OK(triage_put(path, &a) == 0 && triage_put(path, &c) == 0 && triage_put(path, &b) == 0 &&
		     stat(path, &sb) == 0 && (sb.st_mode & 0777) == 0600,
	     "the file is made with its folders, for its user alone");
	T_OK(triages_read(&ts, path, "0123abcd") == 0 && ts.n == 1 &&
		     !strcmp(ts.t[0].state, "accepted") && ts.t[0].uid == 1000 &&
		     !strcmp(ts.t[0].note, "the node is replaced\ttomorrow"),
	     "the last decision about a finding counts, with its reason");
	triages_fini(&ts);
	T_OK(triages_read(&ts, path, "ffffffff") == 0 && ts.n == 1 &&
		     !strcmp(ts.t[0].state, "fixed"),
	     "each run has its own");
	triages_fini(&ts);
	T_OK(truncate(path, TRIAGE_BYTES) == 0 && triage_put(path, &a) == -EFBIG,
	     "a full file is not grown");
	unlink(path);
}

static void lines(void)
{
	static const char text[] = "\n\n1\t2\t0123abcd\tidle:1:2\tknown\tyes\n"
				   "x\t2\t0123abcd\tidle:1:3\tknown\tno\n"
				   "1\t-2\t0123abcd\tidle:1:3\tknown\tno\n"
				   "1\t2\t0123abcd\tIDLE:1:3\tknown\tno\n"
				   "1\t2\t0123abcd\tidle\tknown\tno\n"
				   "1\t2\t0123abcd\tidle:1:3\tmaybe\tno\n"
				   "1\t2\t0123abcd0\tidle:1:3\tknown\tno\n"
				   "1\t2\t0123abcd\tidle:1:3\tknown\n"
				   "99999999999999999999999\t2\t0123abcd\tidle:1:3\tknown\tno\n"
				   "1\t2\t0123abcd\tidle:1:4\tfixed\tno end of line";
	struct triages ts;

	T_OK(triages_parse(&ts, text, sizeof(text) - 1, "0123abcd") == 0 && ts.n == 2 &&
		     !strcmp(ts.t[0].key, "idle:1:2") && !strcmp(ts.t[1].key, "idle:1:4"),
	     "what is no line of ours is left out");
	triages_fini(&ts);
	T_OK(triage_key_ok("straggler:-1:0") && !triage_key_ok("") && !triage_key_ok(":1:2") &&
		     !triage_key_ok("a:1\t2") && !triage_key_ok("a:1:x"),
	     "a finding is a family, a rank and a device");
}

int main(void)
{
	char folder[] = "/tmp/aon-triage-XXXXXX", path[64];

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/state/findings", folder);
	kept(path);
	lines();
	snprintf(path, sizeof(path), "%s/state", folder);
	rmdir(path);
	rmdir(folder);
	return t_done();
}
