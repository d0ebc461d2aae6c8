// SPDX-License-Identifier: GPL-2.0-or-later
//! An image as C: one function for each of its functions, registers as variables, blocks as labels.
//!
//! What was executed is counted once a block, in a variable that [`Host::executed`](crate::host::Host::executed) has at
//! every call and at the end. The same image and options give the same text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

use crate::blocks::blocks;
use crate::coverage::COUNTERS;
use crate::host::FaultKind;
use crate::image::{Data, Function, Image, Outside};
use crate::op::{
    Alu, Atomic, Callee, Condition, MAY_GOTO_LIMIT, Op, Operand, Order, Reg, Value, Width,
    function_value,
};
use crate::pointers::{Known, STACK_BYTES, Stack, State, states, word_of};

/// Of the table that a translated image exports.
pub const TABLE_VERSION: u32 = 1;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Every access asks [`Host::access`](crate::host::Host::access) first, unless it is plain that it is allowed.
    pub paranoid: bool,
    /// Blocks and branches count how often they are executed, in a global of the translated code ([`crate::Coverage`]).
    pub counted: bool,
    /// C that stands before the functions. It may declare a larger structure that begins with `struct host`.
    pub prelude: String,
    /// Helpers and kfuncs that the prelude has as C functions, which are called without a detour.
    pub inlines: BTreeMap<Outside, Inline>,
}

#[derive(Clone, Debug)]
pub struct Inline {
    /// The C function, with the parameters of `call_fn`.
    pub function: String,
    /// It neither calls back nor faults nor looks at what was executed.
    pub quiet: bool,
}

/// The image has to be [valid](Image::validate).
pub fn translate(image: &Image, options: &Options) -> String {
    let mut text = String::from(include_str!("translate.h"));
    text.push_str(&options.prelude);
    text.push_str(if options.paranoid {
        "\n#define RETURN(value) do { u64 value_ = (value); h->frames = frame.outer; return value_; } while (0)\n"
    } else {
        "\n#define RETURN(value) return value\n"
    });
    for (index, function) in image.functions.iter().enumerate() {
        let symbol = symbol(index, function);
        _ = writeln!(
            text,
            "static u64 {symbol}(struct host *, u64, u64, u64, u64, u64);"
        );
    }
    if options.counted {
        _ = writeln!(
            text,
            "__attribute__((visibility(\"default\"))) u64 bpf_counts[{}];",
            image.counters()
        );
    }
    let mut counters = 0;
    for index in 0..image.functions.len() {
        write_function(&mut text, image, options, index, &mut counters);
    }
    write_table(&mut text, image);
    text
}

/// The name helps those who look at a profile.
fn symbol(index: usize, function: &Function) -> String {
    let name: String = function
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("f{index}_{name}")
}

fn write_table(text: &mut String, image: &Image) {
    let count = image.functions.len();
    _ = writeln!(text, "static const call_fn functions[] = {{");
    for (index, function) in image.functions.iter().enumerate() {
        _ = writeln!(text, "\t{},", symbol(index, function));
    }
    _ = write!(
        text,
        "}};
static u64 invoke(struct host *h, u32 f, const u64 *a)
{{
	if (unlikely(h->fault))
		return 0;
	if (unlikely(f >= {count}))
		return fault(h, h->executed, FAULT_OUTSIDE, NOWHERE, 0, 0, f);
	if (unlikely(h->depth >= FRAMES - 1))
		return fault(h, h->executed, FAULT_DEPTH, f, 0, 0, 0);
	h->depth++;
	u64 r0 = functions[f](h, a[0], a[1], a[2], a[3], a[4]);
	h->depth--;
	return r0;
}}
struct table {{
	u32 version, host_bytes, count;
	const call_fn *functions;
	invoke_fn invoke;
}};
__attribute__((visibility(\"default\"))) const struct table bpf_image = {{
	{TABLE_VERSION}, sizeof(struct host), {count}, functions, invoke,
}};
"
    );
}

/// `counters`: those of the functions before.
fn write_function(
    text: &mut String,
    image: &Image,
    options: &Options,
    index: usize,
    counters: &mut usize,
) {
    let function = &image.functions[index];
    let blocks = blocks(function);
    // What one may ask about, all of it must be in memory.
    let stack = if options.paranoid || options.counted {
        Stack::WHOLE
    } else {
        let states = states(&function.ops, &blocks, &[]);
        Stack::of(&function.ops, &blocks, &states)
    };
    let states = states(&function.ops, &blocks, &stack.variables);
    let reached: Vec<(Range<usize>, State)> = blocks
        .into_iter()
        .zip(states)
        .filter_map(|(block, state)| Some((block, state?)))
        .collect();
    let targets: BTreeSet<u32> = reached
        .iter()
        .filter_map(|(block, _)| function.ops[block.end - 1].target())
        .collect();
    write_head(text, image, options, index, &stack);
    for (block, state) in reached {
        if targets.contains(&(block.start as u32)) {
            _ = writeln!(text, "L{}:", block.start);
        }
        _ = writeln!(text, "\tn += {};", block.len());
        if options.counted {
            _ = writeln!(text, "\tbpf_counts[{counters}]++;");
        }
        let mut place = Place {
            image,
            options,
            stack: &stack,
            function: index,
            at: block.start,
            end: block.end,
            counter: *counters,
            state,
        };
        *counters += COUNTERS;
        for op in &function.ops[block] {
            _ = writeln!(text, "\t{}", place.statement(op));
            place.state.step(place.at, op);
            place.at += 1;
        }
    }
    text.push_str("}\n");
}

/// What stands before the first block.
fn write_head(text: &mut String, image: &Image, options: &Options, index: usize, stack: &Stack) {
    let function = &image.functions[index];
    let symbol = symbol(index, function);
    let array_bytes = stack.array_bytes;
    _ = writeln!(
        text,
        "static u64 {symbol}(struct host *h, u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{{
	u64 n = h->executed;
	if (unlikely(n > h->limit)) return fault(h, n, FAULT_LIMIT, {index}, 0, 0, 0);
	u64 r0 = 0, r6 = 0, r7 = 0, r8 = 0, r9 = 0;
	_Alignas(16) u8 s[{}] = {{0}};
	const u64 r10 = (u64)(s + {array_bytes});",
        array_bytes.max(8)
    );
    for at in &stack.variables {
        _ = writeln!(text, "\tu64 {} = 0;", variable(*at));
    }
    if options.paranoid {
        _ = writeln!(
            text,
            "\tconst struct frame frame = {{h->frames, r10 - {STACK_BYTES}, r10}};\n\th->frames = &frame;"
        );
    }
    let is_data = |op: &Op| {
        matches!(
            op,
            Op::Immediate {
                value: Value::Data(_),
                ..
            }
        )
    };
    if function.ops.iter().any(is_data) {
        _ = writeln!(text, "\tu8 *const data = h->data;");
    }
    if function
        .ops
        .iter()
        .any(|op| matches!(op, Op::MayGoto { .. }))
    {
        _ = writeln!(text, "\tu64 may_goto = {MAY_GOTO_LIMIT};");
    }
}

/// A word of the stack, by its place from the end.
fn variable(at: i32) -> String {
    format!("stack{}", at.unsigned_abs())
}

/// An operation on its way.
struct Place<'a> {
    image: &'a Image,
    options: &'a Options,
    stack: &'a Stack,
    function: usize,
    at: usize,
    /// Of its block.
    end: usize,
    counter: usize,
    state: State<'a>,
}

impl Place<'_> {
    /// The expression that leaves a fault at this operation, with what was counted of the block ahead of it taken back.
    fn fault_at(&self, kind: FaultKind, bytes: u32, address: &str) -> String {
        let kind = match kind {
            FaultKind::Access => "FAULT_ACCESS",
            FaultKind::Limit => "FAULT_LIMIT",
            FaultKind::Missing => "FAULT_MISSING",
            FaultKind::Depth => "FAULT_DEPTH",
            FaultKind::Outside => "FAULT_OUTSIDE",
            FaultKind::Lock => "FAULT_LOCK",
        };
        let ahead = self.end - self.at - 1;
        format!(
            "fault(h, n - {ahead}, {kind}, {}, {}, {bytes}, {address})",
            self.function, self.at
        )
    }

    fn statement(&self, op: &Op) -> String {
        match *op {
            Op::Alu { wide, op, dst, src } => format!("r{dst} = {};", alu(wide, op, dst, src)),
            Op::Swap { order, width, dst } => {
                let bits = width.bytes() * 8;
                let value = format!("(u{bits})r{dst}");
                if order == Order::Little || bits == 8 {
                    format!("r{dst} = {value};")
                } else {
                    format!("r{dst} = __builtin_bswap{bits}({value});")
                }
            }
            Op::Load {
                width,
                signed,
                dst,
                src,
                off,
            } => {
                let bits = width.bytes() * 8;
                let sign = if signed {
                    format!("(u64)(s{bits})")
                } else {
                    String::new()
                };
                self.load(width, dst, src, off, &sign)
            }
            Op::Store {
                width,
                dst,
                off,
                src,
            } => {
                let value = operand(true, src);
                let place = self.place(dst, off, width);
                let checks = self.checks(dst, off, width, true);
                format!("{checks}{place} = {value};")
            }
            Op::Atomic {
                op: Atomic::LoadAcquire,
                width,
                dst,
                src,
                off,
            } => self.load(width, dst, src, off, ""),
            Op::Atomic {
                op,
                width,
                dst,
                src,
                off,
            } => {
                let place = self.place(dst, off, width);
                let checks = self.checks(dst, off, width, true);
                format!("{checks}{}", atomic(op, width, src, &place))
            }
            Op::Immediate { dst, value } => format!("r{dst} = {};", immediate(value)),
            Op::ArenaCast {
                to_user: false,
                dst,
                src,
            } => format!("r{dst} = r{src} ? (u64)h->arena + (u32)r{src} : 0;"),
            Op::ArenaCast {
                to_user: true,
                dst,
                src,
            } => format!(
                "r{dst} = (u32)r{src} ? (h->arena_user & ~0xffffffffull) | (u32)r{src} : 0;"
            ),
            Op::Jump { target } => self.jump(target),
            Op::Branch {
                wide,
                condition,
                dst,
                src,
                target,
            } => format!(
                "if ({}) {{ {}{} }}",
                comparison(wide, condition, dst, src),
                self.count_taken(),
                self.jump(target)
            ),
            Op::MayGoto { target } => {
                format!("if (unlikely(may_goto-- == 0)) {{ {} }}", self.jump(target))
            }
            Op::Call(callee) => self.call(callee),
            Op::Exit => "h->executed = n; RETURN(r0);".to_owned(),
        }
    }

    fn count_taken(&self) -> String {
        if self.options.counted {
            format!("bpf_counts[{}]++; ", self.counter + 1)
        } else {
            String::new()
        }
    }

    fn load(&self, width: Width, dst: Reg, src: Reg, off: i16, sign: &str) -> String {
        let place = self.place(src, off, width);
        let checks = self.checks(src, off, width, false);
        if self.state.known(src).is_object() {
            format!("{checks}r{dst} = {sign}{place};")
        } else {
            format!(
                "if (unlikely(r{src} < NULL_PAGE)) r{dst} = 0; else {{ {checks}r{dst} = {sign}{place}; }}"
            )
        }
    }

    /// What an access has to pass first.
    fn checks(&self, base: Reg, off: i16, width: Width, write: bool) -> String {
        let bytes = width.bytes();
        let address = address(base, off);
        let fault = self.fault_at(FaultKind::Access, bytes, &address);
        let mut checks = String::new();
        if write && !self.state.known(base).is_object() {
            checks = format!("if (unlikely(r{base} < NULL_PAGE)) RETURN({fault}); ");
        }
        if self.options.paranoid && !self.plainly_allowed(base, off, bytes, write) {
            _ = write!(
                checks,
                "if (unlikely(refused(h, {address}, {bytes}, {}))) RETURN({fault}); ",
                u8::from(write)
            );
        }
        checks
    }

    /// Within the function's own stack, or within one section of global data that may be accessed so.
    fn plainly_allowed(&self, base: Reg, off: i16, bytes: u32, write: bool) -> bool {
        match self.state.known(base) {
            Known::Stack(at) => self.in_stack(at, off, bytes).is_some(),
            Known::Data(at) => {
                let start = at + i64::from(off);
                let end = start + i64::from(bytes);
                self.image.data.iter().any(|data: &Data| {
                    let from = i64::from(data.offset);
                    !(data.arena || write && data.read_only)
                        && from <= start
                        && end <= from + data.bytes.len() as i64
                })
            }
            Known::Nothing | Known::NotNull | Known::Object => false,
        }
    }

    /// The index into the stack's array.
    fn in_stack(&self, at: i32, off: i16, bytes: u32) -> Option<u32> {
        let end = self.stack.array_bytes as i32;
        let index = end + at + i32::from(off);
        (index >= 0 && index + bytes as i32 <= end).then_some(index as u32)
    }

    /// What is in memory there.
    fn place(&self, base: Reg, off: i16, width: Width) -> String {
        let bits = width.bytes() * 8;
        if let Known::Stack(at) = self.state.known(base) {
            let from = at + i32::from(off);
            let word = word_of(from);
            if self.stack.variables.binary_search(&word).is_ok() {
                return match (width, from - word) {
                    (Width::Double, _) => variable(word),
                    (_, within) => format!("*(m{bits} *)((m8 *)&{} + {within})", variable(word)),
                };
            }
            // The array's own name lets the compiler see through.
            if let Some(index) = self.in_stack(at, off, width.bytes()) {
                return format!("*(m{bits} *)(s + {index})");
            }
        }
        format!("*(m{bits} *)({})", address(base, off))
    }

    fn jump(&self, target: u32) -> String {
        if target as usize > self.at {
            return format!("goto L{target};");
        }
        let fault = self.fault_at(FaultKind::Limit, 0, "0");
        format!("if (unlikely(n > h->limit)) RETURN({fault}); goto L{target};")
    }

    fn call(&self, callee: Callee) -> String {
        const CLOBBER: &str = "r1 = r2 = r3 = r4 = r5 = 0;";
        let after = format!(
            "if (unlikely(h->fault)) RETURN(called(h, {}, {})); n = h->executed; {CLOBBER}",
            self.function, self.at
        );
        match callee {
            Callee::Missing => {
                format!("RETURN({});", self.fault_at(FaultKind::Missing, 0, "0"))
            }
            Callee::Function(index) => {
                let symbol = symbol(index as usize, &self.image.functions[index as usize]);
                let fault = self.fault_at(FaultKind::Depth, 0, "0");
                format!(
                    "if (unlikely(h->depth >= FRAMES - 1)) RETURN({fault}); h->executed = n; h->depth++; \
                     r0 = {symbol}(h, r1, r2, r3, r4, r5); h->depth--; {after}"
                )
            }
            Callee::Outside(index) => {
                let outside = &self.image.outside[index as usize];
                match self.options.inlines.get(outside) {
                    Some(Inline {
                        function,
                        quiet: true,
                    }) => format!("r0 = {function}(h, r1, r2, r3, r4, r5); {CLOBBER}"),
                    Some(Inline { function, .. }) => {
                        format!("h->executed = n; r0 = {function}(h, r1, r2, r3, r4, r5); {after}")
                    }
                    None => format!(
                        "h->executed = n; r0 = h->calls[{index}](h, r1, r2, r3, r4, r5); {after}"
                    ),
                }
            }
        }
    }
}

fn address(base: Reg, off: i16) -> String {
    match off {
        0 => format!("r{base}"),
        1.. => format!("r{base} + {off}"),
        _ => format!("r{base} - {}", off.unsigned_abs()),
    }
}

fn immediate(value: Value) -> String {
    match value {
        Value::Const(value) => format!("{value:#x}ull"),
        Value::Data(offset) => format!("(u64)(data + {offset})"),
        Value::Arena(offset) => format!("h->arena_user + {offset}"),
        Value::Map(index) => format!("(u64)(h->maps + {index} * h->map_stride)"),
        Value::Function(index) => function_value(index).to_string(),
        Value::Variable(index) => format!("(u64)h->variables[{index}]"),
    }
}

fn operand(wide: bool, operand: Operand) -> String {
    match (wide, operand) {
        (true, Operand::Reg(reg)) => format!("r{reg}"),
        (false, Operand::Reg(reg)) => format!("(u32)r{reg}"),
        (true, Operand::Imm(imm)) => format!("{:#x}ull", i64::from(imm)),
        (false, Operand::Imm(imm)) => format!("{imm:#x}u"),
    }
}

/// The destination's new value.
fn alu(wide: bool, op: Alu, dst: Reg, src: Operand) -> String {
    let bits = if wide { 64 } else { 32 };
    let a = operand(wide, Operand::Reg(dst));
    let b = operand(wide, src);
    let value = match op {
        Alu::Add => format!("{a} + {b}"),
        Alu::Sub => format!("{a} - {b}"),
        Alu::Mul => format!("{a} * {b}"),
        Alu::Div => format!("div{bits}({a}, {b})"),
        Alu::Sdiv => format!("sdiv{bits}({a}, {b})"),
        Alu::Mod => format!("mod{bits}({a}, {b})"),
        Alu::Smod => format!("smod{bits}({a}, {b})"),
        Alu::Or => format!("{a} | {b}"),
        Alu::And => format!("{a} & {b}"),
        Alu::Xor => format!("{a} ^ {b}"),
        Alu::Lsh => format!("{a} << ({b} & {})", bits - 1),
        Alu::Rsh => format!("{a} >> ({b} & {})", bits - 1),
        Alu::Arsh => format!("(u{bits})((s{bits}){a} >> ({b} & {}))", bits - 1),
        Alu::Mov => b,
        Alu::MovSigned(width) => format!("(u{bits})(s{bits})(s{}){b}", width.bytes() * 8),
        Alu::Neg => format!("-{a}"),
    };
    if wide {
        value
    } else {
        format!("(u32)({value})")
    }
}

fn comparison(wide: bool, condition: Condition, dst: Reg, src: Operand) -> String {
    let a = operand(wide, Operand::Reg(dst));
    let b = operand(wide, src);
    let signed = if wide { "(s64)" } else { "(s32)" };
    let (sign, sym) = match condition {
        Condition::Eq => ("", "=="),
        Condition::Ne => ("", "!="),
        Condition::Gt => ("", ">"),
        Condition::Ge => ("", ">="),
        Condition::Lt => ("", "<"),
        Condition::Le => ("", "<="),
        Condition::SignedGt => (signed, ">"),
        Condition::SignedGe => (signed, ">="),
        Condition::SignedLt => (signed, "<"),
        Condition::SignedLe => (signed, "<="),
        Condition::Set => ("", "&"),
    };
    format!("{sign}{a} {sym} {sign}{b}")
}

/// Plain operations: one thread at a time executes an image.
fn atomic(op: Atomic, width: Width, src: Reg, place: &str) -> String {
    let bits = width.bytes() * 8;
    let value = format!("(u{bits})r{src}");
    let sign = match op {
        Atomic::Add | Atomic::FetchAdd => "+",
        Atomic::Or | Atomic::FetchOr => "|",
        Atomic::And | Atomic::FetchAnd => "&",
        Atomic::Xor | Atomic::FetchXor => "^",
        Atomic::Xchg => "",
        Atomic::Cmpxchg => {
            return format!(
                "{{ u{bits} old = {place}; if (old == (u{bits})r0) {place} = {value}; r0 = old; }}"
            );
        }
        Atomic::StoreRelease | Atomic::LoadAcquire => return format!("{place} = {value};"),
    };
    match op {
        Atomic::Add | Atomic::Or | Atomic::And | Atomic::Xor => {
            format!("{place} = {place} {sign} {value};")
        }
        Atomic::Xchg => format!("{{ u{bits} old = {place}; {place} = {value}; r{src} = old; }}"),
        _ => format!("{{ u{bits} old = {place}; {place} = old {sign} {value}; r{src} = old; }}"),
    }
}
