# SPDX-License-Identifier: BSD-2-Clause
# clang compiles the fuzz targets, whichever compiler builds the rest. They have sanitizers of their own, so a sanitized tree leaves
# them out.
FUZZ_FILES = tests/fuzz/conf_fuzz.c registry/conf.c registry/conf_ini.c
FUZZ_CFLAGS = -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
FUZZ_REGISTRY = tests/fuzz/files_fuzz.c registry/conf.c registry/conf_ini.c registry/conf_file.c registry/conf_filter.c \
	registry/conf_apis.c log/near.c
FUZZ_REMOTE = tests/fuzz/remote_fuzz.c tests/fuzz/served.c conform/remote_wire.c
FUZZ_CTL = tests/fuzz/ctl_fuzz.c tools/datperf_ctl.c tools/datperf_clock.c
FUZZ_WIRE = tests/fuzz/wire_fuzz.c providers/rdma/rdma_wire.c providers/rdma/rdma_parts.c
FUZZ_CC_LINE = $(FUZZ_CC) -std=gnu11 -D_GNU_SOURCE -I$(srcdir) -I. -I$(srcdir)/include $(WARN_CFLAGS) $(FUZZ_CFLAGS)
FUZZ_TARGETS = tests/fuzz/files_fuzz tests/fuzz/remote_fuzz tests/fuzz/ctl_fuzz
if HAVE_RDMA
FUZZ_TARGETS += tests/fuzz/wire_fuzz
endif
if HAVE_LIBFUZZER
if !SANITIZED
check_DATA += tests/fuzz/conf_fuzz $(FUZZ_TARGETS)
endif
endif
tests/fuzz/files_fuzz: $(FUZZ_REGISTRY) registry/conf.h
	$(AM_V_at)$(MKDIR_P) tests/fuzz
	$(AM_V_GEN)$(FUZZ_CC_LINE) -DSYSCONFDIR='"/nowhere"' $(INIH_CFLAGS) -o $@ $(FUZZ_REGISTRY:%=$(srcdir)/%) $(INIH_LIBS)
tests/fuzz/remote_fuzz: $(FUZZ_REMOTE) tests/fuzz/served.h conform/remote_serve.c conform/remote.h conform/conform.h conform/api.h
	$(AM_V_at)$(MKDIR_P) tests/fuzz
	$(AM_V_GEN)$(FUZZ_CC_LINE) -I$(srcdir)/conform -o $@ $(FUZZ_REMOTE:%=$(srcdir)/%)
tests/fuzz/ctl_fuzz: $(FUZZ_CTL) tools/datperf.h tools/cli.h
	$(AM_V_at)$(MKDIR_P) tests/fuzz
	$(AM_V_GEN)$(FUZZ_CC_LINE) -o $@ $(FUZZ_CTL:%=$(srcdir)/%) -lm
tests/fuzz/wire_fuzz: $(FUZZ_WIRE) providers/rdma/rdma.h providers/rdma/rdma_wire.h providers/rdma/rdma_parts.h
	$(AM_V_at)$(MKDIR_P) tests/fuzz
	$(AM_V_GEN)$(FUZZ_CC_LINE) $(VERBS_CFLAGS) $(RDMACM_CFLAGS) -o $@ $(FUZZ_WIRE:%=$(srcdir)/%)
tests/fuzz/conf_fuzz: $(FUZZ_FILES) registry/conf.h
	$(AM_V_at)$(MKDIR_P) tests/fuzz
	$(AM_V_GEN)$(FUZZ_CC) -std=gnu11 -D_GNU_SOURCE -I$(srcdir) $(WARN_CFLAGS) $(FUZZ_CFLAGS) $(INIH_CFLAGS) -o $@ \
		$(FUZZ_FILES:%=$(srcdir)/%) $(INIH_LIBS)
CLEANFILES += tests/fuzz/conf_fuzz $(FUZZ_TARGETS)

if !SANITIZED
TESTS += tests/fuzz/conf_fuzz.sh tests/fuzz/fuzz.sh tests/fuzz/handshake_fuzz.sh
endif
EXTRA_DIST += tests/fuzz/fuzz.sh tests/fuzz/found tests/fuzz/files_fuzz.c tests/fuzz/remote_fuzz.c tests/fuzz/ctl_fuzz.c tests/fuzz/wire_fuzz.c
EXTRA_DIST += tests/fuzz/served.c tests/fuzz/served.h
EXTRA_DIST += tests/fuzz/conf_fuzz.c tests/fuzz/conf_fuzz.sh tests/fuzz/conf.dict tests/fuzz/corpus

# The handshake of the soft provider. The provider's sources are compiled anew with sanitizers; libdatp is linked as it is, without.
HANDSHAKE_FUZZ_FILES = tests/fuzz/handshake_fuzz.c tests/soft/hostile/hostile.c \
	$(filter log/%.c providers/soft/%.c,$(libsoft_core_la_SOURCES))
if HAVE_LIBFUZZER
if !SANITIZED
if NATIVE
check_DATA += tests/fuzz/handshake_fuzz
endif
endif
endif
tests/fuzz/handshake_fuzz: $(HANDSHAKE_FUZZ_FILES) tests/soft/hostile/hostile.h $(libsoft_core_la_SOURCES) libdatp_core.la libdat.la
	$(AM_V_at)$(MKDIR_P) tests/fuzz
	$(AM_V_GEN)$(LIBTOOL) $(AM_LIBTOOLFLAGS) --tag=CC --mode=link --silent $(FUZZ_CC) -std=gnu11 -D_GNU_SOURCE= \
		-DDATP_PLUGIN_VERSION='"$(PACKAGE_VERSION)"' -I. -I$(srcdir) -I$(srcdir)/include -I$(srcdir)/tests/harness \
		$(CUNIT_CFLAGS) $(WARN_CFLAGS) $(FUZZ_CFLAGS) -o $@ $(HANDSHAKE_FUZZ_FILES:%=$(srcdir)/%) \
		libdatp_core.la libdat.la
CLEANFILES += tests/fuzz/handshake_fuzz

EXTRA_DIST += tests/fuzz/handshake_fuzz.c tests/fuzz/handshake_fuzz.sh tests/fuzz/handshake
