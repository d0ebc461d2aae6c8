// SPDX-License-Identifier: GPL-2.0-or-later
//! Short ways to write operations.

use bpf::image::{Data, Function, Image, Map, Outside};
use bpf::op::{Alu, Atomic, Callee, Condition, Op, Operand, Reg, Value, Width};

pub fn alu(op: Alu, dst: Reg, src: Operand) -> Op {
    Op::Alu {
        wide: true,
        op,
        dst,
        src,
    }
}

pub fn mov(dst: Reg, src: Reg) -> Op {
    alu(Alu::Mov, dst, Operand::Reg(src))
}

pub fn set(dst: Reg, value: i32) -> Op {
    alu(Alu::Mov, dst, Operand::Imm(value))
}

pub fn add(dst: Reg, value: i32) -> Op {
    alu(Alu::Add, dst, Operand::Imm(value))
}

pub fn imm(dst: Reg, value: Value) -> Op {
    Op::Immediate { dst, value }
}

pub fn load(width: Width, dst: Reg, src: Reg, off: i16) -> Op {
    Op::Load {
        width,
        signed: false,
        dst,
        src,
        off,
    }
}

pub fn store(width: Width, dst: Reg, off: i16, src: Operand) -> Op {
    Op::Store {
        width,
        dst,
        off,
        src,
    }
}

pub fn atomic(op: Atomic, width: Width, dst: Reg, src: Reg, off: i16) -> Op {
    Op::Atomic {
        op,
        width,
        dst,
        src,
        off,
    }
}

pub fn branch(condition: Condition, dst: Reg, value: i32, target: u32) -> Op {
    Op::Branch {
        wide: true,
        condition,
        dst,
        src: Operand::Imm(value),
        target,
    }
}

pub fn jump(target: u32) -> Op {
    Op::Jump { target }
}

pub fn call(index: u32) -> Op {
    Op::Call(Callee::Function(index))
}

pub fn outside(index: u32) -> Op {
    Op::Call(Callee::Outside(index))
}

pub fn function(name: &str, ops: Vec<Op>) -> Function {
    Function {
        name: name.to_owned(),
        ops,
        lines: Vec::new(),
    }
}

pub const READ_ONLY_BYTES: u32 = 64;
pub const DATA_BYTES: u32 = 256;
pub const MAPS: u32 = 2;
pub const VARIABLES: u32 = 2;

/// Functions with the data, maps and helpers that a [`World`](crate::world::World) has.
pub fn image(functions: Vec<Function>) -> Image {
    let data = |name: &str, from: u32, to: u32, read_only| Data {
        name: name.to_owned(),
        offset: from,
        bytes: vec![0; (to - from) as usize],
        read_only,
        arena: false,
    };
    Image {
        functions,
        maps: (0..MAPS)
            .map(|index| Map {
                name: format!("map{index}"),
                ..Map::default()
            })
            .collect(),
        data: vec![
            data(".rodata", 0, READ_ONLY_BYTES, true),
            data(".data", READ_ONLY_BYTES, DATA_BYTES, false),
        ],
        data_bytes: DATA_BYTES,
        outside: outsides(),
        variables: (0..VARIABLES)
            .map(|index| format!("variable{index}"))
            .collect(),
        files: vec!["a.bpf.c".to_owned()],
        ..Image::default()
    }
}

/// Of `World`'s helpers, in their order.
pub const MIX: u32 = 0;
pub const LOOP: u32 = 1;
pub const REFUSE: u32 = 2;
pub const FORBIDDEN: u32 = 3;
pub const EXECUTED: u32 = 4;

fn outsides() -> Vec<Outside> {
    vec![
        Outside::Kfunc("mix".to_owned()),
        Outside::Helper(181),
        Outside::Kfunc("refuse".to_owned()),
        Outside::Kfunc("forbidden".to_owned()),
        Outside::Kfunc("executed".to_owned()),
    ]
}
