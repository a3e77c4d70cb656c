# SPDX-License-Identifier: BSD-2-Clause
# What an administrator copies into /etc, beside the documentation.
admindir = $(docdir)/admin
dist_admin_DATA = etc/admin/limits.conf etc/admin/modules.conf etc/admin/rdma-names.rules
