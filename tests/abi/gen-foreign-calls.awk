# SPDX-License-Identifier: BSD-2-Clause
# gen-foreign-calls.awk: makes the two ends of the foreign test that follow the table slot by slot.
# Use: awk -v part=plugin   -f gen-foreign-calls.awk abi12.tsv > foreign_slots.h
#      awk -v part=consumer -f gen-foreign-calls.awk abi12.tsv > foreign_calls.h
# The plugin's function in each slot notes what it was called with; the consumer's caller of each
# function passes a different value in every parameter and compares the notes.
BEGIN {
	FS = "\t"
	print "/* Generated from abi12.tsv by gen-foreign-calls.awk. Do not edit. */\n"
}
NR == 1 { next }
$1 == "typedef" { signature[$3] = $4 }
$1 == "vtable" && $4 ~ /_FUNC$/ {
	name = $3
	sub(/_func$/, "", name)
	slot = $10
	sub(/^slot /, "", slot)
	order[++slots] = name
	number[name] = slot
	type[name] = $4
}
# Parameter names, for the reports.
$1 == "function" {
	name = $3
	sub(/^dat_/, "", name)
	names[name] = $4
}

function types(name, t,   s) {
	s = signature[type[name]]
	sub(/^DAT_RETURN \(\*\)\(/, "", s)
	sub(/\)$/, "", s)
	return split(s, t, /, /)
}
function is_pointer(t) { return t ~ /\*$/ || t ~ /(DAT_PVOID|_PTR|DAT_NAME_PTR)$/ }
function makes_handle(t) { return t ~ /^DAT_[A-Z]+_HANDLE \*$/ }
function mutable(t) {
	if (t !~ /\*$/)
		sub(/^const /, "", t)
	return t
}

# ia_open, ia_query and ia_close are written by hand in foreign_plugin.c.
function slot_function(name,   n, i, t) {
	n = types(name, t)
	print "static DAT_RETURN foreign_" name "("
	for (i = 1; i <= n; i++)
		print "\t" t[i] (t[i] ~ /\*$/ ? "" : " ") "a" i (i < n ? "," : ")")
	print "{"
	print "\tforeign_note(" number[name] ");"
	for (i = 1; i <= n; i++)
		print "\tforeign_note_argument(&a" i ", sizeof(a" i "));"
	for (i = 1; i <= n; i++)
		if (makes_handle(t[i]))
			print "\tif (foreign_log.answer == DAT_SUCCESS)\n\t\t*a" i " = &foreign_object;"
	print "\treturn foreign_log.answer;"
	print "}\n"
}

function caller(name,   n, i, t, p, label, args) {
	n = types(name, t)
	split(names[name], p, /; /)
	print "static void call_dat_" name "(const struct foreign_ends *ends, DAT_RETURN answer)"
	print "{"
	print "\tstatic _Alignas(16) char room[" n + 1 "][1024];"
	print "\tstruct {"
	args = ""
	for (i = 1; i <= n; i++) {
		print "\t\t__typeof__(" mutable(t[i]) ") a" i ";"
		args = args (i > 1 ? ", " : "") "sent.a" i
	}
	print "\t} sent, wanted;\n"
	print "\tmemset(room, 0, sizeof(room));"
	for (i = 1; i <= n; i++) {
		if (t[i] ~ /^DAT_[A-Z]*_?HANDLE$/)
			print "\tsent.a" i " = " (t[i] == "DAT_IA_HANDLE" ? "ends->ia" : "ends->object") ";"
		else if (is_pointer(t[i]))
			print "\tsent.a" i " = (void *)room[" i "];"
		else
			print "\tmemset(&sent.a" i ", " i ", sizeof(sent.a" i "));"
	}
	print "\twanted = sent;"
	for (i = 1; i <= n; i++)
		if (t[i] == "DAT_IA_HANDLE")
			print "\twanted.a" i " = ends->object;"
	print "\tforeign_begin(ends, answer);"
	print "\tforeign_returned(ends, dat_" name "(" args "), " number[name] ", " n ");"
	for (i = 1; i <= n; i++) {
		label = p[i]
		sub(/^.* : /, "", label)
		print "\tforeign_passed(ends, " i - 1 ", \"" label "\", &wanted.a" i ", sizeof(wanted.a" i "));"
		if (makes_handle(t[i]))
			print "\tforeign_made(ends, \"" label "\", *sent.a" i ");"
	}
	print "}\n"
}

END {
	if (slots != 68) {
		print "gen-foreign-calls.awk: " slots " slots, 68 expected" > "/dev/stderr"
		exit 1
	}
	for (i = 1; i <= slots; i++) {
		name = order[i]
		if (part == "plugin" && name !~ /^ia_(open|query|close)$/)
			slot_function(name)
		if (part == "consumer" && name !~ /^ia_(open|close)$/)
			caller(name)
	}
	if (part == "plugin") {
		print "#define FOREIGN_SLOTS \\"
		for (i = 1; i <= slots; i++)
			print "\t." order[i] "_func = foreign_" order[i] (i < slots ? ", \\" : "")
	} else {
		print "static const struct foreign_call {\n\tconst char *name;"
		print "\tvoid (*run)(const struct foreign_ends *ends, DAT_RETURN answer);"
		print "} foreign_calls[] = {"
		for (i = 1; i <= slots; i++)
			if (order[i] !~ /^ia_(open|close)$/)
				print "\t{ \"dat_" order[i] "\", call_dat_" order[i] " },"
		print "};"
	}
}
