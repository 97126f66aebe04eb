#!/bin/sh
# Our kernels beside a library's calls (driver/measure/beside.c): the library of tests/library is slow
# on demand, loses in the whole model, and is denied; where it is trusted, replayed or not measured,
# it is not asked to race. And candidates of a kernel (driver/measure/tune.c): the device of tests/toy
# has a fast one behind its own.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="--tune: "
two=$BUILD/test/library
export XDG_CACHE_HOME="$tmp/cache" TOY_SLOW=2000
cat >"$tmp/m.txt" <<'END'
graph g(%a: u8[4,48], %c: bool) -> %p, %q {
  %b: u8[48,40] = weight 0
  %d: u8[48,24] = weight 1
  %p = MatMulInteger(%a, %b)  "bytes"
  %q = If(%c)  "if" then_branch {
    %r = MatMulInteger(%a, %d)  "then"
    yield %r
  } else_branch {
    %s = MatMulInteger(%a, %d)  "else"
    yield %s
  }
}
END

compile() { # compile OUTPUT OPTION...
	out=$1
	shift
	rm -rf "$tmp/parts"
	"$two" compile --disable FakeQuantizationToInteger --prove=require --keep "$tmp/parts" "$@" \
		"$tmp/m.txt" -o "$out" >"$tmp/out" 2>&1 &&
		pass || lose "$*: $(cat "$tmp/out")"
}

calls() { grep -o '"library": "toy"' "$tmp"/parts/plan/* | wc -l; }
denials() { grep -c '"deny vendor ' "$tmp/parts/choices.jsonl"; }

compile "$tmp/m.twb" -O3
[ "$(calls)" = 0 ] && pass || lose "a slow call stays: $(calls)"
[ "$(denials)" = 3 ] && pass || lose "denied: $(cat "$tmp/parts/choices.jsonl")"
grep -q 'measured: our kernels in the place of 3 library calls' "$tmp/out" && pass ||
	lose "it is not said: $(cat "$tmp/out")"
cp "$tmp/parts/choices.jsonl" "$tmp/choices"

compile "$tmp/again.twb" -O3
cmp -s "$tmp/m.twb" "$tmp/again.twb" && pass || lose "what is known already gives another bundle"
grep -q 'measured: our kernels' "$tmp/out" && lose "what is known is measured again" || pass
XDG_CACHE_HOME="$tmp/empty" compile "$tmp/replayed.twb" -O3 --choices "$tmp/choices"
cmp -s "$tmp/m.twb" "$tmp/replayed.twb" && pass || lose "replayed, the bundle is another"

compile "$tmp/none.twb" -O3 --tune none
[ "$(calls)" = 3 ] && pass || lose "--tune none: $(calls)"
compile "$tmp/two.twb" -O2
[ "$(calls)" = 3 ] && pass || lose "-O2 measures: $(calls)"

# One call is slow and another faster than our kernel: only the slow one is denied.
cat >"$tmp/m2.txt" <<'END'
graph g(%a: u8[4,48], %c: u8[64,1024]) -> %p, %q {
  %b: u8[48,40] = weight 0
  %d: u8[1024,64] = weight 1
  %p = MatMulInteger(%a, %b)  "slow"
  %q = MatMulInteger(%c, %d)  "fast"
}
END
TOY_SLOW=20000/40 "$two" compile -q --disable FakeQuantizationToInteger --prove=require -O3 \
	--keep "$tmp/parts" "$tmp/m2.txt" -o "$tmp/m2.twb" &&
	pass || lose "one slow call"
[ "$(denials)" = 1 ] && grep -q '"deny vendor p"' "$tmp/parts/choices.jsonl" && pass ||
	lose "one slow call, denied: $(cat "$tmp/parts/choices.jsonl")"
[ "$(calls)" = 1 ] && pass || lose "one slow call: $(calls) calls are left"

# A cache may hold anything.
for answer in 'ours:' 'ours:\nno tab\n' 'ours:\ndeny vendor p\t' '\t\n\t\n' 'deny vendor p'; do
	find "$tmp/cache" -type f | while read -r file; do
		grep -q '^ours:' "$file" && printf "%b" "$answer" >"$file"
	done
	compile "$tmp/hostile.twb" -O3
done
unset TOY_SLOW

# ---- candidates of a kernel ----
toy=$BUILD/test/toy
has x86-64 || { skip 1 x86-64; finish; exit; }
cat >"$tmp/t.txt" <<'END'
graph g(%a: f32[256,256], %b: f32[256,256]) -> %y, %z {
  %y = MatMul(%a, %b)  "one"
  %z = MatMul(%b, %a)  "two"
}
END
on_toy() { # on_toy VERB OPTION...
	verb=$1
	shift
	"$toy" "$verb" --no-vendor --target cpu:toy --threads 1 "$@" "$tmp/t.txt" >"$tmp/out" 2>&1
}
make_toy() { # make_toy OUTPUT OPTION...
	out=$1
	shift
	on_toy compile --keep "$tmp/parts" -o "$out" "$@" && pass || lose "toy, $*: $(cat "$tmp/out")"
}
tiles() { grep -c '"tile ' "$tmp/parts/choices.jsonl"; }
said() { grep -q "$1" "$tmp/out" && pass || lose "$2: $(cat "$tmp/out")"; }

make_toy "$tmp/t.twb"
[ "$(tiles)" = 1 ] && pass || lose "two kernels that are alike: $(cat "$tmp/parts/choices.jsonl")"
grep -q '"key": "tile [0-9a-f]*", "chosen": "[0-9]* .* us, before .* us"' "$tmp/parts/choices.jsonl" &&
	pass || lose "what took how long: $(cat "$tmp/parts/choices.jsonl")"
said 'measured: other scripts for 1 kernel: ' "it is not said"
cp "$tmp/parts/choices.jsonl" "$tmp/choices"
make_toy "$tmp/again.twb"
cmp -s "$tmp/t.twb" "$tmp/again.twb" && pass || lose "known candidates give another bundle"
XDG_CACHE_HOME="$tmp/empty" make_toy "$tmp/replayed.twb" --choices "$tmp/choices"
cmp -s "$tmp/t.twb" "$tmp/replayed.twb" && pass || lose "replayed candidates give another bundle"
XDG_CACHE_HOME="$tmp/none" make_toy "$tmp/none.twb" --tune none
[ "$(tiles)" = 0 ] && pass || lose "--tune none has candidates"
XDG_CACHE_HOME="$tmp/none" make_toy "$tmp/none.twb" -O2
[ "$(tiles)" = 0 ] && pass || lose "-O2 has candidates"

# A model that runs so long that only the kernels that race are repeated, without the others.
sed 's/256/384/g; s/%b, %a)  "two"/%y, %a)  "two"\n  %w = Softmax(%z) {axis=1}  "three"/; s/%y, %z/%w/' "$tmp/t.txt" >"$tmp/u.txt"
mv "$tmp/t.txt" "$tmp/kept" && mv "$tmp/u.txt" "$tmp/t.txt"
XDG_CACHE_HOME="$tmp/long" make_toy "$tmp/long.twb" --prove=require
[ "$(tiles)" -ge 1 ] && pass || lose "a long run has no candidates: $(cat "$tmp/parts/choices.jsonl")"
mv "$tmp/kept" "$tmp/t.txt"

# An answer is the kernel's, whatever model it stands in and whatever it is called there.
sed 's/one/first/; s/two/second/; s/%a/%left/g' "$tmp/t.txt" >"$tmp/u.txt"
mv "$tmp/t.txt" "$tmp/kept" && mv "$tmp/u.txt" "$tmp/t.txt"
on_toy tune --tune quick && said '1 measured: 0 now, 1 before' "another model asks again"
mv "$tmp/kept" "$tmp/t.txt"

# A folder of answers may hold anything, in the place of a model's and of a kernel's.
for answer in '' 0 x '1x' '31 1 us' '99999999999 us' 'ours:\ntile\t1' 'ours:\ntile x\t-1\n'; do
	find "$tmp/cache" -type f | while read -r file; do
		grep -aq '^ours:\|, before ' "$file" && printf "%b" "$answer" >"$file"
	done
	make_toy "$tmp/hostile.twb"
done

# The verb: asks, knows, shares, ends when its time is spent.
export XDG_CACHE_HOME="$tmp/asked"
on_toy tune --budget 0.000001s && said '1 left' "a budget of nothing"
on_toy tune --shard 1/2 && cp "$tmp/out" "$tmp/first" && on_toy tune --shard 2/2 &&
	[ "$(cat "$tmp/first" "$tmp/out" | grep -c '1 measured: 1 now')" = 1 ] && pass ||
	lose "of two shares one has the kernel: $(cat "$tmp/first" "$tmp/out")"
mkdir "$tmp/joined" && cp -r "$tmp/asked/." "$tmp/joined" && export XDG_CACHE_HOME="$tmp/joined"
on_toy tune && said '1 measured: 0 now, 1 before' "joined answers are not known"
on_toy tune && said 'all is known' "what is known is asked again"
make_toy "$tmp/full.twb" --tune full
[ "$(tiles)" = 1 ] && pass || lose "--tune full, from answers: $(cat "$tmp/parts/choices.jsonl")"

# A job array's tasks, as a batch system starts them, and their answers joined.
for k in 1 2; do
	SLURM_ARRAY_TASK_ID=$k SLURM_ARRAY_TASK_COUNT=2 TILEWRIGHT=$toy sh examples/tune/tune.sbatch \
		"$tmp/t.txt" "$tmp/answers" --no-vendor --target cpu:toy --threads 1 >"$tmp/out" 2>&1 &&
		pass || lose "task $k: $(cat "$tmp/out")"
done
export XDG_CACHE_HOME="$tmp/of_tasks"
sh examples/tune/join.sh "$tmp/answers" && on_toy tune && said '1 measured: 0 now, 1 before' "answers of tasks"

for wrong in '--budget 10x' '--budget -1' '--budget m' '--shard 0/2' '--shard 3/2' '--shard 1' '--shard 1/2x'; do
	# shellcheck disable=SC2086  # words
	on_toy tune $wrong
	[ $? = 2 ] && pass || lose "tune $wrong: $(cat "$tmp/out")"
done
finish
