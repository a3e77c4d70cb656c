# SPDX-License-Identifier: BSD-2-Clause
# gen-abi20-test.awk: turns abi20.tsv into a C program that measures the headers of DAT 2.0 against it.
# Invariant: every row of the table that a C program can see becomes a fact of exactly one test; what is left out has its reason below.
#
# Use: awk -f facts.awk -f gen-abi20-test.awk abi20.tsv > abi20_test.c
# The program prints TAP. A wrong value is a "not ok" with what was found; a missing name does not compile.
BEGIN {
	FS = "\t"
	print "/* Generated from abi20.tsv by gen-abi20-test.awk. Do not edit. */"
	print "#include <stdarg.h>"
	print "#include <dat2/udat.h>"
	print "#include <dat2/dat_redirection.h>"
	print "#include <dat2/dat_registry.h>"
	print "#include <dat2/udat_redirection.h>"
	print "#include <dat2/dat_ib_extensions.h>"
	print "#include \"abi_facts.h\"\n"

	# names a constant that no header of DAT 2.0 has
	leave["DAT_IA_FIELD_IA_MAX_DTO_PER_OP"] = 1
	# as macros they do not compile in the headers that the table was made from, so no program has them
	leave["dat_ib_start_counter"] = leave["dat_ib_stop_counter"] = leave["dat_ib_collective_set_clock"] = 1
}

NR == 1 { next }
{ rows[$1]++ }
$3 in leave { next }

$1 == "enum" { fact($3, "FACT_TYPE_SIZE(" $3 ", " $5 ")") }
$1 == "enumerator" { fact($2, "FACT_VALUE(" $3 ", " $5 "LL)") }
$1 == "define" { fact("numeric defines", "FACT_VALUE(" $3 ", " $5 "LL)") }
$1 == "define-nonnumeric" { fact("other defines", "FACT_TEXT(" $3 ", " $4 ")") }
$1 == "function-macro" {
	print "#ifndef " $3
	print "#error " $3 " is no macro"
	print "#endif"
}
$1 == "typedef" && $4 !~ /\[/ { fact("typedefs of " $7, "FACT_TYPE(" $3 ", " $4 ")") }
$1 == "typedef" && $4 ~ /\[/ {
	type = $4
	sub(/\[/, "(*)[", type)
	sub(/ \*$/, "", type)
	fact("typedefs of " $7, "FACT_TYPE(" $3 ", " type ")")
}
# A list of arguments that is passed on has a type that C can write.
$1 == "functype" {
	type = $4
	sub(/struct __va_list_tag \*/, "va_list", type)
	sub(/ \(/, " (*)(", type)
	functype[$3] = 1
	fact("function types of " $7, "FACT_TYPE(" $3 ", " type ")")
}
($1 == "struct" || $1 == "union") && $3 !~ /anonymous/ { fact($3, "FACT_TYPE_SIZE(" $3 ", " $5 ")") }

# Members of unions without a name are looked at through the struct that holds the union.
$1 == "field" && $2 !~ /anonymous/ && $3 !~ /anonymous/ {
	fact($2, "FACT_VALUE(offsetof(" $2 ", " $3 "), " $6 "LL)")
	if ($4 !~ /anonymous/) {
		type = $4
		sub(/^const const/, "const", type)
		fact($2, "FACT_TYPE(__typeof__(((" $2 " *)0)->" $3 "), " type ")")
	}
}
$1 == "field" && $2 == "struct dat_provider" {
	fact("slots", "FACT_VALUE(offsetof(struct dat_provider, " $3 ") / sizeof(void *), " slots++ "LL)")
}

# The prototype of a function is the type of its slot.
$1 == "symbol" {
	name = $3
	sub(/@.*$/, "", name)
	if (toupper(name) "_FUNC" in functype)
		fact("prototypes", "FACT_TYPE(__typeof__(&" name "), " toupper(name) "_FUNC)")
}

# A macro over dat_extension_op(): the test's own function of this name compares what it is given.
$1 == "extension-call" {
	call[++calls] = $3
	call_params[$3] = $4
	call_args[$3] = $5
}

function last_word(s) {
	sub(/^.*[ *]/, "", s)
	return s
}
function type_of(s) {
	if (s !~ /[ *]/)
		return "DAT_DTO_COOKIE"
	sub(/[A-Za-z_0-9]+$/, "", s)
	sub(/ $/, "", s)
	return s
}

function extension(name,   n, a, i, handle, op, list, params, m, j, type) {
	n = split(call_args[name], a, /; /)
	handle = last_word(a[1])
	op = last_word(a[2])
	params = call_params[name]
	gsub(/[()]/, "", params)
	m = split(params, p, /,/)
	print "static void take_" name "(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list ap)"
	print "{"
	print "\tFACT_VALUE(op, " op ");"
	print "\tfact_true(\"handle of " name "\", handle == " (handle == "NULL" ? "NULL" : "want(" 1 ")") ");"
	print "\t(void)ap;"
	for (i = 3; i <= n; i++) {
		type = type_of(a[i])
		print "\t{"
		print "\t\tconst " type_plain(type) " got = va_arg(ap, " type_plain(type) ");"
		print "\t\t" type_plain(type) " want;\n"
		print "\t\tmemset(&want, " i ", sizeof(want));"
		print "\t\tFACT_SAME(" quote(name " passes " last_word(a[i])) ", got, want);"
		print "\t}"
	}
	print "}"
	print "static void call_" name "(void)"
	print "{"
	for (i = 3; i <= n; i++)
		print "\t" type_plain(type_of(a[i])) " v" i ";"
	print ""
	for (i = 3; i <= n; i++)
		print "\tmemset(&v" i ", " i ", sizeof(v" i "));"
	print "\ttake = take_" name ";"
	# by position: the handle is where its name is, the others follow each other as in the call
	list = ""
	j = 3
	for (i = 1; i <= m; i++) {
		if (p[i] == handle)
			list = list (i > 1 ? ", " : "") "want(1)"
		else
			list = list (i > 1 ? ", " : "") "v" j++
	}
	print "\tFACT_VALUE(" name "(" list "), FACT_STUB_RETURN);"
	print "}\n"
	fact("calls of the extension", "call_" name "()")
}
function type_plain(t) {
	sub(/^const /, "", t)
	return t
}

END {
	# A table cut short must not pass as a smaller contract.
	expect("enum", 60); expect("enumerator", 591); expect("define", 151); expect("define-nonnumeric", 32)
	expect("typedef", 144); expect("struct", 35); expect("union", 7); expect("field", 321)
	expect("functype", 83); expect("function-macro", 7); expect("extension-call", 32); expect("symbol", 74)

	print "static void (*take)(DAT_HANDLE, DAT_EXTENDED_OP, va_list);\n"
	print "static DAT_HANDLE want(int n)"
	print "{"
	print "\tDAT_HANDLE handle;\n"
	print "\tmemset(&handle, n, sizeof(handle));"
	print "\treturn handle;"
	print "}\n"
	print "DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)"
	print "{"
	print "\tva_list ap;\n"
	print "\tva_start(ap, op);"
	print "\ttake(handle, op, ap);"
	print "\tva_end(ap);"
	print "\treturn FACT_STUB_RETURN;"
	print "}\n"
	for (i = 1; i <= calls; i++)
		extension(call[i])
	print_main()
}
