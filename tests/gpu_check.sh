#!/bin/sh
# usage: tests/gpu_check.sh
#
# bench/gpu/check, which is for machines with a GPU, on what stands for CUDA's runtime (tests/standin):
# that it finds all as it should be, that it says so where something is not, and what it packs.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common

plain_only "what a check says of a device that is none"
want c++
build=$(realpath "${BUILD:-build}")
LD_LIBRARY_PATH=$build/test/standin:$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# A bundle for the test device, as one for a GPU
cat >"$tmp/bundle" <<EOT
#!/bin/sh
"$tw" compile -q --target test:sm_90 --prove none -o "\$1.test" "\$2" &&
	"$build/test/amend" "\$1.test" "\$1" target cuda:sm_90 "sm_90, driver 12.8"
EOT
chmod +x "$tmp/bundle"

check() {
	env BACKEND=cuda: TARGET=test:sm_90 GPU_BUNDLE="$tmp/bundle" CASES="test_add*" MODELS=bert-tiny "$@" \
		bench/gpu/check -q "$tmp/out" >"$tmp/said" 2>&1
}

wanted="smoke model"
[ -z "$ONNX_TESTDATA" ] || wanted="smoke cases model"
check
code=$?
for part in $wanted; do
	grep -q "^$part .* ok " "$tmp/said" && grep -q "\"part\": \"$part\".*\"ok\": true" "$tmp/out/check.json" &&
		pass || lose "$part: $(cat "$tmp/said")"
done
[ -z "$ONNX_TESTDATA" ] || { [ $code = 0 ] && pass || lose "exit code $code: $(cat "$tmp/said")"; }
check STANDIN_FAIL=40:700 && lose "a device that fails is found good" || pass
grep -q "^smoke .* BAD .*CUDA" "$tmp/said" && pass || lose "of a device that fails: $(cat "$tmp/said")"

ONNX_TESTDATA='' bench/gpu/check pack "$tmp/pack.tar.xz" >"$tmp/said" 2>&1 && [ "$(wc -c <"$tmp/pack.tar.xz")" -lt 60000000 ] &&
	tar -tJf "$tmp/pack.tar.xz" | grep -q '^./build/libtilewright_cuda.so$' && pass || lose "pack: $(cat "$tmp/said")"
finish
