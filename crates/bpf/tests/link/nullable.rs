// SPDX-License-Identifier: GPL-2.0-or-later
//! Arguments of callbacks that may be NULL: what is read or written through one without a comparison is refused.

use bpf::Environment;

use crate::fixture::{kernel, linked, refusal};

fn kernel_with_nullable() -> Environment {
    let mut kernel = kernel(
        "struct thing { int here; };
        struct table { int (*take)(struct thing *a, struct thing *b); int (*give)(struct thing *a); } *keep;",
    );
    kernel.nullable.insert("table.take".to_owned(), 0b10);
    kernel
}

/// A callback whose second argument may be NULL, on the second line of its source.
fn taking(body: &str) -> String {
    let types = "struct thing { int here; } __core; \
        struct table { int (*take)(struct thing *a, struct thing *b); }; \
        static __attribute__((noinline)) int here_of(struct thing *p) { return p->here; } \
        static __attribute__((noinline)) int is_there(struct thing *p) { return p != 0; }";
    format!(
        "{types}\nSEC(\"struct_ops/take\") int take(u64 *context) \
        {{ struct thing *a = (void *)context[0], *b = (void *)context[1]; {body} }}\n\
        SEC(\".struct_ops.link\") struct table ops = {{ .take = (void *)take }};"
    )
}

#[test]
fn a_use_without_a_comparison_is_refused() {
    let bodies = [
        "return b->here;",
        "b->here = 1; return 0;",
        "__sync_fetch_and_add(&b->here, 1); return 0;",
        "return a->here ? b->here : 0;",
        "struct thing *volatile kept = b; return kept->here;",
        "if (a) a->here = 1; return b->here;",
    ];
    for body in bodies {
        assert_eq!(
            refusal(&taking(body), &kernel_with_nullable()),
            "./fixture.c:2: the verifier refuses this: argument 2 of table.take may be NULL, and is used without a \
             comparison with it",
            "{body}"
        );
    }
}

#[test]
fn also_in_a_function_that_it_is_passed_to() {
    let said = refusal(&taking("return here_of(b);"), &kernel_with_nullable());
    assert!(
        said.starts_with("./fixture.c:1: the verifier refuses this: argument 2 of table.take"),
        "{said}"
    );
}

#[test]
fn what_is_compared_or_never_null_is_accepted() {
    let bodies = [
        "return a->here;",
        "return b ? b->here : 0;",
        "if (!b) return 0; b->here = 1; return b->here;",
        "struct thing *volatile kept = b; return kept ? kept->here : 0;",
        "if (!is_there(b)) return 0; return b->here;",
        "return b ? here_of(b) : 0;",
        "int here = 0; bpf_probe_read_kernel(&here, sizeof(here), b); return here;",
        "if (!b) return a->here; return a->here + b->here;",
    ];
    for body in bodies {
        linked(&taking(body), &kernel_with_nullable());
    }
}

#[test]
fn another_callback_of_the_type_has_its_own_arguments() {
    let source = "struct thing { int here; } __core; struct table { int (*give)(struct thing *a); };
        SEC(\"struct_ops/give\") int give(u64 *context) { return ((struct thing *)context[1])->here; }
        SEC(\".struct_ops.link\") struct table ops = { .give = (void *)give };";
    linked(source, &kernel_with_nullable());
}
