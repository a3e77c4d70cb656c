#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ARCHITECTURE.md says which folder may call which. Here the symbols of the objects say what is so: each function or variable
# that one folder has of another must go along an arrow of the table, and each #include across folders, too.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

# A folder, and the folders whose functions it may name. (libdatp) is what libdatp offers to all: datp_... .
arrows='
log                     (libdatp)
registry                log
registry/front          registry
registry/dat12          registry/front registry
registry/dat20          registry/front registry
providers/common/base   log
providers/common/core   providers/common/base
providers/common/dat12  providers/common/core providers/common/base registry registry/front registry/dat12
providers/common/dat20  providers/common/dat12 providers/common/core providers/common/base
providers/common/wrap   providers/common/dat20 providers/common/dat12 providers/common/core providers/common/base registry registry/front registry/dat12
providers/soft          log (libdatp) providers/common/base
providers/rdma          log (libdatp) providers/common/base
providers/ib            providers/rdma (libdatp)
providers/iwarp         providers/rdma (libdatp)
providers/daplcma       providers/ib providers/iwarp providers/rdma (libdatp)
providers/trace         (libdatp) registry registry/front registry/dat12
providers/fault         (libdatp) registry registry/front registry/dat12
'

# folder kind symbol, for each symbol that an object has or needs. Of the two objects that libtool makes from a file the
# position-independent one will do. An object whose source has moved away is from an older build.
symbols()
{
	local folder object source objects=()
	while read -r folder _; do
		for object in "$folder"/.libs/*.o; do
			source=${object##*-}
			[ ! -e "$top_srcdir/$folder/${source%.o}.c" ] || objects+=("$object")
		done
	done <<<"$arrows"
	"${NM:-nm}" -P -A "${objects[@]}" | awk '$3 ~ /^[A-Z]$/ {
		folder = $1; sub(/\/[.]libs\/.*/, "", folder); print folder, ($3 == "U" ? "needs" : "has"), $2 }' | sort -u
}

# Prints the calls that no arrow of $1 allows.
stray_calls()
{
	awk '
		NR == FNR { from = $1; for (i = 2; i <= NF; i++) allowed[from, $i] = 1; next }
		$2 == "has" { home[$3] = $1 }
		$2 == "needs" { n++; needs[n] = $1; what[n] = $3 }
		END {
			for (i = 1; i <= n; i++) {
				to = home[what[i]]
				if (to == "" || to == needs[i] || (needs[i], to) in allowed)
					continue
				if (to ~ /^providers\/common\// && what[i] ~ /^datp_/ && (needs[i], "(libdatp)") in allowed)
					continue
				print needs[i] " calls " to ": " what[i]
				bad = 1
			}
			exit bad
		}' <(echo "$1") "$tap_dir/symbols"
}

# Finds includes that a folder may not have. Those of `log/` and `fence/` are allowed in folders that build with them;
# headers of the SDK are allowed everywhere.
stray_includes()
{
	local folder files=()
	while read -r folder _; do
		[ -z "$folder" ] || files+=("$top_srcdir/$folder"/*.[ch])
	done <<<"$1"
	awk -v top="$top_srcdir/" '
		NR == FNR { for (i = 1; i <= NF; i++) allowed[$1, $i] = 1; next }
		FNR == 1 {
			file = substr(FILENAME, length(top) + 1)
			folder = file; sub(/\/[^\/]*$/, "", folder)
		}
		/^#include ".*\/[^\/]*"$/ {
			to = $0; sub(/^#include "/, "", to); sub(/\/[^\/]*"$/, "", to)
			if (sub(/^[.][.]\//, "", to)) {
				above = folder; sub(/\/[^\/]*$/, "/", above); to = above to
			}
			if (to == folder || to == "log" || to == "fence" || (folder, to) in allowed)
				next
			print file " includes a header of " to
			bad = 1
		}
		END { exit bad }' <(echo "$1") "${files[@]}"
}

# What is not the same in DAT 1.2 and 2.0 has no place in the core.
core_is_neutral()
{
	local names='DAT_(EVENT|PROVIDER|REGION_DESCRIPTION|OS_WAIT_PROXY_AGENT|IA_ATTR|PROVIDER_ATTR|(EP|EVD|LMR|RMR|SRQ|CNO|CR)_(PARAM|ATTR))'
	! grep -nE "\b($names|DAT_[A-Z]+_FIELD_[A-Z_]*)\b" "$top_srcdir"/providers/common/{core,base}/*.[ch] "$top_srcdir"/registry/*.[ch]
}

turned_round()
{
	echo "${arrows/dat12  providers\/common\/core/dat12 }
providers/common/core providers/common/dat12"
}

seen() { [ "$(grep -c "$1" "$tap_dir/symbols")" -gt "$2" ] || { echo "only $(grep -c "$1" "$tap_dir/symbols") of $1"; return 1; }; }

if ! command -v "${NM:-nm}" >/dev/null || ! ls providers/common/core/.libs/*.o >/dev/null 2>&1; then
	tap_skip 'layers: calls go along the arrows' 'nm is missing, or the build has no shared libraries'
	tap_end
fi
symbols >"$tap_dir/symbols"
tap 'layers: the objects of the core are looked at' seen '^providers/common/core has ' 100
tap 'layers: those of the edge are' seen '^providers/common/dat12 needs ' 100
tap 'layers: those of the edge of DAT 2.0 are' seen '^providers/common/dat20 needs ' 20
tap 'layers: those of the registry are' seen '^registry has ' 50
tap 'layers: those of soft are' seen '^providers/soft has ' 50
tap 'layers: calls go along the arrows' stray_calls "$arrows"
tap 'layers: includes go along the arrows' stray_includes "$arrows"
tap 'layers: nothing in a core is of DAT 1.2 alone' core_is_neutral
tap 'layers: an arrow that is turned round is noticed in the calls' tap_status 1 stray_calls "$(turned_round)"
tap 'layers: and in the includes' tap_status 1 stray_includes "$(turned_round)"
tap_end
