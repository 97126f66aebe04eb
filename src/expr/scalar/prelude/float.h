/* Prelude 5: the simple operations of floats: exact, so lanes and scalars agree by nature. */

TW_FN TW_F
TW_N(abs)(TW_F x)
{
	return TW_FLOAT(TW_BITS(x) & ~TW_SIGN_BIT);
}

TW_FN TW_F
TW_N(neg)(TW_F x)
{
	return TW_FLOAT(TW_BITS(x) ^ TW_SIGN_BIT);
}

TW_FN TW_F
TW_N(copysign)(TW_F size, TW_F sign)
{
	return TW_FLOAT((TW_BITS(size) & ~TW_SIGN_BIT) | (TW_BITS(sign) & TW_SIGN_BIT));
}

TW_FN TW_M
TW_N(isnan)(TW_F x)
{
	return x != x;
}

TW_FN TW_M
TW_N(isinf)(TW_F x)
{
	return (TW_BITS(x) & ~TW_SIGN_BIT) == TW_INF_BITS;
}

/* x + 0 keeps NaN a NaN and makes a zero of either sign positive. */
TW_FN TW_F
TW_N(sign)(TW_F x)
{
	return TW_SEL(x > TW_C(0.0), TW_K(TW_C(1.0)),
	              TW_SEL(x < TW_C(0.0), TW_K(TW_C(-1.0)), x + TW_C(0.0)));
}

/* Equal values may be zeros of different sign: the bits decide. NaN: the sum is NaN. */
TW_FN TW_F
TW_N(min)(TW_F a, TW_F b)
{
	TW_F equal = TW_FLOAT(TW_BITS(a) | TW_BITS(b));
	return TW_SEL(a < b, a, TW_SEL(b < a, b, TW_SEL(a == b, equal, a + b)));
}

TW_FN TW_F
TW_N(max)(TW_F a, TW_F b)
{
	TW_F equal = TW_FLOAT(TW_BITS(a) & TW_BITS(b));
	return TW_SEL(a > b, a, TW_SEL(b > a, b, TW_SEL(a == b, equal, a + b)));
}

#ifdef TW_TO_WHOLE
TW_FN TW_F TW_N(round)(TW_F x) { return TW_TO_WHOLE(x, 8); }
TW_FN TW_F TW_N(floor)(TW_F x) { return TW_TO_WHOLE(x, 9); }
TW_FN TW_F TW_N(ceil)(TW_F x) { return TW_TO_WHOLE(x, 10); }
TW_FN TW_F TW_N(trunc)(TW_F x) { return TW_TO_WHOLE(x, 11); }
#else
/* Adding 2^52 (2^23) leaves no fraction bits: the addition itself rounds half to even. */
TW_FN TW_F
TW_N(round)(TW_F x)
{
	TW_F size = TW_N(abs)(x);
	TW_F whole = (size + TW_WHOLE) - TW_WHOLE;
	return TW_SEL(size < TW_WHOLE, TW_N(copysign)(whole, x), x);
}

TW_FN TW_F
TW_N(floor)(TW_F x)
{
	TW_F near = TW_N(round)(x);
	return TW_SEL(near > x, TW_N(copysign)(near - TW_C(1.0), x), near);
}

TW_FN TW_F
TW_N(ceil)(TW_F x)
{
	TW_F near = TW_N(round)(x);
	return TW_SEL(near < x, TW_N(copysign)(near + TW_C(1.0), x), near);
}

TW_FN TW_F
TW_N(trunc)(TW_F x)
{
	return TW_N(copysign)(TW_N(floor)(TW_N(abs)(x)), x);
}
#endif

/* One machine instruction; callers compile with -fno-math-errno, so that nothing is called. */
TW_FN TW_F
TW_N(sqrt)(TW_F x)
{
#if TW_LANES == 0
#if TW_WIDTH == 64
	return __builtin_sqrt(x);
#else
	return __builtin_sqrtf(x);
#endif
#else
	TW_F y;
	for (int i = 0; i < TW_LANES; i++)
#if TW_WIDTH == 64
		y[i] = __builtin_sqrt(x[i]);
#else
		y[i] = __builtin_sqrtf(x[i]);
#endif
	return y;
#endif
}

/* Remainder with the sign of x, exact (C's fmod): long division of the significands, bit by bit. */
#if TW_LANES == 0
TW_SLOW TW_F
TW_N(rem)(TW_F x, TW_F y)
{
	const int digits = TW_WIDTH == 64 ? 52 : 23;
	TW_U sign = TW_BITS(x) & TW_SIGN_BIT, a = TW_BITS(x) ^ sign, b = TW_BITS(y) & ~TW_SIGN_BIT;
	if (b == 0 || b > TW_INF_BITS || a >= TW_INF_BITS)
		return (x * y) / (x * y);
	if (a < b)
		return x;
	int ea = (int)(a >> digits), eb = (int)(b >> digits);
	TW_U hidden = (TW_U)1 << digits;
	TW_U ma = ea ? (a & (hidden - 1)) | hidden : a, mb = eb ? (b & (hidden - 1)) | hidden : b;
	ea += ea == 0;
	eb += eb == 0;
	for (; ma < hidden; ea--)
		ma <<= 1;
	for (; mb < hidden; eb--)
		mb <<= 1;
	for (; ea > eb; ea--)
		ma = (ma >= mb ? ma - mb : ma) << 1;
	ma = ma >= mb ? ma - mb : ma;
	for (; ma && ma < hidden; ea--)
		ma <<= 1;
	TW_U bits = ea < 1 ? ma >> (1 - ea) : ma ? ((TW_U)ea << digits) + (ma - hidden) : 0;
	return TW_FLOAT(bits | sign);
}
#else
TW_FN TW_F
TW_N(rem)(TW_F x, TW_F y)
{
	TW_F r;
	for (int i = 0; i < TW_LANES; i++)
#if TW_WIDTH == 64
		r[i] = tw_rem_f64(x[i], y[i]);
#else
		r[i] = tw_rem_f32(x[i], y[i]);
#endif
	return r;
}
#endif
