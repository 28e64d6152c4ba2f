/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods.h - which pod has which GPU, from kubelet's pod-resources service: aon-collect asks
 * (collect/pods.c) and writes a file with a line "NAMESPACE POD DEVICE" for each; aond reads that
 * file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PODS_BYTES_MAX (4u << 20)
#define PODS_NAME      72u

/* The lines of a v1.ListPodResourcesResponse, GPUs and parts of them alone. -EBADMSG: it is none; then some of its
 * lines may have been written. */
int pods_lines(const void *data, size_t len, FILE *to);

/* Of such lines, the GPUs of a pod, with commas between; "": none. */
void pods_devices(const char *text, const char *namespace, const char *pod, char *out, size_t cap);
/* The pod that has a GPU. */
bool pods_owner(const char *text, const char *device, char namespace[PODS_NAME],
		char pod[PODS_NAME]);

/* A file of them, to be freed; NULL: there is none that can be read. */
char *pods_load(const char *path);
