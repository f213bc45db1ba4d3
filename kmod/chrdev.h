/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/fabric_ext: the data plane. */
#ifndef FX_CHRDEV_H
#define FX_CHRDEV_H

int fx_chrdev_register(void);
void fx_chrdev_unregister(void);

#endif
