/* CRC-32 (IEEE 802.3, reflected polynomial EDB88320), eight bytes at a step.
 *
 * The tables of the eight-byte step are made on the stack for each call that is long enough to be
 * worth it (2,048 steps), so there is no state and no generated source.
 */
#include <string.h>

#include "base/zip.h"

enum { WORTH_TABLES = 8192 };

/* The remainder after one byte of zeros behind `crc`. */
static uint32_t
step(uint32_t crc)
{
	for (int i = 0; i < 8; i++)
		crc = crc >> 1 ^ (0xEDB88320 & -(crc & 1));
	return crc;
}

static uint32_t
long_crc(uint32_t crc, const unsigned char *data, size_t words)
{
	uint32_t table[8][256];
	for (uint32_t i = 0; i < 256; i++)
		table[0][i] = step(i);
	for (int k = 1; k < 8; k++)
		for (int i = 0; i < 256; i++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xFF];
	for (; words > 0; words--, data += 8) {
		uint64_t word;
		memcpy(&word, data, 8);
		word ^= crc;
		crc = 0;
		for (int k = 0; k < 8; k++)
			crc ^= table[7 - k][word >> 8 * k & 0xFF];
	}
	return crc;
}

uint32_t
crc32_of(uint32_t crc, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	size_t words = size >= WORTH_TABLES ? size / 8 : 0;
	crc = ~crc;
	if (words)
		crc = long_crc(crc, bytes, words);
	for (size_t i = words * 8; i < size; i++)
		crc = step(crc ^ bytes[i]);
	return ~crc;
}
