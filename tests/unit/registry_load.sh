#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The library as a file: where it finds plugins, and what it does when it is loaded hidden, set-uid,
# or moved. Runs in the top of the build tree, with top_srcdir set.
probe=tests/unit/registry_probe
libdat=$PWD/.libs/libdat.so.1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/opendat-load-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

ok() { n=$((n + 1)); echo "ok $n - libdat: $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - libdat: $1"; sed 's/^/# /' <<<"$2"; }
skip() { n=$((n + 1)); echo "ok $n - libdat: $1 # SKIP $2"; }
same() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "wanted: $3
got: $2"; fi; }
line() { echo "$1 u1.2 nonthreadsafe default $2 mock.1.0 \"\" \"\""; }

# A program without a sanitizer cannot load a sanitized library, so the probe is built with the same one.
unset DAT_OVERRIDE DAT_DBG_TYPE DAT_DBG_DEST

same "is called libdat.so.1" "$(objdump -p "$libdat" | awk '$1 == "SONAME" { print $2 }')" libdat.so.1

line a "$PWD/.libs/mock_plain.so" >"$tmp/dat.conf"
same "promotes itself for plugins when it was loaded hidden" \
	"$(DAT_OVERRIDE=$tmp/dat.conf $probe "$libdat" a a 2>&1)" $'secure 0\nlisted 1\na 0\na 0'

mkdir -p "$tmp/tree/lib/opendat" "$tmp/tree/lib64" "$tmp/empty"
cp "$libdat" "$tmp/tree/lib/libdat.so.1"
cp "$libdat" "$tmp/tree/lib64/libdat.so.1"
cp "$libdat" "$tmp/empty/libdat.so.1"
cp .libs/mock_plain.so "$tmp/tree/lib/opendat/libopendattest.so"
line a libopendattest.so >"$tmp/bare.conf"
same "finds a plugin in the folder beside it" \
	"$(DAT_OVERRIDE=$tmp/bare.conf $probe "$tmp/tree/lib/libdat.so.1" a 2>&1)" $'secure 0\nlisted 1\na 0'
same "finds a plugin in ../lib/opendat" \
	"$(DAT_OVERRIDE=$tmp/bare.conf $probe "$tmp/tree/lib64/libdat.so.1" a 2>&1)" $'secure 0\nlisted 1\na 0'
said=$(DAT_OVERRIDE=$tmp/bare.conf $probe "$tmp/empty/libdat.so.1" a 2>&1)
case $said in
*"a 0x800a0062"*) ok "does not find it from elsewhere" ;;
*) not_ok "does not find it from elsewhere" "$said" ;;
esac
case $said in
*"nor is it in $tmp/empty/opendat or "*) ok "says where it has looked" ;;
*) not_ok "says where it has looked" "$said" ;;
esac
same "finds a plugin by the loader's own search first" \
	"$(DAT_OVERRIDE=$tmp/bare.conf LD_LIBRARY_PATH=$tmp/tree/lib/opendat $probe "$tmp/empty/libdat.so.1" a 2>&1)" \
	$'secure 0\nlisted 1\na 0'
# The plugin has a search path of its own, to the build tree's libdatp.
cp .libs/libdatp.so.0 "$tmp/tree/lib/"
line a "$PWD/.libs/odd_none.so" >"$tmp/sdk.conf"
said=$(DAT_OVERRIDE=$tmp/sdk.conf LD_DEBUG=files LD_DEBUG_OUTPUT=$tmp/ld $probe "$tmp/tree/lib/libdat.so.1" a 2>&1)
same "a plugin of the SDK opens" "$said" $'secure 0\nlisted 1\na 0'
same "it has the libdatp beside libdat, and no other" \
	"$(cat "$tmp"/ld.* | sed -n 's/.*calling init: \(.*libdatp.*\)/\1/p')" "$tmp/tree/lib/libdatp.so.0"
echo rubbish >"$tmp/tree/lib/opendat/libopendatbad.so"
line a libopendatbad.so >"$tmp/bad.conf"
said=$(DAT_OVERRIDE=$tmp/bad.conf $probe "$tmp/tree/lib/libdat.so.1" a 2>&1)
case $said in
*"$tmp/tree/lib/opendat/libopendatbad.so: "*) ok "says what is wrong with the plugin it found" ;;
*) not_ok "says what is wrong with the plugin it found" "$said" ;;
esac

# A set-uid program: by a variable that names a file, its caller could load any code into it.
for variable in DAT_OVERRIDE DAT_CONF_PATH; do
	what="ignores $variable in set-uid programs"
	if [ "$(id -u)" != 0 ] || [ "${SANITIZE:-no}" != no ]; then
		skip "$what" "needs root and a build without sanitizers"
		continue
	fi
	chmod -R a+rX "$tmp"
	cp "$(test -x tests/unit/.libs/registry_probe && echo tests/unit/.libs/registry_probe || echo $probe)" "$tmp/suid"
	chown nobody "$tmp/suid" && chmod 4755 "$tmp/suid"
	line secret "$tmp/tree/lib/opendat/libopendattest.so" >"$tmp/dat.conf"
	chmod a+r "$tmp/dat.conf"
	said=$(env -u DAT_OVERRIDE "$variable=$tmp/dat.conf" "$tmp/suid" "$tmp/empty/libdat.so.1" secret 2>/dev/null)
	case $said in
	"secure 1"*"secret 0x800a0062"*) ok "$what" ;;
	"secure 1"*) not_ok "$what" "$said" ;;
	*) skip "$what" "set-uid programs cannot run in $tmp" ;;
	esac
done
what="asks for no variable in a way that would give it to set-uid programs"
said=$(grep -nw 'getenv(' "${top_srcdir:-.}"/registry/*.c "${top_srcdir:-.}"/log/*.c)
if [ -z "$said" ]; then ok "$what"; else not_ok "$what" "$said"; fi

# The library frees everything, whatever was opened and whatever failed: the probe unloads it, so that memory that it
# still holds is a leak.
what="leaves no memory behind"
{ line a "$PWD/.libs/mock_plain.so"; line b ./nowhere.so; line c "$PWD/.libs/mock_no_init.so"; echo rubbish; } >"$tmp/dat.conf"
if ! command -v valgrind >/dev/null || [ "${SANITIZE:-no}" != no ]; then
	skip "$what" "needs valgrind and a build without sanitizers"
else
	said=$(DAT_OVERRIDE=$tmp/dat.conf "${LIBTOOL:-./libtool}" --mode=execute valgrind -q --leak-check=full \
		--errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99 $probe "$libdat" a b c d a 2>&1)
	if [ $? = 0 ]; then ok "$what"; else not_ok "$what" "$said"; fi
fi
echo "1..$n"
