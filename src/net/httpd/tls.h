/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - identifies the client by its certificate. */
#pragma once

#include <stddef.h>

/* The common name of the peer's certificate. -ENOKEY: it showed none; -EKEYEXPIRED; -EKEYREJECTED: not
 * signed by whom we trust, or without a name of sane characters. `session` is GnuTLS's. */
int tls_peer_name(void *session, char *name, size_t cap);
