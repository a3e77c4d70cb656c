#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the HTML site of the manual with mandoc(1): a page for each man page, linked with each other, an index, and a search
# that needs no server, a picture of the states of an endpoint, and pictures of sequences. style.css, search.js and the sequences
# come from the SOURCE-FOLDER; the table of the states is the one that the library is compiled from (ep_state.c).
# Use: gen-html.sh OUTPUT-FOLDER SOURCE-FOLDER VERSION PAGE...
set -euo pipefail

out=$1 source=$2 version=$3
shift 3
MANDOC=${MANDOC:-mandoc}
declare -A file says	# by name.section
order=()

# headline FILE: prints what the page is about, which stands after .Nd, or in man(7) after the dash in NAME
headline()
{
	sed -n 's/^[.]Nd //; t found; s/^[^.]* \\- //; t found; d; :found; p; q' "$1"
}

read_pages()
{
	local path page
	for path; do
		page=${path##*/}
		file[$page]=$path
		says[$page]=$(headline "$path")
		order+=("$page")
	done
}

# escape TEXT: sets $escaped
escape()
{
	escaped=${1//'&'/'&amp;'}
	escaped=${escaped//'<'/'&lt;'}
	escaped=${escaped//'>'/'&gt;'}
}

# top TITLE: prints everything before the page's own text
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

# Writes the script of sed that make_page() runs on each page. It makes links of the references in pages of man(7), a name in bold
# type and a section, which mandoc does not recognise; and it puts the picture of the states after the heading of their section.
write_edits()
{
	local page
	for page in "${order[@]}"; do
		printf 's|<b>%s</b>(%s)|<a class="Xr" href="%s.html">%s(%s)</a>|g\n' \
			"${page%.*}" "${page##*.}" "$page" "${page%.*}" "${page##*.}"
	done >"$out/.edits"
	cat >>"$out/.edits" <<-'END'
	/id="ENDPOINT_STATES"/,/<\/h[12]>/s|</h[12]>|&\n<p><img src="ep-states.svg" alt="the states of an endpoint and what leads from one to the next"></p>|
	END
}

# sequence_edits PAGE: if the page has a sequence, draws it, and prints the commands of sed that put the picture before the text and
# fold the text away
sequence_edits()
{
	local name=${1%.*} title
	[ -f "$source/sequences/$name.seq" ] || return 0
	awk -v as=svg -f "$source/gen-sequence.awk" "$source/sequences/$name.seq" >"$out/$name.svg"
	title=$(sed -n 's/^title //p' "$source/sequences/$name.seq")
	printf '%s\n' '/id="SEQUENCE"/,/<\/section>/{' \
		"s|<pre>|<p><img src=\"$name.svg\" alt=\"sequence: $title\"></p>\n<details><summary>as text</summary>\n&|" \
		's|</pre>|&\n</details>|' '}'
}

make_page()
{
	local page=$1 escaped
	escape "${says[$page]}"
	{
		top "${page%.*}(${page##*.}) - $escaped"
		printf '<header class="title">%s<span>(%s)</span></header>\n' "${page%.*}" "${page##*.}"
		(cd "$out" && "$MANDOC" -Thtml -O 'fragment,toc,man=%N.%S.html;https://man7.org/linux/man-pages/man%S/%N.%S.html' \
			"$2") | sed -f "$out/.edits" -f <(sequence_edits "$page")
		bottom
	} >"$out/$page.html"
}

# list TITLE PAGE...: prints a heading of the index and the pages below it
list()
{
	local title=$1 page escaped
	shift
	[ $# -gt 0 ] || return 0
	printf '<h2>%s</h2>\n<dl class="pages">\n' "$title"
	for page; do
		escape "${says[$page]}"
		printf '<dt><a href="%s.html">%s(%s)</a></dt><dd>%s</dd>\n' "$page" "${page%.*}" "${page##*.}" "$escaped"
	done
	printf '</dl>\n'
}

# pages PATTERN: prints the pages whose name.section matches, in alphabetical order
pages()
{
	printf '%s\n' "${order[@]}" | grep -E "$1" | LC_ALL=C sort -t. -k 1,1 || true
}

make_index()
{
	local guides='^(opendat|opendat-containers|opendat-dat2|opendat-migration|opendat-tutorial|datp|datp-mocks)[.]7$'
	# shellcheck disable=SC2046 # names without blanks
	{
		top 'OpenDAT: the manual'
		printf '<h1>OpenDAT: the manual</h1>\n'
		printf '<p>uDAPL 1.2 and 2.0 for Linux. New here: begin with <a href="opendat.7.html">the overview</a> and <a href="opendat-tutorial.7.html">the tutorial</a>.</p>\n'
		list 'Guides' $(pages "$guides")
		list 'Tools' $(pages '[.]1$')
		list 'Registry and providers' $(pages '[.]5$') $(pages '[.]7$' | grep -vE "$guides|^vipl")
		list 'Functions' $(pages '^dat[.]3$') $(pages '^dat_.*[.]3$')
		list 'VI Provider Library' $(pages '^vipl(-porting)?[.]7$') $(pages '^Vip.*[.]3$')
		bottom
	} >"$out/index.html"
}

# words FILE: prints each word of a page once, in the form that search.js looks for: letters, digits, and the characters that join
# the parts of a name
words()
{
	"$MANDOC" -Tutf8 "$1" | LC_ALL=C awk '
		{
			gsub(/.\010/, "")
			n = split(tolower($0), word, /[^a-z0-9_.-]+/)
			for (i = 1; i <= n; i++) {
				gsub(/^[.-]+|[.-]+$/, "", word[i])
				if (length(word[i]) > 1 && !seen[word[i]]++) { printf "%s%s", space, word[i]; space = " " }
			}
		}'
}

make_search()
{
	local page quoted
	{
		printf '"use strict";\nconst manual = [\n'
		for page in "${order[@]}"; do
			quoted=${says[$page]//\\/\\\\}
			quoted=${quoted//'"'/'\"'}
			printf '["%s","%s","%s","%s"],\n' "${page%.*}" "${page##*.}" "$quoted" "$(words "${file[$page]}")"
		done
		printf '];\n'
	} >"$out/index.js"
}

mkdir -p "$out"
cp "$source/style.css" "$source/search.js" "$out/"
awk -v as=svg -f "$source/gen-states.awk" "$source/../providers/common/core/ep_state.c" >"$out/ep-states.svg"
read_pages "$@"
write_edits
(cd "$out" && touch "${order[@]/%/.html}")	# mandoc makes links only to files that exist
for page in "${order[@]}"; do
	[[ ${file[$page]} == /* ]] && path=${file[$page]} || path=$PWD/${file[$page]}
	make_page "$page" "$path"
done
make_index
make_search
rm -f "$out/.edits"
