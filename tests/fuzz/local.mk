# SPDX-License-Identifier: BSD-2-Clause
# The fuzz target is clang's affair, whichever compiler builds the rest, and has sanitizers of its own.
FUZZ_FILES = tests/fuzz/conf_fuzz.c registry/conf.c registry/conf_ini.c
FUZZ_CFLAGS = -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
if HAVE_LIBFUZZER
check_DATA += tests/fuzz/conf_fuzz
endif
tests/fuzz/conf_fuzz: $(FUZZ_FILES) registry/conf.h
	$(AM_V_at)$(MKDIR_P) tests/fuzz
	$(AM_V_GEN)$(FUZZ_CC) -std=gnu11 -D_GNU_SOURCE -I$(srcdir) $(WARN_CFLAGS) $(FUZZ_CFLAGS) $(INIH_CFLAGS) -o $@ \
		$(FUZZ_FILES:%=$(srcdir)/%) $(INIH_LIBS)
CLEANFILES += tests/fuzz/conf_fuzz

TESTS += tests/fuzz/conf_fuzz.sh
EXTRA_DIST += tests/fuzz/conf_fuzz.c tests/fuzz/conf_fuzz.sh tests/fuzz/conf.dict tests/fuzz/corpus
