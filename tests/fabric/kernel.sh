# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Gets the guest's kernel. By default it is the one whose headers and source are installed on this machine, and only the package of
# the kernel itself is downloaded. Another series (`lab --kernel 6.12`) is downloaded from this Debian's backports, with its headers
# and source, and unpacked beside the image. Sourced by image.sh.
# shellcheck source-path=SCRIPTDIR
. "$here/../systems/archive.sh"

# Prints the newest kernel whose headers are installed. siw is built for it.
kernel_installed()
{
	local dir newest=
	for dir in $(printf '%s\n' /usr/src/linux-headers-*-amd64 | sort -V); do
		case $dir in
		*-rt-* | *-cloud-*) ;;
		*) [ ! -e "$dir/Makefile" ] || newest=${dir#/usr/src/linux-headers-} ;;
		esac
	done
	printf '%s' "$newest"
}

# kernel_series KERNEL: prints the series, such as 6.1 for 6.1.0-56-amd64
kernel_series()
{
	cut -d. -f1,2 <<<"$1"
}

# kernel_is_installed SERIES: no series means that of the installed headers
kernel_is_installed()
{
	[ -z "$1" ] || [ "$(kernel_series "$(kernel_installed)")" = "$1" ]
}

# kernel_source KERNEL ROOT: prints the path of the archive with the source of the kernel's series
kernel_source()
{
	printf '%s/usr/src/linux-source-%s.tar.xz' "$2" "$(kernel_series "$1")"
}

# kernel_missing SERIES: says what the machine lacks, one line each
kernel_missing()
{
	local kernel
	if ! kernel_is_installed "$1"; then
		[ -n "$(backports)" ] || echo "Linux $1 comes from the backports of a Debian, and this is none"
		return
	fi
	kernel=$(kernel_installed)
	if [ -z "$kernel" ]; then
		echo "no /usr/src/linux-headers-*-amd64: apt-get install linux-headers-amd64"
	elif [ ! -e "$(kernel_source "$kernel" "")" ]; then
		echo "no $(kernel_source "$kernel" ""), in which siw is: apt-get install linux-source"
	fi
}

# kernel_key SERIES: prints what an image depends on. For a downloaded kernel that is not its version: an image stays in use until
# it is removed from the cache, after a week at the earliest, and then the newest kernel is downloaded.
kernel_key()
{
	local kernel
	if kernel_is_installed "$1"; then
		kernel=$(kernel_installed)
		printf '%s\n' "$kernel" "$(package_version "linux-headers-$kernel")" "$(stat -c %s:%Y "$(kernel_source "$kernel" "")")"
	else
		printf '%s\n' "$(backports)" "$1"
	fi
}

package_version()
{
	dpkg-query -W -f '${Version}' "$1" 2>/dev/null
}

# kernel_fetch SERIES DIR: unpacks the kernel in DIR. Sets `kernel` to its name, and `kernel_root` to the folder below which its
# headers and its source are.
kernel_fetch()
{
	mkdir -p "$2" || return
	if kernel_is_installed "$1"; then
		kernel=$(kernel_installed)
		kernel_root=
		kernel_fetch_image "$2" || return
	else
		kernel_root=$2
		kernel_fetch_all "$1" "$2" || return
	fi
	depmod -b "$2" "$kernel"
}

# Downloads the kernel's package, of the same version as the headers, and unpacks it without installing it.
kernel_fetch_image()
{
	local dir=$1 package version
	package=linux-image-$kernel
	version=$(package_version "linux-headers-$kernel")
	if ! (cd "$dir" && apt-get download -q "$package=$version"); then
		echo "apt-get could not download $package $version." \
			"If the archive has a newer kernel: apt-get update && apt-get install linux-headers-amd64"
		return 1
	fi
	dpkg -x "$dir"/linux-image-*.deb "$dir"
}

# Prints the name of this Debian's backports in the archive, such as bookworm-backports; nothing if this is not Debian.
backports()
{
	(
		# shellcheck disable=SC1091 # of the machine
		. /etc/os-release && [ "$ID" = debian ] && [ -n "${VERSION_CODENAME-}" ] && printf '%s-backports' "$VERSION_CODENAME"
	) 2>/dev/null
}

# Downloads the newest kernel of the series that is neither -rt nor -cloud, with its headers and source, and unpacks all of it. apt
# gets folders of its own, so its lists of this machine's releases do not change. The headers include each other by absolute paths,
# which are changed at the end.
kernel_fetch_all()
{
	local series=$1 dir=$2 deb common
	local apt=(-q -o "Dir::Etc::SourceList=$dir/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root)
	mkdir -p "$dir"/apt/{lists,cache/archives}/partial "$dir/debs" &&
		echo "deb $(archive_of_apt) $(backports) main" >"$dir/apt/sources.list" && apt-get "${apt[@]}" update || return
	kernel=$(apt-cache "${apt[@]}" pkgnames "linux-headers-$series." | grep -vE -e '-(rt|cloud)-' |
		sed -n 's/^linux-headers-\(.*-amd64\)$/\1/p' | sort -V | tail -n 1)
	[ -n "$kernel" ] || { echo "$(backports) has no Linux $series for amd64"; return 1; }
	common=${kernel%-amd64}
	(cd "$dir/debs" && apt-get "${apt[@]}" download "linux-image-$kernel" "linux-headers-$kernel" \
		"linux-headers-$common-common" "linux-kbuild-$common" "linux-source-$series") || return
	for deb in "$dir"/debs/*.deb; do
		dpkg -x "$deb" "$dir" || return
	done
	sed -i "s|/usr/src/|$dir/usr/src/|" "$dir/usr/src/linux-headers-$kernel/Makefile"
}
