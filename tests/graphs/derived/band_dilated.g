# The band of a product of matrices with gaps, and its phases as a batch without.
graph band_dilated(%q: f32[3,12,5], %k: f32[3,12,5]) -> %y, %z {
  %y = Expression(%q, %k) {expr="expr band(Q: f32[B,M,K], R: f32[B,M,K]) -> Y {\n  Y[b:B, m:M, w:5]: f32 = sum(k:K where 0 <= m+2*w-4, m+2*w-4 < M) Q[b, m, k] * R[b, m+2*w-4, k]\n}\n"}  "band"
  %z = Expression(%q, %k) {expr="expr phases(Q: f32[B,2*M,K], R: f32[B,2*M,K]) -> Y {\n  Q2[b:B, j:2, i:M, k:K]: f32 = Q[b, 2*i+j, k]\n  R2[b:B, j:2, i:M, k:K]: f32 = R[b, 2*i+j, k]\n  T[b:B, j:2, i:M, w:5]: f32 = sum(k:K where 0 <= i+w-2, i+w-2 < M) Q2[b, j, i, k] * R2[b, j, i+w-2, k]\n  Y[b:B, m:2*M, w:5]: f32 = T[b, m%2, m/2, w]\n}\n"}  "derived"
}
