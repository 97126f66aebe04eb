#!/bin/sh
# usage: tests/report_browser.sh -a [KEEP]    the page of `report` in a browser: a name is searched, a
# node has its page, names stay texts, nothing is said in the console. KEEP: a folder for pictures.
#
# Chromium without a window; the page obeys its address, so that nothing has to be clicked. Without -a,
# as in make test, no browser is started.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="report_browser: "
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	want chromium
}
keep=${2:+$(mkdir -p "$2" && realpath "$2")}
cd "$tmp" || exit 1
mkdir home

# open ADDRESS [OPTION]...    the document as the page has made it, without data and script: out
open() {
	address=$1
	shift
	HOME=$tmp/home "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr \
		--user-data-dir="$tmp/home/data" "$@" "file://$tmp/$address" >dom 2>err
	sed 's,</script>,\n&\n,g' dom | sed '/<script/,/<\/script>/d' >out
	grep CONSOLE err && lose "$address: $(grep CONSOLE err)"
}

# shows TEXT    the document that was opened has it
shows() { grep -qF -- "$1" out && pass || lose "$address: no '$1'"; }

cat >m.txt <<'TEXT'
graph g(%x: f32[2,4,6,6], %w: f32[4,4,3,3]) -> %y {
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "/block/conv"
  %r = Relu(%c)  "/block/<b>relu</b>"
  %s = Neg(%r)  "</script><img src=x onerror=document.title='broken'>"
  %y = Softmax(%s) {axis=1}  "/soft"
}
TEXT
"$tw" compile -q m.txt --prove none --tune none --config DeriveExpressions.seconds=0 || lose "it does not compile"
"$tw" report -q m.twb --runs 3 || lose "no page"

open m.html --dump-dom
shows '<title>m.txt · Tilewright</title>'
shows '&lt;b&gt;relu&lt;/b&gt;'
[ "$(grep -c 'class="pane"' out)" -ge 1 ] && ! grep -q '<img' out && pass || lose "panes, or a name that is no text"

open 'm.html#search=soft' --dump-dom
shows 'class="hits"><button><b>Softmax</b>'
shows ' hit"'

open 'm.html#side=before&node=/block/conv' --dump-dom
shows '<h2>'
shows '<h3>became</h3>'
shows '<h3>history</h3>'
shows '<b>FuseOps</b>'
shows '<h3>steps of the plan</h3>'
shows '<h3>meaning</h3>'
shows 'const TwArgs *args'
shows 'class="box fused chosen"'
shows 'class="box fused near"'

open 'm.html#tab=steps' --dump-dom
shows 'Slowest steps'
shows 'Roofline'
shows 'Memory of intermediate values'
shows 'of the peak'

open 'm.html#tab=passes' --dump-dom
shows '<td class="tight">FuseOps</td>'

# Nodes without names, and one whose result has an output's.
sed 's/  "[^"]*"$//' m.txt >unnamed.txt
"$tw" compile -q unnamed.txt --prove none --tune none || lose "without names it does not compile"
"$tw" report -q unnamed.twb || lose "no page without names"
open 'unnamed.html#side=before&node=r' --dump-dom
shows 'class="box fused chosen"'
shows '<h3>became</h3>'
grep -q 'class="box folded' out && lose "a node without a name is folded" || pass
grep -q 'class="box undefined' out && lose "a node has no state" || pass

"$tw" compile -q m.txt -O0 -o plain.twb --prove none || lose "it does not compile at -O0"
"$tw" report -q plain.twb m.twb -o two.html || lose "no page of two"
open 'two.html#side=before&node=/block/conv' --dump-dom
shows '<b>plain.twb</b>'
shows '<b>m.twb</b>'
shows '<h3>in the other</h3>'

# A large model, all names without folders: it is there in two seconds, with sheets.
awk 'BEGIN {
	print "graph g(%v0: f32[4,8]) -> %v5000 {"
	for (i = 1; i <= 5000; i++) printf "  %%v%d = %s(%%v%d)  \"n%d\"\n", i, i % 3 ? "Relu" : "Neg", i - 1, i
	print "}"
}' >large.txt
"$tw" compile -q -O0 large.txt --prove none --tune none || lose "the large one does not compile"
"$tw" report -q large.twb || lose "no page of the large one"
[ "$(wc -c <large.html)" -le 5000000 ] && pass || lose "$(wc -c <large.html) bytes"
begin=$(date +%s%N)
open 'large.html#side=before&node=n2500' --dump-dom
end=$(date +%s%N)
shows '<h2>n2500</h2>'
[ $((end - begin)) -le 4000000000 ] && pass || lose "the large page took $(((end - begin) / 1000000)) ms with the browser's start"

if [ "$keep" ]; then
	for size in 1280,800 2560,1440; do
		open 'm.html#side=before&node=/block/conv' --window-size=$size --screenshot="$keep/node-$size.png"
		open 'm.html#tab=steps' --window-size=$size --screenshot="$keep/steps-$size.png"
	done
fi
finish
