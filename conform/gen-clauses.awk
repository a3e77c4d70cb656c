# SPDX-License-Identifier: BSD-2-Clause
# Makes the table of clauses, in C, of clauses.tsv and untestable.tsv (first of the two on the command line).
function quoted(s)
{
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	gsub(/\?\?/, "?\\?", s)
	return "\"" s "\""
}

BEGIN {
	FS = "\t"
	print "/* Made by gen-clauses.awk: change clauses.tsv or untestable.tsv instead. */"
	print "#include \"clauses.h\"\n\nstruct clause clauses[] = {"
}

FILENAME ~ /untestable/ {
	if (FNR > 1)
		reason[$1] = $2
	next
}

FNR > 1 {
	if ($1 in seen || NF != 8) {
		print FILENAME ":" FNR ": a doubled id, or not 8 columns" > "/dev/stderr"
		exit failed = 1
	}
	seen[$1] = 1
	printf "\t{ .id = %s, .function = %s, .kind = %s,\n\t  .text = %s,\n\t  .how = %s,\n", quoted($1), quoted($2),
		quoted($3), quoted($4), quoted($5)
	printf "\t  .optional = %s, .strength = %s, .source = %s, .reason = %s },\n", quoted($6), quoted($7),
		quoted($8), $1 in reason ? quoted(reason[$1]) : "NULL"
}

END {
	if (failed)
		exit 1
	for (id in reason)
		if (!(id in seen)) {
			print "untestable.tsv: " id " is no clause" > "/dev/stderr"
			exit 1
		}
	print "};\n\nconst int clause_count = sizeof(clauses) / sizeof(clauses[0]);"
}
