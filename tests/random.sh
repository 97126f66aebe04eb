#!/bin/sh
# usage: tests/random.sh [COUNT [SEED]]     random cases of the awkward operators, 10 of each
#
# Compiled, interpreted and (where it is installed) ONNX Runtime must agree: tests/random/main.c.
# `make soak` asks for 200 of each. DEVICE: another one than this machine's CPU, as test:sm_90.
. tests/common
random=${BUILD:-build}/test/random
[ -x "$random" ] || { echo "there is no $random"; exit 1; }

cat >"$tmp/one" <<'SCRIPT'
"$1" "$4" "$2" "$3" >"$5/$4" 2>"$5/$4.err"
rc=$?
[ $rc -le 1 ] || { echo "FAIL random $4: exit code $rc"; tail -n 5 "$5/$4.err"; echo "0 passed, 1 failed, 0 skipped"; } >>"$5/$4"
SCRIPT
operators=$(sed -n 's/^TRIAL(\([A-Za-z]*\),.*/\1/p' tests/random/operators.def)
for operator in $operators; do
	echo "$operator"
done | xargs -P "${JOBS:-2}" -I{} sh "$tmp/one" "$random" "${1:-10}" "${2:-1}" {} "$tmp"

for operator in $operators; do
	cat "$tmp/$operator"
done | awk '
	/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5; next }
	{ print }
	END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }'
