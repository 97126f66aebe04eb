#!/usr/bin/env python3
"""Coefficients of the polynomials in src/expr/prelude/ (needs mpmath; a development tool).

Each row: a function g on [a, b] and a degree; the polynomial interpolates g at Chebyshev nodes,
which is within a small factor of the best one. Printed as C hex literals with the largest
error, absolute and as bits. The texts multiply g by a known power of the argument, so the error
that counts is smaller by that factor.
"""
from mpmath import mp, mpf, exp, log, sin, cos, atan, asin, erf, erfc, pi, sqrt, tanh, chebyt, cos as mcos
import struct, sys

mp.prec = 400


def to_float(v, bits):
    if bits == 64:
        return float(v)
    return struct.unpack("f", struct.pack("f", float(v)))[0]


def literal(v, bits):
    v = to_float(v, bits)
    return v.hex() + ("f" if bits == 32 else "")


def fit(name, g, a, b, degree, bits):
    a, b = mpf(a), mpf(b)
    n = degree + 1
    nodes = [(a + b) / 2 + (b - a) / 2 * mcos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    vals = [g(t) for t in nodes]
    mat = mp.matrix(n, n)
    for i, t in enumerate(nodes):
        for j in range(n):
            mat[i, j] = t ** j
    coef = list(mp.lu_solve(mat, mp.matrix(vals)))
    used = [mpf(to_float(c, bits)) for c in coef]
    worst = mpf(0)
    for i in range(400):
        t = a + (b - a) * (mpf(i) + mpf(1) / 3) / 400
        p = mpf(0)
        for c in reversed(used):
            p = p * t + c
        worst = max(worst, abs(p - g(t)))
    print(f"{name} (degree {degree}, error 2^{float(log(worst, 2)):.1f}):")
    print("   ", ", ".join(literal(c, bits) for c in coef))


def split(name, v, bits, drop, parts):
    out = []
    for k in range(parts):
        f = to_float(v, bits)
        if k < parts - 1 and drop:
            if bits == 64:
                u = struct.unpack("Q", struct.pack("d", f))[0]
                f = struct.unpack("d", struct.pack("Q", u >> drop << drop))[0]
            else:
                u = struct.unpack("I", struct.pack("f", f))[0]
                f = struct.unpack("f", struct.pack("I", u >> drop << drop))[0]
        out.append(f.hex())
        v = v - mpf(f)
    print(name, ", ".join(out))


def series(f, c, n):  # g(z) = sum c(i) z^i, accurate near 0
    return lambda z: sum((c(i) * z ** i for i in range(n)), mpf(0))


def main():
    fac = mp.factorial
    L2 = log(mpf(2)) / 2 * mpf("1.01")
    q = series(None, lambda i: 1 / fac(i + 2), 60)          # (e^r - 1 - r) / r^2
    fit("exp q(r) f64", q, -L2, L2, 10, 64)
    fit("exp q(r) f32", q, -L2, L2, 4, 32)
    fit("log Q(z) f64: (2 atanh s - 2s - 2/3 s^3)/s^5", series(None, lambda i: mpf(2) / (2 * i + 5), 80), 0, mpf("0.0296"), 9, 64)
    g = lambda f: series(None, lambda i: (-1) ** i / mpf(i + 3), 900)(f) if abs(f) < mpf("0.3") else (log(1 + f) - f + f * f / 2) / f ** 3
    fit("log P(f) f32: (log1p f - f + f^2/2)/f^3", g, sqrt(mpf("0.5")) - 1 - mpf("1e-3"), sqrt(mpf(2)) - 1 + mpf("1e-3"), 8, 32)
    P4 = (pi / 4 * mpf("1.01")) ** 2
    fit("sin S(z) f64", series(None, lambda i: (-1) ** (i + 1) / fac(2 * i + 3), 40), 0, P4, 6, 64)
    fit("cos C(z) f64", series(None, lambda i: (-1) ** i / fac(2 * i + 4), 40), 0, P4, 6, 64)
    fit("atan P(z) f64", series(None, lambda i: (-1) ** (i + 1) / mpf(2 * i + 3), 300), 0, mpf("0.1718"), 11, 64)
    ac = lambda i: mp.binomial(2 * i + 2, i + 1) / mpf(4) ** (i + 1) / (2 * i + 3)
    fit("asin P(z) f64", series(None, ac, 300), 0, mpf("0.2501"), 12, 64)
    ec = lambda i: 2 / sqrt(pi) * (-1) ** i / fac(i) / (2 * i + 1)
    fit("erf E(z) f64 on [0,1]: erf x / x - 1", lambda z: series(None, ec, 90)(z) - 1, 0, mpf("1.001"), 12, 64)
    fit("erf E(z) f32 on [0,1]: erf x / x - 1", lambda z: series(None, ec, 90)(z) - 1, 0, mpf("0.81"), 5, 32)
    for deg in (13, 15, 17):
        c = mpf(3)
        # t = (x - c) / (x + c) on [1, 6.2]
        fit(f"erfc(x) exp(x^2) in t, f64, c={c}", lambda t: erfc(c * (1 + t) / (1 - t)) * exp((c * (1 + t) / (1 - t)) ** 2), (1 - c) / (1 + c), (mpf("6.2") - c) / (mpf("6.2") + c), deg, 64)
    for deg in (6, 7, 8):
        fit("-log erfc(x) on [0.9, 4.1] f32", lambda x: -log(erfc(x)), mpf("0.89"), mpf("4.1"), deg, 32)
    def gt(z):
        x = sqrt(z)
        return (tanh(x) - x) / x ** 3
    fit("tanh T(z) f32 on [0,0.6]", gt, mpf("1e-9"), mpf("0.61") ** 2, 4, 32)
    fit("tanh T(z) f32 on [0,0.6]", gt, mpf("1e-9"), mpf("0.61") ** 2, 5, 32)
    ln2 = log(mpf(2))
    split("ln2 f64 (42 bits)", ln2, 64, 11, 2)
    split("ln2 f64 (41 bits)", ln2, 64, 12, 2)
    split("ln2 f32 (15 bits)", ln2, 32, 9, 2)
    split("pi/2 f64, 33 bits", pi / 2, 64, 20, 4)
    split("pi/2 f64 full", pi / 2, 64, 0, 2)
    split("pi f64 full", pi, 64, 0, 2)
    split("pi/4 f64 full", pi / 4, 64, 0, 2)
    split("2/3", mpf(2) / 3, 64, 0, 2)
    print("log2e", float(1 / ln2).hex(), to_float(1 / ln2, 32).hex(), "2/pi", float(2 / pi).hex(), "2/sqrtpi", float(2/sqrt(pi)).hex(), to_float(2/sqrt(pi),32).hex())
    print("sqrt(.5) bits", hex(struct.unpack("Q", struct.pack("d", float(sqrt(mpf("0.5")))))[0]), hex(struct.unpack("I", struct.pack("f", to_float(sqrt(mpf("0.5")), 32)))[0]))
    mp.prec = 1600
    v = int(mp.floor(2 / pi * mpf(2) ** (64 * 20)))
    print("2/pi bits, 64 zeros in front:", ", ".join("0x%016x" % ((v >> (64 * (19 - i))) & (2 ** 64 - 1)) for i in range(20)))


main()
