# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The archive from which the tests make a Debian of another release. Sourced. It sets suite; needs_root_and_archive sets archive,
# and needs the caller's variable build.
suite=trixie

# skip REASON: ends the program, because a Debian cannot be made here
skip()
{
	printf 'systems: %s\n' "$1" >&2
	exit 77
}

# Prints the URL of the archive from which apt gets Debian's packages: that of its first list of packages
archive_of_apt()
{
	apt-get indextargets --format '$(SITE)' 'Origin: Debian' 'Label: Debian' 'Created-By: Packages' 2>/dev/null | head -n 1
}

needs_root_and_archive()
{
	local reached
	command -v apt-get >/dev/null || skip "the other Debian comes from the archive that apt uses, and there is no apt-get here"
	[ "$(id -u)" -eq 0 ] || skip "only root can change the root folder"
	command -v mmdebstrap >/dev/null || skip "no mmdebstrap here: apt-get install mmdebstrap"
	unshare --mount --pid --fork mount --make-rprivate / 2>/dev/null ||
		skip "no namespaces for mounts and processes can be made here"
	archive=$(archive_of_apt)
	[ -n "$archive" ] || { apt-get -q update >/dev/null 2>&1; archive=$(archive_of_apt); }
	[ -n "$archive" ] || skip "apt has no list of Debian's main archive: apt-get update"
	mkdir -p "$build/systems" || exit
	reached=$(timeout 60 /usr/lib/apt/apt-helper download-file "$archive/dists/$suite/InRelease" "$build/systems/InRelease" 2>&1) ||
		skip "the archive that apt uses here has no $suite: $(tail -n 1 <<<"$reached")"
}
