/* SPDX-License-Identifier: Apache-2.0 */
#include "net/httpd/httpd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "t.h"

#define BODY_MAX   64u
#define BODIES_MAX 96u

static struct httpd *server;

static enum MHD_Result on_head(void *arg, struct MHD_Connection *c, struct httpd_request *q,
			       const char *method, const char *path)
{
	unsigned status;
	size_t len;

	(void)method;
	status = httpd_length(c, BODY_MAX, &len);
	if (!status && len)
		status = httpd_room(server, q, len, !strcmp(path, "/file") ? arg : NULL);
	return status ? httpd_text(c, status, 0, "no") : MHD_YES;
}

static enum MHD_Result on_answer(void *arg, struct MHD_Connection *c, struct httpd_request *q,
				 const char *method)
{
	char text[400] = "";

	(void)arg;
	if (q->fd >= 0 && pread(q->fd, text, sizeof(text) - 1, 0) < 0)
		return MHD_NO;
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %.100s %s", method,
		 q->target, q->body ? (char *)q->body : "");
	return httpd_text(c, 200, 0, text);
}

static void on_end(void *arg, struct httpd_request *q)
{
	(void)arg;
	(void)q;
}

static const struct httpd_ops ops = { sizeof(struct httpd_request), on_head, on_answer, on_end };

static const struct {
	const char *listen;
	int err;
} bad[] = {
	{ "127.0.0.1:99999", -EINVAL }, { "127.0.0.1", -EINVAL },  { "127.0.0.1:", -EINVAL },
	{ "127.0.0.1:1x", -EINVAL },    { ":80", -EINVAL },        { "fd:9999", -ENOTSOCK },
	{ "unix:", -EINVAL },           { "unix:/no/x", -ENOENT }, { "fd:1x", -EINVAL },
};

static int client(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		exit(1);
	return fd;
}

/* Whether the answer to `text` has `want`; the connection ends with it. */
static bool asks(const char *path, const char *text, const char *want)
{
	char got[4096];
	size_t n = 0;
	ssize_t more;
	int fd = client(path);

	if (write(fd, text, strlen(text)) < 0)
		return false;
	while (n < sizeof(got) - 1 && (more = read(fd, got + n, sizeof(got) - 1 - n)) > 0)
		n += (size_t)more;
	got[n] = '\0';
	close(fd);
	if (strstr(got, want))
		return true;
	printf("# %s\n", got);
	return false;
}

#define HEAD "Host: x\r\nConnection: close\r\n"

static void check_requests(const char *path)
{
	T_OK(asks(path, "GET /a?b=%20 HTTP/1.1\r\n" HEAD "\r\n", "GET /a?b=%20 "),
	     "a request is answered, its target as it came");
	T_OK(asks(path, "POST / HTTP/1.1\r\n" HEAD "Content-Length: 4\r\n\r\nbody", "POST / body"),
	     "a body is there whole");
	T_OK(asks(path, "POST /file HTTP/1.1\r\n" HEAD "Content-Length: 4\r\n\r\nbody",
		  "bodyPOST /file "),
	     "or in a file");
	T_OK(asks(path, "POST / HTTP/1.1\r\n" HEAD "Content-Length: 65\r\n\r\n", " 413 "),
	     "one that is too long is refused by its head");
	T_OK(asks(path, "POST / HTTP/1.1\r\n" HEAD "Transfer-Encoding: chunked\r\n\r\n", " 411 "),
	     "and one that does not say how long it is");
}

/* Two bodies of 64 bytes do not fit into 96. */
static void check_bodies(const char *path)
{
	const char *half = "POST / HTTP/1.1\r\n" HEAD "Content-Length: 64\r\n\r\nx";
	int fd = client(path);
	bool full = false, free_again = false;

	if (write(fd, half, strlen(half)) < 0)
		exit(1);
	for (int i = 0; i < 100 && !full; i++) {
		full = asks(path,
			    "POST / HTTP/1.1\r\n" HEAD "Content-Length: 64\r\n\r\n"
			    "0123456789012345678901234567890123456789012345678901234567890123",
			    " 503 ");
		usleep(10000);
	}
	T_OK(full, "all bodies together are bounded");
	close(fd);
	for (int i = 0; i < 100 && !free_again; i++) {
		free_again = asks(path,
				  "POST / HTTP/1.1\r\n" HEAD "Content-Length: 40\r\n\r\n"
				  "0123456789012345678901234567890123456789",
				  "POST / 0123");
		usleep(10000);
	}
	T_OK(free_again, "and one that its sender gives up makes room");
}

static void check_slow(const char *path)
{
	int fd = client(path);
	char byte;

	if (write(fd, "GET /", 5) < 0)
		exit(1);
	for (int i = 0; i < 300; i++) {
		usleep(10000);
		httpd_tick(server);
		if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
			break;
	}
	T_OK(recv(fd, &byte, 1, MSG_DONTWAIT) == 0, "a request that does not come is given up");
	close(fd);
}

int main(void)
{
	char dir[] = "/tmp/aon_httpd_XXXXXX", where[64], why[256];
	struct httpd_opts o = { .threads = 1,
				.connections = 16,
				.head_bytes = 16384,
				.body_bytes = BODIES_MAX,
				.silent_s = 20,
				.request_s = 1 };

	if (!mkdtemp(dir))
		return 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		o.listen = bad[i].listen;
		*why = '\0';
		T_OK(httpd_open(&server, &o, &ops, dir, why) == bad[i].err && *why,
		     "refused, and says why: %s", bad[i].listen);
	}
	o.listen = "[::1]:0";
	if (httpd_open(&server, &o, &ops, dir, why) == 0) {
		T_OK(!strcmp(httpd_ip(server), "::1") && atoi(httpd_port(server)) > 0 &&
			     !*httpd_unix(server),
		     "any free port has a number");
		httpd_stop(server);
	}
	snprintf(where, sizeof(where), "unix:%s/s", dir);
	o.listen = where;
	if (httpd_open(&server, &o, &ops, dir, why) || httpd_run(server))
		return 1;
	check_requests(where + 5);
	check_bodies(where + 5);
	check_slow(where + 5);
	httpd_quiet(server);
	httpd_stop(server);
	T_OK(access(where + 5, F_OK) < 0, "the socket's file goes with the server");
	T_OK(rmdir(dir) == 0, "as do files of bodies");
	return t_done();
}
