# SPDX-License-Identifier: BSD-2-Clause
# From "row|better|aim|unit|contestant|round|value" to a table, and to JSON in the file `json`.

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

# The aim is a ratio to the first rival, or, where there is none, a figure.
function verdict(figure)
{
	if (figure == "")
		return "nobody to compare with"
	return (how[row] == "less" ? figure <= aim[row] : figure >= aim[row]) ? "met" : "not met"
}

{
	row = $1
	if (!(row in how))
		order[++rows] = row
	how[row] = $2
	aim[row] = $3
	unit[row] = $4
	key = row SUBSEP $5
	if (!(key in best)) {
		who[row, ++whos[row]] = $5
		best[key] = $7
	} else if (better($7 + 0, best[key] + 0))
		best[key] = $7
	value[row, $5, $6] = $7
	rounds = $6 > rounds ? $6 : rounds
}

END {
	printf "%-16s  %-18s  %14s  %12s  %12s  %s\n", "what", "who", "best", "ours/theirs", "median", "aim"
	printf "{\"date\": \"%s\", \"machine\": \"%s\", \"rounds\": %d, \"rows\": [", when, machine, rounds >json
	for (r = 1; r <= rows; r++) {
		row = order[r]
		ours = who[row, 1]
		alone = whos[row] == 1 && aim[row] > 2
		note = "aim " (how[row] == "less" ? "<= " : ">= ") aim[row] ": "
		printf "%s\n {\"what\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\", \"aim\": %s, \"who\": [", \
			(r > 1 ? "," : ""), row, unit[row], how[row], aim[row] >json
		printf "%-16s  %-18s  %14.2f  %12s  %12s  %s%s (%s)\n", row, ours, best[row, ours], "", "", note, \
			alone ? verdict(best[row, ours]) : \
			verdict(whos[row] > 1 ? best[row, ours] / best[row, who[row, 2]] : ""), unit[row]
		for (w = 1; w <= whos[row]; w++) {
			name = who[row, w]
			n = 0
			for (i = 1; i <= rounds; i++)
				if ((row, name, i) in value && (row, ours, i) in value && value[row, name, i] + 0)
					ratio[++n] = value[row, ours, i] / value[row, name, i]
			half = n ? median(ratio, n) : "null"
			printf "%s{\"name\": \"%s\", \"best\": %s, \"ours_over_best\": %.4f, \"median_ratio\": %s}", \
				(w > 1 ? ", " : ""), name, best[row, name], best[row, ours] / best[row, name], half >json
			if (w > 1)
				printf "%-16s  %-18s  %14.2f  %12.3f  %12.3f\n", "", name, best[row, name], \
					best[row, ours] / best[row, name], half
		}
		printf "]}" >json
	}
	printf "\n]}\n" >json
}
