# SPDX-License-Identifier: BSD-2-Clause
# facts.awk: what the generators of the ABI tests share: tests of the generated program, made of facts, and its main().
# The generator counts the rows of each kind in rows[], and calls expect() and print_main() at the end.

# Tests are kept in the order in which the table first names them.
function fact(test, code) {
	if (!(test in body)) {
		order[++tests] = test
		body[test] = ""
	}
	body[test] = body[test] "\t" code ";\n"
}

function quote(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	return "\"" s "\""
}

# Checks that the table has n rows of this kind: a table that was cut short must not pass as a smaller contract.
function expect(kind, n) {
	if (rows[kind] + 0 != n) {
		print FILENAME ": " kind ": " rows[kind] + 0 " rows, " n " expected" > "/dev/stderr"
		failed = 1
	}
}

# The end of the program; ends the generator with a status.
function print_main(   i) {
	print "int main(void)"
	print "{"
	print "\tprintf(\"1.." tests "\\n\");"
	for (i = 1; i <= tests; i++)
		print "\n\tfacts_begin();\n" body[order[i]] "\tfacts_end(" i ", " quote(order[i]) ");"
	print "\n\treturn facts_failed_tests != 0;"
	print "}"
	if (failed)
		exit 1
}
