# SPDX-License-Identifier: BSD-2-Clause
pkgconfig_DATA += sdk/dat.pc sdk/dat2.pc sdk/datp.pc

# find_package(OpenDAT), for projects that are built with CMake.
cmakedir = $(libdir)/cmake/OpenDAT
cmake_DATA = sdk/cmake/OpenDATConfig.cmake sdk/cmake/OpenDATConfigVersion.cmake

# A whole plugin to begin from: `cp -r "$(pkg-config --variable=templatedir datp)" mine && cd mine && make`.
templatedir = $(datadir)/opendat/template
dist_template_DATA = \
	sdk/template/Makefile \
	sdk/template/README.md \
	sdk/template/ci.yml \
	sdk/template/polled.h \
	sdk/template/pushed.c \
	sdk/template/template.c \
	sdk/template/two.c \
	sdk/template/wire.h
