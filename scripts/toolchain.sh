# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Which compilers the checkout uses; sourced by the other scripts, from the top of the checkout.

# The oldest versions that build the workspace and the policies.
rust_min=1.88
clang_min=17
python_min=3.11

# at_least VERSION MINIMUM: compares dotted versions.
at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# rust_version DIR: version of the compiler beside cargo in DIR, empty if either does not work there.
rust_version() {
	[ -x "$1/cargo" ] && "$1/cargo" --version >/dev/null 2>&1 || return 0
	"$1/rustc" --version 2>/dev/null | awk '{print $2}'
}

# The directory of the first new enough cargo and rustc: the one the user has on the PATH comes first. Another folder
# for the system's programs is for the tests.
find_rust() {
	local dir
	for dir in "$(dirname "$(command -v cargo || echo -)")" "${SCHEDLAB_SYSTEM_BIN:-/usr/bin}" "${CARGO_HOME:-${HOME:-}/.cargo}/bin"; do
		at_least "$(rust_version "$dir")" $rust_min && echo "$dir" && return
	done
	return 1
}

# The newest clang that is new enough, by its own word: plain clang or a clang-NN of Debian.
find_clang() {
	local name version best='' best_version=0
	for name in ${SCHEDLAB_CLANG:-clang $(compgen -c clang- | grep -x 'clang-[0-9]*' | sort -u)}; do
		version=$("$name" -dumpversion 2>/dev/null) || continue
		at_least "${version%%.*}" $clang_min || continue
		at_least "$version" "$best_version" && best=$name best_version=$version
	done
	[ -n "$best" ] && command -v "$best"
}

# The first Python that is new enough and can make a virtual environment (uv makes one without the venv module).
find_python() {
	local name module=ensurepip
	command -v uv >/dev/null && module=sys
	for name in python3 /usr/bin/python3 $(compgen -c python3. | grep -x 'python3[.][0-9]*' | sort -uVr); do
		"$name" -c "import sys, $module; sys.exit(sys.version_info < tuple(map(int, '$python_min'.split('.'))))" \
			2>/dev/null && command -v "$name" && return
	done
	return 1
}

# Puts the chosen cargo first on the PATH. clang needs no such help: the simulator and the loader find it themselves.
use_toolchain() {
	local rust tool
	rust=$(find_rust) || { echo "no cargo and rustc $rust_min or newer: run scripts/setup" >&2 && return 3; }
	[ "$rust" = "$(dirname "$(command -v cargo)")" ] && return
	# An older cargo comes first on the PATH: these links come before it, and nothing else of that directory does.
	mkdir -p build/tools
	for tool in cargo rustc rustdoc rustfmt cargo-fmt cargo-clippy clippy-driver; do
		ln -sfn "$rust/$tool" "build/tools/$tool"
	done
	PATH=$PWD/build/tools:$PATH
}
