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

# Links within the site: to a page, or to a place of a page.
no_link_leads_nowhere()
{
	local page link place bad=0
	for page in "$site"/*.html; do
		for link in $(grep -oE 'href="[^":]*"' "$page" | cut -d'"' -f2 | sort -u); do
			place=${link#*#}
			link=${link%%#*}
			[ -f "$site/${link:-$(basename "$page")}" ] || { echo "$(basename "$page"): no $link"; bad=1; }
			[ -n "$link" ] || grep -qF "id=\"$place\"" "$page" || { echo "$(basename "$page"): no #$place"; bad=1; }
		done
	done
	return $bad
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
tap_end
