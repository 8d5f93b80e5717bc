//! Shapes and sources as text, for reports and golden files.

use super::{Entry, Members, Number, Shape, Source};
use std::fmt;

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none = |s: &Option<String>| s.clone().unwrap_or_else(|| "none".into());
        let by = |each: &u64| match each {
            1 => String::new(),
            n => format!(" of {n}"),
        };
        match self {
            Shape::Unused => write!(f, "unused"),
            Shape::Scalar { to } => write!(f, "{to}"),
            Shape::Numbers { at, .. } => {
                let each = |n: &Number| format!("{}: {}", n.index, n.to);
                write!(
                    f,
                    "numbers {}",
                    at.iter().map(each).collect::<Vec<_>>().join(", ")
                )
            }
            Shape::Pointer { to, given } => {
                write!(f, "*{to}")?;
                given.iter().try_for_each(|g| write!(f, " if {g}"))
            }
            Shape::Pointers { at } => {
                let each = |e: &Entry| format!("[{}] = {}", e.index, e.shape);
                write!(
                    f,
                    "*{{ {} }}",
                    at.iter().map(each).collect::<Vec<_>>().join(", ")
                )
            }
            Shape::End { of, count } => write!(f, "{of} + {count}"),
            Shape::Place { to, len } => write!(f, "{to}[{len}]"),
            Shape::Rows {
                to,
                pitch,
                per_plane,
                given,
                held,
            } => {
                if let Some(n) = held {
                    write!(f, "{n} ")?;
                }
                if let Some(n) = per_plane {
                    write!(f, "planes of {n} ")?;
                }
                write!(f, "rows of {to} by {pitch}")?;
                given.iter().try_for_each(|g| write!(f, " if {g}"))
            }
            Shape::Struct {
                pointer, fields, ..
            } => {
                write!(f, "{}{{", if *pointer { "*" } else { "" })?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma} {}: {}", field.name, field.shape)?;
                }
                write!(f, " }}")
            }
            Shape::Argument { number } => write!(f, "parameter {number}"),
            Shape::Member { number, part } => write!(f, "part {part} of parameter {number}"),
            Shape::Optional { has_value, value } => write!(f, "{value} if {has_value}"),
            Shape::Behind { object } => write!(f, "*{object}"),
            Shape::Vector {
                to,
                size,
                resized,
                each,
            } => {
                write!(f, "vector {to}, {}{}", or_none(size), by(each))?;
                resized.iter().try_for_each(|r| write!(f, " -> {r}"))
            }
            Shape::Span { to, size, each } => {
                write!(f, "span {to}, {}{}", or_none(size), by(each))
            }
            Shape::Records { members, size, .. } => {
                write!(f, "structs")?;
                for Members { to, stride, at } in members {
                    let at: Vec<String> = at.iter().map(|(a, b)| format!("{a} .. {b}")).collect();
                    write!(f, " {to}[{} of {stride}]", at.join(", "))?;
                }
                size.iter().try_for_each(|s| write!(f, ", {s}"))
            }
            Shape::Nested {
                to,
                rows,
                pitch,
                resized,
            } => {
                write!(f, "vectors {to}, {} by {pitch}", or_none(rows))?;
                resized.iter().try_for_each(|r| write!(f, " -> {r}"))
            }
        }
    }
}

impl fmt::Display for Source {
    /// For people; records hold it field by field.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}(", self.returns, self.call)?;
        for (i, p) in self.params.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{} {}: {}", p.ty, p.name, p.shape)?;
        }
        write!(f, ")")?;
        for g in &self.globals {
            write!(f, " with {}: {}", g.name, g.shape)?;
        }
        self.result.iter().try_for_each(|r| write!(f, " -> {r}"))
    }
}
