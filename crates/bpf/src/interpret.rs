// SPDX-License-Identifier: GPL-2.0-or-later
//! Executes an image operation by operation. It is the reference for the translation: plain rather than fast.

use std::sync::Arc;

use crate::blocks::FRAME;
use crate::host::{FRAMES, FaultKind, Frame, Host, NOWHERE, NULL_PAGE};
use crate::image::Image;
use crate::op::{
    Alu, Atomic, Callee, Condition, MAY_GOTO_LIMIT, Op, Operand, Order, Reg, Value, Width,
    function_value,
};

pub struct Interpreter {
    image: Arc<Image>,
}

/// The function's end after a fault, which is in the host.
struct Fault;

/// Memory for one function's own.
#[repr(C, align(16))]
struct Stack([u8; 512]);

impl Interpreter {
    pub fn new(image: Arc<Image>) -> anyhow::Result<Self> {
        image.validate()?;
        Ok(Self { image })
    }

    /// # Safety
    /// As [`Executor::call`](crate::Executor::call) has it.
    pub unsafe fn call(&self, host: *mut Host, function: u32, args: [u64; 5]) -> u64 {
        let mut stack = Stack([0; 512]);
        let low = (&raw mut stack) as u64;
        // SAFETY: the caller promises what the host is, and the frame leaves the list before it ends.
        unsafe {
            let frame = Frame {
                outer: (*host).frames,
                low,
                high: low + size_of::<Stack>() as u64,
            };
            (*host).frames = &raw const frame;
            let mut activation = Activation {
                interpreter: self,
                host,
                function,
                at: 0,
                regs: [0; 11],
                may_goto: MAY_GOTO_LIMIT,
            };
            activation.regs[1..=5].copy_from_slice(&args);
            activation.regs[usize::from(FRAME)] = frame.high;
            let result = activation.run().unwrap_or(0);
            (*host).frames = frame.outer;
            result
        }
    }
}

/// [`Host::invoke`] of a host whose executor is an interpreter.
///
/// # Safety
/// The host is one that was attached to an interpreter, and `args` has five of them.
pub unsafe extern "C" fn invoke(host: *mut Host, function: u32, args: *const [u64; 5]) -> u64 {
    // SAFETY: as above.
    unsafe {
        let interpreter = &*(*host).executor.cast::<Interpreter>();
        if (*host).fault != 0 {
            return 0;
        }
        if function as usize >= interpreter.image.functions.len() {
            set_fault(host, FaultKind::Outside, NOWHERE, 0, 0, function.into());
            return 0;
        }
        if (*host).depth >= FRAMES - 1 {
            set_fault(host, FaultKind::Depth, function, 0, 0, 0);
            return 0;
        }
        (*host).depth += 1;
        let result = interpreter.call(host, function, *args);
        (*host).depth -= 1;
        result
    }
}

unsafe fn set_fault(
    host: *mut Host,
    kind: FaultKind,
    function: u32,
    op: u32,
    bytes: u32,
    address: u64,
) {
    // SAFETY: the caller's promise.
    unsafe {
        (*host).fault = kind as u32;
        (*host).fault_function = function;
        (*host).fault_op = op;
        (*host).fault_bytes = bytes;
        (*host).fault_address = address;
    }
}

/// One function under way.
struct Activation<'a> {
    interpreter: &'a Interpreter,
    host: *mut Host,
    function: u32,
    /// The operation that is executed.
    at: u32,
    regs: [u64; 11],
    may_goto: u64,
}

impl Activation<'_> {
    unsafe fn run(&mut self) -> Result<u64, Fault> {
        let image = &self.interpreter.image;
        let ops = &image.functions[self.function as usize].ops;
        // SAFETY: the host is what the caller of `Interpreter::call` promised, and so is what it refers to.
        unsafe {
            self.check_limit()?;
            loop {
                (*self.host).executed += 1;
                let mut next = self.at + 1;
                match ops[self.at as usize] {
                    Op::Alu { wide, op, dst, src } => {
                        let value = alu(wide, op, self.reg(dst), self.operand(src));
                        self.set(dst, value);
                    }
                    Op::Swap { order, width, dst } => {
                        let value = swap(order, width, self.reg(dst));
                        self.set(dst, value);
                    }
                    Op::Load {
                        width,
                        signed,
                        dst,
                        src,
                        off,
                    } => {
                        let value = self.load(width, src, off)?;
                        self.set(dst, if signed { extend(width, value) } else { value });
                    }
                    Op::Store {
                        width,
                        dst,
                        off,
                        src,
                    } => {
                        let place = self.writable(width, dst, off)?;
                        write(width, place, self.operand(src));
                    }
                    Op::Atomic {
                        op,
                        width,
                        dst,
                        src,
                        off,
                    } => self.atomic(op, width, dst, src, off)?,
                    Op::Immediate { dst, value } => {
                        let value = self.value(value);
                        self.set(dst, value);
                    }
                    Op::ArenaCast { to_user, dst, src } => {
                        let value = self.arena_cast(to_user, self.reg(src));
                        self.set(dst, value);
                    }
                    Op::Jump { target } => next = self.jump(target)?,
                    Op::Branch {
                        wide,
                        condition,
                        dst,
                        src,
                        target,
                    } => {
                        if holds(wide, condition, self.reg(dst), self.operand(src)) {
                            next = self.jump(target)?;
                        }
                    }
                    Op::MayGoto { target } => {
                        if self.may_goto == 0 {
                            next = self.jump(target)?;
                        } else {
                            self.may_goto -= 1;
                        }
                    }
                    Op::Call(callee) => self.call(callee)?,
                    Op::Exit => return Ok(self.reg(0)),
                }
                self.at = next;
            }
        }
    }

    fn reg(&self, reg: Reg) -> u64 {
        self.regs[usize::from(reg)]
    }

    fn set(&mut self, reg: Reg, value: u64) {
        self.regs[usize::from(reg)] = value;
    }

    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Reg(reg) => self.reg(reg),
            Operand::Imm(imm) => i64::from(imm) as u64,
        }
    }

    unsafe fn value(&self, value: Value) -> u64 {
        // SAFETY: the host's tables are as long as the image says.
        unsafe {
            let host = &*self.host;
            match value {
                Value::Const(value) => value,
                Value::Data(offset) => host.data as u64 + u64::from(offset),
                Value::Arena(offset) => host.arena_user.wrapping_add(offset.into()),
                Value::Map(index) => host.maps as u64 + u64::from(index) * host.map_stride,
                Value::Function(index) => function_value(index),
                Value::Variable(index) => *host.variables.add(index as usize) as u64,
            }
        }
    }

    unsafe fn arena_cast(&self, to_user: bool, pointer: u64) -> u64 {
        // SAFETY: the host is valid.
        let (arena, user) = unsafe { ((*self.host).arena as u64, (*self.host).arena_user) };
        let low = pointer & 0xffff_ffff;
        match to_user {
            true if low == 0 => 0,
            true => user & !0xffff_ffff | low,
            false if pointer == 0 => 0,
            false => arena + low,
        }
    }

    unsafe fn jump(&self, target: u32) -> Result<u32, Fault> {
        if target <= self.at {
            // SAFETY: the host is valid.
            unsafe { self.check_limit() }?;
        }
        Ok(target)
    }

    unsafe fn check_limit(&self) -> Result<(), Fault> {
        // SAFETY: the host is valid.
        unsafe {
            if (*self.host).executed > (*self.host).limit {
                return Err(self.fault(FaultKind::Limit, 0, 0));
            }
        }
        Ok(())
    }

    unsafe fn fault(&self, kind: FaultKind, bytes: u32, address: u64) -> Fault {
        // SAFETY: the host is valid.
        unsafe { set_fault(self.host, kind, self.function, self.at, bytes, address) };
        Fault
    }

    /// Asks the host, except about the stacks of functions under way.
    unsafe fn ask(&self, width: Width, address: u64, write: bool) -> Result<(), Fault> {
        let bytes = width.bytes();
        // SAFETY: the host is valid; it is not borrowed while `access` runs.
        unsafe {
            if !(*self.host).in_stack(address, bytes.into())
                && let Some(access) = (*self.host).access
                && access(self.host, address, bytes.into(), write.into()) == 0
            {
                return Err(self.fault(FaultKind::Access, bytes, address));
            }
        }
        Ok(())
    }

    unsafe fn load(&self, width: Width, base: Reg, off: i16) -> Result<u64, Fault> {
        if self.reg(base) < NULL_PAGE {
            return Ok(0);
        }
        let address = self.reg(base).wrapping_add_signed(off.into());
        // SAFETY: asked before, or the embedder's risk.
        unsafe {
            self.ask(width, address, false)?;
            Ok(read(width, address))
        }
    }

    /// The address of a place that may be written.
    unsafe fn writable(&self, width: Width, base: Reg, off: i16) -> Result<u64, Fault> {
        let address = self.reg(base).wrapping_add_signed(off.into());
        // SAFETY: the host is valid.
        unsafe {
            if self.reg(base) < NULL_PAGE {
                return Err(self.fault(FaultKind::Access, width.bytes(), address));
            }
            self.ask(width, address, true)?;
        }
        Ok(address)
    }

    unsafe fn atomic(
        &mut self,
        op: Atomic,
        width: Width,
        dst: Reg,
        src: Reg,
        off: i16,
    ) -> Result<(), Fault> {
        // SAFETY: asked before, or the embedder's risk.
        unsafe {
            if op == Atomic::LoadAcquire {
                let value = self.load(width, src, off)?;
                self.set(dst, value);
                return Ok(());
            }
            let place = self.writable(width, dst, off)?;
            let value = self.reg(src);
            if op == Atomic::StoreRelease {
                write(width, place, value);
                return Ok(());
            }
            let old = read(width, place);
            let new = match op {
                Atomic::Add | Atomic::FetchAdd => old.wrapping_add(value),
                Atomic::Or | Atomic::FetchOr => old | value,
                Atomic::And | Atomic::FetchAnd => old & value,
                Atomic::Xor | Atomic::FetchXor => old ^ value,
                Atomic::Cmpxchg if old != cut(width, self.reg(0)) => old,
                _ => value,
            };
            write(width, place, new);
            match op {
                Atomic::Add | Atomic::Or | Atomic::And | Atomic::Xor => {}
                Atomic::Cmpxchg => self.set(0, old),
                _ => self.set(src, old),
            }
        }
        Ok(())
    }

    unsafe fn call(&mut self, callee: Callee) -> Result<(), Fault> {
        let args = [1, 2, 3, 4, 5].map(|reg| self.reg(reg));
        let host = self.host;
        // SAFETY: the host's table of helpers is as long as the image says, and nothing borrows the host.
        unsafe {
            let result = match callee {
                Callee::Missing => return Err(self.fault(FaultKind::Missing, 0, 0)),
                Callee::Function(_) if (*host).depth >= FRAMES - 1 => {
                    return Err(self.fault(FaultKind::Depth, 0, 0));
                }
                Callee::Function(function) => {
                    (*host).depth += 1;
                    let result = self.interpreter.call(host, function, args);
                    (*host).depth -= 1;
                    result
                }
                Callee::Outside(index) => {
                    let [r1, r2, r3, r4, r5] = args;
                    (*(*host).calls.add(index as usize))(host, r1, r2, r3, r4, r5)
                }
            };
            if (*host).fault != 0 {
                if (*host).fault_function == NOWHERE {
                    (*host).fault_function = self.function;
                    (*host).fault_op = self.at;
                }
                return Err(Fault);
            }
            self.regs[..=5].copy_from_slice(&[result, 0, 0, 0, 0, 0]);
        }
        Ok(())
    }
}

/// The low bits of a value.
fn cut(width: Width, value: u64) -> u64 {
    match width {
        Width::Byte => value & 0xff,
        Width::Half => value & 0xffff,
        Width::Word => value & 0xffff_ffff,
        Width::Double => value,
    }
}

/// The low bits of a value, as a signed number.
fn extend(width: Width, value: u64) -> u64 {
    match width {
        Width::Byte => value as i8 as u64,
        Width::Half => value as i16 as u64,
        Width::Word => value as i32 as u64,
        Width::Double => value,
    }
}

unsafe fn read(width: Width, address: u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            Width::Byte => (address as *const u8).read().into(),
            Width::Half => (address as *const u16).read_unaligned().into(),
            Width::Word => (address as *const u32).read_unaligned().into(),
            Width::Double => (address as *const u64).read_unaligned(),
        }
    }
}

unsafe fn write(width: Width, address: u64, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            Width::Byte => (address as *mut u8).write(value as u8),
            Width::Half => (address as *mut u16).write_unaligned(value as u16),
            Width::Word => (address as *mut u32).write_unaligned(value as u32),
            Width::Double => (address as *mut u64).write_unaligned(value),
        }
    }
}

fn alu(wide: bool, op: Alu, a: u64, b: u64) -> u64 {
    if wide {
        wide_alu(op, a, b)
    } else {
        narrow_alu(op, a as u32, b as u32).into()
    }
}

fn wide_alu(op: Alu, a: u64, b: u64) -> u64 {
    let (signed, divisor) = (a as i64, b as i64);
    match op {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mul => a.wrapping_mul(b),
        Alu::Div => a.checked_div(b).unwrap_or(0),
        Alu::Sdiv if b == 0 => 0,
        Alu::Sdiv => signed.wrapping_div(divisor) as u64,
        Alu::Mod => a.checked_rem(b).unwrap_or(a),
        Alu::Smod if b == 0 => a,
        Alu::Smod => signed.wrapping_rem(divisor) as u64,
        Alu::Or => a | b,
        Alu::And => a & b,
        Alu::Lsh => a << (b & 63),
        Alu::Rsh => a >> (b & 63),
        Alu::Arsh => (signed >> (b & 63)) as u64,
        Alu::Xor => a ^ b,
        Alu::Mov => b,
        Alu::MovSigned(width) => extend(width, b),
        Alu::Neg => a.wrapping_neg(),
    }
}

fn narrow_alu(op: Alu, a: u32, b: u32) -> u32 {
    let (signed, divisor) = (a as i32, b as i32);
    match op {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mul => a.wrapping_mul(b),
        Alu::Div => a.checked_div(b).unwrap_or(0),
        Alu::Sdiv if b == 0 => 0,
        Alu::Sdiv => signed.wrapping_div(divisor) as u32,
        Alu::Mod => a.checked_rem(b).unwrap_or(a),
        Alu::Smod if b == 0 => a,
        Alu::Smod => signed.wrapping_rem(divisor) as u32,
        Alu::Or => a | b,
        Alu::And => a & b,
        Alu::Lsh => a << (b & 31),
        Alu::Rsh => a >> (b & 31),
        Alu::Arsh => (signed >> (b & 31)) as u32,
        Alu::Xor => a ^ b,
        Alu::Mov => b,
        Alu::MovSigned(width) => extend(width, b.into()) as u32,
        Alu::Neg => a.wrapping_neg(),
    }
}

fn swap(order: Order, width: Width, value: u64) -> u64 {
    let low = cut(width, value);
    match order {
        Order::Little => low,
        Order::Big | Order::Swap => low.swap_bytes() >> (64 - 8 * width.bytes()),
    }
}

fn holds(wide: bool, condition: Condition, a: u64, b: u64) -> bool {
    // A narrow comparison is a wide one of the low words, with or without their signs.
    let unsigned = |value| if wide { value } else { cut(Width::Word, value) };
    let signed = |value: u64| {
        if wide {
            value as i64
        } else {
            i64::from(value as i32)
        }
    };
    match condition {
        Condition::Eq => unsigned(a) == unsigned(b),
        Condition::Ne => unsigned(a) != unsigned(b),
        Condition::Gt => unsigned(a) > unsigned(b),
        Condition::Ge => unsigned(a) >= unsigned(b),
        Condition::Lt => unsigned(a) < unsigned(b),
        Condition::Le => unsigned(a) <= unsigned(b),
        Condition::SignedGt => signed(a) > signed(b),
        Condition::SignedGe => signed(a) >= signed(b),
        Condition::SignedLt => signed(a) < signed(b),
        Condition::SignedLe => signed(a) <= signed(b),
        Condition::Set => unsigned(a & b) != 0,
    }
}
