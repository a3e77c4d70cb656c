# SPDX-License-Identifier: BSD-2-Clause
# The RDMA lab, a virtual machine with rxe and siw, and the tests that run in it: `make check-fabric`. Their results are
# fabric/NAME.log and .trs. A test is tests/fabric/NAME.sh; FABRIC_OPTIONS_NAME are what `lab run` is told for it.
FABRIC_TESTS = datctl_test verbs_test
FABRIC_HOST_TESTS = lab_test
FABRIC_OPTIONS_datctl_test = --timeout 1200
FABRIC_NEEDS = examples/exchange
FABRIC_RESULTS = $(FABRIC_HOST_TESTS:%=fabric/%.trs) $(FABRIC_TESTS:%=fabric/%.trs)

EXTRA_DIST += \
	tests/fabric/lab \
	tests/fabric/image.sh \
	tests/fabric/in-lab \
	tests/fabric/lab-peer \
	tests/fabric/stage1 \
	tests/fabric/stage2 \
	$(FABRIC_HOST_TESTS:%=tests/fabric/%.sh) \
	$(FABRIC_TESTS:%=tests/fabric/%.sh)

FABRIC_RUN = $(AM_V_at)$(MKDIR_P) fabric && $(AM_TESTS_ENVIRONMENT) CHECK_PATIENCE=60; export CHECK_PATIENCE; \
	$(TAP_DRIVER) --test-name fabric/$* --log-file fabric/$*.log --trs-file $@ --color-tests no -- \
	$(abs_top_srcdir)/tests/fabric/in-lab

$(FABRIC_HOST_TESTS:%=fabric/%.trs): fabric/%.trs: FORCE
	$(FABRIC_RUN) bash $(abs_top_srcdir)/tests/fabric/$*.sh
$(FABRIC_TESTS:%=fabric/%.trs): fabric/%.trs: FORCE
	$(FABRIC_RUN) $(FABRIC_OPTIONS_$*) -- bash $(abs_top_srcdir)/tests/fabric/$*.sh

# One after the other: a guest takes two processors.
check-fabric: all $(FABRIC_NEEDS)
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) -j1 $(FABRIC_RESULTS)
	@! grep -lE '^:test-result: (FAIL|ERROR|XPASS)' $(FABRIC_RESULTS)
.PHONY: check-fabric

clean-local: clean-fabric
clean-fabric:
	rm -rf fabric fabric-cache
.PHONY: clean-fabric
