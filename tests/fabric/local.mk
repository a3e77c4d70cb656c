# SPDX-License-Identifier: BSD-2-Clause
# The RDMA lab: a virtual machine with rxe and siw.
EXTRA_DIST += \
	tests/fabric/lab \
	tests/fabric/image.sh \
	tests/fabric/lab-peer \
	tests/fabric/stage1 \
	tests/fabric/stage2
