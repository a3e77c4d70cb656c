# SPDX-License-Identifier: BSD-2-Clause
# gen-man.awk makes the manual's section 3 out of the doc comments of the headers: one mdoc(7) page for each function,
# and the list of them for dat(3). What a page says about a call comes from the comment in the header.
# Use: awk -f gen-man.awk -v out=DIR -v date=DATE -v more=DIR -v states_file=FILE -v sequences=DIR dat.in HEADER...
#
# The form of a doc comment is described at the top of dat.h, and checked by tests/abi/docs.awk. A file FUNCTION.mdoc in the
# folder "more" is copied into the page of that function, after its return values, and so is FUNCTION.sequence of the folder
# "sequences".

#
# This part reads the headers. code[NAME] is a declaration; parse_comment() puts the parts of its comment into head[NAME],
# prose[NAME] and so on. type[TYPEDEF] is the name of a struct, union or enum.
#

FILENAME ~ /[.]in$/ { overview[++overview_lines] = $0; next }

# Programs include udat.h, and plugins dat_registry.h, whichever of their headers has the declaration.
FNR == 1 {
	state = "code"
	header = FILENAME
	sub(/^.*include[\/]/, "", header)
	sub(/dat\/dat(_calls|_common)?[.]h$/, "dat/udat.h", header)
	sub(/dat\/dat_plugin[.]h$/, "dat/dat_registry.h", header)
}

state == "code" && /^[\/][*][*]/ {
	comment = ""
	if (sub(/ [*][\/]$/, "")) {
		comment = substr($0, 5)
		begin_declaration()
	} else {
		state = "doc"
		if (length($0) > 4)
			comment = substr($0, 5)
	}
	next
}
state == "doc" && /^ [*][\/]/ { begin_declaration(); next }
state == "doc" { comment = comment (comment == "" ? "" : "\n") substr($0, 4); next }
state == "declaration" {
	text = text (text == "" ? "" : "\n") $0
	if (/^[}]/ || (text !~ /[{]/ && /;$/) || (text ~ /^#define/ && !/\\$/))
		end_declaration()
	next
}
# The fields of three masks are macros.
/^#define DAT_(IA|EP|PROVIDER)_FIELD_/ {
	split($2, part, "_")
	fields[part[2]] = fields[part[2]] $2 "\n"
}

function begin_declaration() { state = "declaration"; text = "" }

function end_declaration(   title, name) {
	state = "code"
	title = comment
	sub(/ - .*$/, "", title)
	sub(/\n.*$/, "", title)
	if (title ~ /\(\)$/) {
		name = substr(title, 1, length(title) - 2)
		functions[++function_count] = name
		file[name] = header
	} else {
		name = title
		sub(/^[a-z]+ /, "", name)
		sub(/^__extension__ /, "", text)
		learn_type(name)
	}
	code[name] = text
	parse_comment(name, comment)
}

# The name of the typedef follows the closing brace, or else it is the name of the struct in capitals.
function learn_type(name,   alias) {
	alias = text
	if (sub(/^.*[}] */, "", alias) && alias ~ /^DAT_/)
		sub(/;.*$/, "", alias)
	else
		alias = toupper(name)
	type[alias] = name
	split(text, line, "\n")
	for (i in line)
		if (match(line[i], /^\tDAT_[A-Z0-9_]+/) && text ~ /enum/)
			constant[substr(line[i], 2, RLENGTH - 1)] = 1
		else if (match(line[i], /[a-z][a-z0-9_]*;$/))
			member[substr(line[i], RSTART, RLENGTH - 1)] = 1
}

# Splits a comment into its parts: head[], members[] in their order, member_text[], prose[], returns[], states[], safety[], page[].
function parse_comment(name, s,   n, i, line, key) {
	gsub(/\n  +/, " ", s)
	n = split(s, line, "\n")
	head[name] = line[1]
	sub(/^[^-]* - /, "", head[name])
	for (i = 2; i <= n; i++) {
		s = line[i]
		if (match(s, /^@[A-Za-z0-9_]+: /)) {
			key = substr(s, 2, RLENGTH - 3)
			members[name] = members[name] key "\n"
			member_text[name, key] = substr(s, RLENGTH + 1)
		} else if (sub(/^Returns: /, "", s))
			returns[name] = s
		else if (sub(/^States: /, "", s))
			states[name] = s
		else if (sub(/^Thread safety: /, "", s)) {
			safety[name] = s
			sub(/[.].*$/, "", safety[name])
			sub(/^.*Specification: /, "", s)
			sub(/[.]$/, "", s)
			page[name] = s
		} else
			prose[name] = prose[name] (prose[name] == "" ? "" : " ") s
	}
}

#
# This part writes mdoc.
#

function put(s) { print s > to }

# Writes running text: each sentence begins a line, and a name for which mdoc has a macro is written with that macro.
function put_text(s,   n, i, word, line) {
	n = split(s, word, / +/)
	line = ""
	for (i = 1; i <= n; i++)
		line = put_word(word[i], line)
	if (line != "")
		put(line)
}

function put_word(w, line,   core, before, after, macro) {
	core = w
	before = after = ""
	if (core ~ /^\(/) {
		before = "("
		core = substr(core, 2)
	}
	while (core ~ /[.,;:)]$/ && core !~ /\(\)$/) {
		after = " " substr(core, length(core)) after
		core = substr(core, 1, length(core) - 1)
	}
	macro = macro_for(core)
	if (macro != "") {
		if (line != "")
			put(line)
		if (before != "" && after ~ /\)/) {
			sub(/ \)/, "", after)
			macro = "Pq " macro
		} else if (before != "")
			macro = "No ( Ns " macro
		put("." macro after)
		return ""
	}
	if (w ~ /^[.']/)
		w = "\\&" w
	if (line == "")
		line = w
	else if (length(line) + length(w) > 76) {
		put(line)
		line = w
	} else
		line = line " " w
	if (w ~ /[.]\)?$/) {
		put(line)
		return ""
	}
	return line
}

function macro_for(core) {
	if (core ~ /^dat_[a-z_0-9]+\(\)$/) {
		core = substr(core, 1, length(core) - 2)
		return core == self ? "Fn " core : "Xr " core " 3"
	}
	if (core in type)
		return "Vt " core
	if (core ~ /^DAT_[A-Z0-9_]+$/ || core == "NULL")
		return "Dv " core
	if (("DAT_EP_STATE_" core) in constant)
		return "Dv " core
	if (core ~ /_/ && (self, core) in member_text)
		return "Fa " core
	if (core ~ /_/ && core in member)
		return "Va " core
	return ""
}

function capital(s) { return toupper(substr(s, 1, 1)) substr(s, 2) }
function full_stop(s) { return s ~ /[.]$/ ? s : s "." }

function put_page(name) {
	self = name
	to = out "/" name ".3"
	put(".\\\" Made from <" file[name] "> by gen-man.awk: change the text there.")
	put(".Dd " date)
	put(".ds doc-volume-operating-system OpenDAT")
	put(".Dt " toupper(name) " 3")
	put(".Os OpenDAT")
	put(".Sh NAME\n.Nm " name)
	put(".Nd " head[name])
	put(".Sh LIBRARY")
	put(file[name] ~ /registry/ && name ~ /_(init|fini)$/ ? \
		"Exported by a provider's library; called by libdat." : \
		"uDAPL registry library (libdat, \\-ldat;\n.Li pkg-config dat )")
	put_synopsis(name)
	put_description(name)
	put_parameters(name)
	put_types(name)
	put_states(name)
	put_returns(name)
	put_file(more "/" name ".mdoc")
	put_file(sequences "/" name ".sequence")
	put_safety(name)
	put_see_also(name)
	put(".Sh STANDARDS")
	put("uDAPL 1.2 of the DAT Collaborative, where the page is\n.Li " page[name] " .")
	close(to)
}

# Sets arg_count, arg_name[], arg_type[], arg_way[] and result from a prototype.
function parse_prototype(name,   s, n, i, part) {
	s = code[name]
	gsub(/[\n\t ]+/, " ", s)
	result = s
	sub(/^extern /, "", result)
	sub(" *" name "\\(.*$", "", result)
	sub(/^[^(]*\(/, "", s)
	sub(/\);.*$/, "", s)
	arg_count = split(s, part, /, */)
	for (i = 1; i <= arg_count; i++) {
		s = part[i]
		arg[i] = s
		arg_way[i] = s ~ /^OUT/ ? "out" : s ~ /^INOUT/ ? "in and out" : "in"
		sub(/^(INOUT|IN|OUT) /, "", s)
		arg_type[i] = s
		sub(/^const /, "", arg_type[i])
		sub(/[ *(].*$/, "", arg_type[i])
		gsub(/[()\[\]]/, "", s)
		sub(/^.*[ *]/, "", s)
		arg_name[i] = s
	}
}

function put_synopsis(name,   i) {
	put(".Sh SYNOPSIS\n.In " file[name])
	if (code[name] ~ /^#define/) {
		put_open_synopsis(name)
		return
	}
	parse_prototype(name)
	put(".Ft " result "\n.Fo " name)
	for (i = 1; i <= arg_count; i++)
		put(".Fa \"" arg[i] "\"")
	put(".Fc")
}

# dat_ia_open() is a macro and has no types, so the page shows those of the function that the macro calls.
function put_open_synopsis(name,   i, n, key) {
	parse_prototype(name "v")
	put(".Ft " result "\n.Fo " name)
	n = split(members[name], key, "\n") - 1
	arg_count = n
	for (i = 1; i <= n; i++) {
		sub(/[a-z_]+$/, key[i], arg[i])
		arg_name[i] = key[i]
		put(".Fa \"" arg[i] "\"")
	}
	put(".Fc")
}

function put_description(name,   s) {
	put(".Sh DESCRIPTION")
	s = head[name]
	if (s !~ /^what /)
		s = "is called to " s
	else
		s = "is " s
	put(".Fn " name)
	put_text(full_stop(s))
	if (prose[name] != "") {
		put(".Pp")
		put_text(prose[name])
	}
}

function put_parameters(name,   i) {
	if (!arg_count)
		return
	put(".Sh PARAMETERS\n.Bl -tag -width Ds")
	for (i = 1; i <= arg_count; i++) {
		put(".It Fa " arg_name[i] " Pq " arg_way[i])
		put_text(full_stop(capital_word(member_text[name, arg_name[i]])))
	}
	put(".El")
}

# Returns the text with a capital at its beginning, unless it begins with a name.
function capital_word(s) { return s ~ /^[a-z]+[_(]/ ? s : capital(s) }

# Writes the definitions of the types in the prototype, and of the types that these contain.
function put_types(name,   i) {
	for (i in seen)
		delete seen[i]
	types_begun = 0
	for (i = 1; i <= arg_count; i++)
		put_type(arg_type[i])
}

function put_type(alias,   name, mask, n, i, line) {
	if (alias in seen || alias == "DAT_BOOLEAN")
		return
	seen[alias] = 1
	mask = alias
	if (mask ~ /^DAT_(IA|EP|PROVIDER)_(ATTR|PARAM)_MASK$/) {
		split(mask, line, "_")
		put_type_title(alias)
		put("Bits that name the fields, to be combined:")
		put_literal(fields[line[2]])
		return
	}
	if (!(alias in type))
		return
	name = type[alias]
	put_type_title(alias)
	put_text(full_stop(capital(head[name])))
	put_definition(name)
	put_members(name)
	if (prose[name] != "") {
		put(".Pp")
		put_text(prose[name])
	}
	n = split(code[name], line, "\n")
	for (i = 1; i <= n; i++)
		if (match(line[i], /^\t(const )?DAT_[A-Z0-9_]+/) && code[name] !~ /enum/) {
			mask = substr(line[i], 2, RLENGTH - 1)
			sub(/^const /, "", mask)
			put_type(mask)
		}
}

function put_type_title(alias) {
	if (!types_begun)
		put(".Sh TYPES")
	types_begun = 1
	put(".Ss " alias)
}

# Returns a definition without the parts that only C++ compiles.
function put_definition(name,   n, i, line, s, skip) {
	n = split(code[name], line, "\n")
	s = ""
	skip = 0
	for (i = 1; i <= n; i++) {
		if (line[i] ~ /^#ifdef/)
			skip = 1
		else if (line[i] ~ /^#/)
			skip = 0
		else if (!skip)
			s = s line[i] "\n"
	}
	put_literal(s)
}

function put_literal(s,   n, i, line) {
	put(".Bd -literal -compact")
	n = split(s, line, "\n")
	for (i = 1; i < n; i++) {
		s = line[i]
		gsub(/\\/, "\\e", s)
		gsub(/\t/, "        ", s)
		sub(/^        /, "    ", s)
		if (s ~ / +=/)
			sub(/ +=/, " =", s)
		put(s)
	}
	put(".Ed")
}

function put_members(name,   n, i, key, macro) {
	n = split(members[name], key, "\n") - 1
	if (n < 1)
		return
	put(".Pp\n.Bl -tag -width Ds -compact")
	macro = code[name] ~ /enum/ ? "Dv " : "Va "
	for (i = 1; i <= n; i++) {
		put(".It " macro key[i])
		put_text(full_stop(capital_word(member_text[name, key[i]])))
	}
	put(".El")
}

function put_states(name,   s, other) {
	s = states[name]
	if (s == "")
		return
	put(".Sh STATES")
	if (match(s, /^as dat_[a-z_]+\(\)[.]$/)) {
		other = substr(s, 4, RLENGTH - 6)
		s = states[other]
	}
	if (s ~ /^(the endpoint|endpoints)/)
		s = capital(s)
	else
		put("Of the endpoint:")
	put_text(full_stop(s))
}

# Copies a file into the page if it exists; only some pages have one.
function put_file(path,   line) {
	while ((getline line < path) > 0)
		if (line !~ /^[.]\\" SPDX/)
			put(line)
	close(path)
}

#
# This part writes the return values. A comment has the form "A, B; C when ..., or so; else as f()": codes, each with the case in
# which it is returned. A code without a case gets the comment that enum dat_return_type has for it, and "as f()" gets the codes
# of f().
#

function put_returns(name,   i) {
	put(".Sh RETURN VALUES")
	for (i in code_text)
		delete code_text[i]
	code_count = 0
	remarks = ""
	learn_returns(returns[name])
	if (!code_count) {
		put_text(capital(full_stop(returns[name])))
		return
	}
	put(".Bl -tag -width Ds")
	for (i = 1; i <= code_count; i++) {
		put(".It Dv " code_name[i])
		put_text(full_stop(capital_word(code_text[code_name[i]])))
	}
	put(".El")
	if (remarks != "")
		put_text(remarks)
	put(".Pp\nCompare\n.Fn DAT_GET_TYPE ret\nwith these;\n." macro_for("dat_strerror()") "\nputs a value into words.")
	put("See\n.Xr dat 3\nfor what every function may return, and for the value's subtype.")
}

function learn_returns(s,   n, i, part, piece, m, k) {
	sub(/[.]$/, "", s)
	n = split(s, part, /; /)
	for (i = 1; i <= n; i++) {
		m = split(part[i], piece, /, /)
		last = ""
		for (k = 1; k <= m; k++)
			learn_return(piece[k])
	}
}

function learn_return(s,   name, other) {
	sub(/^but /, "", s)
	if (match(s, /^DAT_[A-Z_]+/)) {
		name = substr(s, 1, RLENGTH)
		s = substr(s, RLENGTH + 1)
		sub(/^:? */, "", s)
		learn_code(name, s)
		last = name
	} else if (match(s, /^(else )?as dat_[a-z_]+\(\)/)) {
		other = substr(s, 1, RLENGTH - 2)
		sub(/^(else )?as /, "", other)
		learn_returns(returns[other])
	} else if (last != "")
		code_text[last] = code_text[last] (plain[last] ? "; " : ", ") s
	else
		remarks = remarks (remarks == "" ? "" : " ") full_stop(capital(s))
}

# Returns true if an event reports the result of such a call later.
function under_way(function_name) {
	return function_name ~ /_post_(send|recv|rdma_)|^dat_ep_(connect|dup_connect|disconnect)$|^dat_cr_accept$|^dat_rmr_bind$/
}

function learn_code(name, s) {
	if (name in code_text)
		return
	code_name[++code_count] = name
	plain[name] = s == ""
	code_text[name] = s != "" ? s : name == "DAT_SUCCESS" && !under_way(self) ? "it is done" : member_text["dat_return_type", name]
	if (code_text[name] == "") {
		print "gen-man.awk: " self ": nothing says what " name " means" > "/dev/stderr"
		bad = 1
	}
}

function put_safety(name) {
	put(".Sh THREAD SAFETY")
	if (safety[name] == "safe")
		put("Safe: many threads may make this call at once, for one object too.")
	else
		put("Unsafe: one thread at a time may make this call for an object.\nOther objects are free of it.")
	put("Promised by providers whose\n.Va is_thread_safe\nis\n.Dv DAT_TRUE ;\nsee\n." macro_for("dat_ia_query()") " .")
}

# Writes SEE ALSO: the functions of the same object, and where to start.
function put_see_also(name,   i, mine, list, n, other) {
	put(".Sh SEE ALSO")
	mine = family(name)
	n = 0
	list = ".Xr dat 3"
	for (i = 1; i <= function_count; i++) {
		other = sorted[i]
		if (other != name && family(other) == mine)
			list = list " ,\n.Xr " other " 3"
	}
	put(list " ,\n.Xr dat.conf 5 ,\n.Xr opendat 7")
}

# Returns the object that a function is about: the second word of its name, except for the few functions of all objects and of the registry.
function family(name,   part) {
	split(name, part, "_")
	if (part[2] ~ /^(get|set|strerror)$/)
		return "any"
	if (part[2] == "provider")
		return "registry"
	return part[2]
}

function sort_functions(   i, k, name) {
	for (i = 1; i <= function_count; i++) {
		name = functions[i]
		for (k = i - 1; k > 0 && sorted[k] > name; k--)
			sorted[k + 1] = sorted[k]
		sorted[k + 1] = name
	}
}

# Writes dat(3): a line "@list FAMILY" is replaced by the functions of the family, and "@states" by the text of `states_file`.
function put_overview(   i, k, want, line, found) {
	self = "dat"
	to = out "/dat.3"
	for (i = 1; i <= overview_lines; i++) {
		if (overview[i] == "@states") {
			found = 0
			while ((getline line < states_file) > 0) {
				put(line)
				found++
			}
			close(states_file)
			if (!found) {
				print "gen-man.awk: no states in " states_file > "/dev/stderr"
				bad = 1
			}
			continue
		}
		if (overview[i] !~ /^@list /) {
			sub(/@date@/, date, overview[i])
			put(overview[i])
			continue
		}
		want = substr(overview[i], 7)
		put(".Bl -tag -width Ds -compact")
		for (k = 1; k <= function_count; k++)
			if (family(sorted[k]) == want) {
				put(".It Xr " sorted[k] " 3")
				put_text(full_stop(capital(head[sorted[k]])))
				listed++
			}
		put(".El")
	}
	close(to)
	if (listed != function_count) {
		print "gen-man.awk: dat(3) lists " listed " of " function_count " functions" > "/dev/stderr"
		bad = 1
	}
}

END {
	sort_functions()
	for (i = 1; i <= function_count; i++)
		put_page(functions[i])
	put_overview()
	exit bad
}
