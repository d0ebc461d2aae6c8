// SPDX-License-Identifier: GPL-2.0-or-later
//! Which switches a run makes.

use workload::draw::Stream;

use super::switch::{Between, Switch};

/// How operations are interleaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interleave {
    /// Drawn from a seed, so many at most, but none of these, which turned out not to be possible.
    Drawn {
        seed: u64,
        most: u32,
        never: Vec<Switch>,
    },
    /// Exactly these. One whose point or event does not come is not made.
    Listed(Vec<Switch>),
}

/// Who ends a run whose last switch is not possible.
pub const NOT_POSSIBLE: &str = "not possible";

/// The stream of a run's own, beside those of the tasks.
const STREAM: u32 = u32::MAX - 1;
/// A bug that needs more switches than a few is rare, and a run that makes many is hard to read.
const FEWEST: u32 = 3;
const MOST: u32 = 8;
/// From every point to one of 4096: the longer a run, the rarer the points have to be to reach its end.
const RAREST_LOG2: u32 = 12;
/// Steps of hotplug are few, and chance alone would hardly ever hit one: so many such switches are made beside the
/// others, where a step is near at every fourth point to one of 64.
const MOST_HOTPLUG: u32 = 4;
const HOTPLUG_OFTENEST_LOG2: u32 = 2;
const HOTPLUG_RAREST_LOG2: u32 = 6;

/// What is to come in between at a point.
pub enum Choice {
    /// One of those that may, by this draw.
    Any(u32),
    /// A step of CPU hotplug, if one may.
    Hotplug,
    This(Between),
}

pub struct Chooser {
    source: Source,
}

enum Source {
    Drawn {
        stream: Stream,
        /// Of all kinds.
        most: u32,
        left: u32,
        hotplug_left: u32,
        one_in: u32,
        hotplug_one_in: u32,
        never: Vec<Switch>,
    },
    Listed(Vec<Switch>),
}

impl Chooser {
    pub fn new(interleave: Interleave) -> Self {
        let source = match interleave {
            Interleave::Listed(switches) => Source::Listed(switches),
            Interleave::Drawn { seed, most, never } => {
                let mut stream = Stream::new(seed, STREAM, 0);
                let mut up_to = |limit| below(stream.next_u32(), limit + 1);
                let (left, rarity) = (FEWEST + up_to(MOST - FEWEST), up_to(RAREST_LOG2));
                let hotplug_rarity =
                    HOTPLUG_OFTENEST_LOG2 + up_to(HOTPLUG_RAREST_LOG2 - HOTPLUG_OFTENEST_LOG2);
                // Where few are to be made, every other seed leaves them to hotplug.
                let hotplug_alone = most < FEWEST && seed.is_multiple_of(2);
                Source::Drawn {
                    most,
                    left: if hotplug_alone { 0 } else { left },
                    one_in: 1 << rarity,
                    hotplug_one_in: 1 << hotplug_rarity,
                    hotplug_left: MOST_HOTPLUG,
                    stream,
                    never,
                }
            }
        };
        Self { source }
    }

    /// Whether, and for what, to break an operation off at this point, which may lie beside a step of hotplug.
    pub fn choose(&mut self, operation: u64, point: u32, hotplug: bool) -> Option<Choice> {
        match &mut self.source {
            Source::Drawn { most: 0, .. } => None,
            Source::Drawn {
                stream,
                left,
                hotplug_left,
                one_in,
                hotplug_one_in,
                ..
            } => {
                let hotplug = hotplug && *hotplug_left > 0;
                if hotplug && below(stream.next_u32(), *hotplug_one_in) == 0 {
                    return Some(Choice::Hotplug);
                }
                let chosen = *left > 0 && below(stream.next_u32(), *one_in) == 0;
                chosen.then(|| Choice::Any(stream.next_u32()))
            }
            Source::Listed(switches) => {
                let here =
                    |switch: &&Switch| switch.operation == operation && switch.point == point;
                let found = switches.iter().find(here)?;
                Some(Choice::This(found.between))
            }
        }
    }

    /// Whether the switch that was chosen is to be made, which counts.
    pub fn make(&mut self, switch: &Switch) -> bool {
        match &mut self.source {
            Source::Listed(_) => true,
            Source::Drawn {
                most,
                left,
                hotplug_left,
                never,
                ..
            } => {
                let possible = !never.contains(switch);
                let budget = match switch.between {
                    Between::Hotplug(_) => hotplug_left,
                    _ => left,
                };
                *budget = budget.saturating_sub(u32::from(possible));
                *most -= u32::from(possible);
                possible
            }
        }
    }
}

/// A draw as a number from 0 to `limit - 1`.
pub fn below(draw: u32, limit: u32) -> u32 {
    ((u64::from(draw) * u64::from(limit)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(seed: u64, never: Vec<Switch>) -> Vec<Switch> {
        let mut chooser = Chooser::new(Interleave::Drawn {
            seed,
            most: u32::MAX,
            never,
        });
        let mut made = Vec::new();
        for operation in 1..100_000 {
            if let Some(Choice::Any(draw)) = chooser.choose(operation, 1, false) {
                let switch = Switch {
                    operation,
                    point: 1,
                    between: Between::Cpu(below(draw, 4)),
                };
                if chooser.make(&switch) {
                    made.push(switch);
                }
            }
        }
        made
    }

    #[test]
    fn a_seed_makes_a_few_switches_and_always_the_same() {
        for seed in 0..50 {
            let few = made(seed, Vec::new());
            assert!((FEWEST..=MOST).contains(&(few.len() as u32)), "{few:?}");
            assert_eq!(few, made(seed, Vec::new()));
        }
    }

    #[test]
    fn what_is_not_possible_is_left_out_and_what_comes_before_it_stays() {
        for seed in 0..50 {
            let all = made(seed, Vec::new());
            let without = made(seed, vec![all[1]]);
            assert_eq!(without[0], all[0]);
            assert!(!without.contains(&all[1]));
        }
    }
}
