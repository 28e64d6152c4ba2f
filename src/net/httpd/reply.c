/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - parses request headers, and sends plain answers. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "net/httpd/httpd.h"

const char *httpd_header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

bool httpd_query_u64(struct MHD_Connection *c, const char *key, uint64_t *out)
{
	const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, key);

	return text && !num_u64(text, 0, UINT64_MAX, out);
}

enum MHD_Result httpd_reply(struct MHD_Connection *c, unsigned status, struct MHD_Response *r,
			    const char *type)
{
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	if (type)
		MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

enum MHD_Result httpd_text(struct MHD_Connection *c, unsigned status, unsigned retry_s,
			   const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%u", retry_s);
	if (r && retry_s)
		MHD_add_response_header(r, "Retry-After", seconds);
	return httpd_reply(c, status, r, "text/plain; charset=utf-8");
}
