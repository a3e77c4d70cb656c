# SPDX-License-Identifier: BSD-2-Clause
pkgconfig_DATA += sdk/dat.pc sdk/datp.pc
