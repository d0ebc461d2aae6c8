/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy tells about itself and is told about the machine, the same in
 * every place. Included by scx.h; a policy includes only that.
 *
 * Tunables and counters describe themselves in an ELF section that no kernel
 * sees; loader, simulator and man pages read it. Keep double quotes and
 * backslashes out of the descriptions.
 */
#pragma once

/* CPU ids are below this; a power of two, so that a mask bounds an index. */
#define MAX_CPUS 1024

#define __describe(text) \
	__asm__(".pushsection .schedlab,\"\",@progbits\n.asciz \"" text "\"\n.popsection\n")

/*
 * TUNABLE(u32, rr_interval_us, 6000, 1000, 1000000, "us", "what it does; source"):
 * a constant that may be set before the policy is loaded. Default and bounds
 * are literal numbers; the unit also ends the name.
 */
#define TUNABLE(type, name, dflt, lo, hi, unit, about)                                       \
	__describe("tunable|" #type "|" #name "|" #dflt "|" #lo "|" #hi "|" unit "|" about); \
	const volatile type name = dflt

/* CHOICE(rules, 3, "232,311,424,modern", "..."): a tunable whose values have names; holds the index. */
#define CHOICE(name, dflt, names, about)                           \
	__describe("choice|" #name "|" #dflt "|" names "|" about); \
	const volatile u32 name = dflt

/* STAT(kicks, "CPUs kicked"): an event counter, one cache line per CPU; count with STAT_INC(kicks). */
#define STAT(name, about)                    \
	__describe("stat|" #name "|" about); \
	u64 stat_##name[MAX_CPUS * 8]
#define STAT_INC(name) (stat_##name[cpu_index(bpf_get_smp_processor_id()) * 8]++)

/*
 * The machine, filled in by the loader of the policy. CPUs of one last-level
 * cache are neighbours in cpu_by_llc[llc_first[llc] .. llc_first[llc + 1]).
 */
const volatile u32 nr_cpus = 1; /* possible CPUs; ids are 0..nr_cpus */
const volatile u32 nr_llcs = 1;
const volatile u32 nr_nodes = 1;
const volatile u32 tick_hz = 250; /* the kernel's timer interrupts per second */
const volatile u16 cpu_llc[MAX_CPUS];
const volatile u16 cpu_node[MAX_CPUS];
const volatile u16 cpu_core[MAX_CPUS]; /* SMT siblings have the same core */
const volatile u16 cpu_sibling[MAX_CPUS]; /* next thread of the core, cyclic; itself without SMT */
const volatile u16 cpu_by_llc[MAX_CPUS];
const volatile u16 llc_first[MAX_CPUS + 1];

/* Bound an index for the verifier without a branch. */
static __always_inline u32 cpu_index(u32 cpu)
{
	barrier_var(cpu);
	return cpu & (MAX_CPUS - 1);
}
