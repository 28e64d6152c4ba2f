/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - the GPUs of a node as the kernel names them: a file of /dev, a place on the PCI bus, a
 * number of amdkfd; all lead to the name that the other series of that GPU have.
 */
#pragma once

#include <stdint.h>

#define GPU_DEVICES 64u
#define GPU_BUS     40u /* bytes: 0000:03:00.0, or the name of a platform's device */

struct gpu_device {
	char name[16]; /* "card0", "nvidia3" */
	char bus[GPU_BUS];
	char driver[24];       /* "": not known yet */
	int32_t render, minor; /* of /dev/dri/renderD and /dev/nvidia; -1: none */
	uint32_t kfd;          /* amdkfd's number; 0: none */
	char uuid[48];         /* of NVIDIA's driver */
};

struct gpu_devices {
	struct gpu_device d[GPU_DEVICES];
	uint32_t n;
};

/* All that are there, below `root`. */
void gpu_devices_load(struct gpu_devices *g, const char *root);

/* Their numbers in `d`, or -1. */
int gpu_device_dri(const struct gpu_devices *g, const char *node); /* "card0", "renderD128" */
int gpu_device_bus(const struct gpu_devices *g, const char *bus);
int gpu_device_minor(const struct gpu_devices *g, int32_t minor);
int gpu_device_kfd(const struct gpu_devices *g, uint32_t id);
