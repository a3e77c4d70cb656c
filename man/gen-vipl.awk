# SPDX-License-Identifier: BSD-2-Clause
# gen-vipl.awk: makes the pages of libvipl's functions, in mdoc(7), out of the doc comments of vipl.h. Whatever a page
# says about a call is said in the header, and nowhere else.
# Use: awk -f gen-vipl.awk -v out=DIR -v date=DATE vipl.h
#
# A doc comment is: "Name() - ...", then "@Parameter: ..." in the order of the prototype, then prose, then "Returns: ...".
# Continued lines are indented by two blanks.

state == "" && /^[\/][*][*]$/ { state = "doc"; comment = ""; next }
state == "doc" && /^ [*][\/]/ { state = "declaration"; text = ""; next }
state == "doc" { comment = comment (comment == "" ? "" : "\n") substr($0, 4); next }
state == "declaration" {
	sub(/^[\t ]+/, "")
	text = text (text == "" ? "" : " ") $0
	if (/;$/) {
		state = ""
		learn()
	}
}

function learn(   name) {
	name = comment
	sub(/\(\).*$/, "", name)
	names[++count] = name
	comments[name] = comment
	prototype[name] = text
}

function put(s) { print s > to }

# Running text: a sentence begins a line, and names get their macro.
function put_text(s,   n, i, word, line) {
	n = split(s, word, / +/)
	line = ""
	for (i = 1; i <= n; i++)
		line = put_word(word[i], line)
	if (line != "")
		put(line)
}

function put_word(w, line,   core, after, macro) {
	core = w
	after = ""
	while (core ~ /[.,;:]$/) {
		after = " " substr(core, length(core)) after
		core = substr(core, 1, length(core) - 1)
	}
	macro = macro_for(core)
	if (macro != "") {
		if (line != "")
			put(line)
		put("." macro after)
		return ""
	}
	line = line == "" ? w : line " " w
	if (w ~ /[.]$/ || length(line) > 70) {
		put(line)
		return ""
	}
	return line
}

function macro_for(core) {
	if (core ~ /^Vip[A-Za-z]+\(\)$/) {
		core = substr(core, 1, length(core) - 2)
		return core == self ? "Fn " core : "Xr " core " 3"
	}
	if (core ~ /^VIP_[A-Z_]*_(ATTRIBUTES|LIST|ADDRESS|DESCRIPTOR)$/)
		return "Vt " core
	if (core ~ /^VIP_[A-Z_]+$/ || core == "NULL")
		return "Dv " core
	if (core ~ /^VIPL_[A-Z_]+(=1)?$/)
		return "Ev " core
	if ((self, core) in parameter)
		return "Fa " core
	return ""
}

function capital(s) { return toupper(substr(s, 1, 1)) substr(s, 2) }
function full_stop(s) { return s ~ /[.]$/ ? s : s "." }

# Takes the comment of self apart: head, prose, returns, key[], parameter[].
function parse(   s, n, i, line) {
	s = comments[self]
	gsub(/\n  +/, " ", s)
	n = split(s, line, "\n")
	head = line[1]
	sub(/^[^-]* - /, "", head)
	prose = returns = ""
	keys = 0
	for (i = 2; i <= n; i++) {
		s = line[i]
		if (match(s, /^@[A-Za-z]+: /)) {
			key[++keys] = substr(s, 2, RLENGTH - 3)
			parameter[self, key[keys]] = substr(s, RLENGTH + 1)
		} else if (sub(/^Returns: /, "", s))
			returns = s
		else
			prose = prose (prose == "" ? "" : " ") s
	}
}

function put_synopsis(   s, n, i, part, result) {
	put(".Sh SYNOPSIS\n.In vipl.h")
	result = prototype[self]
	sub(/^extern /, "", result)
	sub(" *" self "\\(.*$", "", result)
	put(".Ft " result "\n.Fo " self)
	s = prototype[self]
	sub(/^[^(]*\(/, "", s)
	sub(/\);$/, "", s)
	n = split(s, part, /, */)
	for (i = 1; i <= n; i++) {
		put(".Fa \"" part[i] "\"")
		s = part[i]
		way[i] = s ~ /^IN OUT/ ? "in and out" : s ~ /^OUT/ ? "out" : "in"
		sub(/^.*[ *]/, "", s)
		if (s != key[i]) {
			print "gen-vipl.awk: " self ": parameter " i " is " s ", not " key[i] > "/dev/stderr"
			bad = 1
		}
	}
	put(".Fc")
	if (n != keys) {
		print "gen-vipl.awk: " self ": " keys " parameters described of " n > "/dev/stderr"
		bad = 1
	}
}

function put_returns(   n, i, part, m, k, code, after) {
	put(".Sh RETURN VALUES")
	if (returns == "") {
		put("None.")
		return
	}
	put_text(full_stop(capital(returns)))
}

function put_see_also(   i) {
	put(".Sh SEE ALSO")
	put(".Xr vipl 7")
}

function put_page(   i) {
	to = out "/" self ".3"
	parse()
	put(".\\\" Made from <vipl.h> by gen-vipl.awk: change the text there.")
	put(".Dd " date)
	put(".ds doc-volume-operating-system OpenDAT")
	put(".Dt " toupper(self) " 3")
	put(".Os OpenDAT")
	put(".Sh NAME\n.Nm " self "\n.Nd " head)
	put(".Sh LIBRARY\nVI Provider Library (libvipl, \\-lvipl;\n.Li pkg-config vipl )")
	put_synopsis()
	put(".Sh DESCRIPTION\n.Fn " self)
	put_text(full_stop("is called to " head))
	if (prose != "") {
		put(".Pp")
		put_text(prose)
	}
	put(".Sh PARAMETERS\n.Bl -tag -width Ds")
	for (i = 1; i <= keys; i++) {
		put(".It Fa " key[i] " Pq " way[i])
		put_text(full_stop(capital(parameter[self, key[i]])))
	}
	put(".El")
	put_returns()
	put(".Sh THREAD SAFETY\nSafe: many threads may make this call at once, for one object too, as long as none destroys it.")
	put_see_also()
	close(to)
}

END {
	for (i = 1; i <= count; i++) {
		self = names[i]
		put_page()
	}
	exit bad
}
