# usage: awk -f tools/lint.awk FILE ...    the shape of the text: lengths, words, where switches on
# operators may stand. A tab counts as four columns. Tables (*.def) are exempt from lengths.
function say(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
function end_file() {
	if (last && last !~ /\.def$/ && lines > 600) { printf "%s: %d lines, at most 600\n", last, lines; bad = 1 }
	else if (last ~ /\.h$/ && lines > 200) printf "%s: note: %d lines, 200 wanted\n", last, lines
}
FNR == 1 { end_file(); last = FILENAME; start = 0 }
{
	lines = FNR
	text = $0
	gsub(/\t/, "    ", text)
	gsub(/[\200-\277]/, "", text) # the tail bytes of UTF-8
	if (length(text) > 100 && FILENAME !~ /\.def$/)
		say("line of " length(text) " columns, at most 100")
	if ($0 ~ /[ \t]$/)
		say("blanks at the end of the line")
}
/(^|[^A-Za-z0-9_])(HA[C]K|FI[X]ME)([^A-Za-z0-9_]|$)/ { say("a mark for later: mend it or write an issue") }
/(^|[^A-Za-z0-9_])assert\(/ && FILENAME ~ /^src\// { say("assert() ends the process: must() is a failure") }
/case OP_/ && FILENAME ~ /^src\// && FILENAME !~ /^src\/(graph|onnx)\// { say("switch on an operator outside src/graph and src/onnx: make it a table") }
/^\{/ { start = FNR }
/^\}/ {
	if (start && FNR - start > 100 && FILENAME ~ /\.c$/)
		say("function of " FNR - start " lines, at most 100")
	start = 0
}
END { end_file(); exit bad }
