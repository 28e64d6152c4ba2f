/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - derives an event's kind from its name, whichever tool wrote it. */
#include <aon/provider.h>
#include <string.h>
#include <strings.h>

#include "import/priv.h"

bool import_is_sync(const char *s, size_t len)
{
	return memmem(s, len, "Synchronize", 11) != NULL;
}

bool import_step(const char *s, size_t len, uint64_t *number)
{
	static const char word[] = "ProfilerStep";
	uint64_t v = 0;
	size_t i = sizeof(word) - 1;

	if (len <= i || memcmp(s, word, i) || (s[i] != '#' && s[i] != '*'))
		return false;
	for (i++; i < len && s[i] >= '0' && s[i] <= '9' && v < UINT64_MAX / 16; i++)
		v = v * 10 + (uint64_t)(s[i] - '0');
	*number = v;
	return true;
}

static bool has(const char *s, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		if (!strncasecmp(s + i, word, n))
			return true;
	return false;
}

uint8_t import_copy(const char *s, size_t len, uint64_t *b)
{
	static const struct {
		const char *word;
		uint8_t dir;
	} dirs[] = {
		{ "HtoD", AON_COPY_HTOD },
		{ "DtoH", AON_COPY_DTOH },
		{ "DtoD", AON_COPY_DTOD },
		{ "HtoH", AON_COPY_HTOH },
		{ "PtoP", AON_COPY_PTOP },
		{ "HtoA", AON_COPY_HTOD },
		{ "AtoH", AON_COPY_DTOH },
		{ "H2D", AON_COPY_HTOD },
		{ "D2H", AON_COPY_DTOH },
		{ "D2D", AON_COPY_DTOD },
		{ "P2P", AON_COPY_PTOP },
		{ "HOST_TO_DEVICE", AON_COPY_HTOD },
		{ "DEVICE_TO_HOST", AON_COPY_DTOH },
		{ "HostToDevice", AON_COPY_HTOD },
		{ "DeviceToHost", AON_COPY_DTOH },
		{ "DeviceToDevice", AON_COPY_DTOD },
		{ "DEVICE_TO_DEVICE", AON_COPY_DTOD },
	};

	if (b && has(s, len, "Pageable"))
		*b |= TRACE_PAGEABLE;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (has(s, len, dirs[i].word))
			return (uint8_t)(dirs[i].dir << EVENT_COPY_SHIFT);
	return AON_COPY_UNKNOWN;
}
