#include <stdio.h>
#include "pcm.h"

int
huff_next(const u8 **p, const u8 *end)
{
	int code = 0;

	while (*p < end && **p & 0x80) {
		code = code << 7 | (*(*p)++ & 0x7f);
	}
	if (*p == end) {
		fprintf(stderr, "huff: truncated\n");
		return -1;
	}
	return code << 7 | *(*p)++;
}
