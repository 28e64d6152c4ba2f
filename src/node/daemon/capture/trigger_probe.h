/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_probe.h - evaluates a trigger for one process: values come with its events, and once a
 * second.
 *
 * Each capture that waits for a process adds a probe to its stream; without captures there is no
 * cost. Everything runs on the drain thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/trigger.h"
#include "model/event.h"

struct captures;
struct sess;
struct stream;

struct arm {
	struct arm *next;
	struct captures *captures;   /* borrowed: notified when it fires */
	const struct trigger *when;  /* borrowed from the capture */
	uint64_t capture;            /* its id */
	struct cover *cover;         /* owned; NULL: not needed */
	struct arm_names *names;     /* owned; with it: which kernels communicate */
	struct trigger_meter *meter; /* owned */
	uint64_t since_ns;
	uint64_t steps, taken, lost; /* when last looked at */
	uint32_t alarms;
	bool gpu, comm; /* an activity of a GPU was seen, a collective */
	bool waits;     /* armed; otherwise no values are collected */
	bool fired;
};

/* NULL: it has none. */
struct arm *arm_of(const struct stream *s, uint64_t capture);
int arm_add(struct sess *s, struct captures *cs, uint64_t capture, const struct trigger *when,
	    uint64_t now_ns);
void arm_again(struct arm *a, struct sess *s, uint64_t now_ns); /* after a capture: it waits anew */
void arm_drop(struct stream *s, uint64_t capture);
void arms_free(struct stream *s);

void arms_events(struct stream *s, const struct event *ev, size_t n);
void arm_second(struct arm *a, struct sess *s, uint64_t now_ns);
