// SPDX-License-Identifier: GPL-2.0-or-later
//! The way from a type to one of its fields, in the object's types and in the kernel's.

use anyhow::{Context, Result, bail};

use super::compatible::{Of, fields_are_compatible};
use super::name::essential;
use crate::btf::{Btf, Kind, TypeId};

/// Steps of one way, counting anonymous structs and unions.
const LONGEST: usize = 64;

/// A way from a type to a field, an element or an enumerator.
#[derive(Clone, Debug)]
pub struct Spec {
    pub root: TypeId,
    /// The first is the element of an array that the root is taken for; anonymous members are left out.
    pub steps: Vec<Step>,
    steps_with_anonymous: usize,
    pub offset_bits: u32,
}

#[derive(Clone, Debug)]
pub struct Step {
    /// The struct or union of a member; the type of an element.
    pub of: TypeId,
    pub index: u32,
    /// Of a member or an enumerator.
    pub name: Option<String>,
}

impl Spec {
    fn new(root: TypeId) -> Self {
        Self {
            root,
            steps: Vec::new(),
            steps_with_anonymous: 0,
            offset_bits: 0,
        }
    }

    /// Of a relocation that is about a type as a whole.
    pub fn of_type(root: TypeId) -> Self {
        Self::new(root)
    }

    /// Of an enumerator.
    pub fn of_enumerator(btf: &Btf, root: TypeId, access: &str) -> Result<Self> {
        let indices = indices(access)?;
        let id = btf.skip(root);
        let enumeration = btf.get(id).kind.enumeration().context("no enumeration")?;
        let [index] = indices[..] else {
            bail!("an enumerator by more than one index");
        };
        let (name, _) = enumeration
            .values
            .get(index as usize)
            .context("an enumerator that is not there")?;
        let mut spec = Self::new(root);
        spec.steps.push(Step {
            of: id,
            index,
            name: Some(name.clone()),
        });
        Ok(spec)
    }

    /// Of a field, in the object's own types.
    pub fn of_field(btf: &Btf, root: TypeId, access: &str) -> Result<Self> {
        let indices = indices(access)?;
        let mut id = btf.skip(root);
        let mut spec = Self::new(root);
        spec.element(btf, id, indices[0])?;
        for &index in &indices[1..] {
            id = btf.skip(id);
            match &btf.get(id).kind {
                Kind::Struct(composite) | Kind::Union(composite) => {
                    let member = composite
                        .members
                        .get(index as usize)
                        .context("a member that is not there")?;
                    spec.offset_bits = spec.offset_bits.wrapping_add(member.offset_bits);
                    if !member.name.is_empty() {
                        spec.steps.push(Step {
                            of: id,
                            index,
                            name: Some(member.name.clone()),
                        });
                    }
                    id = member.of;
                }
                Kind::Array { element, count } => {
                    if index >= *count && !spec.is_flexible(btf, *count) {
                        bail!("an element beyond its array");
                    }
                    id = btf.skip(*element);
                    spec.element(btf, id, index)?;
                }
                kind => bail!("a way through a type of kind {}", kind.word()),
            }
        }
        Ok(spec)
    }

    fn element(&mut self, btf: &Btf, of: TypeId, index: u32) -> Result<()> {
        let bytes = btf.size(of).context("an element without a size")?;
        self.steps.push(Step {
            of,
            index,
            name: None,
        });
        self.steps_with_anonymous += 1;
        let bits = index.wrapping_mul(bytes).wrapping_mul(8);
        self.offset_bits = self.offset_bits.wrapping_add(bits);
        Ok(())
    }

    /// Is the array that the last step leads to the open end of its struct?
    fn is_flexible(&self, btf: &Btf, count: u32) -> bool {
        let Some(step) = self.steps.last().filter(|step| step.name.is_some()) else {
            return false;
        };
        let members = btf.get(step.of).kind.composite().map(|of| of.members.len());
        count == 0 && members == Some(step.index as usize + 1)
    }

    /// The same way through a type of the kernel, if it has one.
    pub fn find_field(&self, local: &Btf, kernel: &Btf, root: TypeId) -> Result<Option<Self>> {
        let mut spec = Self::new(root);
        let mut id = root;
        for (place, step) in self.steps.iter().enumerate() {
            id = kernel.skip(id);
            if step.name.is_some() {
                match spec.find_member(local, step, kernel, id)? {
                    Some(next) => id = next,
                    None => return Ok(None),
                }
                continue;
            }
            // The first index is into an array of roots.
            if place > 0 {
                let Kind::Array { element, count } = &kernel.get(id).kind else {
                    return Ok(None);
                };
                if step.index >= *count && !spec.is_flexible(kernel, *count) {
                    return Ok(None);
                }
                id = kernel.skip(*element);
            }
            spec.is_short_enough()?;
            spec.element(kernel, id, step.index)?;
        }
        Ok(Some(spec))
    }

    fn is_short_enough(&self) -> Result<()> {
        if self.steps_with_anonymous == LONGEST {
            bail!("structures nested too deep");
        }
        Ok(())
    }

    /// A member by name, also in anonymous members; the type that it has.
    fn find_member(
        &mut self,
        local: &Btf,
        step: &Step,
        kernel: &Btf,
        id: TypeId,
    ) -> Result<Option<TypeId>> {
        let id = kernel.skip(id);
        let Some(composite) = kernel.get(id).kind.composite() else {
            return Ok(None);
        };
        let wanted = local
            .get(step.of)
            .kind
            .composite()
            .and_then(|of| of.members.get(step.index as usize))
            .context("a member that is not there")?;
        for (index, member) in composite.members.iter().enumerate() {
            self.is_short_enough()?;
            self.offset_bits = self.offset_bits.wrapping_add(member.offset_bits);
            self.steps_with_anonymous += 1;
            if member.name.is_empty() {
                if let Some(found) = self.find_member(local, step, kernel, member.of)? {
                    return Ok(Some(found));
                }
            } else if member.name == wanted.name {
                let one = Of {
                    btf: local,
                    id: wanted.of,
                };
                let other = Of {
                    btf: kernel,
                    id: member.of,
                };
                if !fields_are_compatible(one, other) {
                    return Ok(None);
                }
                self.steps.push(Step {
                    of: id,
                    index: index as u32,
                    name: Some(member.name.clone()),
                });
                return Ok(Some(member.of));
            }
            self.offset_bits = self.offset_bits.wrapping_sub(member.offset_bits);
            self.steps_with_anonymous -= 1;
        }
        Ok(None)
    }

    /// The same enumerator of an enumeration of the kernel, if it has one.
    pub fn find_enumerator(&self, kernel: &Btf, root: TypeId) -> Option<Self> {
        let id = kernel.skip(root);
        let wanted = essential(self.steps[0].name.as_ref()?);
        let values = &kernel.get(id).kind.enumeration()?.values;
        let index = values
            .iter()
            .position(|(name, _)| essential(name) == wanted)?;
        let mut spec = Self::new(root);
        spec.steps.push(Step {
            of: id,
            index: index as u32,
            name: Some(values[index].0.clone()),
        });
        Some(spec)
    }

    /// As people write it: `task_struct.scx.weight`, or an enumerator's name.
    pub fn words(&self, btf: &Btf) -> String {
        let mut words = essential(&btf.get(self.root).name).to_owned();
        for (place, step) in self.steps.iter().enumerate() {
            match &step.name {
                Some(name) => words.extend([".", name]),
                None if place == 0 && step.index == 0 => {}
                None => words.extend(["[", &step.index.to_string(), "]"]),
            }
        }
        words
    }
}

fn indices(access: &str) -> Result<Vec<u32>> {
    let indices = access
        .split(':')
        .map(str::parse)
        .collect::<std::result::Result<Vec<u32>, _>>()
        .with_context(|| format!("the way {access:?}"))?;
    if indices.len() > LONGEST {
        bail!("a way of more than {LONGEST} steps");
    }
    Ok(indices)
}
