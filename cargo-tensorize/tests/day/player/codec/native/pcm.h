#ifndef _PCM_H_
#define _PCM_H_

typedef short		s16;
typedef unsigned char	u8;

#ifndef PCM_SHIFT
# define PCM_SHIFT 0
#endif

#define CLIP16(v)	((v) < -32768 ? -32768 : (v) > 32767 ? 32767 : (v))

void pcm_mix(s16 *dst, const s16 *src, int n);
void pcm_expand(s16 *dst, const u8 *src, int n);
int  huff_next(const u8 **p, const u8 *end);

#endif
