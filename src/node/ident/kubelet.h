/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubelet.h - which devices a pod has, from the checkpoint of kubelet's device manager
 * (/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint), which knows pods by their uid.
 * Their names come from its pod-resources service: pods.h.
 */
#pragma once

#include <stddef.h>

#define KUBELET_BYTES_MAX (4u << 20)

/* The GPUs of the pod, with commas between; "" if it has none, or the text is no checkpoint. `text` is
 * followed by JSON_PAD quotes (base/json_read.h). */
void kubelet_devices(const char *text, size_t len, const char *pod_uid, char *out, size_t cap);
/* The same of a file. 0, or -errno. */
int kubelet_load(const char *path, const char *pod_uid, char *out, size_t cap);
