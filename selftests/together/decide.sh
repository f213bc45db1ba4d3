#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The body of a portable policy in the module, against the same body here.

here=$(cd "$(dirname "$0")" && pwd -P)

insmod "$FX_KMOD" && fabricctl attach --pin "$here/bundles/decide" || exit 1
"$here/decide"
code=$?
fabricctl detach decide >/dev/null || code=1
# what the policy held is let go of a moment later
for ((i = 0; i < 100; i++)); do
	rmmod fabric_ext 2>/dev/null && exit $code
	sleep 0.05
done
echo "fabric_ext cannot be unloaded: it is in use"
exit 1
