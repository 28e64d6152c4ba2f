/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h - what an ELF file of x86-64 has for stacks: segments, unwind table, symbols, build-id.
 *
 * The file is a stranger's. It is read with pread(), never mapped, and every offset is checked
 * against its size when it is used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_LOADS 32u
#define IMAGE_ID    32u
#define IMAGE_LINK  256u

struct image_load {
	uint64_t vaddr, offset, size; /* size: bytes that are in the file */
	bool exec;
};

/* Bytes of the file. */
struct image_part {
	uint64_t offset, size;
};

struct image_symbols {
	struct image_part table, text; /* symbols, and their names */
};

struct image {
	int fd;             /* owned; -1: the image is in memory */
	unsigned char *mem; /* owned; NULL: it is in a file */
	uint64_t size;
	struct image_load load[IMAGE_LOADS];
	size_t loads;
	uint64_t frames, frames_size; /* .eh_frame_hdr: virtual address; 0: none */
	struct image_symbols full;    /* .symtab */
	struct image_symbols dynamic; /* .dynsym */
	struct image_part mini;       /* .gnu_debugdata: an ELF file with a .symtab, packed by xz */
	struct image_part link; /* .gnu_debuglink: what the file with debug information is called */
	bool debug;             /* it has .debug_info */
	unsigned char id[IMAGE_ID]; /* build-id */
	size_t id_len;
};

/* Both own what they are given if they succeed. -ENOEXEC: it is not such a file. */
int image_open(struct image *out, int fd);
int image_wrap(struct image *out, void *mem, size_t size);
void image_fini(struct image *i);

/* All n bytes, or -errno. */
int image_read(const struct image *i, uint64_t offset, void *out, size_t n);
/* The same at a virtual address; returns how many up to n there are, or -errno. */
ptrdiff_t image_at(const struct image *i, uint64_t vaddr, void *out, size_t n);
/* What .gnu_debuglink says: the name of a file, without a folder, and its CRC-32. */
bool image_link(const struct image *i, char name[IMAGE_LINK], uint32_t *crc);
/* The virtual address of a byte of the file that is mapped as code; false: none. */
bool image_vaddr(const struct image *i, uint64_t offset, uint64_t *vaddr);
