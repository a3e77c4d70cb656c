# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages. Building them takes a minute or two, so that is no test of `make check`, but one of ./quickstart.
EXTRA_DIST += tests/debian/packages.sh
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/rules debian/source/format \
	debian/libdat-dev.install debian/libdat1.install debian/libdat1.symbols debian/libdatp0.install \
	debian/libdat2-2-opendat.README.Debian debian/libdat2-2-opendat.install debian/libdat2-2-opendat.symbols \
	debian/libdatp0.symbols debian/libvipl0.install debian/libvipl0.symbols debian/opendat-providers.install debian/opendat-tools.install
