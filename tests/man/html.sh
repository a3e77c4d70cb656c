#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The HTML site: each page is there, is reached from the index, and has no link that leads nowhere.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
site=$tap_dir/site

[ "${SANITIZE:-no}" = no ] || { echo '1..0 # SKIP a sanitizer finds nothing in it'; exit 0; }
command -v mandoc >/dev/null || { echo '1..0 # SKIP no mandoc here: install the package mandoc'; exit 0; }

site_is_made()
{
	bash "$top_srcdir/man/gen-html.sh" "$site" "$top_srcdir/man" 0 man/*.3 "$top_srcdir"/man/*.[1-8]
}

each_page_has_text_and_is_in_the_index()
{
	local page name bad=0
	for page in man/*.3 "$top_srcdir"/man/*.[1-8]; do
		name=$(basename "$page").html
		grep -q 'id="DESCRIPTION"' "$site/$name" || { echo "$name has no text"; bad=1; }
		grep -qF "href=\"$name\"" "$site/index.html" || { echo "$name is not in the index"; bad=1; }
	done
	return $bad
}

# Links within the site: to a page, or to a place of a page. Each page is read once for its places, then once for its links.
no_link_leads_nowhere()
{
	(cd "$site" && printf '%s\n' *.html *.css *.js *.svg | awk '
		function attributes(line, name,    at) {
			while (match(line, "(^|[^-a-z])" name "=\"[^\"]*\"")) {
				at = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
				sub(/^[^"]*"/, "", at); sub(/"$/, "", at)
				found(at)
			}
		}
		function found(text,    page, place) {
			if (reading == "id") { id[file, text] = 1; return }
			if (text ~ /:/)
				return
			links++
			page = text; sub(/#.*/, "", page); page = page == "" ? file : page
			place = text ~ /#/ ? substr(text, index(text, "#") + 1) : ""
			if (!(page in there)) { print file ": no " page; bad = 1 }
			else if (place != "" && !((page, place) in id)) { print file ": no " page "#" place; bad = 1 }
		}
		function read_all(name,    i, line) {
			reading = name
			for (i = 1; i <= files; i++)
				if ((file = list[i]) ~ /[.]html$/) {
					while ((getline line <file) > 0)
						attributes(line, name)
					close(file)
				}
		}
		{ there[$0] = 1; list[++files] = $0 }
		END {
			read_all("id")
			read_all("href")
			if (links < files) { print "only " links " links were found"; bad = 1 }
			exit bad
		}')
}

each_page_can_be_searched()
{
	local page name bad=0
	for page in man/*.3 "$top_srcdir"/man/*.[1-8]; do
		name=$(basename "$page")
		grep -qF "[\"${name%.*}\",\"${name##*.}\"," "$site/index.js" || { echo "$name cannot be found"; bad=1; }
	done
	return $bad
}

# All that the code does with the state of an endpoint is in the picture and in the text.
states=$top_srcdir/providers/common/core/ep_state.c
the_states_are_drawn()
{
	local name
	grep -qF '<img src="ep-states.svg"' "$site/dat.3.html" || { echo 'the page has no picture'; return 1; }
	for name in $(sed -n 's/.*EP_IN(DAT_EP_STATE_\([A-Z_]*\)).*/\1/p' "$states"); do
		grep -qF ">$name</text>" "$site/ep-states.svg" || { echo "no box for $name"; return 1; }
		grep -qF "DAT_EP_STATE_$name" "$site/dat.3.html" || { echo "no text about $name"; return 1; }
	done
	# an arrow for each pair of states that a step leads from and to
	[ "$(grep -c '^<path' "$site/ep-states.svg")" -eq "$(awk '/^\t\[EP_/ {
		to = $0; sub(/.*DAT_EP_STATE_/, "", to); sub(/ .*/, "", to)
		from = $0; sub(/^[^{]*\{ */, "", from); sub(/,.*/, "", from)
		n = split(from, f, / *\| */)
		for (i = 1; i <= n; i++)
			pair[f[i] " " to]
	} END { for (p in pair) k++; print k }' "$states")" ]
}
a_new_cause_is_not_left_out()
{
	sed 's/\[EP_DRAIN\]/[EP_NOVEL]/' "$states" >"$tap_dir/novel.c"
	! awk -f "$top_srcdir/man/gen-states.awk" -v as=svg "$tap_dir/novel.c" >/dev/null 2>"$tap_dir/said" &&
		grep -qF 'no words for EP_NOVEL' "$tap_dir/said"
}

# Each step of a sequence is in the picture and in the text, and each function and constant that it names is there.
the_sequences_are_drawn()
{
	local file name step names text bad=0
	names=$(cat "$top_srcdir"/include/dat/*.h)
	for file in "$top_srcdir"/man/sequences/*.seq; do
		name=$(basename "$file" .seq)
		grep -qF "<img src=\"$name.svg\"" "$site/$name.3.html" || { echo "$name(3) has no picture"; bad=1; }
		[ "$(grep -c '^<path' "$site/$name.svg")" -eq "$(grep -c '^[a-z]* > [a-z]* ' "$file")" ] ||
			{ echo "$name: not an arrow for each step"; bad=1; }
		text=$(mandoc -Tascii "man/$name.3")
		while IFS= read -r step; do
			grep -qF ">$step</text>" "$site/$name.svg" || { echo "$name: '$step' is not in the picture"; bad=1; }
			grep -qF "$step" <<<"$text" || { echo "$name: '$step' is not in the text"; bad=1; }
		done < <(sed -nE 's/^(at [a-z]+|[a-z]+ > [a-z]+) //p' "$file")
		for step in $(grep -oE '\b(dat_[a-z_]+|DAT_[A-Z_]+)' "$file") $(sed -nE 's/^at [a-z]+ ([A-Z_]+)$/DAT_EP_STATE_\1/p' "$file"); do
			grep -qw "$step" <<<"$names" || { echo "$name: there is no $step"; bad=1; }
		done
	done
	return $bad
}

a_sequence_of_strangers_is_refused()
{
	printf '%s\n' 'title strangers' 'line a one' 'line b other' 'a > c hello' >"$tap_dir/strangers.seq"
	! awk -f "$top_srcdir/man/gen-sequence.awk" -v as=svg "$tap_dir/strangers.seq" >/dev/null 2>"$tap_dir/said" &&
		grep -qF 'no participant c' "$tap_dir/said"
}

# finds PAGE WORDS: this page is the first that the search offers
finds()
{
	local first
	first=$(cd "$site" && node -e '
		globalThis.addEventListener = () => {};
		const fs = require("fs");
		const code = fs.readFileSync("index.js", "utf8") + fs.readFileSync("search.js", "utf8").replace("\"use strict\";", "");
		console.log(new Function(code + "return find(" + JSON.stringify(process.argv[1]) + ")[0];")()[0]);' "$2") || return
	[ "$first" = "$1" ] || { echo "$2: found $first"; return 1; }
}

the_search_finds()
{
	finds dat_evd_wait dat_evd_wait && finds dat_evd_wait 'DAT_EVD_WAIT(3)' && finds dat_evd_wait 'threshold wait' &&
		finds opendat-containers 'memlock containers' && ! finds dat 'nosuchwordanywhere' 2>/dev/null
}

tap 'html: the site is made' site_is_made || tap_end
tap 'html: each page has its text, and is in the index' each_page_has_text_and_is_in_the_index
tap 'html: no link leads nowhere' no_link_leads_nowhere
tap 'html: each page can be searched' each_page_can_be_searched
if command -v node >/dev/null; then
	tap 'html: the search finds pages by their names and words' the_search_finds
else
	tap_skip 'html: the search finds pages by their names and words' 'no node here to run it'
fi
tap 'html: the states of an endpoint are drawn as the code has them' the_states_are_drawn
tap 'html: a cause that is new has to get its words' a_new_cause_is_not_left_out
tap 'html: the sequences are drawn, and name what is there' the_sequences_are_drawn
tap 'html: a sequence of strangers is refused' a_sequence_of_strangers_is_refused
tap_end
