#!/bin/sh
# usage: tests/exec.sh    a program as a pass: what it rewrites counts, and what it does wrong is one sentence
#
# The example of examples/pass works in every command that runs passes; programs that fail, hang, lie or
# write what is no graph end the command with a sentence, and nothing of them stays.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
example=$(realpath examples/pass/relu_of_relu)
cd "$tmp" || exit 1

cat >m.g <<'END'
graph g(%x: f32[N,4], %k: f32[2,2] = weight 0) -> %y, %z {
  symbol N in 1..64
  %w: f32[4,8] = weight 0
  %v: f32[8] = weight 1
  %a = MatMul(%x, %w)  "product"
  %s = Add(%a, %v)  "sum"
  %b = Relu(%s)  "first"
  %c = Relu(%b)  "second"
  %y = Neg(%c)  "last"
  %z = Exp(%k)  "other"
}
END

# program NAME: a shell script of standard input
program() { { echo '#!/bin/sh'; cat; } >"$1" && chmod +x "$1"; }

# says TEXT COMMAND...    the command ends well, and its output has the text
says() {
	text=$1
	shift
	"$@" >out 2>&1 && grep -qF -- "$text" out && pass || lose "$*: no '$text': $(cat out)"
}

# refuses CODE TEXT NAME    the pass exec:./NAME ends the command with this code and this one line
refuses() {
	"$tw" print --passes="exec:./$3" --config Exec.seconds=1 m.g >out 2>err
	code=$?
	[ $code = "$1" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$2" err && pass ||
		lose "$3: $code, not $1 and '$2': $(cat err)"
}

# runs PID    it does, and goes on to; what has been ended may wait for its parent
runs() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		grep -q '^State:[[:space:]]*[RSDT]' "/proc/$1/status" 2>/dev/null || return 1
		sleep 0.1
	done
}

# What it changes, everywhere.
says '= Identity(%b)  "second"' "$tw" print --passes="exec:$example" m.g
says "rewrites: second -> second" "$tw" print --log --passes="exec:$example" m.g
says '"first" from "first", "second"' "$tw" print --passes="exec:$example,SimplifyExpr" m.g
says "wrote o.onnx" "$tw" optimize -O1 --require "exec:$example" --check m.g o.onnx
says "Neg" "$tw" print o.onnx
says "O1,+exec:$example" "$tw" compare m.g@O1 "m.g@O1,+exec:$example" --rounds 0 --fail-if-differs
says "O0:exec:$example,FuseOps" "$tw" compare m.g@O0 "m.g@O0:exec:$example,FuseOps" --rounds 0 --fail-if-differs
says "wrote m.twb" "$tw" compile --verify each --require "exec:$example" --no-prepack m.g
says "O3,+exec:$example" "$tw" inspect m.twb
says "rewrites" "$tw" explain m.twb --node second --require "exec:$example"

# Of a bundle nothing is run that the command line does not name.
"$tw" explain m.twb >out 2>err && lose "explain runs what a bundle names"
grep -q "run again only with --require exec:" err && pass || lose "explain: $(cat err)"

# Weights keep their data: what stays as it is computes the same bits.
program same <<'END'
cat; echo "# hello" >&2
END
program last <<'END'
awk '{ if (/^  %[wv]/) held = held $0 "\n"; else { if (/%a/ && held) { printf "%s", held; held = "" } print } }' | sed 's/"product"/"renamed"/'
END
"$tw" print m.g --passes=InferShapes >before
"$tw" print m.g --passes=exec:./same --log >after 2>err
grep -q "says: # hello" err && pass || lose "what a program says: $(cat err)"
sed 's/weight [0-9]*/weight/' before >read.txt
sed 's/weight [0-9]*/weight/' after >again.txt
cmp -s read.txt again.txt && pass || lose "a program that changes nothing: $(diff read.txt again.txt)"
"$tw" optimize -q -O0 m.g plain.onnx
"$tw" optimize -q -O0 --require exec:./last m.g last.onnx
says "0.00e+00" "$tw" compare plain.onnx last.onnx --rounds 0 --rtol 0 --atol 0 --fail-if-differs

# A graph that was written and read is the graph that it was, to all passes behind.
program comment <<'END'
cat; echo "# no change"
END
for model in squeezenet "bert-tiny --symbolic" longformer-tiny "dcgan --symbolic"; do
	# shellcheck disable=SC2086  # words
	"$zoo" $model -o z.onnx 2>/dev/null || { lose "zoo $model"; continue; }
	"$tw" print -O2 z.onnx >read.txt && "$tw" print -O2 --require exec:./comment z.onnx >again.txt 2>err
	sed 's/weight [0-9]*/weight/' read.txt >before
	sed 's/weight [0-9]*/weight/' again.txt >after
	cmp -s before after && pass || lose "$model: $(cat err; diff before after | head -5)"
done

# What goes wrong.
program fails <<'END'
echo one thing >&2; echo another >&2; exit 3
END
refuses 6 "exec:./fails: it ended with exit code 3; it says: one thing another" fails
refuses 6 "exec:./missing: it cannot be started: No such file or directory" missing
echo text >no_program
refuses 6 "exec:./no_program: it cannot be started: Permission denied" no_program
program dies <<'END'
kill -SEGV $$
END
refuses 6 "exec:./dies: it was ended by a signal: Segmentation fault" dies
program hangs <<'END'
sleep 77 & echo $! >child; sleep 78
END
refuses 6 "exec:./hangs: it ran for more than 1 s" hangs
runs "$(cat child)" && lose "a child of it runs still" || pass
program leaves <<'END'
sleep 79 & echo $! >child; cat
END
says "Relu" "$tw" print --passes=exec:./leaves m.g
runs "$(cat child)" && lose "a child that it left runs still" || pass
program endless <<'END'
exec yes
END
refuses 6 "exec:./endless: it wrote more than 256 MB" endless
program silent <<'END'
END
refuses 3 "exec:./silent: its output:1: expected 'graph'" silent
program zero <<'END'
cat; printf '\0'
END
refuses 6 "exec:./zero: it wrote a zero byte" zero
program garbage <<'END'
sed 's/Neg(/Nag(/'
END
refuses 3 "exec:./garbage: its output:" garbage
program other_input <<'END'
sed 's/%x: f32\[N,4\]/%x: f32[4,4]/'
END
refuses 3 "the inputs became (%x: f32[4,4]" other_input
program other_output <<'END'
sed 's/-> %y, %z/-> %z, %y/'
END
refuses 3 "the outputs became (%z, %y), and must stay (%y, %z)" other_output
program other_range <<'END'
sed 's/1\.\.64/1..65/'
END
refuses 3 "symbol N has another range" other_range
program other_weight <<'END'
sed 's/%v\(.*\)= weight [0-9]*/%v\1= weight 7/'
END
refuses 3 "the graph has no weight 7" other_weight
program other_shape <<'END'
sed 's/%v\(.*\)= weight [0-9]*/%v\1= weight 0/'
END
refuses 3 "weight 0 is f32[4,8], not f32[8]" other_shape
program cycle <<'END'
sed 's/Relu(%s)/Relu(%c)/'
END
refuses 3 "%c is not defined" cycle
for words in "--passes exec" "--require exec:" "--passes FuseOps:x"; do
	# shellcheck disable=SC2086  # two words
	"$tw" print $words m.g >out 2>&1
	[ $? = 2 ] && pass || lose "$words: $(cat out)"
done

# What computes something else is found by --verify each, and by bisect, which names the program.
program wrong <<'END'
sed 's/= Neg(/= Abs(/'
END
"$tw" compile -q --verify each --require exec:./wrong m.g -o w.twb 2>err
[ $? = 1 ] && grep -q "exec:./wrong changed output y" err && pass || lose "verify: $(cat err)"
"$tw" bisect -O1 --require exec:./wrong m.g -o w.onnx >out 2>err
grep -q "exec:./wrong" out && pass || lose "bisect: $(cat out err)"

finish
