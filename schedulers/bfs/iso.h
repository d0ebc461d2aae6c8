/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rule 1.3.14: how much of the whole machine ISO tasks took lately. A tick of
 * an ISO task adds 100, any other tick takes a P-th away; P ticks are 5 s of
 * all CPUs. Above iso_cpu % ISO tasks compete as NORMAL until it has fallen
 * to nine tenths of that.
 */
#pragma once

#include "rules.h"

struct bfs_iso_state {
	u64 ticks;
	bool refractory;
};

static __always_inline void bfs_iso_tick(const struct bfs_config *cfg, struct bfs_iso_state *iso,
					 bool iso_runs)
{
	u64 period = cfg->iso_period, unit = bfs_in_jiffies(cfg->rules) ? 100 : 128;
	u64 on = cfg->iso_cpu_pct;
	u64 off = bfs_in_jiffies(cfg->rules) ? on * 9 / 10 : on * 115 / 128;

	if (iso_runs && !iso->refractory) {
		if (iso->ticks <= unit * period - unit)
			iso->ticks += 100;
	} else if (cfg->rules == BFS_232) {
		iso->ticks = iso->ticks * (period - 1) / period;
	} else {
		u64 less = iso->ticks / period + 1;

		iso->ticks = iso->ticks > less ? iso->ticks - less : 0;
	}
	if (iso->ticks / period > on)
		iso->refractory = true;
	else if (iso->ticks / period < off)
		iso->refractory = false;
}
