/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h - decompresses blocks inside of files. Untrusted bytes: the result never exceeds what the
 * caller allows. All return 0, -EBADMSG if the bytes are damaged, or -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct unpack_in {
	const uint8_t *p;
	size_t len;
};

/* Into `len` bytes, which it must fill exactly. */
int unpack_snappy(uint8_t *out, size_t len, struct unpack_in in);
int unpack_zlib(uint8_t *out, size_t len, struct unpack_in in); /* zlib's format, or gzip's */
int unpack_zstd(uint8_t *out, size_t len, struct unpack_in in);

/* The same without a length to expect. The caller frees *out, which grows up to `most` bytes;
 * more is damage. */
typedef int unpack_grow_fn(uint8_t **out, size_t *len, size_t most, struct unpack_in in);
unpack_grow_fn unpack_grow_zlib, unpack_grow_zstd;
