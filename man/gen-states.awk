# SPDX-License-Identifier: BSD-2-Clause
#
# Draws the states of an endpoint from the table of providers/common/core/ep_state.c, which the code uses: as text for
# dat(3), or as a picture for the HTML manual. A state without a place, or a cause without words, is an error, so neither can
# fall behind the table.
#
# Use: awk -f gen-states.awk -v as=mdoc|svg ep_state.c

BEGIN {
	# For each state: the name of its bit in the table, its name, and the centre of its box.
	place("UNC", "UNCONNECTED", 500, 50)
	place("RES", "RESERVED", 140, 50)
	place("PAS", "PASSIVE_CONNECTION_PENDING", 140, 210)
	place("TEN", "TENTATIVE_CONNECTION_PENDING", 140, 370)
	place("ACT", "ACTIVE_CONNECTION_PENDING", 800, 210)
	place("CMP", "COMPLETION_PENDING", 500, 210)
	place("CON", "CONNECTED", 500, 400)
	place("DPN", "DISCONNECT_PENDING", 500, 560)
	place("DIS", "DISCONNECTED", 1010, 480)

	words["EP_CONNECT"] = "dat_ep_connect()"
	words["EP_CONNECT_REFUSED"] = "dat_ep_connect() fails"
	words["EP_RESERVE"] = "dat_rsp_create()"
	words["EP_UNRESERVE"] = "dat_rsp_free()"
	words["EP_REQUEST"] = "a request arrives"
	words["EP_REJECT"] = "dat_cr_reject()"
	words["EP_ACCEPT"] = "dat_cr_accept()"
	words["EP_ACCEPT_REFUSED_UNC"] = words["EP_ACCEPT_REFUSED_PAS"] = words["EP_ACCEPT_REFUSED_TEN"] = "dat_cr_accept() fails"
	words["EP_ESTABLISHED"] = "the connection is established"
	words["EP_FAILED"] = "the attempt fails or is given up"
	words["EP_DRAIN"] = "dat_ep_disconnect(), graceful"
	words["EP_ENDED"] = "the connection ends or breaks"
	words["EP_RESET"] = "dat_ep_reset()"

	# Arrows that are not straight have a control point here; "along" is the place of the words on the arrow, from 0 to 1.
	bend["DIS UNC"] = "1010 40"; along["DIS UNC"] = 0.3
	bend["CMP DIS"] = "760 330"; along["CMP DIS"] = 0.4
	bend["TEN CMP"] = "420 400"
	bend["CMP TEN"] = "290 290"
	bend["UNC CMP"] = "590 130"; along["UNC CMP"] = 0.72
	bend["CMP UNC"] = "410 130"; along["CMP UNC"] = 0.6
	along["ACT UNC"] = 0.3
	along["ACT CON"] = 0.28
	along["CMP CON"] = 0.35
	if (as != "mdoc" && as != "svg")
		fail("as=mdoc or as=svg")
}

# Reads a line of the table, such as "[EP_CONNECT] = { UNC, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING },"
/^\t\[EP_[A-Z_]+\][ \t]*= \{ / {
	cause = from = to = $0
	sub(/^\t\[/, "", cause); sub(/\].*/, "", cause)
	sub(/^[^{]*\{ */, "", from); sub(/,.*/, "", from)
	sub(/.*DAT_EP_STATE_/, "", to); sub(/ .*/, "", to)
	if (!(cause in words))
		fail("no words for " cause)
	if (!(to in bit))
		fail("no place for " to)
	n = split(from, bits, / *\| */)
	for (i = 1; i <= n; i++) {
		if (!(bits[i] in state))
			fail("no place for " bits[i])
		step(bits[i], bit[to], words[cause])
	}
}

END {
	if (failed)
		exit 1
	if (count < 10)
		fail("the table is not found")
	if (as == "mdoc")
		write_text()
	else
		write_picture()
}

function fail(why) {
	print "gen-states.awk: " why > "/dev/stderr"
	failed = 1
	exit 1
}

function place(short, name, x, y) {
	order[++places] = short
	state[short] = name
	bit[name] = short
	X[short] = x
	Y[short] = y
	W[short] = length(name) * 4.1 + 18	# half the width of the box
}

# Adds a step. All steps from one state to another share an arrow, which has a line of words for each of them.
function step(from, to, by,   key) {
	key = from " " to
	if (!(key in lines)) {
		arrow[++count] = key
		lines[key] = by
	} else if (index("\n" lines[key] "\n", "\n" by "\n") == 0)
		lines[key] = lines[key] "\n" by
}

function write_text(   i, k, part, by, n, j, before) {
	for (i = 1; i <= places; i++) {
		print ".It Dv DAT_EP_STATE_" state[order[i]]
		before = ""
		for (k = 1; k <= count; k++) {
			split(arrow[k], part, " ")
			if (part[1] != order[i])
				continue
			n = split(lines[arrow[k]], by, "\n")
			for (j = 1; j <= n; j++) {
				print before mdoc(by[j]) "\\(-> " state[part[2]]
				before = ".br\n"
			}
		}
	}
}

# Returns a cause as mdoc: a function becomes a reference, and the words after it begin a line of their own.
function mdoc(by,   name, comma) {
	if (!match(by, /^dat_[a-z_]+\(\)/))
		return by " "
	name = substr(by, 1, RLENGTH - 2)
	by = substr(by, RLENGTH + 1)
	comma = sub(/^,/, "", by) ? " ," : ""
	sub(/^ /, "", by)
	return ".Xr " name " 3" comma "\n" by (by != "" ? " " : "")
}

function abs(x) { return x < 0 ? -x : x }

# Sets EX and EY to the point where the line from the centre of a box to (x, y) leaves the box.
function edge(box, x, y, more,   dx, dy, t, tx, ty) {
	dx = x - X[box]; dy = y - Y[box]
	tx = dx ? (W[box] + more) / abs(dx) : 1e9
	ty = dy ? (20 + more) / abs(dy) : 1e9
	t = tx < ty ? tx : ty
	EX = X[box] + dx * t
	EY = Y[box] + dy * t
}

function write_arrow(key,   part, a, b, mid, cx, cy, x1, y1, x2, y2, t, lx, ly, n, by, j, dx, dy, size, back) {
	split(key, part, " ")
	a = part[1]; b = part[2]
	back = (b " " a) in lines
	dx = X[b] - X[a]; dy = Y[b] - Y[a]
	size = sqrt(dx * dx + dy * dy)
	if (key in bend) {
		split(bend[key], mid, " ")
		cx = mid[1]; cy = mid[2]
	} else {	# if there is an arrow back, both are bent, so that they do not cover each other
		cx = X[a] + dx / 2 + (back ? dy / size * 52 : 0)
		cy = Y[a] + dy / 2 - (back ? dx / size * 52 : 0)
	}
	edge(a, cx, cy, 0); x1 = EX; y1 = EY
	edge(b, cx, cy, 3); x2 = EX; y2 = EY
	printf "<path d=\"M%.0f %.0f Q%.0f %.0f %.0f %.0f\" marker-end=\"url(#head)\"/>\n", x1, y1, cx, cy, x2, y2
	t = key in along ? along[key] : 0.5
	lx = (1 - t) * (1 - t) * x1 + 2 * t * (1 - t) * cx + t * t * x2
	ly = (1 - t) * (1 - t) * y1 + 2 * t * (1 - t) * cy + t * t * y2
	n = split(lines[key], by, "\n")
	for (j = 1; j <= n; j++)
		label[++labels] = sprintf("<text x=\"%.0f\" y=\"%.0f\">%s</text>", lx, ly + (j - (n + 1) / 2) * 15 + 4, by[j])
}

function write_picture(   i, s) {
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1130 610\" role=\"img\" aria-label=\"states of an endpoint\">"
	print "<style>svg{font:13px sans-serif;color:#111;background:#fff}"
	print "rect{fill:#e8eef8;stroke:currentColor}path{fill:none;stroke:currentColor}"
	print "text{text-anchor:middle;fill:currentColor;stroke:#fff;stroke-width:4px;paint-order:stroke}"
	print "text.state{stroke:none;font-weight:bold}marker path{fill:currentColor}"
	print "@media(prefers-color-scheme:dark){svg{color:#ddd;background:#14181f}rect{fill:#223}text{stroke:#14181f}}</style>"
	print "<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\"/></marker></defs>"
	for (i = 1; i <= count; i++)
		write_arrow(arrow[i])
	for (i = 1; i <= places; i++) {
		s = order[i]
		printf "<rect x=\"%.0f\" y=\"%d\" width=\"%.0f\" height=\"40\" rx=\"8\"/>\n", X[s] - W[s], Y[s] - 20, 2 * W[s]
		printf "<text class=\"state\" x=\"%d\" y=\"%d\">%s</text>\n", X[s], Y[s] + 5, state[s]
	}
	for (i = 1; i <= labels; i++)
		print label[i]
	print "</svg>"
}
