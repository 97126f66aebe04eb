/* Prelude 8: transcendental functions of f32. exp, log, tanh and erf are computed in f32 for speed;
 * the others in f64, half of the lanes at a time, and rounded.
 */

TW_FN TW_F
TW_N(power_of_two)(TW_F k)
{
	return TW_FLOAT(TW_BITS(k + (0x1.8p23f + 127)) << 23);
}

/* y * 2^k for k from -152 to 130, rounded once. */
TW_FN TW_F
TW_N(times_power_of_two)(TW_F y, TW_F k)
{
#if defined TW_X86_BYTES && TW_X86_BYTES == 64 && TW_LANES == 16
#ifndef __clang__
	return __builtin_ia32_scalefps512_mask(y, k, y, -1, 4);
#endif
#endif
	/* in two steps, of which only the second can be subnormal */
	TW_F half = (k * 0.5f + 0x1.8p23f) - 0x1.8p23f;
	return y * TW_N(power_of_two)(half) * TW_N(power_of_two)(k - half);
}

/* x where it lies between -105 and 90, else the nearer one; NaN stays. */
TW_FN TW_F
TW_N(exp_range)(TW_F x)
{
#if defined TW_X86_BYTES && TW_X86_BYTES == 64 && TW_LANES == 16
#ifndef __clang__
	x = __builtin_ia32_maxps512_mask(TW_K(-105.0f), x, x, -1, 4);
	return __builtin_ia32_minps512_mask(TW_K(90.0f), x, x, -1, 4);
#endif
#endif
	x = TW_SEL(x < -105.0f, TW_K(-105.0f), x);
	return TW_SEL(x > 90.0f, TW_K(90.0f), x);
}

/* x = k*ln2 + r, |r| <= 0.35; (e^r - 1 - r)/r^2 */
TW_FN TW_F
TW_N(exp_reduce)(TW_F x, TW_F *r)
{
	TW_F k = (x * 0x1.715476p+0f + 0x1.8p23f) - 0x1.8p23f;
	*r = (x - k * 0x1.62e400p-1f) - k * 0x1.7f7d1cp-20f;
	return k;
}

TW_FN TW_F
TW_N(exp_tail)(TW_F r)
{
	TW_F q = r * 0x1.6d1606p-10f + 0x1.12106cp-7f;
	q = q * r + 0x1.555516p-5f;
	q = q * r + 0x1.5554d8p-3f;
	return q * r + 0.5f;
}

TW_MATH TW_F
TW_N(exp)(TW_F x)
{
	TW_F r, k = TW_N(exp_reduce)(TW_N(exp_range)(x), &r);
	TW_F y = 1.0f + (r + r * r * TW_N(exp_tail)(r));
	return TW_N(times_power_of_two)(y, k);
}

TW_MATH TW_F
TW_N(log)(TW_F x)
{
	TW_M is_small = x < 0x1p-126f;
	TW_U bits = TW_BITS(TW_SEL(is_small, x * 0x1p24f, x)) + (0x3F800000u - 0x3F3504F3u);
	TW_F k = TW_FLOAT((bits >> 23 & 0x1FF) | 0x4B000000u) - (0x1p23f + 127);
	k = k - TW_SEL(is_small, TW_K(24.0f), TW_K(0.0f));
	TW_F f = TW_FLOAT((bits & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f;
	TW_F p = f * 0x1.1dedf8p-4f - 0x1.d6d10ep-4f;
	p = p * f + 0x1.dec8ccp-4f;
	p = p * f - 0x1.fce37ap-4f;
	p = p * f + 0x1.23cf72p-3f;
	p = p * f - 0x1.555b8ap-3f;
	p = p * f + 0x1.999d6ep-3f;
	p = p * f - 0x1.fffffcp-3f;
	p = p * f + 0x1.555554p-2f;
	TW_F z = f * f;
	TW_F y = k * 0x1.62e400p-1f + (f + (z * f * p - 0.5f * z + k * 0x1.7f7d1cp-20f));
	y = TW_SEL(x == TW_INF_F32, x, y);
	y = TW_SEL(x == 0.0f, TW_K(-TW_INF_F32), y);
	return TW_SEL(x >= 0.0f, y, TW_K(TW_NAN_F32));
}

/* Near 0 a polynomial, elsewhere 1 - 2/(e^(2x) + 1). */
TW_MATH TW_F
TW_N(tanh)(TW_F x)
{
	TW_F size = TW_N(abs)(x), z = x * x, r;
	TW_F p = z * 0x1.32a64ap-9f - 0x1.12bc4ep-7f;
	p = p * z + 0x1.64dbe2p-6f;
	p = p * z - 0x1.ba0bccp-5f;
	p = p * z + 0x1.1110f2p-3f;
	p = p * z - 0x1.555556p-2f;
	TW_F c = TW_SEL(size > 10.0f, TW_K(20.0f), size + size);
	TW_F k = TW_N(exp_reduce)(c, &r);
	TW_F e = (1.0f + (r + r * r * TW_N(exp_tail)(r))) * TW_N(power_of_two)(k);
	TW_F big = 1.0f - 2.0f / (e + 1.0f);
	return TW_N(copysign)(TW_SEL(size < 0.6f, size + size * z * p, big), x);
}

/* Below 0.9 a polynomial, elsewhere 1 - e^(-g(x)), g = -ln erfc. */
TW_MATH TW_F
TW_N(erf)(TW_F x)
{
	TW_F size = TW_N(abs)(x), z = x * x, r;
	TW_F p = z * -0x1.3ff4e0p-11f + 0x1.48a116p-8f;
	p = p * z - 0x1.b6c67ap-6f;
	p = p * z + 0x1.ce1e62p-4f;
	p = p * z - 0x1.8126fcp-2f;
	p = p * z + 0x1.06eba6p-3f;
	TW_F c = TW_SEL(size > 4.0f, TW_K(4.0f), size);
	TW_F g = c * -0x1.af7b4ep-20f + 0x1.7da1f2p-15f;
	g = g * c - 0x1.368250p-11f;
	g = g * c + 0x1.3694f4p-8f;
	g = g * c - 0x1.aff702p-6f;
	g = g * c + 0x1.c27efep-4f;
	g = g * c + 0x1.438bbcp-1f;
	g = g * c + 0x1.215334p+0f;
	g = g * c - 0x1.40c516p-12f;
	TW_F k = TW_N(exp_reduce)(-g, &r);
	TW_F e = (1.0f + (r + r * r * TW_N(exp_tail)(r))) * TW_N(power_of_two)(k);
	TW_F y = TW_SEL(size < 0.9f, size + size * p, 1.0f - e);
	return TW_N(copysign)(TW_SEL(x != x, x, y), x);
}

#define TW_HALF(name) TW_JOIN(name, f64, TW_HALF_X)
#if TW_LANES == 0
#define TW_BY_F64(name) \
	TW_MATH TW_F TW_N(name)(TW_F x) { return (tw_f32)TW_HALF(name)((tw_f64)x); }
TW_MATH TW_F
TW_N(pow)(TW_F x, TW_F y)
{
	return (tw_f32)tw_pow_f64((tw_f64)x, (tw_f64)y);
}
#else
#define TW_D TW_TYPE(f64, TW_HALF_X)
#define TW_H TW_TYPE(f32, TW_HALF_X)
TW_FN TW_D
TW_N(widen)(TW_F x, int from)
{
#if TW_LANES == 4 /* two floats are less than a vector of any machine */
	return (TW_D){(tw_f64)x[from], (tw_f64)x[from + 1]};
#else
	TW_H half;
	for (int i = 0; i < TW_LANES / 2; i++)
		half[i] = x[from + i];
	return __builtin_convertvector(half, TW_D);
#endif
}

TW_FN TW_F
TW_N(narrow)(TW_D a, TW_D b)
{
#if TW_LANES == 4
	return (TW_F){(tw_f32)a[0], (tw_f32)a[1], (tw_f32)b[0], (tw_f32)b[1]};
#else
	TW_H low = __builtin_convertvector(a, TW_H), high = __builtin_convertvector(b, TW_H);
	TW_F both;
	for (int i = 0; i < TW_LANES / 2; i++) {
		both[i] = low[i];
		both[TW_LANES / 2 + i] = high[i];
	}
	return both;
#endif
}

#define TW_BY_F64(name) \
	TW_MATH TW_F TW_N(name)(TW_F x) \
	{ \
		return TW_N(narrow)(TW_HALF(name)(TW_N(widen)(x, 0)), \
		                    TW_HALF(name)(TW_N(widen)(x, TW_LANES / 2))); \
	}
TW_MATH TW_F
TW_N(pow)(TW_F x, TW_F y)
{
	const int half = TW_LANES / 2;
	return TW_N(narrow)(TW_HALF(pow)(TW_N(widen)(x, 0), TW_N(widen)(y, 0)),
	                    TW_HALF(pow)(TW_N(widen)(x, half), TW_N(widen)(y, half)));
}
#endif

TW_BY_F64(log1p)
TW_BY_F64(expm1)
TW_BY_F64(sin)
TW_BY_F64(cos)
TW_BY_F64(tan)
TW_BY_F64(asin)
TW_BY_F64(acos)
TW_BY_F64(atan)
TW_BY_F64(sinh)
TW_BY_F64(cosh)
TW_BY_F64(asinh)
TW_BY_F64(acosh)
TW_BY_F64(atanh)

#undef TW_BY_F64
#undef TW_HALF
#undef TW_D
#undef TW_H
