// SPDX-License-Identifier: GPL-2.0-or-later
//! Linking: objects that clang makes of small sources, against kernels that are made up.

mod fixture;
mod policies;
