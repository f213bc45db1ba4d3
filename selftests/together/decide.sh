#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The body of a portable policy in the module, against the same body here.

here=$(cd "$(dirname "$0")" && pwd -P)

insmod "$FX_KMOD" && fabricctl attach --pin "$here/bundles/decide" || exit 1
"$here/decide"
code=$?
fabricctl detach decide >/dev/null && rmmod fabric_ext || code=1
exit $code
