# SPDX-License-Identifier: BSD-2-Clause
# docs.awk: holds the doc comments of the headers against what they describe.
# Use: awk -f docs.awk abi12.tsv header...    Prints TAP.
#
# A doc comment begins with two stars and belongs to the declaration behind it. Its lines are:
# "name() - ..." or "struct name - ...", then "@member: ...", then prose, then for functions
# "Returns:", perhaps "States:", and "Thread safety: ... Specification: ...". Continued lines are
# indented by two blanks.
BEGIN { FS = "\t" }

# The table: what has to be described.
FNR == NR {
	if (FNR > 1) {
		for (i = 2; i <= 5; i++)
			learn($i)
		if ($1 == "function" && $9 ~ /^(dat|udat|dat_registry)\.h$/)
			need["function", $3] = $4
		else if ($1 == "struct" || $1 == "union" || $1 == "enum")
			need["type", $3] = $3
	}
	next
}

function learn(s,   w) {
	while (match(s, /[A-Za-z_][A-Za-z0-9_]*/)) {
		w = substr(s, RSTART, RLENGTH)
		known[w] = 1
		s = substr(s, RSTART + RLENGTH)
	}
}

function complain(test, what) {
	print "# " what
	bad[test] = 1
}

FNR == 1 { state = "code" }

state == "code" && /^\/\*\*/ {
	state = "doc"
	members = 0
	returns = safety = 0
	sub(/^\/\*\* ?/, "")
	if (sub(/ \*\/$/, "")) {
		headline($0)
		state = "declaration"
		text = ""
	}
	next
}
state == "doc" && /^ \*\/$/ {
	state = "declaration"
	text = ""
	next
}
state == "doc" {
	sub(/^ \* ?/, "")
	words($0)
	if (title == "")
		headline($0)
	else if (match($0, /^@[A-Za-z0-9_]+: /))
		member[++members] = substr($0, 2, RLENGTH - 3)
	else if (/^Returns: /)
		returns = 1
	else if (/^Thread safety: (safe|unsafe)\. Specification: [a-z_]+\(3(DAT|LIB)\)\.$/)
		safety = 1
	next
}
# The declaration runs to the brace that closes it, or to the end of the prototype or macro.
state == "declaration" {
	text = text " " $0
	if (/^[}]/ || (text !~ /[{]/ && /;$/) || (text ~ /^ #define/ && !/\\$/)) {
		check()
		state = "code"
		title = ""
	}
}

function headline(line) {
	title = line
	sub(/ - .*$/, "", title)
	if (line !~ / - ./)
		complain("form", title ": no headline")
	words(line)
}

# Every word of the standard that the prose uses has to be one. A name may stand for several by
# ending in "_" or being cut by "...".
function words(line,   w, after) {
	gsub(/DAT_\.\.\.[A-Z_]+/, "", line)
	while (match(line, /(DAT|dat)_[A-Za-z0-9_]+/)) {
		w = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (w !~ /_$/ && !(w in known))
			complain("words", title ": " w " is no name of the standard")
	}
}

function check(   i, name, list, n, p, m) {
	for (i = 1; i <= members; i++)
		if (text !~ ("[^A-Za-z0-9_]" member[i] "[^A-Za-z0-9_]"))
			complain("members", title ": there is no " member[i])
	if (title !~ /\(\)$/) {
		described["type", title] = 1
		return
	}
	name = title
	sub(/\(\)$/, "", name)
	described["function", name] = 1
	if (text !~ ("[^A-Za-z0-9_]" name "\\("))
		complain("form", title " stands before another declaration")
	if (!returns)
		complain("form", title ": no Returns")
	if (!safety)
		complain("form", title ": no Thread safety and Specification")
	if (!(("function", name) in need))
		return
	n = split(need["function", name], p, /; /)
	if (n != members)
		complain("members", title ": " members " parameters described of " n)
	for (i = 1; i <= n && i <= members; i++) {
		m = p[i]
		sub(/^.*[ *]/, "", m)
		if (m != member[i])
			complain("members", title ": parameter " i " is " m ", not " member[i])
	}
}

function report(n, test, name) {
	print ((test in bad) ? "not ok " : "ok ") n " - " name
}

END {
	for (key in need) {
		split(key, k, SUBSEP)
		total++
		if (!(key in described))
			complain("whole", k[2] " is not described")
	}
	if (total < 140)
		complain("whole", "the table names only " total " functions and types")
	print "1..4"
	report(1, "whole", "every function, structure and enum is described")
	report(2, "form", "every description has the form that tools read")
	report(3, "members", "every parameter is described, and no member that does not exist")
	report(4, "words", "descriptions use only names of the standard")
}
