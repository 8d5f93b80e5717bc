//! What is read and written somewhere, and whether two of that can be in any order.

use super::super::ffi::Cursor;
use clang_sys::*;
use std::collections::HashSet;

/// What happens in an expression. Memory is one thing here: which element it is can't be told from
/// the text.
#[derive(Default, Clone)]
pub(super) struct Effects<'u> {
    pub reads: HashSet<Cursor<'u>>,
    pub writes: HashSet<Cursor<'u>>,
    pub reads_memory: bool,
    pub writes_memory: bool,
    /// But for what parameters point to that are never set anew: if two of them meet, nobody says in which order.
    pub reads_in: HashSet<Cursor<'u>>,
    pub writes_in: HashSet<Cursor<'u>>,
    /// Members of structs that are numbers, besides.
    pub reads_members: HashSet<Cursor<'u>>,
    pub writes_members: HashSet<Cursor<'u>>,
    /// Maybe more than numbers.
    pub writes_rows: bool,
    /// The bodies of functions that this is of already, and whether their object is nobody else's.
    pub entered: HashSet<(Cursor<'u>, bool)>,
}

impl<'u> Effects<'u> {
    pub fn join(&mut self, other: &Effects<'u>) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
        self.reads_memory |= other.reads_memory;
        self.writes_memory |= other.writes_memory;
        self.reads_in.extend(&other.reads_in);
        self.writes_in.extend(&other.writes_in);
        self.reads_members.extend(&other.reads_members);
        self.writes_members.extend(&other.writes_members);
        self.writes_rows |= other.writes_rows;
    }

    /// What it reads.
    pub fn only_reads(&self) -> Effects<'u> {
        Effects {
            reads: self.reads.clone(),
            reads_memory: self.reads_memory,
            reads_in: self.reads_in.clone(),
            reads_members: self.reads_members.clone(),
            ..Effects::default()
        }
    }

    /// Whether it writes something that the other one uses.
    pub fn writes_what(&self, other: &Effects<'u>) -> bool {
        self.writes
            .iter()
            .any(|w| other.reads.contains(w) || other.writes.contains(w))
            || self.writes_memory && other.is_in_memory()
            || !self.writes_in.is_empty() && (other.reads_memory || other.writes_memory)
            || (self.writes_in.iter())
                .any(|w| other.reads_in.contains(w) || other.writes_in.contains(w))
            || !self.writes_members.is_empty() && (other.reads_memory || other.writes_memory)
            || (self.writes_members.iter()).any(|w| {
                let mut others = other.reads_members.iter().chain(&other.writes_members);
                others.any(|o| may_be_one(*w, *o))
            })
    }

    fn is_in_memory(&self) -> bool {
        self.reads_memory
            || self.writes_memory
            || !self.reads_in.is_empty()
            || !self.writes_in.is_empty()
            || !self.reads_members.is_empty()
            || !self.writes_members.is_empty()
    }

    /// Whether it matters which of the two comes first.
    pub fn conflicts(&self, other: &Effects<'u>) -> bool {
        self.writes_what(other) || other.writes_what(self)
    }
}

/// Whether two members can be the same number. Two of one struct can't, whichever objects they are in.
fn may_be_one(a: Cursor<'_>, b: Cursor<'_>) -> bool {
    let (of_a, of_b) = (a.semantic_parent(), b.semantic_parent());
    a == b || of_a != of_b || of_a.is_none_or(|s| s.kind() == CXCursor_UnionDecl)
}
