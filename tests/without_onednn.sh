#!/bin/sh
# A machine without oneDNN: what is built says so, compile says why it calls no vendor, and a bundle
# made elsewhere runs its fallback kernels, says that too, and gives what its maker saw.
#
# It is hidden by files of its names that are no libraries, found first.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="without oneDNN: "

want oneDNN

mkdir "$tmp/none"
for version in 2 3 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15; do
	echo "no library" >"$tmp/none/libdnnl.so.$version"
done
without() { LD_LIBRARY_PATH="$tmp/none:$LD_LIBRARY_PATH" "$@" 2>&1; }
reason='oneDNN (libdnnl.so.3 or libdnnl.so.2) is not installed'

"$zoo" squeezenet -o "$tmp/m.onnx" || exit 1
"$tw" compile -q "$tmp/m.onnx" -o "$tmp/with.twb" || lose "compile with it"
"$tw" inspect "$tmp/with.twb" | grep -q ' vendor ' && pass || lose "nothing in the bundle to do without"

without "$tw" --version | grep -q "^backends: cpu; ${reason}[,;]" && pass || lose "--version"
without "$tw" compile "$tmp/m.onnx" -o "$tmp/without.twb" >"$tmp/said"
grep -qx "no vendor calls: $reason" "$tmp/said" && pass || lose "compile says: $(cat "$tmp/said")"
"$tw" run -q --self-test "$tmp/without.twb" && pass || lose "a bundle that calls no vendor"
without "$tw" run --self-test "$tmp/with.twb" >"$tmp/said"
grep -qx "note: $reason: fallback kernels are used" "$tmp/said" && pass || lose "run says: $(cat "$tmp/said")"
grep -q '^self-test: 1 output agrees' "$tmp/said" && pass || lose "self-test: $(cat "$tmp/said")"

finish
