#!/bin/sh
# NaN and infinities: what a library's call loses is not taken for what keeps it, and where it may be lost
# the bundle says so.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="values: "
want oneDNN
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache"

# npy SHAPE BYTES: an array of f32, its bytes in octal.
npy() { printf "\223NUMPY\001\000v\000%-117s\n$2" "{'descr': '<f4', 'fortran_order': False, 'shape': ($1,), }"; }
one='\000\000\200\077' two='\000\000\000\100' nan='\000\000\300\177' inf='\000\000\200\177'

cat >pool.g <<'TEXT'
graph m(%x: f32[1,1,4]) -> %y {
  %y = MaxPool(%x) {kernel_shape=[2]} "largest"
}
TEXT
cat >relu.g <<'TEXT'
graph m(%x: f32[1,4]) -> %y {
  %w: f32[4,4] = weight 0
  %a = MatMul(%x, %w) "product"
  %y = Relu(%a) "bound"
}
TEXT
npy 1,1,4 "$two$nan$one$inf" >pool.npy
npy 1,4 "$two$nan$one$one" >relu.npy

# meant MODEL OPTIONS...: with an input that holds NaN it computes what the model means, and says that it
# loses nothing.
meant() {
	model=$1
	shift
	"$tw" compile --tune none "$@" "$model.g" -o "$model.twb" >out 2>&1 && ! grep -q '^values:' out &&
		"$tw" run --prove "$model.twb" --input "x=@$model.npy" >out 2>&1 && pass ||
		lose "$model $*: $(cat out)"
}

# lost MODEL WAY OPTIONS...: it does not, says so when it is compiled, and so does its proof, which finds
# nothing wrong.
lost() {
	model=$1 way=$2
	shift 2
	"$tw" compile --tune none "$@" "$model.g" -o "$model.twb" >out 2>&1
	grep -qx "values: 1 library call loses $way; --values all keeps it" out && pass ||
		lose "$model $* when compiling: $(cat out)"
	"$tw" run -q "$model.twb" --prove >out 2>&1 && pass || lose "$model $*, numbers: $(cat out)"
	"$tw" run --prove "$model.twb" --input "x=@$model.npy" >out 2>&1
	[ $? = 1 ] && grep -q "vendor call [a-z]*, which loses $way: .*--values all" out && grep -qx lost out && ! grep -qx wrong out &&
		pass || lose "$model $*, NaN: $(cat out)"
}

for level in 0 1 2 3; do
	meant pool -O$level
	meant relu -O$level --values all
done
meant relu -O1
meant relu -O2
lost relu 'NaN in Relu' -O3
lost relu 'NaN in Relu' -O1 --values finite
lost pool 'NaN and infinities in pool' -O1 --values finite
"$tw" inspect pool.twb | grep -qx 'pipeline *O1,values=finite' && pass || lose "$("$tw" inspect pool.twb)"
"$tw" compile -O1 --log pool.g -o pool.twb 2>&1 | grep -q 'largest not applied: it loses NaN' && pass ||
	lose "why there is no call"

# f16 is computed as f32 where it may lose an infinity: 2 * 60000 is one.
cat >half.g <<'TEXT'
graph m(%x: f16[1,1], %w: f16[1,1]) -> %y {
  %h: f16[1] = {0.5}
  %p = MatMul(%x, %w)
  %s = Add(%p, %p)
  %y = Mul(%s, %h)
}
TEXT
inf16=7c00 number16=7b53 # 60000
for way in $inf16:-O1 $number16:-O2 $inf16:-O2,--values=all $inf16:-O3,--values=all; do
	# shellcheck disable=SC2046  # several options
	"$tw" compile -q $(echo "${way#*:}" | tr , ' ') half.g -o half.twb &&
		"$tw" run -q half.twb --input x=300 --input w=200 --output half >out 2>&1 &&
		[ "$(tail -c 2 half/y.npy | od -An -tx2 | tr -d ' ')" = "${way%:*}" ] && pass ||
		lose "$way: $(cat out) $(od -An -tx2 half/y.npy | tail -n 1)"
done

# What derivation finds multiplies zeros.
"$tw" compile -O3 --log --values all relu.g -o relu.twb 2>&1 | grep -q DeriveExpressions && lose "it derives" || pass
"$tw" compare --rounds 0 relu.g@O3,values=all relu.g@O3 >out 2>err && pass || lose "as subjects: $(cat out err)"
"$tw" compile -q --values some relu.g 2>err
[ $? = 2 ] && grep -q -e "--values: expected finite|all, saw 'some'" err && pass || lose "$(cat err)"
finish
