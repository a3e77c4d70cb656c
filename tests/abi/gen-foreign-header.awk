# SPDX-License-Identifier: BSD-2-Clause
# gen-foreign-header.awk: makes a uDAPL 1.2 header out of abi12.tsv alone, as another vendor might
# have written one. Nothing in it comes from include/dat, so a program built with it shows whether
# a stranger's binary runs on our libraries.
# Use: awk -f gen-foreign-header.awk abi12.tsv > foreign_dat.h
BEGIN {
	FS = "\t"
	print "/* Generated from abi12.tsv by gen-foreign-header.awk. Do not edit. */"
	print "#ifndef FOREIGN_DAT_H"
	print "#define FOREIGN_DAT_H\n"
	print "#include <stddef.h>"
	print "#include <stdint.h>"
	print "#include <sys/types.h>"
	print "#include <sys/socket.h>"
	print "#include <netinet/in.h>\n"
}
NR == 1 { next }

$1 == "enumerator" {
	if (!($2 in enum_text))
		enum_order[++enums] = $2
	enum_text[$2] = enum_text[$2] "\t" $3 " = " $6 ",\n"
}
$1 ~ /^define/ { print "#define " $3 " " $4 }
$1 == "typedef" {
	alias_order[++aliases] = $3
	alias[$3] = $4
}
$1 == "struct" || $1 == "union" { aggregate_order[++aggregates] = $3 }
$1 == "field" || $1 == "vtable" {
	fields[$2] = fields[$2] "\t" declare($4, $3) ";\n"
	if ($4 !~ /\*$/)
		holds[$2] = holds[$2] " " base($4)
}
$1 == "function" {
	prototypes = prototypes "extern " $5 " " $3 "(" parameters($4) ");\n"
}
$1 == "function-macro" && $5 !~ /^calls provider/ { print "#define " $3 $4 " " $5 }

# A type and a name, the way C wants them.
function declare(type, name,   at) {
	if ((at = index(type, "(*)")) > 0)
		return substr(type, 1, at + 1) name substr(type, at + 2)
	if ((at = index(type, "[")) > 0)
		return substr(type, 1, at - 1) name substr(type, at)
	return type " " name
}

function base(type) {
	sub(/^const /, "", type)
	sub(/ *\[.*$/, "", type)
	return type
}

function parameters(s,   n, i, p, out) {
	n = split(s, p, /; /)
	for (i = 1; i <= n; i++) {
		sub(/^(INOUT|IN|OUT) /, "", p[i])
		sub(/ : .*$/, "", p[i])
		out = out (i > 1 ? ", " : "") p[i]
	}
	return out
}

# Whether every standard type that a text names has been declared.
function ready(text,   word) {
	while (match(text, /DAT_[A-Z0-9_]+/)) {
		word = substr(text, RSTART, RLENGTH)
		if ((word in alias) && !(word in declared))
			return 0
		text = substr(text, RSTART + RLENGTH)
	}
	return 1
}

# Whether every struct or union that an aggregate holds by value has been defined.
function complete(aggregate,   n, i, part, inner) {
	n = split(holds[aggregate], part, " ")
	for (i = 1; i <= n; i++) {
		inner = alias[part[i]]
		while (inner in alias)
			inner = alias[inner]
		if (inner ~ /^(struct|union) dat_/ && !(inner in defined))
			return 0
	}
	return 1
}

END {
	print ""
	for (i = 1; i <= enums; i++)
		print enum_order[i] " {\n" enum_text[enum_order[i]] "};\n"
	left = aliases
	while (left > 0) {
		before = left
		for (i = 1; i <= aliases; i++) {
			a = alias_order[i]
			if ((a in declared) || !ready(alias[a]))
				continue
			print "typedef " declare(alias[a], a) ";"
			declared[a] = 1
			left--
		}
		if (left == before)
			stuck("typedefs")
	}
	print ""
	left = aggregates
	while (left > 0) {
		before = left
		for (i = 1; i <= aggregates; i++) {
			a = aggregate_order[i]
			if ((a in defined) || !complete(a))
				continue
			print a " {\n" fields[a] "};\n"
			defined[a] = 1
			left--
		}
		if (left == before)
			stuck("structures")
	}
	print prototypes
	print "#endif"
}

function stuck(what) {
	print "gen-foreign-header.awk: " what " that need each other" > "/dev/stderr"
	exit 1
}
