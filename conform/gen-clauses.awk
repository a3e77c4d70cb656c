# SPDX-License-Identifier: BSD-2-Clause
# Makes the tables of clauses and readings, in C, from the .tsv files. Those with clauses are the last on the command line;
# lifted.tsv has the clauses of uDAPL 1.2 that do not hold in the API which the table is made for.
function quoted(s)
{
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	gsub(/\?\?/, "?\\?", s)
	return "\"" s "\""
}

# Returns the remark on a clause from one of the small tables, or NULL.
function remark(table, id)
{
	return id in table ? quoted(table[id]) : "NULL"
}

function no_clause(table, file,    id)
{
	for (id in table)
		if (!(id in seen)) {
			print file ": " id " is no clause" > "/dev/stderr"
			exit 1
		}
}

BEGIN {
	FS = "\t"
	print "/* Made by gen-clauses.awk: change the .tsv files instead. */"
	print "#include \"clauses.h\"\n\nstruct ambiguity ambiguities[] = {"
}

FILENAME ~ /untestable/ {
	if (FNR > 1)
		reason[$1] = $2
	next
}

FILENAME ~ /mended/ {
	if (FNR > 1)
		mended[$1] = $2
	next
}

FILENAME ~ /lifted/ {
	if (FNR > 1)
		lifted[$1] = $2
	next
}

FILENAME ~ /ambiguities/ {
	if (FNR > 1)
		printf "\t{ %s, %s,\n\t  %s,\n\t  %s, true },\n", quoted($1), quoted($2), quoted($3), quoted($4)
	next
}

FNR == 1 && !begun++ {
	print "};\n\nconst int ambiguity_count = sizeof(ambiguities) / sizeof(ambiguities[0]);"
	print "\nstruct clause clauses[] = {"
}

FNR > 1 {
	if ($1 in seen || NF != 8) {
		print FILENAME ":" FNR ": a doubled id, or not 8 columns" > "/dev/stderr"
		exit failed = 1
	}
	seen[$1] = 1
	printf "\t{ .id = %s, .function = %s, .kind = %s,\n\t  .text = %s,\n\t  .how = %s,\n", quoted($1), quoted($2),
		quoted($3), quoted($4), quoted($5)
	printf "\t  .optional = %s, .strength = %s, .source = %s,\n\t  .reason = %s,\n\t  .mended = %s,\n\t  .lifted = %s },\n",
		quoted($6), quoted($7), quoted($8), remark(reason, $1), remark(mended, $1), remark(lifted, $1)
}

END {
	if (failed)
		exit 1
	no_clause(reason, "untestable.tsv")
	no_clause(mended, "mended.tsv")
	no_clause(lifted, "lifted.tsv")
	print "};\n\nconst int clause_count = sizeof(clauses) / sizeof(clauses[0]);"
}
