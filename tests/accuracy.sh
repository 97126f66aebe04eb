#!/bin/sh
# --accuracy strict: no algorithm of a library and no derived program that rounds more than a plain sum,
# whatever is faster here; the bundle says that it was made so.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="accuracy: "
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache"

# A convolution for which Winograd's way is the faster one on most machines.
cat >m.g <<'TEXT'
graph m(%x: f32[1,64,28,28]) -> %y {
  %w: f32[64,64,3,3] = weight 0
  %y = Conv(%x, %w) {pads=[1,1,1,1]}
}
TEXT
"$tw" optimize -q -O0 m.g m.onnx || lose "the model"
for how in usual strict; do
	"$tw" compile -q --tune none --config DeriveExpressions.promising=10000 --accuracy $how m.onnx -o $how.twb --keep $how 2>err && pass || lose "$how: $(cat err)"
done
grep -q bilinear usual/choices.jsonl && pass || lose "no way is known: $(cat usual/choices.jsonl)"
! grep -q 'bilinear\|winograd' strict/choices.jsonl && pass || lose "strict: $(cat strict/choices.jsonl)"
"$tw" inspect usual.twb | grep -qx 'pipeline *O3' && "$tw" inspect strict.twb | grep -qx 'pipeline *O3,strict' &&
	pass || lose "pipelines: $("$tw" inspect usual.twb strict.twb)"

# As a subject, the pipeline that the bundle names.
"$tw" compare --rounds 0 m.onnx@strict strict.twb >out 2>err && grep -q ' 0.0e+00\|0 *0 *0' out && pass ||
	lose "the subject @strict: $(cat out err)"
"$tw" compile -q --accuracy most m.onnx -o m.twb 2>err
[ $? = 2 ] && grep -q -e "--accuracy: expected usual|strict, saw 'most'" err && pass || lose "$(cat err)"
finish
