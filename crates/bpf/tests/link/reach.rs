// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel lacks is no matter where nothing leads to it.

use bpf::image::Image;
use bpf::op::{Callee, Op};
use bpf::{Environment, Preset, link_preset};

use crate::fixture::{function, kernel, linked, object, refusal};

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

/// A program that puts an answer into its frame, and asks it after something else was done.
fn through_the_frame(store: &str, between: &str, load: &str) -> String {
    format!(
        "{TYPES}
#line 1
SEC(\"test\") int p(struct thing *t) {{ \
    long has = bpf_core_field_exists(t->gone); \
    asm volatile(\"{store} = %0;\" :: \"r\"(has) : \"memory\"); \
    {between} \
    asm volatile(\"%0 = {load};\" : \"=r\"(has) :: \"memory\"); \
    return has ? t->gone : t->here; \
}}"
    )
}

#[test]
fn guarded_by_an_answer_that_lies_in_the_frame() {
    let wide = "*(u64 *)(r10 - 24)";
    let narrow = "*(u32 *)(r10 - 24)";
    // Others get the address of what lies above.
    let shared = "long other[2]; present((long)other);";
    for source in [
        through_the_frame(wide, "present(1);", wide),
        through_the_frame(narrow, "present(1);", narrow),
        through_the_frame(wide, "present(1);", narrow),
        through_the_frame(wide, shared, wide),
    ] {
        assert_eq!(dead(&linked(&source, &without()), "p"), 1, "{source}");
    }
    let shared = "long other[4]; present((long)other);";
    let through_another = "long *holder[1], other[4]; holder[0] = other; present((long)holder);";
    let anywhere =
        "long end; asm volatile(\"%0 = r10\" : \"=r\"(end)); *(long *)(end - present(24)) = 1;";
    for source in [
        through_the_frame(narrow, "present(1);", wide),
        through_the_frame(wide, shared, wide),
        through_the_frame(wide, "asm volatile(\"*(u8 *)(r10 - 20) = w0\");", wide),
        through_the_frame(wide, anywhere, wide),
        through_the_frame(wide, through_another, wide),
    ] {
        let gone = "./fixture.c:1: the kernel has no field thing.gone";
        assert_eq!(refusal(&source, &without()), gone, "{source}");
    }
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
fn guarded_by_what_a_comparison_says() {
    // The compiler does not look into these comparisons.
    for (comparison, here, there) in [
        ("if %0 == 3 goto %l1", "return 1;", "goto known;"),
        ("if %0 != 3 goto %l1", "goto known;", "return 1;"),
    ] {
        let image = never(&format!(
            "SEC(\"test\") u64 p(struct thing *t)
            {{
                u64 number;

                asm volatile(\"%0 = *(u64 *)(%1 + 0)\" : \"=r\"(number) : \"r\"(t));
                asm volatile goto(\"{comparison}\" :: \"r\"(number) :: jumped);
                {here}
            jumped:
                {there}
            known:
                return number == 3 ? t->here : t->gone;
            }}"
        ));
        assert_eq!(dead(&image, "p"), 1, "{comparison}");
    }
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
fn what_a_loader_has_set_is_constant() {
    let source = with("SEC(\"test\") int p(struct thing *t) { return option ? t->gone : 0; }");
    let set = |bytes: &[u8]| {
        let preset = Preset {
            data: [(".rodata".to_owned(), bytes.to_vec())].into(),
            ..Preset::default()
        };
        let linked = link_preset(&object(&source), &without(), &preset);
        linked.map_err(|error| error.to_string())
    };
    let image = set(&[0, 5]).unwrap();
    assert_eq!(dead(&image, "p"), 1);
    let data = image.data.iter().find(|data| data.name == ".rodata");
    assert_eq!(data.unwrap().bytes, [0, 5]);
    assert!(
        set(&[1])
            .unwrap_err()
            .ends_with("the kernel has no field thing.gone")
    );
    assert_eq!(
        set(&[]).unwrap_err(),
        "section .rodata: set to 0 bytes where the object has 1"
    );
    // Without a word from the loader, the object's own value is.
    assert!(link_preset(&object(&source), &without(), &Preset::default()).is_ok());
}

#[test]
fn a_call_of_what_is_weak_and_absent_is_refused_where_it_is_reached() {
    let source = with("\n#line 1\nSEC(\"test\") int p(void *context) { return absent(1); }");
    assert_eq!(
        refusal(&source, &without()),
        "./fixture.c:1: the kernel has no kfunc absent"
    );
}
