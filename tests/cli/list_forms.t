# What matchers look for: calls of libraries, and forms of which kernels are emitted.
-- args
list forms
-- out
form            by           types                                             expression
conv            onednn       f32                                               Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, s#*p# + d#*r# - l#] * W[f, c, r#]
conv            onednn       u8|i8, i8, in i32, f32|u8|i8|i32                  Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, s#*p# + d#*r# - l#] * W[f, c, r#]
conv            onednn       bf16, bf16, in f32, bf16|f32                      Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, s#*p# + d#*r# - l#] * W[f, c, r#]
pool            onednn       f32                                               Y[n?, c, p#] = max(r#) X[n?, c, s#*p# + d#*r# - l#]
pool            onednn       f32                                               Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + d#*r# - l#], then x / TAPS
matmul          onednn       f32                                               Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
matmul          onednn       bf16, bf16, in f32, bf16|f32                      Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
matmul          onednn       u8|i8, i8, in i32, f32|u8|i8|i32                  Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
g2bmm           our kernels  f32                                               Y[b#, m, w] = sum(k) A[b#, m, k] * B[b#, m + d*w - l, k]
gbmm            our kernels  f32                                               Y[b#, m, n] = sum(w) A[b#, m, w] * B[b#, m + d*w - l, n]
conv            cudnn        f32                                               Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, s#*p# + d#*r# - l#] * W[f, c, r#]
conv            cudnn        f16, f16, in f32, f16                             Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, s#*p# + d#*r# - l#] * W[f, c, r#]
conv            cudnn        bf16, bf16, in f32, bf16                          Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, s#*p# + d#*r# - l#] * W[f, c, r#]
conv_transpose  cudnn        f32                                               Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, (p# - d#*r# + l#)/s#] * W[c + f/(F/g)*C, f%(F/g), r#]
conv_transpose  cudnn        f16, f16, in f32, f16                             Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, (p# - d#*r# + l#)/s#] * W[c + f/(F/g)*C, f%(F/g), r#]
conv_transpose  cudnn        bf16, bf16, in f32, bf16                          Y[n?, f, p#] = sum(c, r#) X[n?, c + f/(F/g)*C, (p# - d#*r# + l#)/s#] * W[c + f/(F/g)*C, f%(F/g), r#]
pool            cudnn        f32                                               Y[n?, c, p#] = max(r#) X[n?, c, s#*p# + r# - l#]
pool            cudnn        f16                                               Y[n?, c, p#] = max(r#) X[n?, c, s#*p# + r# - l#]
pool            cudnn        bf16                                              Y[n?, c, p#] = max(r#) X[n?, c, s#*p# + r# - l#]
pool            cudnn        f32                                               Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + r# - l#], then x / TAPS
pool            cudnn        f16, f16, in f32, f16                             Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + r# - l#], then x / TAPS
pool            cudnn        bf16, bf16, in f32, bf16                          Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + r# - l#], then x / TAPS
pool            cudnn        f32                                               Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + r# - l#], then x / TERMS
pool            cudnn        f16, f16, in f32, f16                             Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + r# - l#], then x / TERMS
pool            cudnn        bf16, bf16, in f32, bf16                          Y[n?, c, p#] = sum(r#) X[n?, c, s#*p# + r# - l#], then x / TERMS
matmul          cublaslt     f32                                               Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
matmul          cublaslt     f16, f16, in f32, f16|f32                         Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
matmul          cublaslt     bf16, bf16, in f32, bf16|f32                      Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
matmul          cudnn        f16, f16, in f32, f16                             Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
matmul          cudnn        bf16, bf16, in f32, bf16                          Y[b#, m, n] = sum(k) A[~b#, m, k] * B[~b#, k, n]
attention       cudnn        f16|bf16, f16|bf16, in f32, f16|bf16              expr attention(q: f32[B0,B1,M,D], k: f32[B0,B1,N,D], v: f32[B0,B1,N,E], a: f32[]) -> y { s[b:B0,h:B1,i:M,j:N]: f32 = sum(d:D) q[b,h,i,d] * k[b,h,j,d] x[b:B0,h:B1,i:M,j:N]: f32 = s[b,h,i,j] * a[] m[b:B0,h:B1,i:M]: f32 = max(j:N) x[b,h,i,j] p[b:B0,h:B1,i:M,j:N]: f32 = exp(x[b,h,i,j] - m[b,h,i]) l[b:B0,h:B1,i:M]: f32 = sum(j:N) p[b,h,i,j] y[b:B0,h:B1,i:M,e:E]: f32 = sum(j:N) p[b,h,i,j] / l[b,h,i] * v[b,h,j,e] }
attention       cudnn        f16|bf16, f16|bf16, in f32, f16|bf16              expr attention(q: f32[B0,B1,M,D], k: f32[B0,B1,N,D], v: f32[B0,B1,N,E], z: f32[B0,B1,M,N], a: f32[]) -> y { s[b:B0,h:B1,i:M,j:N]: f32 = sum(d:D) q[b,h,i,d] * k[b,h,j,d] x[b:B0,h:B1,i:M,j:N]: f32 = s[b,h,i,j] * a[] + z[b,h,i,j] m[b:B0,h:B1,i:M]: f32 = max(j:N) x[b,h,i,j] p[b:B0,h:B1,i:M,j:N]: f32 = exp(x[b,h,i,j] - m[b,h,i]) l[b:B0,h:B1,i:M]: f32 = sum(j:N) p[b,h,i,j] y[b:B0,h:B1,i:M,e:E]: f32 = sum(j:N) p[b,h,i,j] / l[b,h,i] * v[b,h,j,e] }
attention       cudnn        f16|bf16, f16|bf16, in f32, f16|bf16              expr attention(q: f32[B0,B1,M,D], k: f32[B0,B1,N,D], v: f32[B0,B1,N,E], z: f32[B0,B1,M,N], u: f32[B0,B1,M,N], a: f32[]) -> y { s[b:B0,h:B1,i:M,j:N]: f32 = sum(d:D) q[b,h,i,d] * k[b,h,j,d] x[b:B0,h:B1,i:M,j:N]: f32 = s[b,h,i,j] * a[] + z[b,h,i,j] + u[b,h,i,j] m[b:B0,h:B1,i:M]: f32 = max(j:N) x[b,h,i,j] p[b:B0,h:B1,i:M,j:N]: f32 = exp(x[b,h,i,j] - m[b,h,i]) l[b:B0,h:B1,i:M]: f32 = sum(j:N) p[b,h,i,j] y[b:B0,h:B1,i:M,e:E]: f32 = sum(j:N) p[b,h,i,j] / l[b,h,i] * v[b,h,j,e] }
layer_norm      cudnn        f32|f16|bf16, f32|f16|bf16, in f32, f32|f16|bf16  expr layer_norm(x: f32[B0,C], w: f32[C], z: f32[C], a: f32[]) -> y { s[i:B0]: f32 = sum(c:C) x[i,c] q[i:B0]: f32 = sum(c:C) (x[i,c] - s[i] / f32(C)) * (x[i,c] - s[i] / f32(C)) y[i:B0,c:C]: f32 = (x[i,c] - s[i] / f32(C)) / sqrt(q[i] / f32(C) + a[]) * w[c] + z[c] }
layer_norm      cudnn        f32|f16|bf16, f32|f16|bf16, in f32, f32|f16|bf16  expr layer_norm(x: f32[B0,C], w: f32[C], a: f32[]) -> y { s[i:B0]: f32 = sum(c:C) x[i,c] q[i:B0]: f32 = sum(c:C) (x[i,c] - s[i] / f32(C)) * (x[i,c] - s[i] / f32(C)) y[i:B0,c:C]: f32 = (x[i,c] - s[i] / f32(C)) / sqrt(q[i] / f32(C) + a[]) * w[c] }
rms_norm        cudnn        f32|f16|bf16, f32|f16|bf16, in f32, f32|f16|bf16  expr rms_norm(x: f32[B0,C], w: f32[C], a: f32[]) -> y { q[i:B0]: f32 = sum(c:C) x[i,c] * x[i,c] y[i:B0,c:C]: f32 = x[i,c] / sqrt(q[i] / f32(C) + a[]) * w[c] }
instance_norm   cudnn        f32                                               expr instance_norm(x: f32[B0,C,P], w: f32[C], z: f32[C], a: f32[]) -> y { s[i:B0,c:C]: f32 = sum(p:P) x[i,c,p] q[i:B0,c:C]: f32 = sum(p:P) (x[i,c,p] - s[i,c] / f32(P)) * (x[i,c,p] - s[i,c] / f32(P)) y[i:B0,c:C,p:P]: f32 = (x[i,c,p] - s[i,c] / f32(P)) / sqrt(q[i,c] / f32(P) + a[]) * w[c] + z[c] }
instance_norm   cudnn        f16|bf16, f32|f16|bf16, in f32, f16|bf16          expr instance_norm(x: f32[B0,C,P], w: f32[C], z: f32[C], a: f32[]) -> y { s[i:B0,c:C]: f32 = sum(p:P) x[i,c,p] q[i:B0,c:C]: f32 = sum(p:P) (x[i,c,p] - s[i,c] / f32(P)) * (x[i,c,p] - s[i,c] / f32(P)) y[i:B0,c:C,p:P]: f32 = (x[i,c,p] - s[i,c] / f32(P)) / sqrt(q[i,c] / f32(P) + a[]) * w[c] + z[c] }
