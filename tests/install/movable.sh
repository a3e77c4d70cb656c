# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by tests that install the tree and move it elsewhere: they are skipped if configure was given folders that do not move
# along, as in the build of a package, which is used from its own places. `prefix` is the tree's, and `moved` is where it is moved to.
movable()
{
	local name want said
	while read -r name want; do
		said=$(sed -n "s/^$name = //p" Makefile)
		[ "$said" = "$want" ] || { echo "1..0 # SKIP $name is $said: only a tree whose folders are below its prefix is moved"; exit 0; }
	done <<-'END'
		libdir ${exec_prefix}/lib
		sysconfdir ${prefix}/etc
	END
}
movable

prefix=$(sed -n 's/^prefix = //p' Makefile)
moved=$tap_dir/moved

# The tests share what is installed, and each moves a copy of its own.
install_and_move()
{
	mkdir -p tests/install && flock tests/install/dest.lock make -s tests/install/dest.stamp &&
		cp -a "$PWD/tests/install/dest$prefix" "$moved"
}
