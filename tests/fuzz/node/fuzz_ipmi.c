/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ipmi.c - any bytes as a sensor's record, an entry of a log, and as packets of RMCP+. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/bmc/ipmi_sdr.h"
#include "collect/bmc/rmcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rmcp_keys k = { .sha256 = size & 1,
			       .hash = size & 1 ? 32 : 20,
			       .icv = size & 1 ? 16 : 12 };
	uint8_t *copy = malloc(size ? size : 1), msg[IPMI_DATA], sealed[512], iv[16] = { 0 };
	struct ipmi_sensor s;
	struct ipmi_sel e;
	const uint8_t *payload;
	double factor, plus;
	int n;

	memcpy(copy, data, size);
	if (!ipmi_sensor_parse(&s, copy, size)) {
		if (!*s.name || strnlen(s.name, IPMI_NAME) == IPMI_NAME ||
		    !ipmi_sensor_metric(&s, &factor, &plus))
			abort();
		for (unsigned raw = 0; raw < 256; raw += 5)
			ipmi_sensor_value(&s, (uint8_t)raw);
	}
	ipmi_sel_parse(&e, copy, size);
	n = rmcp_payload(copy, size, size > 5 ? copy[5] : 0, &payload);
	if (n > 0 && payload + n > copy + size)
		abort();
	rmcp_unseal(msg, &k, 1, copy, size);
	/* Whatever is inside of a packet that is whole. */
	if (size <= IPMI_DATA) {
		size_t len = rmcp_seal(sealed, &k, 1, 1, iv, copy, size);

		if (rmcp_unseal(msg, &k, 1, sealed, len) != (int)size || memcmp(msg, copy, size))
			abort();
	}
	free(copy);
	return 0;
}
