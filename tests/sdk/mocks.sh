#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The mocks as an author finds them: in an installed tree, with datp-mocks(7) as the only help.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
. "$top_srcdir/tests/install/movable.sh"
unset DAT_OVERRIDE LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL MFLAGS

page=$moved/share/man/man7/datp-mocks.7
export PKG_CONFIG_PATH=$moved/lib/pkgconfig

# example N: the page's example N, as it is printed: a program, then the commands that compile and run it.
example()
{
	awk -v want="$1" '/^[.]Bd -literal/ { inside = ++n == want; next } /^[.]Ed/ { inside = 0 }
		inside { gsub(/\\\(aq/, "\047"); gsub(/\\e/, "\\"); print }' "$page"
}

# Only pkg-config has to be told that the tree was moved, and the compiler what the tree was built with.
example_runs()
{
	mkdir -p "$tap_dir/bin" "$tap_dir/arrival" && cd "$tap_dir/arrival" || return
	printf '#!/bin/sh\nexec %s --define-prefix "$@"\n' "$(command -v pkg-config)" >"$tap_dir/bin/pkg-config"
	printf '#!/bin/sh\nexec %s %s -Wall -Wextra -Werror "$@"\n' "$CC" "$CFLAGS" >"$tap_dir/bin/cc"
	chmod +x "$tap_dir/bin/pkg-config" "$tap_dir/bin/cc"
	example 1 >arrival.c && example 2 >commands && cat commands && [ "$(wc -l <commands)" -ge 4 ] &&
		PATH=$tap_dir/bin:$PATH LD_LIBRARY_PATH=$moved/lib bash -euc "$(cat commands)"
}

page_lists_them()
{
	diff <(cd "$moved/lib/opendat/mocks" && ls -- *.so | sort) \
		<(sed -n 's/^[.]It Pa \(mock_.*[.]so\)$/\1/p' "$page" | sort)
}

# mock_says MOCK WORDS: what libdat and the program of the page say of it
mock_says()
{
	local said
	echo "a u1.2 nonthreadsafe default $moved/lib/opendat/mocks/$1.so mock.1.0 hello \"\"" >"$tap_dir/dat.conf"
	said=$(DAT_OVERRIDE=$tap_dir/dat.conf LD_LIBRARY_PATH=$moved/lib "$tap_dir/arrival/arrival" a 2>&1)
	echo "$said"
	grep -q -F -e "$2" <<<"$said"
}

# What the page says of a wrapper in between.
wrapper_passes()
{
	sed "\$a t u1.2 nonthreadsafe default libdat-trace.so opendat.1.0 mock0 \"\"" "$tap_dir/arrival/dat.conf" >"$tap_dir/wrapped.conf"
	DAT_OVERRIDE=$tap_dir/wrapped.conf LD_LIBRARY_PATH=$moved/lib "$tap_dir/arrival/arrival" t
}

tap 'mocks: the tree installs' install_and_move || tap_end
tap 'mocks: the example of datp-mocks(7) compiles and runs' example_runs || tap_end
tap 'mocks: the page lists each that is installed' page_lists_them
while read -r mock words; do
	tap "mocks: what the page says of $mock is so" mock_says "$mock" "$words"
done <<'END'
mock_plain a got 'hello', slot 52, 2 arguments; returned 0x80030002
mock_null_slots a got 'hello', slot 0, 0 arguments; returned 0xffff0000
mock_open_fails could not open it: DAT_INSUFFICIENT_RESOURCES
mock_open_nothing could not open it: DAT_INTERNAL_ERROR
mock_no_init has no symbol dat_provider_init
mock_no_fini a got 'hello', slot 52, 2 arguments; returned 0x80030002
mock_nothing registered no adapter
mock_other_name registered other
mock_undefined undefined symbol: nobody_defines_this
END
tap 'mocks: a call reaches one through a wrapper as well' tap_holds "^mock0 got 'hello', slot 52, 2 arguments" wrapper_passes
tap_end
