// SPDX-License-Identifier: GPL-2.0-or-later
//! The project's own C headers travel inside the binaries, so that a policy builds wherever clang is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Path below the include folder, and contents.
pub const HEADERS: &[(&str, &str)] = &[
    ("integers.h", include_str!("../../../include/integers.h")),
    (
        "uapi_integers.h",
        include_str!("../../../include/uapi_integers.h"),
    ),
    ("types.h", include_str!("../../../include/types.h")),
    ("policy.h", include_str!("../../../include/policy.h")),
    (
        "scx_consts.h",
        include_str!("../../../include/scx_consts.h"),
    ),
    ("scx_ops.h", include_str!("../../../include/scx_ops.h")),
    ("scx.h", include_str!("../../../include/scx.h")),
];

/// Write them below `dir` and return the include folder.
pub fn write(dir: &Path) -> Result<PathBuf> {
    let include = dir.join("include");
    for (name, text) in HEADERS {
        let file = include.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(dir))
            .and_then(|()| std::fs::write(&file, text))
            .with_context(|| file.display().to_string())?;
    }
    Ok(include)
}
