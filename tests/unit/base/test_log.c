/* SPDX-License-Identifier: Apache-2.0 */
/* The log: whole lines, safe lines, few of the same. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "t.h"

static int fds[2];

/* What was written since the last call. */
static const char *written(void)
{
	static char text[65536];
	ssize_t n = read(fds[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static int lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void test_form(void)
{
	const char *text;

	errno = ERANGE;
	log_warn("pid %d: refused", 41);
	T_OK(errno == ERANGE, "errno is kept");
	text = written();
	T_OK(!strncmp(text, "ts=20", 5) &&
		     strstr(text, " level=warn mod=test_log msg=\"pid 41: refused\"\n"),
	     "a line of logfmt");
	log_err("name %s", "a\"b\\c\nts=1 level=err\x1b[31m");
	text = written();
	T_OK(lines(text) == 1 && strstr(text, "msg=\"name a'b'c?ts=1 level=err?[31m\"\n"),
	     "what comes from elsewhere stays in its place");
	log_debug("not now");
	T_OK(!*written(), "debug is silent unless asked for");
	log_level(LOG_LEVEL_ERR);
	log_warn("not now either");
	T_OK(!*written(), "and so is all above the level");
	log_level(LOG_LEVEL_INFO);
}

static void test_long(void)
{
	char big[4000];
	const char *text;

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	log_info("%s", big);
	text = written();
	T_OK(lines(text) == 1 && strlen(text) <= 1024 && !strcmp(text + strlen(text) - 2, "\"\n"),
	     "a long line is cut and whole");
}

static void test_repeat(void)
{
	int n;

	for (int i = 0; i < 1000; i++)
		log_info("again %d", i);
	n = lines(written());
	T_OK(n == LOG_BURST, "a line that repeats is written %d times", n);
	log_info("another");
	T_OK(lines(written()) == 1, "another line is not held back by it");
}

int main(void)
{
	if (pipe2(fds, O_NONBLOCK) < 0)
		t_skip_all("no pipe");
	log_fd(fds[1]);
	test_form();
	test_long();
	test_repeat();
	return t_done();
}
