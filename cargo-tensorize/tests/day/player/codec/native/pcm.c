/*
 * pcm.c -- sample juggling
 *
 * 1997-03-02	first cut
 * 1999-11-20	CLIP16 (thanks, Erik)
 */
#include "pcm.h"

/* dst += src, clipped */
void
pcm_mix(s16 *dst, const s16 *src, int n)
{
	register int i, v;

	for (i = 0; i < n; ++i) {
		v = dst[i] + src[i];
		dst[i] = (s16)CLIP16(v);
	}
}

/* 8 bit unsigned to 16 bit signed */
void
pcm_expand(s16 *dst, const u8 *src, int n)
{
	while (n-- > 0)
		*dst++ = (s16)((*src++ - 128) << PCM_SHIFT);
}
