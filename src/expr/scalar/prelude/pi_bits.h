/* Prelude 6: reduction of large angles (Payne and Hanek): x * 2/pi modulo 4 with as many bits of
 * 2/pi as matter. Only angles above 2^20 come here.
 */

TW_TABLE tw_u64 tw_two_over_pi[] = {
	0, /* so that reading may begin before the first bit */
	0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
	0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
	0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
	0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
	0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull,
};

TW_FN tw_u64
tw_mul_high(tw_u64 a, tw_u64 b)
{
	tw_u64 al = a & 0xFFFFFFFFull, ah = a >> 32, bl = b & 0xFFFFFFFFull, bh = b >> 32;
	tw_u64 low = al * bl, mid = ah * bl + (low >> 32), mid2 = al * bh + (mid & 0xFFFFFFFFull);
	return ah * bh + (mid >> 32) + (mid2 >> 32);
}

/* x = (quarter + 4n) * pi/2 + high + low, |high| <= pi/4, |x| >= 2^20. NaN for infinities. */
TW_SLOW int
tw_reduce_large(tw_f64 x, tw_f64 *high, tw_f64 *low)
{
	tw_u64 bits = tw_bits_f64(x);
	int exponent = (int)(bits >> 52 & 0x7FF) - 1075;
	tw_u64 m = (bits & 0xFFFFFFFFFFFFFull) | 0x10000000000000ull;
	if (exponent == 0x7FF - 1075) {
		*high = *low = x - x;
		return 0;
	}
	/* 192 bits of 2/pi from weight 2^1 (scaled by 2^exponent) down: above it multiples of 4 */
	int from = 64 + exponent - 2, word = from >> 6, shift = from & 63;
	tw_u64 g[3];
	for (int i = 0; i < 3; i++)
		g[i] = shift ? tw_two_over_pi[word + i] << shift |
		                       tw_two_over_pi[word + i + 1] >> (64 - shift)
		             : tw_two_over_pi[word + i];
	tw_u64 p1 = m * g[1], p0 = m * g[0] + tw_mul_high(m, g[1]), carry = tw_mul_high(m, g[2]);
	p1 += carry;
	p0 += p1 < carry;
	int quarter = (int)(p0 >> 62);
	tw_u64 f0 = p0 << 2 | p1 >> 62, f1 = p1 << 2; /* the fraction, 126 bits */
	int is_upper = (int)(f0 >> 63);
	if (is_upper) { /* above one half: the next quarter, fraction minus one */
		quarter++;
		f0 = ~f0;
		f1 = ~f1;
	}
	/* three pieces that doubles hold exactly, then times pi/2 */
	tw_f64 a = (tw_f64)(f0 >> 32) * 0x1p-32;
	tw_f64 b = (tw_f64)(f0 & 0xFFFFFFFFull) * 0x1p-64 + (tw_f64)(f1 >> 44) * 0x1p-84;
	tw_f64 c = (tw_f64)(f1 >> 12 & 0xFFFFFFFFull) * 0x1p-116;
	tw_f64 bc = b + c, bc_low = c - (bc - b);
	tw_f64 s = a + bc, s_low = (bc - (s - a)) + bc_low;
	/* (s + s_low) * (pi/2): s split so that products are exact */
	tw_f64 sh = tw_float_f64(tw_bits_f64(s) & 0xFFFFFFFFF8000000ull), sl = s - sh;
	const tw_f64 ph = 0x1.921fb5p+0, pl = 0x1.110b4611a6263p-26; /* pi/2 in 25 and 53 bits */
	tw_f64 top = sh * ph, rest = sl * ph + (s * pl + s_low * 0x1.921fb54442d18p+0);
	tw_f64 r = top + rest, r_low = rest - (r - top);
	if (is_upper != (bits >> 63 != 0)) {
		r = -r;
		r_low = -r_low;
	}
	*high = r;
	*low = r_low;
	return bits >> 63 ? -quarter & 3 : quarter & 3;
}
