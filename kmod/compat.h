/* SPDX-License-Identifier: GPL-2.0-only */
/* Every difference between the kernels we run on, and nowhere else. */
#ifndef FX_COMPAT_H
#define FX_COMPAT_H

#include <linux/btf.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#ifndef CONFIG_X86_64
#error "fabric_ext redirects functions through x86-64 ftrace registers"
#endif

/* Before 6.13 the namespace was a bare word, since then it is a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define FX_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#else
#define FX_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#endif

/* Trusted arguments became the default of kfuncs in 7.0. */
#ifndef KF_TRUSTED_ARGS
#define KF_TRUSTED_ARGS		0
#endif

/* Unbound work items go to system_dfl_wq since 6.17; the old name warns. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define fx_unbound_wq		system_unbound_wq
#else
#define fx_unbound_wq		system_dfl_wq
#endif

/* 7.x has P2P mapping types decided by one traceable function. */
#ifdef CONFIG_PCI_P2PDMA
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define FX_HAVE_P2P_MAP_TYPE	1
#endif
#endif

/* A page frame number was a type of its own before 6.17. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#include <linux/pfn_t.h>
#define fx_insert_mixed(vma, addr, pfn)	\
	vmf_insert_mixed(vma, addr, pfn_to_pfn_t(pfn))
#else
#define fx_insert_mixed(vma, addr, pfn)	vmf_insert_mixed(vma, addr, pfn)
#endif

/* drivers/cxl/cxl.h is private, its bus type is exported (namespace CXL). */
#if IS_ENABLED(CONFIG_CXL_BUS)
#define FX_HAVE_CXL		1
extern const struct bus_type cxl_bus_type;
#endif

/*
 * Argument registers of the function whose entry we stand at. The thunks run
 * with FTRACE_OPS_FL_IPMODIFY and without SAVE_REGS: the arguments and the
 * instruction pointer are there, and both are loaded again on return.
 */
static __always_inline unsigned long fx_arg0(struct ftrace_regs *fregs)
{
	return arch_ftrace_regs(fregs)->regs.di;
}

static __always_inline unsigned long fx_arg1(struct ftrace_regs *fregs)
{
	return arch_ftrace_regs(fregs)->regs.si;
}

static __always_inline unsigned long fx_arg2(struct ftrace_regs *fregs)
{
	return arch_ftrace_regs(fregs)->regs.dx;
}

/**
 * fx_redirect() - send the caller of the traced function elsewhere
 * @fregs: registers at the function's entry
 * @to: function without arguments that returns what the caller shall get
 *
 * The return address on the stack is the caller's: @to returns to it, and
 * the traced function never begins. The arguments stay as they are, for
 * others who trace the same function and are still to look at them.
 */
static __always_inline void fx_redirect(struct ftrace_regs *fregs, unsigned long (*to)(void))
{
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)to);
}

#endif
