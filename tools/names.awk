# usage: find . -type f | awk -f tools/names.awk - FILE ...    words must mean something. A comment
# names functions, as name(), files and folders that exist; what one file of src/ gives to others has a name
# of two words at least, which say whose it is (base is everybody's vocabulary).
#
# Standard input lists the files of the tree. A function is known when code calls or defines it, a
# file when the end of a path is its name (a folder: its beginning), or code includes it. NAME stands for any name.
function say(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }

function keep(kind, text) {
	if (text ~ /NAME/)
		return
	sub(/^(\.\.\/)+/, "", text) # pages in a folder of docs/ point upwards
	count++
	kinds[count] = kind
	texts[count] = text
	places[count] = FILENAME ":" FNR
}

# The text and the texts behind each of its slashes; those before them are folders.
function know_file(path, folder) {
	for (folder = path; sub(/\/[^\/]*$/, "", folder);)
		files[folder] = 1
	do files[path] = 1
	while (sub(/^[^\/]*\//, "", path))
}

function read_code(text, name) {
	for (; match(text, /[A-Za-z_][A-Za-z0-9_]* ?\(/); text = substr(text, RSTART + RLENGTH)) {
		name = substr(text, RSTART, RLENGTH - 1)
		sub(/ $/, "", name)
		functions[name] = 1
	}
}

function read_comment(text, rest, folders, folder) {
	for (rest = text; match(rest, /[A-Za-z_][A-Za-z0-9_]*\(\)/); rest = substr(rest, RSTART + RLENGTH))
		keep("function", substr(rest, RSTART, RLENGTH - 2))
	folders = text = text " "
	for (; match(text, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_]\.(awk|c|def|h|md|py|sh)[^A-Za-z0-9_\/(-]/); text = substr(text, RSTART + RLENGTH))
		keep("file", substr(text, RSTART, RLENGTH - 1))
	for (; match(folders, /(^|[ (`"])(src|tests|tools|docs|bench|models)\/[a-z0-9_\/]*[^a-z0-9_\/.*$-]/); folders = substr(folders, RSTART + RLENGTH)) {
		folder = substr(folders, RSTART, RLENGTH - 1)
		gsub(/^[ (`"]|\/+$/, "", folder)
		keep("file", folder)
	}
}

# Takes a line apart into code, quoted texts, which are neither, and comments; `open` is whether a
# comment goes on behind the line.
function read_line(text, at, end, begin) {
	while (text != "") {
		if (open) {
			at = index(text, "*/")
			read_comment(at ? substr(text, 1, at - 1) : text)
			open = !at
			text = at ? substr(text, at + 2) : ""
			continue
		}
		at = match(text, /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'|\/[*\/]/)
		end = at ? at + RLENGTH : length(text) + 1
		read_code(at ? substr(text, 1, at - 1) : text)
		begin = at ? substr(text, at, 2) : ""
		text = substr(text, end)
		if (begin == "//") {
			read_comment(text)
			return
		}
		open = begin == "/*"
	}
}

FILENAME == "-" || FILENAME == "" { sub(/^\.\//, ""); know_file($0); next }
FNR == 1 { open = 0; is_static = 0; prose = FILENAME ~ /\.md$/; ours = FILENAME ~ /^src\/.*\.c$/ && FILENAME !~ /^src\/base\// }
prose { read_comment($0); next }
/^# *include/ { know_file(substr($2, 2, length($2) - 2)); next }
!open && /(^|[ ])static([ ]|$)/ { is_static = 1 }
{ read_line($0) }
ours && !is_static && /^[a-z][A-Za-z0-9]*\(/ && !/^main\(/ {
	say("a name for all of one word: " substr($0, 1, index($0, "(") - 1))
}
ours && !is_static && /^[a-z][A-Za-z0-9_ ]*[ *][a-z][A-Za-z0-9]*(\[.*\])?( =.*|;)$/ && !/^(extern|typedef|struct|enum|return|goto) / {
	say("a name for all of one word: " $0)
}
/^([{}].*)?$|;/ { is_static = 0 }
END {
	for (i = 1; i <= count; i++)
		if (!(texts[i] in functions) && kinds[i] == "function" || !(texts[i] in files) && kinds[i] == "file") {
			printf "%s: there is no %s\n", places[i], texts[i] (kinds[i] == "function" ? "()" : "")
			bad = 1
		}
	exit bad
}
