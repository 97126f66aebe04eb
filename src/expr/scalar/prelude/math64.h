/* Prelude 7: transcendental functions of f64. Pairs (x, x_low) hold a number as the unrounded sum
 * of two doubles. Coefficients: tools/math_coefficients.py.
 */

/* a + b exactly, as a pair; the second form needs |a| >= |b| (or a = 0). */
TW_FN TW_F
TW_N(sum)(TW_F a, TW_F b, TW_F *low)
{
	TW_F s = a + b, part = s - a;
	*low = (a - (s - part)) + (b - part);
	return s;
}

TW_FN TW_F
TW_N(quick_sum)(TW_F a, TW_F b, TW_F *low)
{
	TW_F s = a + b;
	*low = b - (s - a);
	return s;
}

/* a * b as a pair: the factors are cut in two, so that all partial products are exact. */
TW_FN TW_F
TW_N(product)(TW_F a, TW_F b, TW_F *low)
{
	TW_F ah = TW_FLOAT(TW_BITS(a) & 0xFFFFFFFFF8000000ull), al = a - ah;
	TW_F bh = TW_FLOAT(TW_BITS(b) & 0xFFFFFFFFF8000000ull), bl = b - bh;
	TW_F p = a * b;
	*low = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
	return p;
}

/* 2^k for a float k that is an integer in -1022..1023. */
TW_FN TW_F
TW_N(power_of_two)(TW_F k)
{
	return TW_FLOAT(TW_BITS(k + (0x1.8p52 + 1023)) << 52);
}

/* y * 2^k; in two steps, so that the range of k is that of subnormals and overflow too. */
TW_FN TW_F
TW_N(scale)(TW_F y, TW_F k)
{
	TW_F half = (k * 0.5 + 0x1.8p52) - 0x1.8p52;
	return y * TW_N(power_of_two)(half) * TW_N(power_of_two)(k - half);
}

/* x = k*ln2 + r + r_low, |r| <= 0.35. */
TW_FN TW_F
TW_N(exp_reduce)(TW_F x, TW_F *r, TW_F *r_low)
{
	TW_F k = (x * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52;
	*r = TW_N(sum)(x - k * 0x1.62e42fefa3800p-1, -(k * 0x1.ef35793c76730p-45), r_low);
	return k;
}

/* (e^r - 1 - r) / r^2 */
TW_FN TW_F
TW_N(exp_tail)(TW_F r)
{
	TW_F q = r * 0x1.1f75aba0b1e2ep-29 + 0x1.af52906239de4p-26;
	q = q * r + 0x1.27e4da1a3bf04p-22;
	q = q * r + 0x1.71ddffef9e7b1p-19;
	q = q * r + 0x1.a01a01a741b3cp-16;
	q = q * r + 0x1.a01a01aca0134p-13;
	q = q * r + 0x1.6c16c16c16212p-10;
	q = q * r + 0x1.111111110ff87p-7;
	q = q * r + 0x1.5555555555556p-5;
	q = q * r + 0x1.5555555555557p-3;
	return q * r + 0.5;
}

TW_FN TW_F
TW_N(clamp)(TW_F x, TW_F low, TW_F high)
{
	x = TW_SEL(x < low, low, x);
	return TW_SEL(x > high, high, x);
}

/* e^(x + low) * 2^more */
TW_FN TW_F
TW_N(exp_more)(TW_F x, TW_F low, TW_F more)
{
	TW_F r, r_low;
	x = TW_N(clamp)(x, TW_K(-747.0), TW_K(712.0));
	TW_F k = TW_N(exp_reduce)(x, &r, &r_low);
	r_low = r_low + low;
	TW_F tail = r * r * TW_N(exp_tail)(r);
	TW_F y = 1.0 + (r + (tail + (r_low + r_low * (r + tail))));
	return TW_N(scale)(y, k + more);
}

TW_FN TW_F
TW_N(exp)(TW_F x)
{
	return TW_N(exp_more)(x, TW_K(0.0), TW_K(0.0));
}

/* 2 * ((2^(k-1) - 1/2) + 2^(k-1) * (e^r - 1)): no overflow before the result's. */
TW_FN TW_F
TW_N(expm1)(TW_F x)
{
	TW_F r, r_low, low;
	TW_F c = TW_N(clamp)(x, TW_K(-50.0), TW_K(710.0));
	TW_F k = TW_N(exp_reduce)(c, &r, &r_low);
	TW_F tail = r * r * TW_N(exp_tail)(r) + (r_low + r_low * r);
	TW_F s = TW_N(power_of_two)(k - 1.0);
	TW_F t = TW_N(sum)(s * r, s - 0.5, &low);
	/* for k > 53 the half is lost in s, as it should be */
	TW_F y = 2.0 * (t + (s * tail + low));
	return TW_SEL(TW_N(abs)(x) < 0x1p-54, x, y);
}

/* ln of (x + low)*2^more as a pair, relative error below 2^-60; x normal and positive,
 * |low| < ulp(x) unless x is 1 (then low may be anything above -1/4 and below 1/4, exactly). */
TW_FN TW_F
TW_N(log_pair)(TW_F x, TW_F low, TW_F more, TW_F *result_low)
{
	TW_U bits = TW_BITS(x) + (0x3FF0000000000000ull - 0x3FE6A09E667F3BCDull);
	TW_F k = TW_FLOAT((bits >> 52) | 0x4330000000000000ull) - (0x1p52 + 1023);
	TW_F m = TW_FLOAT((bits & 0xFFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull);
	TW_F m_low = low * TW_N(power_of_two)(-TW_N(clamp)(k, TW_K(-1000.0), TW_K(1000.0)));
	/* s = f/(2+f) with f = m - 1 */
	TW_F f_low, d_low, p_low;
	TW_F f = TW_N(sum)(m - 1.0, m_low, &f_low);
	TW_F d = TW_N(quick_sum)(TW_K(2.0), f, &d_low);
	TW_F s = f / d;
	TW_F p = TW_N(product)(s, d, &p_low);
	TW_F s_low = (((f - p) - p_low) + (f_low - s * (d_low + f_low))) / d;
	/* 2s + 2/3 s^3 + s^5 Q(s^2) */
	TW_F z_low, c_low, t_low;
	TW_F z = TW_N(product)(s, s, &z_low);
	z_low = z_low + 2.0 * s * s_low;
	TW_F c = TW_N(product)(z, s, &c_low);
	c_low = c_low + (z * s_low + z_low * s);
	TW_F t = TW_N(product)(c, TW_K(0x1.5555555555555p-1), &t_low);
	t_low = t_low + (c * 0x1.5555555555555p-55 + c_low * 0x1.5555555555555p-1);
	TW_F q = z * 0x1.98bba4aaa4e3ap-4 + 0x1.82b3d227edfa3p-4;
	q = q * z + 0x1.af470dd472a8ap-4;
	q = q * z + 0x1.e1e13ba16afbcp-4;
	q = q * z + 0x1.1111122787599p-3;
	q = q * z + 0x1.3b13b138dcb9ep-3;
	q = q * z + 0x1.745d1745d40abp-3;
	q = q * z + 0x1.c71c71c71c704p-3;
	q = q * z + 0x1.2492492492492p-2;
	q = q * z + 0x1.999999999999ap-2;
	TW_F a_low, b_low, e_low, y;
	k = k + more;
	TW_F a = TW_N(quick_sum)(2.0 * s, t, &a_low);
	TW_F b = TW_N(sum)(k * 0x1.62e42fefa3800p-1, a, &b_low);
	e_low = b_low + (k * 0x1.ef35793c76730p-45 + (c * z * q + (a_low + t_low + 2.0 * s_low)));
	y = b + e_low;
	*result_low = e_low - (y - b);
	return y;
}

TW_FN TW_F
TW_N(log)(TW_F x)
{
	TW_F low;
	TW_M is_small = x < 0x1p-1022;
	TW_F y = TW_N(log_pair)(TW_SEL(is_small, x * 0x1p54, x), TW_K(0.0),
	                        TW_SEL(is_small, TW_K(-54.0), TW_K(0.0)), &low);
	y = TW_SEL(x == TW_INF_F64, x, y);
	y = TW_SEL(x == 0.0, TW_K(-TW_INF_F64), y);
	return TW_SEL(x >= 0.0, y, TW_K(TW_NAN_F64));
}

TW_FN TW_F
TW_N(log1p)(TW_F x)
{
	TW_F low, rest;
	/* close to 1, x itself is the low part */
	TW_M is_near = TW_N(abs)(x) < 0.25;
	TW_F one = TW_N(sum)(TW_K(1.0), x, &rest);
	TW_F y = TW_N(log_pair)(TW_SEL(is_near, TW_K(1.0), one), TW_SEL(is_near, x, rest), TW_K(0.0),
	                        &low);
	y = TW_SEL(TW_N(abs)(x) < 0x1p-54, x, y);
	y = TW_SEL(x == TW_INF_F64, x, y);
	y = TW_SEL(x == -1.0, TW_K(-TW_INF_F64), y);
	return TW_SEL(x >= -1.0, y, TW_K(TW_NAN_F64));
}

/* e^(y ln|x|), and C's table of special cases. */
TW_FN TW_F
TW_N(pow)(TW_F x, TW_F y)
{
	TW_F size = TW_N(abs)(x), low, p_low;
	TW_M is_small = size < 0x1p-1022;
	TW_F scaled = TW_SEL(is_small, size * 0x1p54, size);
	TW_F ln = TW_N(log_pair)(scaled, TW_K(0.0), TW_SEL(is_small, TW_K(-54.0), TW_K(0.0)), &low);
	/* |y| up to 2^65 reaches every outcome */
	TW_F c = TW_N(clamp)(y, TW_K(-0x1p65), TW_K(0x1p65));
	TW_F p = TW_N(product)(ln, c, &p_low);
	p_low = p_low + low * c;
	TW_F sum_low, sum = TW_N(quick_sum)(p, p_low, &sum_low);
	TW_F r = TW_N(exp_more)(sum, TW_SEL(TW_N(abs)(sum) < 800.0, sum_low, TW_K(0.0)), TW_K(0.0));
	TW_M is_huge = size == TW_INF_F64, is_zero = size == 0.0;
	TW_F infinite = TW_K(TW_INF_F64), zero = TW_K(0.0);
	r = TW_SEL(is_huge, TW_SEL(y > 0.0, infinite, zero), r);
	r = TW_SEL(is_zero, TW_SEL(y > 0.0, zero, infinite), r);
	/* below 2^53 an integer is odd when its half is not one */
	TW_M is_integer = TW_N(floor)(y) == y;
	TW_M is_odd = is_integer & (TW_N(floor)(y * 0.5) * 2.0 != y) & (TW_N(abs)(y) < 0x1p53);
	TW_F signed_r = TW_SEL(is_odd, TW_N(copysign)(r, x), r);
	TW_M is_invalid = (x < 0.0) & TW_NOT(is_integer) & TW_NOT(is_huge);
	signed_r = TW_SEL(is_invalid, TW_K(TW_NAN_F64), signed_r);
	signed_r = TW_SEL((x != x) | (y != y), x + y, signed_r);
	TW_M is_one = (size == 1.0) & (TW_N(abs)(y) == TW_INF_F64);
	return TW_SEL((x == 1.0) | (y == 0.0) | is_one, TW_K(1.0), signed_r);
}

/* x = quarter * pi/2 + r + r_low, |r| <= pi/4; the quarter is in the low bits. */
TW_FN TW_U
TW_N(trig_reduce)(TW_F x, TW_F *r, TW_F *r_low)
{
	TW_F shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, k = shifted - 0x1.8p52;
	TW_U quarter = TW_BITS(shifted);
	/* pi/2 in pieces of 33 bits: products with k < 2^20 are exact */
	TW_F a = x - k * 0x1.921fb54400000p+0, low1, low2, low3;
	TW_F b = TW_N(sum)(a, -(k * 0x1.0b4611a600000p-34), &low1);
	TW_F c = TW_N(sum)(b, -(k * 0x1.3198a2e000000p-69), &low2);
	low3 = (low1 + low2) - k * 0x1.b839a252049c1p-104;
	*r = TW_N(quick_sum)(c, low3, r_low);
#if TW_LANES == 0
	if (!(TW_N(abs)(x) < 0x1p20)) {
		tw_f64 high_part, low_part;
		quarter = (TW_U)tw_reduce_large(x, &high_part, &low_part);
		*r = high_part;
		*r_low = low_part;
	}
#else
	TW_M is_large = TW_N(abs)(x) >= 0x1p20;
	tw_i64 any = 0;
	for (int i = 0; i < TW_LANES; i++)
		any |= is_large[i];
	for (int i = 0; any && i < TW_LANES; i++)
		if (is_large[i]) {
			tw_f64 high_part, low_part;
			quarter[i] = (tw_u64)tw_reduce_large(x[i], &high_part, &low_part);
			(*r)[i] = high_part;
			(*r_low)[i] = low_part;
		}
#endif
	return quarter;
}

TW_FN TW_F
TW_N(sin_part)(TW_F r, TW_F low)
{
	TW_F z = r * r;
	TW_F s = z * -0x1.ab066192d3e8fp-41 + 0x1.612161267019ep-33;
	s = s * z - 0x1.ae6453ecab5c4p-26;
	s = s * z + 0x1.71de3a544a6cep-19;
	s = s * z - 0x1.a01a01a019880p-13;
	s = s * z + 0x1.1111111111110p-7;
	s = s * z - 0x1.5555555555555p-3;
	return r + (r * z * s + low * (1.0 - 0.5 * z));
}

TW_FN TW_F
TW_N(cos_part)(TW_F r, TW_F low)
{
	TW_F z = r * r;
	TW_F c = z * 0x1.ab68d5c08a457p-45 - 0x1.93949f74df9adp-37;
	c = c * z + 0x1.1eed8ddaa5390p-29;
	c = c * z - 0x1.27e4fb7708fb2p-22;
	c = c * z + 0x1.a01a01a019cb8p-16;
	c = c * z - 0x1.6c16c16c16c16p-10;
	c = c * z + 0x1.5555555555555p-5;
	TW_F half = 0.5 * z, w = 1.0 - half;
	return w + (((1.0 - w) - half) + (z * z * c - r * low));
}

/* sin(x + turn * pi/2) */
TW_FN TW_F
TW_N(sine)(TW_F x, tw_u64 turn)
{
	TW_F r, low;
	TW_U quarter = TW_N(trig_reduce)(x, &r, &low) + turn;
	TW_M is_cos = (quarter & 1) != 0;
	TW_F y = TW_SEL(is_cos, TW_N(cos_part)(r, low), TW_N(sin_part)(r, low));
	return TW_FLOAT(TW_BITS(y) ^ ((quarter & 2) << 62));
}

TW_FN TW_F
TW_N(sin)(TW_F x)
{
	return TW_SEL(TW_N(abs)(x) < 0x1p-28, x, TW_N(sine)(x, 0));
}

TW_FN TW_F
TW_N(cos)(TW_F x)
{
	return TW_N(sine)(x, 1);
}

TW_FN TW_F
TW_N(tan)(TW_F x)
{
	TW_F r, low;
	TW_U quarter = TW_N(trig_reduce)(x, &r, &low);
	TW_F s = TW_N(sin_part)(r, low), c = TW_N(cos_part)(r, low);
	TW_M is_odd = (quarter & 1) != 0;
	TW_F y = TW_SEL(is_odd, -c, s) / TW_SEL(is_odd, s, c);
	return TW_SEL(TW_N(abs)(x) < 0x1p-28, x, y);
}

/* asin on |x| <= 1/2, given z = x^2: x + x * asin_tail */
TW_FN TW_F
TW_N(asin_tail)(TW_F z)
{
	TW_F p = z * 0x1.d78189767524ep-6 - 0x1.e7a24f548c99fp-7;
	p = p * z + 0x1.1d661531b222ep-6;
	p = p * z + 0x1.653a8f8cfd43cp-8;
	p = p * z + 0x1.524ea8b3aad31p-7;
	p = p * z + 0x1.78246f32d075cp-7;
	p = p * z + 0x1.c9cf3759fd8ffp-7;
	p = p * z + 0x1.1c4d343fa57f6p-6;
	p = p * z + 0x1.6e8bb1d89492bp-6;
	p = p * z + 0x1.f1c71c1d4aa0dp-6;
	p = p * z + 0x1.6db6db6e3292ep-5;
	p = p * z + 0x1.3333333332ec4p-4;
	p = p * z + 0x1.5555555555556p-3;
	return p * z;
}

/* Beyond 1/2: asin x = pi/2 - 2 asin(sqrt((1 - x)/2)). */
TW_FN TW_F
TW_N(asin)(TW_F x)
{
	TW_F size = TW_N(abs)(x);
	TW_M is_big = size > 0.5;
	TW_F z = TW_SEL(is_big, (1.0 - size) * 0.5, x * x);
	TW_F base = TW_SEL(is_big, TW_N(sqrt)(z), size);
	TW_F tail = base * TW_N(asin_tail)(z);
	TW_F big = 0x1.921fb54442d18p+0 - 2.0 * base;
	big = big + (0x1.1a62633145c07p-54 - 2.0 * tail
	             + ((0x1.921fb54442d18p+0 - big) - 2.0 * base));
	return TW_N(copysign)(TW_SEL(is_big, big, base + tail), x);
}

TW_FN TW_F
TW_N(acos)(TW_F x)
{
	TW_F size = TW_N(abs)(x);
	TW_M is_big = size > 0.5;
	TW_F z = TW_SEL(is_big, (1.0 - size) * 0.5, x * x);
	TW_F base = TW_SEL(is_big, TW_N(sqrt)(z), x);
	TW_F tail = base * TW_N(asin_tail)(z);
	TW_F small = 0x1.921fb54442d18p+0 - (base + (tail - 0x1.1a62633145c07p-54));
	TW_F above = 2.0 * (base + tail);
	TW_F below = 0x1.921fb54442d18p+1 - 2.0 * (base + (tail - 0x1.1a62633145c07p-54));
	return TW_SEL(is_big, TW_SEL(x < 0.0, below, above), small);
}

/* |x| beyond tan(3pi/8): pi/2 - atan(1/x); beyond tan(pi/8): pi/4 + atan((x-1)/(x+1)). */
TW_FN TW_F
TW_N(atan)(TW_F x)
{
	TW_F size = TW_N(abs)(x);
	TW_M is_big = size > 2.414213562373095, is_mid = (size > 0.4142135623730951) & TW_NOT(is_big);
	TW_F top = TW_SEL(is_big, TW_K(-1.0), TW_SEL(is_mid, size - 1.0, size));
	TW_F t = top / TW_SEL(is_big, size, TW_SEL(is_mid, size + 1.0, TW_K(1.0)));
	TW_F base = TW_SEL(is_big, TW_K(0x1.921fb54442d18p+0),
	                   TW_SEL(is_mid, TW_K(0x1.921fb54442d18p-1), TW_K(0.0)));
	TW_F base_low = TW_SEL(is_big, TW_K(0x1.1a62633145c07p-54),
	                       TW_SEL(is_mid, TW_K(0x1.1a62633145c07p-55), TW_K(0.0)));
	TW_F z = t * t;
	TW_F p = z * 0x1.0a86bcd0a5c08p-6 - 0x1.1b111b10989f4p-5;
	p = p * z + 0x1.74d05be3ef6c4p-5;
	p = p * z - 0x1.ac779f208572fp-5;
	p = p * z + 0x1.e199acf4935d9p-5;
	p = p * z - 0x1.110e8391a1d32p-4;
	p = p * z + 0x1.3b13929a1f007p-4;
	p = p * z - 0x1.745d165bbedbap-4;
	p = p * z + 0x1.c71c71c2f9595p-4;
	p = p * z - 0x1.249249248d6ffp-3;
	p = p * z + 0x1.9999999999952p-3;
	p = p * z - 0x1.5555555555555p-2;
	return TW_N(copysign)(base + (t + (t * z * p + base_low)), x);
}

TW_FN TW_F
TW_N(sinh)(TW_F x)
{
	TW_F size = TW_N(abs)(x), m = TW_N(expm1)(TW_SEL(size < 40.0, size, TW_K(40.0)));
	TW_F small = 0.5 * (m + m / (m + 1.0));
	TW_F big = TW_N(exp_more)(size, TW_K(0.0), TW_K(-1.0));
	TW_F y = TW_SEL(size < 40.0, small, big);
	return TW_N(copysign)(TW_SEL(size < 0x1p-28, size, y), x);
}

TW_FN TW_F
TW_N(cosh)(TW_F x)
{
	TW_F half = TW_N(exp_more)(TW_N(abs)(x), TW_K(0.0), TW_K(-1.0));
	return half + 0.25 / half;
}

TW_FN TW_F
TW_N(tanh)(TW_F x)
{
	TW_F size = TW_N(abs)(x);
	TW_F m = TW_N(expm1)(TW_SEL(size > 22.0, TW_K(44.0), 2.0 * size));
	TW_F y = m / (m + 2.0);
	return TW_N(copysign)(TW_SEL(size < 0x1p-28, size, y), x);
}

TW_FN TW_F
TW_N(asinh)(TW_F x)
{
	TW_F size = TW_N(abs)(x);
	TW_M is_big = size > 0x1p28;
	TW_F c = TW_SEL(is_big, TW_K(1.0), size), z = c * c;
	TW_F small = TW_N(log1p)(c + z / (1.0 + TW_N(sqrt)(z + 1.0)));
	TW_F low, big = TW_N(log_pair)(TW_SEL(is_big, size, TW_K(1.0)), TW_K(0.0), TW_K(1.0), &low);
	TW_F y = TW_SEL(is_big, TW_SEL(size == TW_INF_F64, size, big), small);
	return TW_N(copysign)(TW_SEL(size < 0x1p-28, size, y), x);
}

TW_FN TW_F
TW_N(acosh)(TW_F x)
{
	TW_M is_big = x > 0x1p28;
	TW_F t = TW_SEL(is_big, TW_K(1.0), x) - 1.0;
	TW_F small = TW_N(log1p)(t + TW_N(sqrt)(t * (t + 2.0)));
	TW_F low, big = TW_N(log_pair)(TW_SEL(is_big, x, TW_K(1.0)), TW_K(0.0), TW_K(1.0), &low);
	TW_F y = TW_SEL(is_big, TW_SEL(x == TW_INF_F64, x, big), small);
	return TW_SEL(x >= 1.0, y, TW_K(TW_NAN_F64));
}

TW_FN TW_F
TW_N(atanh)(TW_F x)
{
	TW_F size = TW_N(abs)(x);
	TW_F y = 0.5 * TW_N(log1p)(2.0 * size / (1.0 - size));
	return TW_N(copysign)(TW_SEL(size < 0x1p-28, size, y), x);
}

/* Below 1 a polynomial; from there 1 - e^(-x^2) R((x-3)/(x+3)), R(t) = erfc(x) e^(x^2). */
TW_FN TW_F
TW_N(erf)(TW_F x)
{
	TW_F size = TW_N(abs)(x), z = size * size;
	TW_F p = z * 0x1.05e163d78b59bp-34 - 0x1.38925a42dec1ap-30;
	p = p * z + 0x1.f7b14dc1f44f0p-27;
	p = p * z - 0x1.5f1e7c06bb629p-23;
	p = p * z + 0x1.b9df193f1fdadp-20;
	p = p * z - 0x1.f4d1e26a29ff5p-17;
	p = p * z + 0x1.f9a321cd05c73p-14;
	p = p * z - 0x1.c02db3da7b2aep-11;
	p = p * z + 0x1.565bcd0db9201p-8;
	p = p * z - 0x1.b82ce31284d69p-6;
	p = p * z + 0x1.ce2f21a042b2ep-4;
	p = p * z - 0x1.812746b0379e6p-2;
	p = p * z + 0x1.06eba8214db69p-3;
	TW_F c = TW_N(clamp)(size, TW_K(1.0), TW_K(6.0)), t = (c - 3.0) / (c + 3.0);
	TW_F q = t * -0x1.648269d7c1952p-26 + 0x1.4d48248a75ad4p-20;
	q = q * t + 0x1.0d50cbfdc3b2ep-19;
	q = q * t - 0x1.0c6eda437cec4p-17;
	q = q * t - 0x1.aee3bd1facc43p-17;
	q = q * t + 0x1.0cb1ea3483f70p-14;
	q = q * t + 0x1.7b9d8eae614b2p-15;
	q = q * t - 0x1.39085e89e8cfep-11;
	q = q * t + 0x1.731020fa1443ep-11;
	q = q * t + 0x1.17c8390ac434cp-8;
	q = q * t - 0x1.8fa58eb65278dp-6;
	q = q * t + 0x1.258b13b00d69bp-4;
	q = q * t - 0x1.336ffbef088a2p-3;
	q = q * t + 0x1.f6ff204105a25p-3;
	q = q * t - 0x1.4e102b9cf8514p-2;
	q = q * t + 0x1.6e9827d229d2dp-3;
	TW_F y = TW_SEL(size < 1.0, size + size * p, 1.0 - TW_N(exp)(-(c * c)) * q);
	return TW_N(copysign)(TW_SEL(x != x, x, y), x);
}
