# SPDX-License-Identifier: BSD-2-Clause
# The headers of DAT 2.0 include those of 1.2 as ../dat/NAME, which is also found if they are installed in opendat/dat2.
dat2headersdir = $(dat2includedir)/dat2
dat2headers_HEADERS = \
	include/dat2/dat.h \
	include/dat2/dat_error.h \
	include/dat2/dat_ib_extensions.h \
	include/dat2/dat_platform_specific.h \
	include/dat2/dat_redirection.h \
	include/dat2/dat_registry.h \
	include/dat2/dat_vendor_specific.h \
	include/dat2/udat.h \
	include/dat2/udat_config.h \
	include/dat2/udat_redirection.h \
	include/dat2/udat_vendor_specific.h

datpincludedir = $(includedir)/datp
dist_datpinclude_HEADERS = include/datp/bias.h include/datp/errors.h include/datp/ext.h include/datp/fast20.h include/datp/fork.h include/datp/lmr_table.h include/datp/options.h include/datp/provider.h include/datp/provider_post.h include/datp/timer.h include/datp/wrap.h
# The standard's ten headers, under the standard's names, and four with declarations that are the same in DAT 2.0.
datincludedir = $(includedir)/dat
datinclude_HEADERS = \
	include/dat/dat.h \
	include/dat/dat_calls.h \
	include/dat/dat_common.h \
	include/dat/dat_error.h \
	include/dat/dat_platform_specific.h \
	include/dat/dat_plugin.h \
	include/dat/dat_redirection.h \
	include/dat/dat_registry.h \
	include/dat/dat_slots.h \
	include/dat/dat_vendor_specific.h \
	include/dat/udat.h \
	include/dat/udat_config.h \
	include/dat/udat_redirection.h \
	include/dat/udat_vendor_specific.h
