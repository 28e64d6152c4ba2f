/* SPDX-License-Identifier: Apache-2.0 */
/* pb.h - protobuf written by hand: fields behind their tags, messages behind their lengths. */
#ifndef AON_SHIP_PB_H
#define AON_SHIP_PB_H

#include <stddef.h>
#include <stdint.h>

struct pb {
	uint8_t *data; /* owned */
	size_t len, cap;
	int err; /* -ENOMEM: nothing is added after it */
};

void pb_fini(struct pb *b);
void pb_bytes(struct pb *b, const void *data, size_t len); /* as they are */
void pb_varint(struct pb *b, uint64_t v);
void pb_u64(struct pb *b, uint32_t field, uint64_t v);
void pb_fixed64(struct pb *b, uint32_t field, uint64_t v);
void pb_double(struct pb *b, uint32_t field, double v);
void pb_str(struct pb *b, uint32_t field, const char *s);

/* A message: what is added between the two is in it. */
size_t pb_open(struct pb *b, uint32_t field);
void pb_close(struct pb *b, size_t at);

#endif /* AON_SHIP_PB_H */
