/* SPDX-License-Identifier: Apache-2.0 */
/* tty.h - redraws a terminal in place: writes changed lines alone, and restores it at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <termios.h>

struct tty {
	bool open;
	bool keys; /* stdin is a terminal too */
	struct termios before;
	size_t rows;
	char *now, *last; /* owned: the frame being drawn, and the one on the terminal */
	size_t len;
	FILE *f;
};

void tty_open(struct tty *s);
void tty_close(struct tty *s);  /* the terminal is as it was */
void tty_forget(struct tty *s); /* the next frame is drawn whole */
void tty_fini(struct tty *s);

/* A stream to draw a frame to; *rows gets the height. Ended by tty_end(). */
FILE *tty_begin(struct tty *s, size_t *rows);
void tty_end(struct tty *s);
