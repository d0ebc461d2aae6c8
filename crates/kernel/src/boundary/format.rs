// SPDX-License-Identifier: GPL-2.0-or-later
//! `bpf_bprintf_prepare` of the kernel: format strings whose arguments are 64-bit words.

/// What a format and its arguments make; `string` reads what `%s` points to.
///
/// Knows the conversions that the kernel allows policies: `%d %i %u %x %X %p %c %s` with `l` and `ll`, widths, `0` and
/// `-`, and `%%`. Anything else is put out as it is.
pub fn printf(format: &[u8], arguments: &[u64], mut string: impl FnMut(u64) -> Vec<u8>) -> String {
    let format = String::from_utf8_lossy(format);
    let mut arguments = arguments.iter().copied();
    let mut out = String::new();
    let mut rest = &*format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let spec_end = rest
            .find(|c: char| c.is_ascii_alphabetic() && c != 'l')
            .map_or(rest.len(), |end| end + 1);
        let (spec, after) = rest.split_at(spec_end);
        rest = after;
        match spec
            .chars()
            .last()
            .filter(|kind| "diuxXpcs".contains(*kind))
        {
            None => {
                out.push('%');
                out.push_str(spec);
            }
            Some(kind) => {
                let flags = &spec[..spec.len() - 1];
                let value = arguments.next().unwrap_or(0);
                let shown = converted(kind, flags.contains('l'), value, &mut string);
                out.push_str(&padded(&shown, flags));
            }
        }
    }
    out + rest
}

fn converted(
    kind: char,
    long: bool,
    value: u64,
    string: &mut impl FnMut(u64) -> Vec<u8>,
) -> String {
    let unsigned = if long { value } else { u64::from(value as u32) };
    let signed = if long {
        value.cast_signed()
    } else {
        i64::from(value as i32)
    };
    match kind {
        'd' | 'i' => signed.to_string(),
        'u' => unsigned.to_string(),
        'x' => format!("{unsigned:x}"),
        'X' => format!("{unsigned:X}"),
        // Addresses differ from run to run; the kernel does not show them either.
        'p' => "(ptrval)".to_owned(),
        'c' => char::from(value as u8).to_string(),
        _ => String::from_utf8_lossy(&string(value)).into_owned(),
    }
}

/// To the width that the flags ask for.
fn padded(text: &str, flags: &str) -> String {
    let flags = flags.trim_end_matches('l');
    let left = flags.starts_with('-');
    let zeros = flags.starts_with('0');
    let width: usize = flags.trim_start_matches(['-', '0']).parse().unwrap_or(0);
    match text.strip_prefix('-') {
        _ if left => format!("{text:<width$}"),
        Some(digits) if zeros => format!("-{digits:0>width$}", width = width.saturating_sub(1)),
        None if zeros => format!("{text:0>width$}"),
        _ => format!("{text:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: &str, arguments: &[u64]) -> String {
        printf(format.as_bytes(), arguments, |at| {
            format!("<{at}>").into_bytes()
        })
    }

    #[test]
    fn conversions_take_their_arguments_in_order() {
        let minus_one = u64::MAX;
        assert_eq!(
            shown("%d %u %ld", &[minus_one, minus_one, minus_one]),
            "-1 4294967295 -1"
        );
        assert_eq!(
            shown("%llu/%llx/%X", &[1 << 40, 1 << 40, 255]),
            "1099511627776/10000000000/FF"
        );
        assert_eq!(
            shown("pid %d is %s%c", &[7, 3, u64::from(b'!')]),
            "pid 7 is <3>!"
        );
        assert_eq!(
            shown("%5d|%-5d|%05d|%05d", &[7, 7, 7, (-7_i64).cast_unsigned()]),
            "    7|7    |00007|-0007"
        );
        assert_eq!(shown("100%% %d", &[]), "100% 0");
        assert_eq!(shown("%q", &[1]), "%q");
    }
}
