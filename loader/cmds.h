/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The subcommands in the order of --help. FX_COMMAND(x) is cmd_x.c, which
 * defines `const struct fx_command fx_cmd_x`.
 */
FX_COMMAND(doctor)
FX_COMMAND(model)
FX_COMMAND(compile)
FX_COMMAND(attach)
FX_COMMAND(detach)
FX_COMMAND(list)
FX_COMMAND(show)
FX_COMMAND(stat)
FX_COMMAND(tag)
FX_COMMAND(events)
FX_COMMAND(map)
FX_COMMAND(publish)
FX_COMMAND(agent)
FX_COMMAND(run)
FX_COMMAND(bypass)
FX_COMMAND(explain)
