/* SPDX-License-Identifier: Apache-2.0 */
/* tty.c - redraws a terminal in place; see tty.h. */
#include "cli/core/tty.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ENTER "\x1b[?1049h\x1b[?25l\x1b[2J"
#define LEAVE "\x1b[?25h\x1b[?1049l"

void tty_open(struct tty *s)
{
	struct termios raw;

	s->keys = tcgetattr(STDIN_FILENO, &s->before) == 0;
	if (s->keys) {
		raw = s->before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 1;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs(ENTER, stdout);
	fflush(stdout);
	s->open = true;
	tty_forget(s);
}

void tty_close(struct tty *s)
{
	if (!s->open)
		return;
	fputs(LEAVE, stdout);
	fflush(stdout);
	if (s->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
	s->open = false;
}

void tty_forget(struct tty *s)
{
	free(s->last);
	s->last = NULL;
}

void tty_fini(struct tty *s)
{
	tty_close(s);
	tty_forget(s);
}

FILE *tty_begin(struct tty *s, size_t *rows)
{
	struct winsize ws = { 0 };

	s->rows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_row ? ws.ws_row : 24;
	*rows = s->rows;
	s->now = NULL;
	s->f = open_memstream(&s->now, &s->len);
	return s->f;
}

/* The line at *at, which moves on; its length in *len. NULL at the end. */
static const char *next_line(const char **at, size_t *len)
{
	const char *line = *at;

	*len = 0;
	if (!line || !*line)
		return NULL;
	*len = strcspn(line, "\n");
	*at = line + *len + (line[*len] == '\n');
	return line;
}

void tty_end(struct tty *s)
{
	const char *a, *b, *x, *y;
	size_t n, m;

	if (fclose(s->f) != 0 || !s->now)
		return;
	if (!s->last)
		fputs("\x1b[2J", stdout);
	a = s->now;
	b = s->last;
	for (size_t row = 1; row <= s->rows; row++) {
		x = next_line(&a, &n);
		y = next_line(&b, &m);
		if (n == m && (n == 0 || !memcmp(x, y, n)))
			continue;
		printf("\x1b[%zu;1H%.*s\x1b[K", row, (int)n, x ? x : "");
	}
	fflush(stdout);
	free(s->last);
	s->last = s->now;
	s->now = NULL;
}
