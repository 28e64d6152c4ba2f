/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay looks at before it takes a batch, and whom its access list lets do what. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "relay/access.h"
#include "relay/order.h"
#include "ship/spool/batch.h"
#include "t.h"

#define T_NS 1794900000000000000ull

static struct rowbin a_batch(const char *cluster, uint64_t src_of_row, struct batch_head *h)
{
	struct ship_node row = { .cluster = ship_text(cluster),
				 .src = src_of_row,
				 .seq = 4,
				 .host = ship_text("n1"),
				 .t_ns = T_NS };
	struct rowbin rows = { 0 }, out = { 0 };

	*h = (struct batch_head){ .src = 9, .seq = 4, .route = 7, .made_ns = T_NS };
	rowbin_put(&rows, ship_table(SHIP_NODE), &row);
	batch_pack(&out, h, SHIP_NODE, &rows, 1);
	rowbin_fini(&rows);
	return out;
}

static int took(struct arrival *a, const struct rowbin *b, char why[160])
{
	return arrive(a, b->data, b->len, "c1", 4, why);
}

static void test_batches(void)
{
	struct batch_head h;
	struct arrival a;
	char why[160];
	struct rowbin good = a_batch("c1", 9, &h), other = a_batch("c2", 9, &h),
		      stray = a_batch("c1", 8, &h), newer = a_batch("c1", 9, &h);

	T_OK(took(&a, &good, why) == 0 && a.src == 9 && a.seq == 4 && a.rows == 1 && a.shard == 3 &&
		     !strcmp(a.table, "node"),
	     "a batch is known by what it says, its shard by its route");
	T_OK(took(&a, &other, why) == -EACCES && strstr(why, "another cluster"),
	     "rows of another cluster are refused");
	T_OK(took(&a, &stray, why) == -EACCES && strstr(why, "another batch"),
	     "and rows that say another source");
	h.schema++;
	h.sum = XXH3_64bits(&h, offsetof(struct batch_head, sum));
	memcpy(newer.data, &h, sizeof(h));
	T_OK(took(&a, &newer, why) == -EPROTO && strstr(why, "newer"),
	     "one of a newer version is for a newer relay");
	good.data[good.len - 1] ^= 1;
	T_OK(took(&a, &good, why) == -EBADMSG && strstr(why, "damaged"),
	     "a damaged one is said to be");
	rowbin_fini(&good);
	rowbin_fini(&other);
	rowbin_fini(&stray);
	rowbin_fini(&newer);
}

static int read_text(struct access_list *out, const char *text, char why[256])
{
	char path[] = "/tmp/aon-access-XXXXXX";
	int fd = mkstemp(path), err;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -EIO;
	close(fd);
	err = access_read(out, path, why);
	unlink(path);
	return err;
}

/* Lines that are wrong, and what is said of them. */
static const struct {
	const char *text, *why;
} wrong[] = {
	{ "nod n1\n", ":1: expected node, user or watch" },
	{ "# fine\nnode\n", ":2: expected the name" },
	{ "node n1 cluster\n", "KEY=VALUE" },
	{ "node n1 steps=3\n", "cluster=NAME only" },
	{ "watch p jobs=*\n", "nothing else" },
	{ "user u steps=0\n", "1 to 100000" },
	{ "user u seconds=x\n", "1 to 600" },
	{ "user u hour=-1\n", "hour" },
	{ "node n1", "not whole" },
};

static void test_access(void)
{
	struct access_list a;
	const struct access_rule *r;
	char why[256];
	int err = read_text(&a,
			    "node n-* cluster=prod # racks 1 to 4\n\nuser bob jobs=bob-* steps=3\n"
			    "user b* jobs=x\nwatch *\n",
			    why);

	T_OK(err == 0 && a.n == 4, "a list of four rules");
	r = access_find(&a, "n-17", ACCESS_NODE);
	T_OK(r && !strcmp(r->cluster, "prod"), "a node by a pattern");
	r = access_find(&a, "bob", ACCESS_USER);
	T_OK(r && r->steps == 3 && r->seconds == 30 && !strcmp(r->jobs, "bob-*"),
	     "the first rule that fits counts");
	T_OK(!access_find(&a, "alice", ACCESS_USER | ACCESS_NODE) &&
		     access_find(&a, "alice", ACCESS_WATCH),
	     "a role is not another");
	access_fini(&a);
	for (size_t i = 0; i < T_LEN(wrong); i++) {
		err = read_text(&a, wrong[i].text, why);
		T_OK(err == -EINVAL && strstr(why, wrong[i].why), "said of a wrong line: %s",
		     wrong[i].why);
	}
}

static void test_jobs(void)
{
	char lines[] = "last 3\njob a 8 120 5000\njob ab 2 7 0\nnoise\njob bad x\n";
	struct seat s = { .lines = lines };
	struct job_line l = { 0 };

	T_OK(seat_job(&s, "a", &l) && l.ranks == 8 && l.step == 120 && l.step_ns == 5000,
	     "what a node tells of a job");
	T_OK(!seat_job(&s, "b", &l) && !seat_job(&s, "bad", &l),
	     "and nothing of one that it does not");
}

int main(void)
{
	test_batches();
	test_access();
	test_jobs();
	return t_done();
}
