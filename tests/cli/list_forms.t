# What matchers look for: calls of libraries, and forms of which kernels are emitted.
-- args
list forms
-- out
form    by           expression
conv    onednn       Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, s#*p# + d#*r# - l#] * W[f, c, r#]
pool    onednn       Y[n?, c, p#] = max(r#) X[n?, c, s#*p# + d#*r# - l#]
pool    onednn       Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + d#*r# - l#]
matmul  onednn       Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
g2bmm   our kernels  Y[b#, m, w] = sum(k) A[b#, m, k] * B[b#, m + d*w - l, k]
gbmm    our kernels  Y[b#, m, n] = sum(w) A[b#, m, w] * B[b#, m + d*w - l, n]
