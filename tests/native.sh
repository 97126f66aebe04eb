#!/bin/sh
# The row that "cpu:native" is (driver/measure/native.h): from -O3 on it is measured once, choices.jsonl
# says it, and --choices takes it. A folder of answers may hold anything.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="cpu:native: "
export XDG_CACHE_HOME="$tmp/cache"
cat >"$tmp/m.txt" <<'END'
graph g(%x: f32[8,64]) -> %y {
  %w: f32[64,64] = weight 0
  %y = MatMul(%x, %w)
}
END
row_of() { # row_of OPTION...
	rm -rf "$tmp/parts"
	"$tw" compile -q --no-vendor --tune none --keep "$tmp/parts" "$@" "$tmp/m.txt" -o "$tmp/m.twb" 2>"$tmp/err" ||
		lose "$*: $(cat "$tmp/err")"
	sed -n '1s/.*"row": \({.*}\)}$/\1/p' "$tmp/parts/choices.jsonl" 2>/dev/null
}

first=$(row_of)
case $first in
'{"device": "cpu:'*'"gflops": '*'"bf16": '*'"bandwidth": '*'"l1": '*'"l2_ways": '*) pass ;;
*) lose "choices.jsonl has no row: $first" ;;
esac
cp "$tmp/m.twb" "$tmp/first.twb"
[ "$(row_of)" = "$first" ] && cmp -s "$tmp/m.twb" "$tmp/first.twb" && pass || lose "again it is another"
[ -z "$(row_of -O2)" ] && [ -z "$(row_of --target cpu:x86-64-v3)" ] && pass ||
	lose "a row where nothing is measured"

# Of a file it is taken as it stands, and said again.
mine=$(echo "$first" | sed 's/"l2": [0-9]*/"l2": 524288/')
printf '{"choices": 2, "row": %s}\n' "$mine" >"$tmp/mine"
[ "$(row_of --choices "$tmp/mine")" = "$mine" ] && pass || lose "--choices: another row than the file's"
printf '{"choices": 2}\n' >"$tmp/old"
[ "$(row_of --choices "$tmp/old")" = "$first" ] && pass || lose "--choices without a row"
"$tw" print --lower --no-vendor --choices "$tmp/mine" "$tmp/m.txt" >"$tmp/out" 2>&1 && pass ||
	lose "print: $(cat "$tmp/out")"

# Products of bf16 that are no faster than those of f32 are done in f32 (WidenHalves).
cat >"$tmp/bf16.txt" <<'END'
graph g(%x: bf16[8,64]) -> %y {
  %w: bf16[64,64] = weight 0
  %y = MatMul(%x, %w)
}
END
widened() { # widened BF16: how often it widens with such a row of this machine
	printf '{"choices": 2, "row": %s}\n' "$(echo "$first" | sed 's/"gflops": [0-9.]*, "bf16": [0-9.]*/"gflops": 176, "bf16": '"$1/")" >"$tmp/rates"
	"$tw" compile -q --no-vendor --tune none --prove none --choices "$tmp/rates" "$tmp/bf16.txt" -o "$tmp/b.twb" &&
		unzip -p "$tmp/b.twb" history.jsonl | grep -c '"WidenHalves"'
}
case $first in
*'"bf16": 0,'*) pass ;;
*) [ "$(widened 176)" = 1 ] && [ "$(widened 249)" = 0 ] && pass || lose "bf16 at f32's rate: $(widened 176), faster: $(widened 249)" ;;
esac

for row in '{}' '""' 'null' '{"device": "cpu:none"}' "$(echo "$first" | sed 's/"l1": [0-9]*/"l1": -1/')"; do
	printf '{"choices": 2, "row": %s}\n' "$row" >"$tmp/hostile"
	[ "$(row_of --choices "$tmp/hostile")" = "$first" ] && pass || lose "a row of nobody: $row"
done

# As in the cache: a file of it is a miss where it is damaged, and is measured anew.
grep -rlaF '"l1_ways"' "$tmp/cache" >"$tmp/files"
[ -s "$tmp/files" ] && pass || lose "the row is not kept"
while read -r file; do
	sed 's/"gflops": [0-9]/"gflops": 9999999/' "$file" >"$tmp/damaged" && cp "$tmp/damaged" "$file"
done <"$tmp/files"
case $(row_of) in
*'"gflops": 9999999'*) lose "a damaged row is taken" ;;
'{"device": '*) pass ;;
*) lose "no row behind a damaged one" ;;
esac
finish
