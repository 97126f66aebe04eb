#!/bin/sh
# usage: tests/report.sh    the page of `report`: what is in it, names that want out of it, its size
#
# tests/report_browser.sh opens one; tests/unit/cli_page.c has layouts, sheets and more such names.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="report: "
cd "$tmp" || exit 1

# Every name of this model is hostile, the model's own too.
model='<img src=x onerror=alert(1)>.txt'
cat >"$model" <<'TEXT'
graph g(%"</script><script>alert(1)</script>": f32[N,4,6,6], %w: f32[4,4,3,3]) -> %"\"><svg onload=alert(2)>" {
  %c = Conv(%"</script><script>alert(1)</script>", %w) {pads=[1,1,1,1]}  "</script><script>alert(3)</script>"
  %r = Relu(%c)  "\"><img src=x onerror=alert(4)>"
  %"\"><svg onload=alert(2)>" = Softmax(%r) {axis=1}  "--><!--"
}
TEXT
"$tw" compile -q "$model" -o m.twb --shape N=2 --prove none --tune none --config DeriveExpressions.seconds=0 ||
	lose "it does not compile"

"$tw" report m.twb -o m.html >out && grep -q '^wrote  *m.html$' out && pass || lose "$(cat out)"
"$tw" report m.twb -o again.html >out && cmp -s m.html again.html && pass || lose "two pages of a bundle differ"

# has COUNT TEXT    the page has the text so often
has() {
	count=$(grep -oF -- "$2" m.html | wc -l)
	[ "$count" = "$1" ] && pass || lose "$count times '$2'"
}
has 2 '<script'  # ours and the data,
has 2 '</script' # and nothing ends them before
has 0 '<img'
has 0 '<svg'
has 0 '<!--'
has 0 'http-equiv="refresh'
has 1 "default-src 'none'"
# What is not a line of the style or the script, nor of the frame, has no character of HTML.
sed -n '/id="data">/,/^<\/script>/p' m.html | sed '1d;$d' >data
[ -s data ] && ! grep -q '[<>&]' data && pass || lose "the data: $(grep '[<>&]' data | head -c 300)"
for member in model subjects titles facts machine before after meanings steps memory sources loops passes choices history fate proof; do
	grep -q "\"$member\":" data && pass || lose "no $member"
done
grep -q '"op":"Conv"' data && grep -q '"of":\["Conv","Relu"' data && pass || lose "no group of Conv and Relu"
grep -qF 'u003c/script\u003e\u003cscript\u003ealert(3)' data && pass || lose "no name"
grep -q '"kernel":"k0' data && grep -qF 'const TwArgs *args' data && pass || lose "no text of a kernel"

# Each of its kernels has the loops, and the script of their schedule.
members() { sed -n "/^\"$1\":{/,/^}/p" "$2" | grep -c '^"k[0-9]'; }
[ "$(members loops data)" = "$(members sources data)" ] && [ "$(members loops data)" -gt 0 ] && pass ||
	lose "$(members loops data) loops of $(members sources data) kernels"
grep -q '^"k0_.*":\["split i1 .*","kernel k0_.* for i0 in N @parallel' data && pass ||
	lose "no loops or no schedule: $(sed -n '/^"loops":/,/^}/p' data | head -c 600)"
grep -q '"passes":\[\]' data && pass || lose "passes have times without --runs"
grep -q '"schedules and loops"' data && lose "loops are left out" || pass

# Nothing runs unless --runs says so; then steps have times.
grep -q '"seconds":' data && lose "times without --runs" || pass
"$tw" report m.twb -o t.html --runs 2 -q && grep -q '"seconds":' t.html && grep -q '"a run here"' t.html && pass ||
	lose "no times with --runs"

grep -q '"passes":\[\["InferShapes",' t.html && pass || lose "passes have no times with --runs"

# What a bundle names is not run for a page: it does without loops.
printf '#!/bin/sh\ntouch ran; cat\n' >program && chmod +x program
"$tw" compile -q "$model" -o p.twb --shape N=2 --prove none -O1 --require exec:./program || lose "with a program it does not compile"
rm -f ran
"$tw" report p.twb -q && grep -q '"left out: p.twb was compiled with a program' p.html && [ ! -e ran ] && pass ||
	lose "a program: $(grep -o 'schedules and loops.*' p.html | head -c 300)"

# Two bundles of a model: what it became in each. Of different ones there is no page.
"$tw" compile -q "$model" -O0 -o plain.twb --prove none || lose "it does not compile at -O0"
"$tw" report plain.twb m.twb -o two.html -q && grep -q '"titles":\["plain.twb","m.twb"\]' two.html && pass ||
	lose "no page of two"
sed 's/axis=1/axis=2/' "$model" >other.txt
"$tw" compile -q other.txt -O0 --prove none || lose "the other does not compile"
"$tw" report m.twb other.twb >out 2>err
[ $? = 2 ] && grep -q 'compiled from different models' err && pass || lose "two models: $(cat err)"

# A node without a name has no history, and not that of all others without one.
cat >unnamed.txt <<'TEXT'
graph g(%x: f32[2,4,6,6], %w: f32[4,4,3,3]) -> %y {
  %a = Conv(%x, %w) {pads=[1,1,1,1]}
  %b = Relu(%a)
  %y = Softmax(%b) {axis=1}
}
TEXT
"$tw" compile -q unnamed.txt --prove none --tune none || lose "without names it does not compile"
"$tw" report unnamed.twb -q || lose "no page without names"
grep -q 'FuseOps' unnamed.html && ! grep -q '"fate":"lowering' unnamed.html && pass || lose "a fate of another node"

# Sizes are those of runs.
"$tw" report m.twb --shape N=2 >out 2>err
[ $? = 2 ] && grep -q 'it goes with --runs' err && pass || lose "--shape alone: $(cat err)"
"$tw" report m.twb --shape N=2 --runs 1 -q && pass || lose "--shape with --runs"
"$tw" report m.twb --shape no-such=2 --runs 1 -q >out 2>err
[ $? = 2 ] && pass || lose "--shape no-such: $(cat err)"

# The model: beside the bundle, or given, and no other one.
mkdir away && cp m.twb away && (cd away && "$tw" report m.twb >out 2>err)
[ $? = 2 ] && grep -q 'tilewright report m.twb MODEL' away/err && pass || lose "a bundle alone: $(cat away/err)"
(cd away && "$tw" report m.twb "../$model" -q && [ -s m.html ]) && pass || lose "with its model"
"$tw" report m.twb other.txt >out 2>err
[ $? = 2 ] && grep -q 'is not the model' err && pass || lose "another model: $(cat err)"
"$tw" report m.twb -o "$model" >out 2>err
[ $? = 2 ] && pass || lose "over the model"

# Pictures of the graph and the plan: every name is one quoted text, and dot, where it is, takes them.
draws() {
	"$tw" print "$@" --dot p.dot >out 2>err || lose "print $*: $(cat err)"
	LC_ALL=C grep -vE '^(digraph \{|  node \[.*|  n[0-9]+ \[label="([^"\\]|\\.)*"(, style=filled)?\];|  [ns][0-9]+ -> [ns][0-9]+;|  s[0-9]+ \[label="([^"\\]|\\.)*"(, style="rounded,filled")?\];|\})$' \
		p.dot >strange
	[ -s strange ] && lose "print $* --dot: $(cat strange)" || pass
	! command -v dot >/dev/null || dot -Tsvg p.dot >p.svg 2>err || lose "dot: $(cat err)"
}
draws "$model"
draws -O3 "$model" && grep -qF 'label="Conv + Relu' p.dot && pass || lose "no group in the picture"
draws m.twb && grep -q '^  s0 -> s1;$' p.dot && pass || lose "no step in the picture"
"$tw" print --dot p.dot --lower "$model" >out 2>err
[ $? = 2 ] && pass || lose "--dot --lower"
finish
