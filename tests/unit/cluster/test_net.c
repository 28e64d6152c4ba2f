/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/cluster_url.h"
#include "net/http.h"
#include "net/secret.h"
#include "t.h"

static const struct {
	const char *url, *says; /* says: NULL: it is taken; else part of why not */
} urls[] = {
	/* clang-format off */
	{ "clickhouse://127.0.0.1:8123/aon", NULL },
	{ "clickhouse://aon@db-1.example:8443/aon?tls=yes", NULL },
	{ "clickhouse://a:1,b:2/aon", NULL },
	{ "clickhouse://a:1,b:2;c:3,d:4/aon?cluster=all&quorum=2", NULL },
	{ "clickhouse://[::1]:8123/aon", NULL },
	{ "https://relay.example:9443", NULL },
	{ "https://relay.example:9443/", NULL },
	{ "https://r1:9443,r2:9443", NULL },
	{ "http://127.0.0.1:80", NULL },
	{ "http://relay.example:80", "https" },
	{ "clickhouse://aon:secret@a:1/aon", "password" },
	{ "clickhouse://a:1;b:2/aon", "cluster=" },
	{ "clickhouse://a:1", "/DATABASE" },
	{ "clickhouse://a/aon", "HOST:PORT" },
	{ "clickhouse://a:0/aon", "1 to 65535" },
	{ "clickhouse://a:65536/aon", "1 to 65535" },
	{ "clickhouse://a:1x/aon", "a port" },
	{ "clickhouse://a b:1/aon", "a host" },
	{ "clickhouse://:1/aon", "HOST:PORT" },
	{ "clickhouse://a:1,/aon", "HOST:PORT" },
	{ "clickhouse://a:1/aon;drop", "a word" },
	{ "clickhouse://a:1/", "a word" },
	{ "clickhouse://a:1/aon?tls=maybe", "tls=yes" },
	{ "clickhouse://a:1/aon?what=1", "expected tls" },
	{ "clickhouse://a:1/aon?cluster=a'b", "cluster=WORD" },
	{ "https://a:1;b:2", "commas" },
	{ "ftp://a", "clickhouse://" },
	{ "", "clickhouse://" },
	/* clang-format on */
};

static void test_urls(void)
{
	struct cluster_url u;
	struct net_why why;

	for (size_t i = 0; i < T_LEN(urls); i++) {
		int err = cluster_url_parse(&u, urls[i].url, &why);

		T_OK(urls[i].says ? err == -EINVAL && strstr(why.text, urls[i].says) : err == 0,
		     "'%s' is %s", urls[i].url,
		     urls[i].says ? "refused, with what was expected" : "taken");
	}
	cluster_url_parse(&u, "clickhouse://me@a:1,b:2;c:3,d:4/aon?cluster=all&quorum=2", &why);
	T_OK(u.servers == 4 && u.shards == 2 && u.server[1].shard == 0 && u.server[2].shard == 1 &&
		     u.server[3].port == 4 && u.replicated && u.quorum == 2 &&
		     !strcmp(u.cluster, "all") && !strcmp(u.user, "me") && !strcmp(u.db, "aon"),
	     "shards, replicas and all else are found");
}

static int load(const char *text, mode_t mode, struct credentials *c, struct net_why *why)
{
	char path[] = "/tmp/aon_secret_XXXXXX";
	int fd = mkstemp(path), err;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode))
		abort();
	close(fd);
	err = secret_load(c, path, why);
	unlink(path);
	return err;
}

static void test_secrets(void)
{
	struct credentials c;
	struct net_why why;

	T_OK(load("# who\nuser = me\npassword = a = b # c\n", 0600, &c, &why) == 0 &&
		     !strcmp(c.user, "me") && !strcmp(c.password, "a = b # c"),
	     "credentials are read, and a password is what stands there");
	T_OK(load("password = x\n", 0640, &c, &why) == -EACCES && strstr(why.text, "0600"),
	     "a file that others may read is refused");
	T_OK(load("pasword = x\n", 0600, &c, &why) == -EINVAL && strstr(why.text, ":1:") &&
		     !strstr(why.text, "= x"),
	     "a line that is none is named, without what stands in it");
	T_OK(secret_load(&c, "/nowhere/at/all", &why) == -ENOENT && strstr(why.text, "/nowhere"),
	     "a file that is not there is named");
}

static void test_client(void)
{
	struct cluster_server nobody = { .host = "127.0.0.1", .port = 1 };
	struct http_ask q = { .server = &nobody, .target = "/" };
	struct http_opts o = { .tls = false };
	struct http_answer a;
	struct net_why why;
	struct http *h = NULL;
	char out[16];

	T_OK(http_new(&h, &o, &why) == 0 && http_do(h, &q, &a, &why) == -ECONNREFUSED &&
		     strstr(why.text, "127.0.0.1:1") && !http_in_doubt(-ECONNREFUSED),
	     "nobody there is said, with the address");
	http_free(h);
	o.files.cert = "/tmp/x";
	T_OK(http_new(&h, &o, &why) == -EINVAL && strstr(why.text, "key"),
	     "a certificate without its key is refused");
	T_OK(http_escape(out, sizeof(out), "a b`") == 8 && !strcmp(out, "a%20b%60"),
	     "a query is escaped");
	T_OK(http_escape(out, 4, "a b") == 5 && strlen(out) < 4, "and never over its end");
}

int main(void)
{
	test_urls();
	test_secrets();
	test_client();
	return t_done();
}
