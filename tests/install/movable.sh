# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by tests that install the tree and move it elsewhere: they are skipped if configure was given folders that do not move
# along, as in the build of a package, which is used from its own places.
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
