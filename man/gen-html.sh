#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the HTML site of the manual with mandoc(1): a page for each man page, linked with each other, an index, and a search
# that needs no server, and a picture of the states of an endpoint. style.css and search.js are taken from the SOURCE-FOLDER,
# the table of the states from the file beside it that the code goes by.
# Use: gen-html.sh OUTPUT-FOLDER SOURCE-FOLDER VERSION PAGE...
set -euo pipefail

out=$1 source=$2 version=$3
shift 3
MANDOC=${MANDOC:-mandoc}
declare -A file says	# by name.section
order=()

# What a page is about: behind .Nd, or behind the dash of its NAME.
headline()
{
	sed -n 's/^[.]Nd //p; s/^[^.]* \\- //p' "$1" | head -n 1
}

read_pages()
{
	local path page
	for path; do
		page=$(basename "$path")
		file[$page]=$path
		says[$page]=$(headline "$path")
		order+=("$page")
	done
}

escape()
{
	sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$1"
}

# top TITLE: everything before the page's own text
top()
{
	cat <<-END
	<!DOCTYPE html>
	<html lang="en">
	<head>
	<meta charset="utf-8">
	<meta name="viewport" content="width=device-width, initial-scale=1">
	<meta name="color-scheme" content="light dark">
	<title>$1</title>
	<link rel="stylesheet" href="style.css">
	<script src="index.js" defer></script>
	<script src="search.js" defer></script>
	</head>
	<body>
	<nav>
	<a class="home" href="index.html">OpenDAT</a>
	<a href="opendat.7.html">overview</a>
	<a href="opendat-tutorial.7.html">tutorial</a>
	<a href="dat.3.html">functions</a>
	<a href="dat.conf.5.html">dat.conf</a>
	<a href="datctl.1.html">datctl</a>
	<input id="search" type="search" placeholder="search the manual" aria-label="search the manual" hidden>
	</nav>
	<ol id="found" hidden></ol>
	<main>
	END
}

bottom()
{
	printf '</main>\n<footer>OpenDAT %s, uDAPL 1.2</footer>\n</body>\n</html>\n' "$version"
}

# In man(7) a reference is a name in bold type with a section behind it, and mandoc does not know it for one.
link_references()
{
	local page
	for page in "${order[@]}"; do
		printf 's|<b>%s</b>(%s)|<a class="Xr" href="%s.html">%s(%s)</a>|g\n' \
			"${page%.*}" "${page##*.}" "$page" "${page%.*}" "${page##*.}"
	done >"$out/.links"
	sed -f "$out/.links"
}

# The picture stands behind the heading of the section about it.
place_picture()
{
	sed '/id="ENDPOINT_STATES"/,/<\/h[12]>/s|</h[12]>|&\n<p><img src="ep-states.svg" alt="the states of an endpoint and what leads from one to the next"></p>|'
}

make_page()
{
	local page=$1
	{
		top "${page%.*}(${page##*.}) - $(escape "${says[$page]}")"
		printf '<header class="title">%s<span>(%s)</span></header>\n' "${page%.*}" "${page##*.}"
		(cd "$out" && "$MANDOC" -Thtml -O 'fragment,toc,man=%N.%S.html;https://man7.org/linux/man-pages/man%S/%N.%S.html' \
			"$2") | link_references | place_picture
		bottom
	} >"$out/$page.html"
}

# list TITLE PAGE...: pages of the index
list()
{
	local title=$1 page
	shift
	[ $# -gt 0 ] || return 0
	printf '<h2>%s</h2>\n<dl class="pages">\n' "$title"
	for page; do
		printf '<dt><a href="%s.html">%s(%s)</a></dt><dd>%s</dd>\n' \
			"$page" "${page%.*}" "${page##*.}" "$(escape "${says[$page]}")"
	done
	printf '</dl>\n'
}

# pages PATTERN: those whose name.section matches, in alphabetical order
pages()
{
	printf '%s\n' "${order[@]}" | grep -E "$1" | LC_ALL=C sort -t. -k 1,1 || true
}

make_index()
{
	local guides='^(opendat|opendat-containers|opendat-migration|opendat-tutorial|datp|datp-mocks)[.]7$'
	# shellcheck disable=SC2046 # names without blanks
	{
		top 'OpenDAT: the manual'
		printf '<h1>OpenDAT: the manual</h1>\n'
		printf '<p>uDAPL 1.2 for Linux. New here: begin with <a href="opendat.7.html">the overview</a> and <a href="opendat-tutorial.7.html">the tutorial</a>.</p>\n'
		list 'Guides' $(pages "$guides")
		list 'Tools' $(pages '[.]1$')
		list 'Registry and providers' $(pages '[.]5$') $(pages '[.]7$' | grep -vE "$guides|^vipl")
		list 'Functions' $(pages '^dat[.]3$') $(pages '^dat_.*[.]3$')
		list 'VI Provider Library' $(pages '^vipl(-porting)?[.]7$') $(pages '^Vip.*[.]3$')
		bottom
	} >"$out/index.html"
}

# Each word of a page once, as search.js wants it: letters, digits and what joins the parts of a name.
words()
{
	"$MANDOC" -Tutf8 "$1" | sed 's/.\x08//g' | tr -cs 'A-Za-z0-9_.-' '\n' | sed 's/^[.-]*//; s/[.-]*$//' |
		tr 'A-Z' 'a-z' | awk 'length > 1 && !seen[$0]++ { printf "%s%s", space, $0; space = " " }'
}

make_search()
{
	local page
	{
		printf '"use strict";\nconst manual = [\n'
		for page in "${order[@]}"; do
			printf '["%s","%s","%s","%s"],\n' "${page%.*}" "${page##*.}" \
				"$(sed 's/[\\"]/\\&/g' <<<"${says[$page]}")" "$(words "${file[$page]}")"
		done
		printf '];\n'
	} >"$out/index.js"
}

mkdir -p "$out"
cp "$source/style.css" "$source/search.js" "$out/"
awk -v as=svg -f "$source/gen-states.awk" "$source/../providers/common/core/ep_state.c" >"$out/ep-states.svg"
read_pages "$@"
for page in "${order[@]}"; do	# mandoc links to what is there
	touch "$out/$page.html"
done
for page in "${order[@]}"; do
	make_page "$page" "$(realpath "${file[$page]}")"
done
make_index
make_search
rm -f "$out/.links"
