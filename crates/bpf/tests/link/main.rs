// SPDX-License-Identifier: GPL-2.0-or-later
//! Linking: objects that clang makes of small sources, against kernels that are made up.

mod btf;
mod core_relo;
mod data;
mod decode;
mod externs;
mod fixture;
mod maps;
mod nullable;
mod policies;
mod reach;
mod struct_ops;
