#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages: built from the tree's own tarball, judged by lintian, installed in a scratch root, and used from
# there. Use: packages.sh BUILD-TREE, which must be configured.
set -u
top_srcdir=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top_srcdir/tests/harness/tap.sh"
unset DAT_OVERRIDE LD_LIBRARY_PATH PKG_CONFIG_PATH MAKEFLAGS MAKELEVEL MFLAGS
export DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)"
build=${1:?usage: packages.sh BUILD-TREE}
command -v dpkg-buildpackage >/dev/null || { echo '1..0 # SKIP this is no Debian'; exit 0; }
root=$tap_dir/root
lib=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
packages='libdat-dev libdat1 libdat2-2-opendat libdatp0 libvipl0 opendat-providers opendat-tools'

unpacked_tarball()
{
	make -s -C "$build" dist-xz && tar -C "$tap_dir" -xf "$build"/opendat-*.tar.xz && cd "$tap_dir"/opendat-*/
}

# The packages are built as users build them, with the tests.
packages_build()
{
	unpacked_tarball && dpkg-buildpackage -us -uc -b
}

# The tests have been run in the build, with its flags.
tests_ran()
{
	local passed
	passed=$(grep -lx ':global-test-result: PASS' "$tap_dir"/opendat-*/debian/build/tests/*/*.trs | wc -l)
	echo "$passed tests passed"
	[ "$passed" -gt 50 ]
}

all_are_there()
{
	[ "$(for deb in "$tap_dir"/*.deb; do dpkg-deb -f "$deb" Package; done | sort | xargs)" = "$packages" ]
}

# The package is not uploaded to Debian, so its changelog need not close a bug there.
lintian_is_content()
{
	lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$tap_dir"/*.changes
}

# A scratch root has none of the packages that ours depend on; that those are named is a test of its own.
installs()
{
	mkdir -p "$root/var/lib/dpkg" && touch "$root/var/lib/dpkg/status" || return
	fakeroot dpkg --root="$root" --force-not-root --force-script-chrootless --force-depends --log=/dev/null \
		--install "$tap_dir"/*.deb || return
	! dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${db:Status-Status}\n' | grep -v '^installed$'
}

# needs PACKAGE OTHER: the package names the other among its dependencies
needs()
{
	dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Depends}, ${Pre-Depends}\n' "$1" | grep -E "(^|[ ,])$2( |,|\$)"
}

# owns PACKAGE PATH...: the files are that package's
owns()
{
	local package=$1 path files
	shift
	files=$(dpkg-query --admindir="$root/var/lib/dpkg" -L "$package") || return
	for path; do
		grep -E "$path\$" <<<"$files" || { echo "$path is not in $package"; return 1; }
	done
}

# A package that the image's second stage does not name is not installed there, and Debian's own archive has none of ours.
image_has_what_its_packages_need()
{
	local named package other missing=0
	named=$(grep -o '/tmp/packages/[^_]*_' "$top_srcdir/packaging/Containerfile" | sed 's,.*/,,; s,_$,,')
	[ -n "$named" ] || { echo 'the Containerfile names no package'; return 1; }
	for package in $named; do
		for other in $packages; do
			! needs "$package" "$other" || grep -qx "$other" <<<"$named" ||
				{ echo "$package needs $other, which the Containerfile does not name"; missing=1; }
		done
	done
	return $missing
}

# What libdapl2, libdapl-dev and dapl2-utils of Debian own.
nothing_of_libdapl2_is_taken()
{
	local paths='etc/dat.conf usr/share/man/man5/dat.conf.5.gz usr/include/dat2'
	local path taken=0
	for path in $paths $(cd "$root" && ls usr/bin/d*test* usr/lib/*/libdat2* usr/lib/*/libdaplo* 2>/dev/null); do
		[ ! -e "$root/$path" ] || { echo "$path belongs to libdapl2 or its friends"; taken=1; }
	done
	return $taken
}

example_builds()
{
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$lib/pkgconfig pkg-config --cflags --libs dat) || return
	# shellcheck disable=SC2086 # a list of flags
	cc -o "$tap_dir/exchange" "$root/usr/share/doc/libdat-dev/examples/exchange.c" -I"$root/usr/include" $flags -L"$lib"
}

vipl_example_builds()
{
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$lib/pkgconfig pkg-config --cflags --libs vipl) || return
	# shellcheck disable=SC2086 # a list of flags
	cc -o "$tap_dir/vipl_exchange" "$root/usr/share/doc/libdat-dev/examples/vipl_exchange.c" -I"$root/usr/include" $flags \
		-L"$lib" -Wl,-rpath-link,"$lib"
}

# Built as dat2.pc of the packages says: with the headers and the library of folders of their own.
program_of_2_0_builds()
{
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$lib/pkgconfig pkg-config --cflags --libs dat2) || return
	cat >"$tap_dir/program2.c" <<-'END'
	#include <dat2/udat.h>

	int main(void)
	{
		DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
		DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

		if (dat_ia_open((DAT_NAME_PTR)"soft0", 8, &evd, &ia) != DAT_SUCCESS)
			return 1;
		return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS;
	}
	END
	# shellcheck disable=SC2086 # a list of flags
	cc -H -o "$tap_dir/program2" "$tap_dir/program2.c" -I"$root/usr/include" $flags -Wl,-rpath-link,"$lib" 2>"$tap_dir/headers"
	cat "$tap_dir/headers"
	! grep '^[.]* /usr/include/dat' "$tap_dir/headers" && [ -x "$tap_dir/program2" ]
}

# As README.Debian says it for one program.
program_of_2_0_opens()
{
	{
		cat "$root/etc/opendat/dat.conf"
		echo 'soft0 u2.0 nonthreadsafe default libdatsoft.so opendat.1.0 "" ""'
	} >"$tap_dir/both.conf"
	env LD_LIBRARY_PATH="$lib/opendat/dat2:$lib" DAT_OVERRIDE="$tap_dir/both.conf" "$tap_dir/program2"
}

installed()
{
	env LD_LIBRARY_PATH="$lib" DAT_OVERRIDE="$root/etc/opendat/dat.conf" "$@"
}

tap 'packages: they build from the tarball' packages_build || tap_end
tap 'packages: their build runs the tests' tests_ran
tap 'packages: there are these seven' all_are_there
tap 'packages: lintian has no complaint' lintian_is_content
tap 'packages: they install in a scratch root' installs || tap_end
for pair in 'libdat1 libltdl7' 'libdat1 libinih1' 'opendat-providers libdat1' 'opendat-providers libdatp0' \
	'opendat-tools opendat-providers' 'opendat-tools libdat1' 'libdat-dev libdat1' 'libdat-dev libdatp0' 'libdat-dev libvipl0' \
	'libdat2-2-opendat libdat1' 'libdat-dev libdat2-2-opendat' 'opendat-tools libdat2-2-opendat' \
	'libvipl0 libdat1'; do
	# shellcheck disable=SC2086 # two words
	tap "packages: ${pair% *} depends on ${pair#* }" needs $pair
done
tap 'packages: the Containerfile names what its packages need' image_has_what_its_packages_need
tap 'packages: nothing of libdapl2 is taken' nothing_of_libdapl2_is_taken
tap "packages: what who writes a provider needs is libdat-dev's" owns libdat-dev man7/datp.7.gz man7/datp-mocks.7.gz \
	opendat/template/template.c opendat/template/pushed.c opendat/template/wire.h opendat/mocks/mock.h opendat/mocks/mock_plain.so
tap "packages: the providers and their manual are opendat-providers'" owns opendat-providers opendat/libdatsoft.so man7/opendat-soft.7.gz
tap 'packages: datctl lists soft0' tap_holds '^soft0' installed "$root/usr/bin/datctl" list
tap 'packages: the example builds with the flags of dat.pc' example_builds
tap 'packages: the example exchanges data over soft0' tap_holds 'All bytes were checked' installed "$tap_dir/exchange" soft0
tap 'packages: the example for VIPL builds with the flags of vipl.pc' vipl_example_builds
tap 'packages: it exchanges data over soft0' tap_holds 'All bytes were checked' installed "$tap_dir/vipl_exchange" soft0
tap 'packages: a program of 2.0 builds with the flags of dat2.pc' program_of_2_0_builds
tap 'packages: it opens soft0 when it is given the folder' program_of_2_0_opens
tap 'packages: datperf measures and verifies' installed "$root/usr/bin/datperf" --ia soft0 --test send-lat --iters 100
tap 'packages: datconform judges as a program of 2.0' tap_holds '^1 passed, 0 failed' \
	installed "$root/usr/bin/datconform" --api 2.0 --ia soft0 --only EVD_WAIT-08
tap "packages: the administrator's files are there" test -s "$root/usr/share/doc/opendat-providers/admin/limits.conf"
tap "packages: zsh's completions are where Debian's zsh reads them" test -s "$root/usr/share/zsh/vendor-completions/_datperf"
tap 'packages: VipConnectAccept(3) is there' test -s "$root/usr/share/man/man3/VipConnectAccept.3.gz"
tap 'packages: dat_ep_connect(3) is there' test -s "$root/usr/share/man/man3/dat_ep_connect.3.gz"
tap_end
