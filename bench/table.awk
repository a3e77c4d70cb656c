# SPDX-License-Identifier: BSD-2-Clause
# From "row|name|better|aims|unit|what" and "value|name|contestant|round|value" to a table, and to JSON in the file `json`.

function better(a, b) { return how[row] == "less" ? a < b : a > b }

function median(list, n,    i, j, t)
{
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
			t = list[j]
			list[j] = list[j - 1]
			list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

# The aim that concerns this contestant, or "": a ratio to its best, or, for ours, a figure.
function aim_of(name,    list, n, i, part)
{
	n = split(aims[row], list, " ")
	for (i = 1; i <= n; i++) {
		if (name == ours && substr(list[i], 1, 1) == "=")
			return substr(list[i], 2)
		split(list[i], part, ":")
		if (part[1] == name)
			return part[2]
	}
	return ""
}

function met(aim, figure) { return how[row] == "less" ? figure + 0 <= aim + 0 : figure + 0 >= aim + 0 }

# Returns the text for the column of aims, and counts the aims that are met and those that are not.
function verdict(aim, figure)
{
	if (aim == "")
		return ""
	if (met(aim, figure)) {
		met_count++
		return (how[row] == "less" ? "<= " : ">= ") aim ": met"
	}
	missed[row] = 1
	missed_count++
	return (how[row] == "less" ? "<= " : ">= ") aim ": NOT MET"
}

function over(a, b) { return b + 0 ? sprintf("%.4f", a / b) : "null" }

# Whether the row's aims were met: null when a rival that an aim names was not there.
function row_met(    list, n, i, part, figure, known)
{
	n = split(aims[row], list, " ")
	known = n > 0 && ((row SUBSEP ours) in best)
	for (i = 1; i <= n; i++) {
		split(list[i], part, ":")
		if (substr(list[i], 1, 1) != "=" && !((row SUBSEP part[1]) in best))
			known = 0
	}
	return missed[row] ? "false" : known ? "true" : "null"
}

function contestant(name,    i, n, ratio, half, aim, figure)
{
	for (i = 1; i <= rounds; i++)
		if ((row, name, i) in value && (row, ours, i) in value && value[row, name, i] + 0)
			ratio[++n] = value[row, ours, i] / value[row, name, i]
	half = n ? sprintf("%.4f", median(ratio, n)) : "null"
	aim = aim_of(name)
	figure = name == ours ? best[row, ours] : over(best[row, ours], best[row, name])
	printf "%s{\"name\": \"%s\", \"best\": %s, \"ours_over_best\": %s, \"median_ratio\": %s, \"aim\": %s, \"met\": %s}", \
		(comma[row]++ ? ", " : ""), name, best[row, name], over(best[row, ours], best[row, name]), half, \
		(aim == "" ? "null" : aim), (aim == "" ? "null" : met(aim, figure) ? "true" : "false") >json
	if (name == ours)
		printf "%-20s  %-22s  %14.2f  %12s  %12s  %s (%s)\n", row, name, best[row, name], "", "", \
			verdict(aim, figure), unit[row]
	else
		printf "%-20s  %-22s  %14.2f  %12.3f  %12.3f  %s\n", "", name, best[row, name], figure, half, \
			verdict(aim, figure)
}

$1 == "row" {
	row = $2
	order[++rows] = row
	how[row] = $3
	aims[row] = $4
	unit[row] = $5
	what[row] = $6
}

$1 == "value" {
	row = $2
	key = row SUBSEP $3
	if (!(key in best)) {
		who[row, ++whos[row]] = $3
		best[key] = $5
	} else if (better($5 + 0, best[key] + 0))
		best[key] = $5
	value[row, $3, $4] = $5
	rounds = $4 > rounds ? $4 : rounds
}

END {
	printf "%-20s  %-22s  %14s  %12s  %12s  %s\n", "row", "who", "best", "ours/theirs", "median", "aim"
	printf "{\"date\": \"%s\", \"machine\": \"%s\", \"rounds\": %d, \"rows\": [", when, machine, rounds >json
	for (r = 1; r <= rows; r++) {
		row = order[r]
		ours = substr(who[row, 1], 1, 4) == "dat_" ? who[row, 1] : ""
		printf "%s\n {\"row\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\", \"aims\": \"%s\", \"who\": [", \
			(r > 1 ? "," : ""), row, what[row], unit[row], how[row], aims[row] >json
		if (ours == "")
			printf "%-20s  not measured: %s\n", row, what[row]
		for (w = 1; ours != "" && w <= whos[row]; w++)
			contestant(who[row, w])
		printf "], \"met\": %s}", row_met() >json
	}
	printf "\n]}\n" >json
	printf "\n%d aims met, %d not met\n", met_count, missed_count
}
