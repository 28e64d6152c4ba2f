/* SPDX-License-Identifier: Apache-2.0 */
/* api_view.c - what the analysis of a run says: devices, steps, findings, memory. */
#include <errno.h>

#include "read/json.h"
#include "serve/analysis.h"

int api_devices(struct ask *q, struct json *j, struct answer *a)
{
	struct analysis *an;
	int err = analysis_get(q, &an);

	(void)a;
	if (err < 0)
		return err;
	analysis_json(j, an, &q->run);
	insight_devices_json(j, an->in);
	return 0;
}
