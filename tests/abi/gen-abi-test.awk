# SPDX-License-Identifier: BSD-2-Clause
# gen-abi-test.awk: turns abi12.tsv into a C program that measures the headers against it.
# Invariant: every row of the table that a C program can see becomes a fact of exactly one test.
#
# Use: awk -f facts.awk -f gen-abi-test.awk abi12.tsv > abi12_test.c
# The program prints TAP. A wrong value is a "not ok" with what was found; a missing name does not
# compile.
BEGIN {
	FS = "\t"
	print "/* Generated from abi12.tsv by gen-abi-test.awk. Do not edit. */"
	print "#include <dat/dat.h>"
	print "#include <dat/dat_error.h>"
	print "#include <dat/dat_platform_specific.h>"
	print "#include <dat/dat_redirection.h>"
	print "#include <dat/dat_registry.h>"
	print "#include <dat/dat_vendor_specific.h>"
	print "#include <dat/udat.h>"
	print "#include <dat/udat_config.h>"
	print "#include <dat/udat_redirection.h>"
	print "#include <dat/udat_vendor_specific.h>"
	print "#include \"abi_facts.h\"\n"
}

NR == 1 { next }
{ rows[$1]++ }

# "IN DAT_COUNT : size; OUT DAT_EP_HANDLE * : ep" becomes "DAT_COUNT, DAT_EP_HANDLE *"
function parameters(s,   n, i, p, out) {
	n = split(s, p, /; /)
	out = ""
	for (i = 1; i <= n; i++) {
		sub(/^(INOUT|IN|OUT) /, "", p[i])
		sub(/ : .*$/, "", p[i])
		out = out (i > 1 ? ", " : "") p[i]
	}
	return out
}

$1 == "enum" { fact($3, "FACT_TYPE_SIZE(" $3 ", " $5 ")") }
$1 == "enumerator" { fact($2, "FACT_VALUE(" $3 ", " $5 "LL)") }

$1 == "define" {
	width = $10
	sub(/^sizeof=/, "", width)
	fact("numeric defines", "FACT_VALUE(" $3 ", " $5 "LL)")
	fact("numeric defines", "FACT_WIDTH(" $3 ", " width + 0 ")")
}
$1 == "define-nonnumeric" { fact("other defines", "FACT_TEXT(" $3 ", " $4 ")") }

$1 == "typedef" {
	fact("typedefs of " $9, "FACT_TYPE_SIZE(" $3 ", " $5 ")")
	fact("typedefs of " $9, "FACT_TYPE(" $3 ", " $4 ")")
	signature[$3] = $4
}

$1 == "struct" || $1 == "union" {
	align = $6
	sub(/^align /, "", align)
	fact($3, "FACT_TYPE_SIZE(" $3 ", " $5 ")")
	fact($3, "FACT_ALIGN(" $3 ", " align ")")
}
$1 == "field" || $1 == "vtable" {
	fact($2, "FACT_FIELD(" $2 ", " $3 ", " $6 ", " $5 ")")
	fact($2, "FACT_TYPE(__typeof__(((" $2 " *)0)->" $3 "), " $4 ")")
}
$1 == "vtable" {
	slot = $10
	sub(/^slot /, "", slot)
	fact("vtable slots", "FACT_VALUE(offsetof(" $2 ", " $3 ") / sizeof(void *), " slot "LL)")
	slot_type[$3] = $4
}

# dats_get_ia_handle has no public prototype; symbols.sh looks for it.
$1 == "function" && $9 ~ /^(dat|udat|dat_registry)\.h$/ {
	fact($3 " prototype", "FACT_TYPE(__typeof__(" $3 "), " $5 " (" parameters($4) "))")
}

$1 == "function-macro" {
	if ($5 ~ /^calls provider\(/) {
		macro[++macros] = $3
		macro_args[$3] = $4
		macro_call[$3] = $5
	} else {
		fact($3 " macro", "FACT_TEXT(" $3 $4 ", " $5 ")")
	}
}

# A macro that calls through a handle: a stub stands in the slot, and compares what it is given.
function dispatch(name,   call, handle, slot, n, i, a, t, types, args, names) {
	call = macro_call[name]
	handle = call
	sub(/^calls provider\(/, "", handle)
	slot = handle
	sub(/\)->.*$/, "", handle)
	sub(/^.*\)->/, "", slot)
	names = macro_args[name]
	gsub(/[()]/, "", names)
	n = split(names, a, /,/)
	types = signature[slot_type[slot]]
	sub(/^DAT_RETURN \(\*\)\(/, "", types)
	sub(/\)$/, "", types)
	if (split(types, t, /, /) != n) {
		print "gen-abi-test.awk: " name ": argument count differs from " slot > "/dev/stderr"
		failed = 1
		return
	}
	print "static struct {"
	for (i = 1; i <= n; i++)
		print "\t__typeof__(" unconst(t[i]) ") a" i ";"
	print "} want_" name ";"
	print "static DAT_RETURN stub_" name "("
	for (i = 1; i <= n; i++)
		print "\t" t[i] (t[i] ~ /\*$/ ? "" : " ") "a" i (i < n ? "," : ")")
	print "{"
	for (i = 1; i <= n; i++)
		print "\tFACT_SAME(" quote(name " passes " a[i]) ", a" i ", want_" name ".a" i ");"
	print "\treturn FACT_STUB_RETURN;"
	print "}"
	print "static void call_" name "(void)"
	print "{"
	print "\tDAT_PROVIDER table = { ." slot " = stub_" name " };"
	print "\tDAT_PROVIDER *object = &table;\n"
	for (i = 1; i <= n; i++)
		print "\tmemset(&want_" name ".a" i ", " i ", sizeof(want_" name ".a" i "));"
	args = ""
	for (i = 1; i <= n; i++) {
		if (a[i] == handle)
			print "\twant_" name ".a" i " = &object;"
		args = args (i > 1 ? ", " : "") "want_" name ".a" i
	}
	print "\tFACT_VALUE(" name "(" args "), FACT_STUB_RETURN);"
	print "}\n"
	fact(name " macro", "call_" name "()")
}
function unconst(t) {
	if (t !~ /\*$/)
		sub(/^const /, "", t)
	return t
}

END {
	# A table cut short must not pass as a smaller contract.
	expect("enum", 37); expect("enumerator", 296); expect("define", 130)
	expect("define-nonnumeric", 8); expect("typedef", 177); expect("struct", 28)
	expect("union", 4); expect("field", 191); expect("vtable", 70)
	expect("function", 75); expect("function-macro", 71); expect("symbol", 75)

	for (i = 1; i <= macros; i++)
		dispatch(macro[i])
	print_main()
}
