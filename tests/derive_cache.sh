#!/bin/sh
# usage: tests/derive_cache.sh    what DeriveExpressions measured is kept for the next compilation
#
# A cache of its own: the second compilation measures nothing and chooses the same; damaged files are
# told of in one line and not used; other options are other questions; a record comes first; two
# processes may write at once; a terminal shows how far it is.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
plain_only choices
cd "$tmp" || exit 1

cat >m.txt <<'END'
graph g(%x: f32[1,64,7,7], %u: f32[1,128,28,28]) -> %y, %z {
  %ws: i64[4] = {64,32,4,4}
  %w = ConstantOfShape(%ws) {value=f32[1] {0.25}} "w"
  %vs: i64[4] = {128,128,3,3}
  %v = ConstantOfShape(%vs) {value=f32[1] {0.5}} "v"
  %y = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1]} "up"
  %z = Conv(%u, %v) {pads=[1,1,1,1]} "conv"
}
END
cat >counted <<END
#!/bin/sh
[ "\$1" = --version ] && echo >>$tmp/count
exec cc "\$@"
END
chmod +x counted
export CC="$tmp/counted" XDG_CACHE_HOME="$tmp/cache"

# make BUNDLE OPTION...    its derivations in BUNDLE.derive, all choices in BUNDLE.jsonl
#
# Without --tune: a race of kernels that was disturbed is run again (docs/choices.md).
make() {
	bundle=$1
	shift
	: >count
	"$tw" compile -q m.txt -o "$bundle.twb" --prove none --tune none \
		--config DeriveExpressions.depth=2 --config DeriveExpressions.budget=30 \
		"$@" 2>"$bundle.err" || return
	unzip -p "$bundle.twb" choices.jsonl >"$bundle.jsonl"
	grep '"derive ' "$bundle.jsonl" >"$bundle.derive"
}
compilers() { wc -l <count; }
# kept    what the cache has: a time that was measured again would be another
kept() { find cache -type f -exec cksum {} + | sort; }

make cold && [ ! -s cold.err ] || lose "compile: $(cat cold.err)"
[ "$(wc -l <cold.derive)" = 2 ] && grep -q "as given [0-9.]* us, " cold.derive && pass ||
	lose "nothing is measured: $(cat cold.derive)"
kept >cold.kept
[ "$(compilers)" -gt 3 ] && pass || lose "$(compilers) compilers for a measurement"

make warm && [ ! -s warm.err ] || lose "again: $(cat warm.err)"
cmp -s cold.derive warm.derive && pass || lose "other choices: $(diff cold.derive warm.derive)"
[ "$(compilers)" -le 2 ] && pass || lose "measured again: $(compilers) compilers"
# Which calls of the library are timed is the machine's. What is kept of one: "seconds implementation".
grep -rlaqE '[0-9] [a-z0-9_]+:[a-z0-9_:]+$' cache && pass || lose "no call of the library is kept"
kept | cmp -s cold.kept - && cmp -s cold.jsonl warm.jsonl && pass ||
	lose "measured again: $(kept | diff cold.kept -) $(diff cold.jsonl warm.jsonl)"

# Our own kernels are measured, too: without a library other programs are the fastest.
mv cache others
make ours --no-vendor && grep -q "as given [0-9.]* us, " ours.derive && pass ||
	lose "nothing is measured without a library: $(cat ours.err ours.derive)"
rm -rf cache && mv others cache

# What is not kept is not known: other options, and every file damaged in one of several ways.
make other --config DeriveExpressions.seconds=0 --disable=Vectorize
[ "$(grep -c '"no time left"' other.derive)" = 2 ] && pass || lose "for another pipeline: $(cat other.derive)"
make ruled --config DeriveExpressions.rules=split_sum,position --config DeriveExpressions.depth=3
grep -q "bilinear" cold.derive && grep -q "position" ruled.derive && ! grep -q "bilinear" ruled.derive && pass ||
	lose "for other rules: $(cat cold.derive ruled.derive)"
cp -r cache whole
for damage in "printf x >>" "truncate -s 40" "printf z | dd conv=notrunc bs=1 seek=70 status=none of=" \
	": >" "truncate -s 1T" "rm -f FILE; mkfifo" "rm -f FILE; ln -s /dev/zero"; do
	rm -rf cache && cp -r whole cache
	grep -rl "as given" cache | while read -r file; do
		case $damage in
		*=) eval "$damage\"$file\"" ;;
		*) eval "$(echo "$damage" | sed "s|FILE|'$file'|") '$file'" ;;
		esac
	done
	make bad --config DeriveExpressions.seconds=0 || lose "behind '$damage': $(cat bad.err)"
	[ "$(grep -c '"no time left"' bad.derive)" = 2 ] && pass || lose "'$damage' is used: $(cat bad.derive)"
	[ "$(wc -l <bad.err)" = 1 ] && grep -q "a damaged file of the cache is not used: " bad.err && pass ||
		lose "behind '$damage': $(cat bad.err)"
done
rm -rf cache && mv whole cache

# A record comes before what is kept, and makes the same bundle.
sed 's/"chosen": "[^"]*"/"chosen": "as given"/' cold.jsonl >record
grep '"conv ' cold.jsonl >>record
make first --choices record && make second --choices first.jsonl && cmp -s first.twb second.twb && pass ||
	lose "two bundles from one record: $(cat first.err second.err)"
[ "$(grep -c '"chosen": "as given"' first.derive)" = 2 ] && pass || lose "not the record: $(cat first.derive)"

# Two at once, then one that finds what they left.
rm -rf cache
"$tw" compile -q m.txt -o a.twb --prove none --config DeriveExpressions.depth=2 \
	--config DeriveExpressions.budget=30 2>a.err &
make b || lose "beside another: $(cat b.err)"
wait $! && [ ! -s a.err ] && [ ! -s b.err ] && pass || lose "two at once: $(cat a.err b.err)"
make after --config DeriveExpressions.seconds=0 && ! grep -q "no time left" after.derive && pass ||
	lose "behind two at once: $(cat after.err after.derive)"

# On a terminal it is shown.
if command -v script >/dev/null; then
	rm -rf cache
	script -qec "$tw compile m.txt -o t.twb --prove none --config DeriveExpressions.depth=2 --config DeriveExpressions.budget=30" typescript </dev/null >/dev/null 2>&1
	grep -q "deriving 0/2" typescript && grep -q "deriving 1/2" typescript && pass ||
		lose "no progress: $(cat -v typescript)"
fi

finish
