# SPDX-License-Identifier: BSD-2-Clause
#
# Draws a sequence of calls, messages and events between programs and adapters: as text for a page of section 3, or as a picture
# for the HTML manual. Time runs downwards; each participant is a vertical line.
#
# Use: awk -f gen-sequence.awk -v as=mdoc|svg FILE.seq
#
# The file has a line for each of these, in their order; empty lines and those that begin with # are left out:
#     title WORDS
#     line NAME WORDS        a participant, from left to right
#     NAME > NAME WORDS      an arrow from one to another
#     at NAME WORDS          the state that a participant has from there on

BEGIN {
	WIDTH = 72		# of the text, which has to fit an indented block of 78 columns
	if (as != "mdoc" && as != "svg")
		fail("as=mdoc or as=svg")
}

/^#/ || NF == 0 { next }
$1 == "title" { title = rest(1); next }
$1 == "line" { number[$2] = ++participants; who[participants] = rest(2); next }
$1 == "at" { add(participant($2), 0, rest(2)); next }
$2 == ">" { add(participant($1), participant($3), rest(3)); next }
{ fail("no such line: " $0) }

END {
	if (failed)
		exit 1
	if (title == "" || participants < 2 || steps == 0)
		fail("a title, two participants and a step at least")
	if (as == "mdoc")
		write_text()
	else
		write_picture()
}

function fail(why) {
	print "gen-sequence.awk: " FILENAME ": " why > "/dev/stderr"
	failed = 1
	exit 1
}

# The line without its first n words
function rest(n,   s) {
	s = $0
	while (n-- > 0)
		sub(/^[^ \t]+[ \t]+/, "", s)
	return s
}

function participant(name) {
	if (!(name in number))
		fail("no participant " name)
	return number[name]
}

function add(a, b, words) {
	from[++steps] = a
	to[steps] = b
	says[steps] = words
}

#
# Text
#

function repeated(c, n,   s) {
	s = ""
	while (n-- > 0)
		s = s c
	return s
}

# Where a participant's line stands
function column(i) {
	return 2 + int((i - 1) * (WIDTH - 4) / (participants - 1))
}

# A row with nothing but the lines
function bare(   s, i) {
	s = ""
	for (i = 1; i <= participants; i++)
		s = s repeated(" ", column(i) - length(s) - 1) "|"
	return s
}

function over(row, at, words) {
	row = row repeated(" ", at - 1 - length(row))
	return substr(row, 1, at - 1) words substr(row, at + length(words))
}

# Prints a row as text of mdoc, where a backslash, and a dot or a quote at the beginning, would mean something else.
function put(row) {
	sub(/ +$/, "", row)
	gsub(/\\/, "\\e", row)
	gsub(/-/, "\\-", row)
	sub(/^[.']/, "\\\\\\&&", row)
	print row
}

function write_text(   i, a, b, at, row) {
	print ".Sh SEQUENCE"
	print toupper(substr(title, 1, 1)) substr(title, 2) ":"
	print ".Bd -literal"
	row = ""
	for (i = 1; i <= participants; i++) {
		at = column(i) - (i == 1 ? 1 : i == participants ? length(who[i]) - 2 : int(length(who[i]) / 2))
		row = over(row, at, who[i])
	}
	put(row)
	for (i = 1; i <= steps; i++) {
		if (to[i] == 0) {
			at = from[i] == participants ? column(from[i]) - length(says[i]) - 3 : column(from[i]) + 1
			put(over(bare(), at, "(" says[i] ")"))
			continue
		}
		a = column(from[i]); b = column(to[i])
		at = (a < b ? a : b) + 2
		if (at + length(says[i]) > WIDTH)
			at = WIDTH - length(says[i])
		put(over(bare(), at, says[i]))
		put(a < b ? over(bare(), a + 1, repeated("-", b - a - 2) ">") : over(bare(), b + 1, "<" repeated("-", a - b - 2)))
	}
	print ".Ed"
}

#
# Picture
#

function escaped(s) {
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	gsub(/>/, "\\&gt;", s)
	return s
}

function text(x, y, class, words) {
	printf "<text%s x=\"%d\" y=\"%d\">%s</text>\n", class != "" ? " class=\"" class "\"" : "", x, y, escaped(words)
}

function write_picture(   i, y, x, gap, wide, height, width) {
	gap = participants > 3 ? 280 : 320
	width = (participants - 1) * gap + 240
	height = 80 + 36 * steps
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", width, height, escaped(title)
	print "<style>svg{font:13px sans-serif;color:#111;background:#fff}"
	print "rect{fill:#e8eef8;stroke:currentColor}path,line{fill:none;stroke:currentColor}line{stroke-dasharray:4 4}"
	print "text{text-anchor:middle;fill:currentColor;stroke:#fff;stroke-width:4px;paint-order:stroke}"
	print "text.name{stroke:none;font-weight:bold}text.state{stroke:none}marker path{fill:currentColor}"
	print "@media(prefers-color-scheme:dark){svg{color:#ddd;background:#14181f}rect{fill:#223}text{stroke:#14181f}}</style>"
	print "<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\"/></marker></defs>"
	for (i = 1; i <= participants; i++) {
		x = 120 + (i - 1) * gap
		printf "<line x1=\"%d\" y1=\"44\" x2=\"%d\" y2=\"%d\"/>\n", x, x, height - 10
		printf "<rect x=\"%d\" y=\"10\" width=\"150\" height=\"34\" rx=\"8\"/>\n", x - 75
		text(x, 32, "name", who[i])
	}
	for (i = 1; i <= steps; i++) {
		y = 50 + 36 * i
		x = 120 + (from[i] - 1) * gap
		if (to[i] == 0) {
			wide = length(says[i]) * 4.1 + 12
			printf "<rect x=\"%.0f\" y=\"%d\" width=\"%.0f\" height=\"24\" rx=\"12\"/>\n", x - wide, y - 18, 2 * wide
			text(x, y - 1, "state", says[i])
			continue
		}
		printf "<path d=\"M%d %d H%d\" marker-end=\"url(#head)\"/>\n", x, y, 120 + (to[i] - 1) * gap
		text((x + 120 + (to[i] - 1) * gap) / 2, y - 6, "", says[i])
	}
	print "</svg>"
}
