#!/bin/sh
# Kernels of bytes for Arm: made by a cross compiler, and their dot products, of bytes at both ends
# of their ranges and by chance, run under qemu beside the definition.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
plain_only texts
about="aarch64 "
cc=aarch64-linux-gnu-gcc
want aarch64
cat >"$tmp/m.g" <<'G'
graph products(%x: u8[8,64], %z: i8[8,64]) -> %y, %t {
  %w: i8[64,32] = weight 0
  %y = MatMulInteger(%x, %w)
  %t = MatMulInteger(%z, %w)
}
G
cat >"$tmp/main.c" <<'C'
#include <stdio.h>
static unsigned next(void)
{
	static unsigned long s = 1;
	return (unsigned)((s = s * 6364136223846793005u + 1442695040888963407u) >> 33);
}
static int byte(void)
{
	static const int ends[] = {0, 1, 127, 128, 254, 255};
	return next() % 2 ? ends[next() % 6] : next() % 256;
}
int main(void)
{
	for (int n = 0; n < 20000; n++) {
		tw_u32x4 a, b;
		tw_i32x4 sum, us, ss;
		for (int i = 0; i < 4; i++) {
			a[i] = b[i] = 0, sum[i] = us[i] = ss[i] = (int)next();
			for (int k = 0; k < 4; k++) {
				unsigned x = byte(), y = byte();
				a[i] |= x << 8 * k, b[i] |= y << 8 * k;
				us[i] = (int)((unsigned)us[i] + x * (unsigned)(signed char)y);
				ss[i] = (int)((unsigned)ss[i] + (unsigned)((signed char)x * (signed char)y));
			}
		}
		tw_i32x4 u = tw_dotus_add_u32x4(sum, a, b), s = tw_dotss_add_u32x4(sum, a, b);
		for (int i = 0; i < 4; i++)
			if (u[i] != us[i] || s[i] != ss[i])
				return printf("case %d: %d, not %d; %d, not %d\n", n, u[i], us[i], s[i], ss[i]), 1;
	}
	return 0;
}
C
for row in aarch64:armv8-a:0 aarch64-dot:armv8.2-a+dotprod:1; do
	IFS=: read -r device march wanted <<EOF
$row
EOF
	"$tw" print -O3 --c --no-vendor --target "cpu:$device" "$tmp/m.g" >"$tmp/k.c" ||
		lose "$device: print"
	cat "$tmp/main.c" >>"$tmp/k.c"
	$cc -std=gnu11 -O2 -fno-math-errno -march="$march" -static "$tmp/k.c" -o "$tmp/k" 2>"$tmp/err" ||
		{ lose "$device: $(cat "$tmp/err")"; continue; }
	if qemu-aarch64 "$tmp/k" >"$tmp/out"; then pass; else lose "$device: $(cat "$tmp/out")"; fi
	has=$(aarch64-linux-gnu-objdump -d "$tmp/k" | grep -c -w sdot)
	if [ $((has > 0)) = "$wanted" ]; then pass; else lose "$device: $has sdot"; fi
	CC=$cc "$tw" compile -q --prove none --tune none --no-vendor --target "cpu:$device" "$tmp/m.g" \
		-o "$tmp/m.twb" 2>"$tmp/err" && pass || lose "$device: a bundle: $(cat "$tmp/err")"
done
finish
