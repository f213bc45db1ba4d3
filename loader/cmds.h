/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The subcommands in the order of --help. FX_COMMAND(x) is cmd_x.c, which
 * defines `const struct fx_command fx_cmd_x`.
 */
FX_COMMAND(explain)
