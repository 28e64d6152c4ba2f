/* SPDX-License-Identifier: Apache-2.0 */
/* tty.h - redraws a terminal in place: writes changed lines alone, and restores it at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <termios.h>

struct screen {
	bool open;
	bool keys; /* stdin is a terminal too */
	struct termios before;
	size_t rows;
	char *now, *last; /* owned: the frame being drawn, and the one on the terminal */
	size_t len;
	FILE *f;
};

void screen_open(struct screen *s);
void screen_close(struct screen *s);  /* the terminal is as it was */
void screen_forget(struct screen *s); /* the next frame is drawn whole */
void screen_fini(struct screen *s);

/* A stream to draw a frame to; *rows gets the height. Ended by screen_end(). */
FILE *screen_begin(struct screen *s, size_t *rows);
void screen_end(struct screen *s);
