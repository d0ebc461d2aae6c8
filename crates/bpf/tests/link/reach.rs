// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel lacks is no matter where nothing leads to it.

use bpf::Environment;
use bpf::image::Image;
use bpf::op::{Callee, Op, Operand, Reg};

use crate::fixture::{function, kernel, linked, refusal};

/// Has `here`, and nothing of what is asked for beside it.
fn without() -> Environment {
    let mut kernel = kernel(
        "struct thing { int here; } *keep;
        int present(int x) { return x; }",
    );
    kernel.config.insert("CONFIG_HZ".into(), "250".into());
    kernel
}

const TYPES: &str = r"
struct thing { int here, gone; } __core;
int present(int x) __ksym;
int absent(int x) __ksym __weak;
extern int other(int x) __ksym __weak;
extern const int missing_variable __ksym __weak;
extern int LINUX_KERNEL_VERSION __kconfig;
extern int CONFIG_HZ __kconfig;
const volatile bool option;
volatile int sink;
int zero;
";

fn with(source: &str) -> String {
    format!("{TYPES}{source}")
}

fn never(source: &str) -> Image {
    linked(&with(source), &without())
}

/// How many operations of a function must not be reached.
fn dead(image: &Image, name: &str) -> usize {
    let ops = &function(image, name).ops;
    ops.iter()
        .filter(|op| **op == Op::Call(Callee::Missing))
        .count()
}

#[test]
fn guarded_by_a_question_about_a_field() {
    let image = never(
        r#"SEC("test") int p(struct thing *t)
        {
            return bpf_core_field_exists(t->gone) ? t->gone : t->here;
        }"#,
    );
    assert_eq!(dead(&image, "p"), 1);
}

#[test]
fn guarded_by_a_question_about_a_kfunc() {
    let image = never(
        r#"SEC("test") int p(void *context)
        {
            if (absent)
                return absent(1) + other(2);
            return present(3);
        }"#,
    );
    assert_eq!(dead(&image, "p"), 2);
    assert_eq!(image.outside.len(), 1);
}

#[test]
fn guarded_by_an_answer_that_lies_in_the_frame() {
    // More values live across the calls than there are registers to keep them.
    let image = never(
        r#"SEC("test") int p(struct thing *t)
        {
            bool has_gone = bpf_core_field_exists(t->gone);
            int a = present(1), b = present(2), c = present(3), d = present(4), e = present(5);

            for (int i = 0; i < present(6); i++)
                sink = present(i) + b + c + d + e;
            for (int i = 0; i < present(7); i++)
                sink = present(i) + a + c + d + e;
            return has_gone ? t->gone : a + b + c + d + e;
        }"#,
    );
    assert_eq!(dead(&image, "p"), 1);
    let spilled = |op: &Op| matches!(op, Op::Load { dst, src: 10, .. } if is_tested(&image, *dst));
    assert!(function(&image, "p").ops.iter().any(spilled));
}

/// Is a register compared with 0 somewhere?
fn is_tested(image: &Image, reg: Reg) -> bool {
    let ops = &function(image, "p").ops;
    ops.iter()
        .any(|op| matches!(op, Op::Branch { dst, src: Operand::Imm(0), .. } if *dst == reg))
}

#[test]
fn guarded_by_an_argument_and_by_what_a_function_returns() {
    let image = never(
        r#"static __noinline bool has_gone(struct thing *t)
        {
            sink = 1;
            return bpf_core_field_exists(t->gone);
        }
        static __noinline int read(struct thing *t, bool has)
        {
            return has ? t->gone : t->here;
        }
        SEC("test") int p(struct thing *t)
        {
            return read(t, has_gone(t));
        }"#,
    );
    assert_eq!(dead(&image, "read"), 1);
}

#[test]
fn guarded_by_the_kernels_version_and_settings() {
    let image = never(
        r#"SEC("test") int p(struct thing *t)
        {
            if (LINUX_KERNEL_VERSION >= (6 << 16 | 13 << 8))
                return t->gone;
            if (CONFIG_HZ != 250)
                return absent(2);
            return t->here;
        }"#,
    );
    assert_eq!(dead(&image, "p"), 2);
}

#[test]
fn guarded_by_a_variable_that_is_not_there() {
    let image = never(
        r#"SEC("test") int p(struct thing *t)
        {
            if (&missing_variable)
                return missing_variable + t->gone;
            return t->here;
        }"#,
    );
    assert_eq!(dead(&image, "p"), 1);
}

#[test]
fn functions_that_nothing_calls_are_left_out() {
    let image = never(
        r#"static __noinline int read(struct thing *t) { sink = 1; return t->gone; }
        __noinline int nobodys(struct thing *t) { return t->gone; }
        SEC("test") int p(struct thing *t)
        {
            return bpf_core_field_exists(t->gone) ? read(t) : 0;
        }"#,
    );
    let names: Vec<_> = image
        .functions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["p"]);
    assert_eq!(dead(&image, "p"), 1);
}

/// Each of these might be reached as far as the verifier knows.
#[test]
fn what_may_be_reached_is_refused() {
    let gone = "./fixture.c:1: the kernel has no field thing.gone";
    for body in [
        // A setting that whoever loads the object may change.
        "return option ? t->gone : 0;",
        // An answer that went through memory that others write.
        "zero = bpf_core_field_exists(t->gone); barrier(); return zero ? t->gone : 0;",
        "bool has = bpf_core_field_exists(t->gone); present((long)&has); return has ? t->gone : 0;",
        // A callback gets anything.
        "return bpf_loop(1, callback, t, 0);",
        // A global function as well.
        "return read(t, 0);",
    ] {
        let source = format!(
            "{TYPES}
#line 1
static int callback(u32 index, struct thing *t) {{ return index > 1 ? t->gone : 0; }}
#line 1
__noinline int read(struct thing *t, bool has) {{ return has ? t->gone : 0; }}
#line 1
SEC(\"test\") int p(struct thing *t) {{ {body} }}"
        );
        assert_eq!(refusal(&source, &without()), gone, "{body}");
    }
}

#[test]
fn a_call_of_what_is_weak_and_absent_is_refused_where_it_is_reached() {
    let source = with("\n#line 1\nSEC(\"test\") int p(void *context) { return absent(1); }");
    assert_eq!(
        refusal(&source, &without()),
        "./fixture.c:1: the kernel has no kfunc absent"
    );
}
