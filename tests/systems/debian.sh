#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes a Debian 13 or 12 in the build tree from the archive that apt uses on this machine. There it does what a new user does with
# the sources: it runs the README's commands, then builds, installs and uses the packages.
# Use: debian.sh BUILD-TREE made | tested | whole [12]. `made` builds everything, tests included, and the packages without their
# tests; nothing of it depends on the time that it takes. `tested` comes after it, and runs those tests that depend most on the
# system. `whole` runs all. Exit status 77: a Debian cannot be made here; the last line says why.
set -u
top_srcdir=$(cd "$(dirname "$0")/../.." && pwd -P)
build=$(cd "${1:?usage: debian.sh BUILD-TREE made | tested | whole [12]}" && pwd -P) || exit 2
depth=${2:?usage: debian.sh BUILD-TREE made | tested | whole [12]}
release=${3:-13}
. "$top_srcdir/tests/systems/archive.sh"
[ "$release" != 12 ] || suite=bookworm
root=$build/systems/$suite

# inside COMMAND...: runs the command in the folder of the sources, in namespaces of its own, so that its mounts and processes end with it
inside()
{
	# shellcheck disable=SC2016 # that is for the other shell
	unshare --mount --pid --fork --kill-child bash -c '
		root=$1
		shift
		mount --make-rprivate / && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
			mount --rbind /dev "$root/dev" && mount -t tmpfs shm "$root/dev/shm" || exit
		exec chroot "$root" /usr/bin/env -i -C /usr/src/opendat PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" "$@"' \
		inside "$root" "$@"
}

# A user that owns nothing
ordinary_user()
{
	inside setpriv --reuid nobody --regid nogroup --clear-groups "$@"
}

# The system is made anew each time, because packages that an earlier run has installed would hide that a package is missing.
made()
{
	rm -rf "$root"
	mmdebstrap --quiet --variant=apt --mode=root "$suite" "$root" "$archive" || return
	apt-config dump Acquire | grep -i proxy >"$root/etc/apt/apt.conf.d/90proxy"
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
}

# The sources as a clone has them, without what has been built
sources_are_there()
{
	mkdir -p "$root/usr/src/opendat" || return
	if git -C "$top_srcdir" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git -C "$top_srcdir" ls-files -z | tar -C "$top_srcdir" --null -T - -cf - | tar -C "$root/usr/src/opendat" -xf -
	else
		tar -C "$top_srcdir" --exclude=./build -cf - . | tar -C "$root/usr/src/opendat" -xf -
	fi
}

# What the tests of the manual and of the tools use, if it is there
formatters_install()
{
	inside apt-get install -y --no-install-recommends mandoc man-db gnuplot-nox zsh
}

compilers_do_not_warn()
{
	! grep -h 'warning:' "$root"/usr/src/opendat/build/logs/make*.log
}

packages_build()
{
	inside apt-get install -y --no-install-recommends dpkg-dev &&
		inside apt-get build-dep -y --no-install-recommends ./ && inside dpkg-buildpackage -us -uc -b
}

packages_install()
{
	inside bash -c 'apt-get install -y --no-install-recommends ../*.deb'
}

example_builds()
{
	inside bash -c 'cc -o /usr/local/bin/exchange /usr/share/doc/libdat-dev/examples/exchange.c $(pkg-config --cflags --libs dat)'
}

packages_go()
{
	inside bash -c 'apt-get purge -y $(for deb in ../*.deb; do dpkg-deb -f $deb Package; done)' &&
		[ ! -e "$root/etc/opendat" ] && [ ! -e "$root/usr/bin/datctl" ]
}

# Most users build in a folder of their own, and are not root. The packages are there by now.
user_checks()
{
	chown -R nobody:nogroup "$root/usr/src/opendat" && ordinary_user env CHECK_TARGET=check-systems ./quickstart check
}

# The packages for Fedora and RHEL, with their tests. Their names for what they are built from are not Debian's.
rpm_packages_build()
{
	inside apt-get install -y --no-install-recommends rpm xz-utils && inside make -C rdma dist-xz &&
		inside rpmbuild -bb --nodeps --define "_topdir /usr/src/opendat/rpm" --define "_sourcedir /usr/src/opendat/rdma" \
			packaging/opendat.spec
}

# Fedora and RHEL look for libraries in /usr/lib64.
rpm_packages_install()
{
	inside bash -c 'rpm --install --nodeps rpm/RPMS/*/*.rpm && echo /usr/lib64 >/etc/ld.so.conf.d/lib64.conf && ldconfig'
}

rpm_packages_go()
{
	inside bash -c 'rpm --erase --nodeps $(rpm --query --all "opendat*")' &&
		[ ! -e "$root/etc/opendat" ] && [ ! -e "$root/usr/bin/datctl" ] && [ ! -e "$root/usr/lib64/opendat" ]
}

# The tree that the lab's guest sees: built with the rdma-core of that system, whose programs the tests use as well
rdma_tree_builds()
{
	inside apt-get install -y --no-install-recommends librdmacm-dev libibverbs-dev ibverbs-providers rdmacm-utils ibverbs-utils \
		perftest iproute2 mount procps &&
		inside bash -c 'mkdir -p rdma && cd rdma && ../configure --enable-werror && make -j"$(nproc)" check-build'
}

# lab_passes NAME: fabric/NAME_test passes in a guest whose programs and libraries are those of that system. Its results are as many
# as it has announced, some were not skipped, and none is "not ok".
lab_passes()
{
	local status=0 planned results
	env top_srcdir=.. "$top_srcdir/tests/fabric/lab" run --root "$root" --build /usr/src/opendat/rdma --timeout 1500 -- \
		bash "../tests/fabric/$1_test.sh" >"$tap_dir/lab" 2>&1 || status=$?
	cat "$tap_dir/lab"
	planned=$(sed -n 's/^1\.\.\([1-9][0-9]*\)$/\1/p' "$tap_dir/lab")
	results=$(grep -cE '^(not )?ok ' "$tap_dir/lab")
	echo "exit status $status; ${planned:-no} results were announced, and $results came"
	[ $status -lt 124 ] && [ "$planned" = "$results" ] && grep -E '^ok ' "$tap_dir/lab" | grep -qv '# SKIP' &&
		! grep -E '^(not ok|Bail out!)' "$tap_dir/lab"
}

# tap_in_lab NAME: one test, skipped where this machine cannot have the lab
tap_in_lab()
{
	local name="debian $release: fabric/$1_test with its rdma-core"
	if [ -n "$kernel" ]; then
		tap "$name, on Linux $(tail -n 1 <<<"$kernel")" lab_passes "$1"
	else
		tap_skip "$name" "the RDMA lab cannot be had here"
	fi
}

# A Debian in which ./quickstart demo has run
tests_new()
{
	tap "debian $release: it is made" made || tap_end
	tap "debian $release: the sources are there" sources_are_there || tap_end
	tap "debian $release: ./quickstart demo" tap_holds 'MB/s' inside ./quickstart demo || tap_end
}

tests_packages()
{
	tap "debian $release: the packages build" packages_build || tap_end
	tap "debian $release: apt installs them" packages_install || tap_end
	tap "debian $release: datctl lists soft0" tap_holds '^soft0' ordinary_user datctl list
	tap "debian $release: the example builds with the flags of dat.pc" example_builds
	tap "debian $release: it exchanges data over soft0, for an ordinary user" tap_holds 'All bytes were checked' ordinary_user /usr/local/bin/exchange soft0
	tap "debian $release: datperf measures and verifies" ordinary_user datperf --ia soft0 --test send-lat --iters 100
	tap "debian $release: apt removes them without a trace" packages_go
}

tests_rpm_packages()
{
	tap "debian $release: the packages for Fedora and RHEL build, and their tests pass" tap_holds '^# PASS: +[0-9]{4}' rpm_packages_build || return
	tap "debian $release: rpm installs them" rpm_packages_install || return
	tap "debian $release: their datctl lists soft0" tap_holds '^soft0' ordinary_user datctl list
	tap "debian $release: their datperf measures and verifies" ordinary_user datperf --ia soft0 --test send-lat --iters 100
	tap "debian $release: rpm removes them without a trace" rpm_packages_go
}

needs_root_and_archive
. "$top_srcdir/tests/harness/tap.sh"
case $depth in
whole)
	tests_new
	tap "debian $release: ./quickstart check" inside ./quickstart check
	tap "debian $release: ./quickstart check clang debian" inside ./quickstart check clang debian
	tests_packages
	tap "debian $release: a tree builds with rdma-core, and its tests" rdma_tree_builds || tap_end
	# the rpm of Debian 12 installs nothing
	[ "$release" -lt 13 ] || tests_rpm_packages
	kernel=$("$top_srcdir/tests/fabric/lab" prepare --build "$build")
	for name in verbs api fault hostile; do
		tap_in_lab "$name"
	done
	;;
made)
	tests_new
	tap "debian $release: what the tests use installs" formatters_install
	tap "debian $release: all tests build, and one passes" inside env CHECK_TARGET=tests/harness/well.log ./quickstart check
	tap "debian $release: its compiler does not warn" compilers_do_not_warn
	tests_packages
	;;
tested)
	tap "debian $release: ./quickstart check for an ordinary user, of what depends on the system" user_checks
	;;
*)
	echo "debian.sh: there is no depth '$depth'" >&2
	exit 2
	;;
esac
tap_end
