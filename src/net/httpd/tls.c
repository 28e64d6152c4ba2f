/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c - see tls.h. */
#include "net/httpd/tls.h"

#include <ctype.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <string.h>

/* It goes into files, logs and patterns. */
static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("._-@", s[i]))
			return false;
	return len > 0 && *s != '.' && *s != '-';
}

int tls_peer_name(void *session, char *name, size_t cap)
{
	gnutls_typed_vdata_st purpose = { GNUTLS_DT_KEY_PURPOSE_OID,
					  (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0 };
	unsigned status = 0, n = 0;
	const gnutls_datum_t *chain = session ? gnutls_certificate_get_peers(session, &n) : NULL;
	gnutls_x509_crt_t crt;
	size_t len = cap;
	int rc;

	if (!chain || !n)
		return -ENOKEY;
	if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0)
		return -EKEYREJECTED;
	if (status & GNUTLS_CERT_EXPIRED)
		return -EKEYEXPIRED;
	if (status || gnutls_x509_crt_init(&crt) < 0)
		return -EKEYREJECTED;
	rc = gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER);
	if (rc >= 0)
		rc = gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name,
						   &len);
	gnutls_x509_crt_deinit(crt);
	return rc >= 0 && is_name(name, len) ? 0 : -EKEYREJECTED;
}
