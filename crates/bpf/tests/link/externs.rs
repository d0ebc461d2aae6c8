// SPDX-License-Identifier: GPL-2.0-or-later
//! Kfuncs, variables and settings of the kernel.

use bpf::Environment;
use bpf::image::{Image, Outside};
use bpf::op::{Callee, Op, Value};

use crate::fixture::{function, kernel, linked, object, refusal};

const KERNEL: &str = r"
struct thing { int a; } *keep;
int add(int a, int b) { return a + b; }
int take(struct thing *thing, unsigned long flags) { return 0; }
struct thing one_thing;
int number;
int per_cpu[4];
";

fn calls(image: &Image, name: &str) -> Vec<Outside> {
    let ops = &function(image, name).ops;
    ops.iter()
        .filter_map(|op| match op {
            Op::Call(Callee::Outside(index)) => Some(image.outside[*index as usize].clone()),
            _ => None,
        })
        .collect()
}

fn kfunc(name: &str) -> Outside {
    Outside::Kfunc(name.to_owned())
}

fn values(image: &Image, name: &str) -> Vec<Value> {
    let ops = &function(image, name).ops;
    ops.iter()
        .filter_map(|op| match op {
            Op::Immediate { value, .. } => Some(*value),
            _ => None,
        })
        .collect()
}

#[test]
fn a_kfunc_goes_by_its_name_without_a_flavour() {
    let image = linked(
        r#"
        struct thing;
        int add(int a, int b) __ksym;
        int take___now(struct thing *thing, u64 flags) __ksym __weak;
        int take___then(struct thing *thing) __ksym __weak;
        SEC("test") int p(struct thing *thing)
        {
            if (take___then)
                return take___then(thing);
            if (take___now)
                return take___now(thing, 3);
            return add(1, 2);
        }"#,
        &kernel(KERNEL),
    );
    // To the object, `struct thing` is a name, which is not compatible with a struct.
    assert_eq!(calls(&image, "p"), [kfunc("add")]);

    let image = linked(
        r#"
        struct thing { long whatever; };
        int take___now(struct thing *thing, u32 flags) __ksym __weak;
        int take___then(struct thing *thing) __ksym __weak;
        SEC("test") int p(struct thing *thing)
        {
            if (take___then)
                return take___then(thing);
            return take___now ? take___now(thing, 3) : 0;
        }"#,
        &kernel(KERNEL),
    );
    assert_eq!(calls(&image, "p"), [kfunc("take")]);
}

#[test]
fn strong_names_that_are_not_there_are_refused_with_their_first_use() {
    let source = r#"
struct thing { int a; };
extern int number __ksym;
extern struct thing *one_thing __ksym;
extern const void nowhere __ksym;
int add(int a) __ksym;
int gone(void) __ksym;
extern bool CONFIG_GONE __kconfig;
extern int CONFIG_TEXT __kconfig;
SEC("test") int p(void *context)
{
#line 20
	int sum = number + gone() + add(2);
#line 21
	sum += *(int *)&one_thing + *(int *)&nowhere;
#line 22
	return sum + CONFIG_GONE + CONFIG_TEXT + gone();
}"#;
    let mut kernel = kernel(KERNEL);
    kernel
        .config
        .insert("CONFIG_TEXT".into(), "\"word\"".into());
    assert_eq!(
        refusal(source, &kernel),
        "./fixture.c:20: kfunc add: the kernel's takes or returns other types\n\
         ./fixture.c:20: the kernel has no kfunc gone\n\
         ./fixture.c:21: the kernel has no variable nowhere\n\
         ./fixture.c:21: variable one_thing: the kernel's is of another type\n\
         ./fixture.c:22: the kernel has no config value CONFIG_GONE\n\
         ./fixture.c:22: config value CONFIG_TEXT: the kernel's is \"word\", and the object wants no text"
    );
}

#[test]
fn variables_typed_and_not() {
    let image = linked(
        r#"
        extern const int number __ksym;
        extern const void per_cpu __ksym;
        extern int gone __ksym __weak;
        SEC("test") int p(void *context)
        {
            return number + *(int *)&per_cpu + (&gone ? gone : 0);
        }"#,
        &kernel(KERNEL),
    );
    assert_eq!(image.variables.len(), 2);
    let named: Vec<_> = values(&image, "p")
        .into_iter()
        .map(|value| match value {
            Value::Variable(index) => image.variables[index as usize].as_str(),
            Value::Const(0) => "none",
            other => panic!("{other:?}"),
        })
        .collect();
    for name in ["number", "per_cpu", "none"] {
        assert!(named.contains(&name), "{named:?}");
    }
}

#[test]
fn a_weak_variable_of_another_type_is_refused() {
    let source = r#"
        struct other { int b; };
        extern struct other number __ksym __weak;
        SEC("test") int p(void *context) { return &number ? number.b : 0; }"#;
    assert!(
        refusal(source, &kernel(KERNEL))
            .ends_with("variable number: the kernel's is of another type")
    );
}

fn with(settings: &[(&str, &str)]) -> Environment {
    let mut kernel = kernel(KERNEL);
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    kernel.config.extend(settings.iter().map(owned));
    kernel
}

#[test]
fn settings_of_every_form() {
    let image = linked(
        r#"
        extern char CONFIG_WORD[6] __kconfig;
        extern int CONFIG_NUMBER __kconfig;
        extern u64 CONFIG_HEX __kconfig;
        extern s16 CONFIG_NEGATIVE __kconfig;
        extern bool CONFIG_YES __kconfig;
        extern bool CONFIG_GONE __kconfig __weak;
        extern char CONFIG_LETTER __kconfig;
        extern enum libbpf_tristate CONFIG_MODULE __kconfig;
        extern u32 LINUX_KERNEL_VERSION __kconfig;
        extern bool LINUX_HAS_BPF_COOKIE __kconfig;
        extern bool LINUX_HAS_SYSCALL_WRAPPER __kconfig;
        extern u32 LINUX_HAS_SOMETHING_NEW __kconfig __weak;
        SEC("test") u64 p(void *context)
        {
            return CONFIG_WORD[1] + CONFIG_NUMBER + CONFIG_HEX + CONFIG_NEGATIVE + CONFIG_YES +
                CONFIG_GONE + CONFIG_LETTER + CONFIG_MODULE + LINUX_KERNEL_VERSION +
                LINUX_HAS_BPF_COOKIE + LINUX_HAS_SYSCALL_WRAPPER + LINUX_HAS_SOMETHING_NEW;
        }"#,
        &Environment {
            has_cookie: true,
            ..with(&[
                ("CONFIG_WORD", "\"sentence\""),
                ("CONFIG_NUMBER", "250"),
                ("CONFIG_HEX", "0xffff800000000000"),
                ("CONFIG_NEGATIVE", "-2"),
                ("CONFIG_YES", "y"),
                ("CONFIG_LETTER", "m"),
                ("CONFIG_MODULE", "m"),
            ])
        },
    );
    // Whoever runs the image finds them by name, as it does variables.
    let number = image
        .globals
        .iter()
        .find(|global| global.name == "CONFIG_NUMBER");
    assert_eq!(number.map(|number| number.bytes), Some(4));
    let data = image
        .data
        .iter()
        .find(|data| data.name == ".kconfig")
        .unwrap();
    assert!(data.read_only);
    let mut expected = Vec::new();
    // By falling alignment, then by rising size, then by name.
    expected.extend(0xffff_8000_0000_0000_u64.to_le_bytes());
    expected.extend(2u32.to_le_bytes());
    expected.extend(250u32.to_le_bytes());
    expected.extend(0u32.to_le_bytes());
    expected.extend((6u32 << 16 | 12 << 8).to_le_bytes());
    expected.extend((-2i16).to_le_bytes());
    expected.extend(*b"\0m\x01\x01\0");
    expected.extend(*b"sente\0");
    assert_eq!(data.bytes, expected);
    let places: Vec<_> = values(&image, "p");
    assert!(places.contains(&Value::Data(data.offset)), "{places:?}");
    assert!(
        places.contains(&Value::Data(data.offset + 28)),
        "{places:?}"
    );
}

#[test]
fn settings_that_do_not_fit() {
    let refused = |declaration: &str, value: &str| {
        let source = format!(
            "extern {declaration} __kconfig;
            SEC(\"test\") int p(void *context) {{ return *(char *)&CONFIG_IT; }}"
        );
        let text = refusal(&source, &with(&[("CONFIG_IT", value)]));
        let (_, why) = text.split_once("config value CONFIG_IT: ").unwrap();
        why.to_owned()
    };
    assert_eq!(
        refused("bool CONFIG_IT", "m"),
        "the kernel's is m, which no bool can hold"
    );
    assert_eq!(
        refused("int CONFIG_IT", "y"),
        "the kernel's is y, and the object wants no such letter"
    );
    assert_eq!(
        refused("bool CONFIG_IT", "1"),
        "the kernel's is 1, and the object wants no number"
    );
    assert_eq!(
        refused("u8 CONFIG_IT", "256"),
        "256 does not fit into 1 bytes"
    );
    assert_eq!(
        refused("s8 CONFIG_IT", "128"),
        "128 does not fit into 1 bytes"
    );
    assert!(refused("int CONFIG_IT", "word").starts_with("the kernel's is \"word\""));
}

#[test]
fn an_extern_of_no_section_is_no_object() {
    let object = object(
        r#"
        extern int elsewhere;
        SEC("test") int p(void *context) { return elsewhere; }"#,
    );
    let error = bpf::link(&object, &kernel(KERNEL)).unwrap_err().to_string();
    assert_eq!(
        error,
        "elsewhere: defined nowhere; what the kernel defines is declared __ksym or __kconfig"
    );
}

#[test]
fn helpers_that_the_kernel_lacks() {
    let source = r#"
#line 7
SEC("test") int p(void *context) { return bpf_get_smp_processor_id() + bpf_ktime_get_ns(); }"#;
    let mut kernel = kernel(KERNEL);
    kernel.helpers.remove(&8);
    assert_eq!(
        refusal(source, &kernel),
        "./fixture.c:7: the kernel has no helper bpf_get_smp_processor_id"
    );
    kernel.helpers.insert(8);
    let image = linked(source, &kernel);
    assert_eq!(calls(&image, "p"), [Outside::Helper(8), Outside::Helper(5)]);
    assert_eq!(bpf::helper_number("bpf_ktime_get_ns"), Some(5));
}
