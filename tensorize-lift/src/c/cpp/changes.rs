//! Looks ahead at what a function changes other than element by element, itself or by what it calls: lengths of vectors, numbers in
//! objects, whole objects.

use super::super::call;
use super::super::effects::{assigned_place, member_number};
use super::super::ffi::{Cursor, Type};
use super::super::flatten::is_object;
use super::super::lower::{operands, peeled, span};
use super::super::types::{self, Ty};
use super::class::in_std;
use super::pointed::pointee;
use super::scan::{named, object};
use clang_sys::*;
use std::collections::HashMap;
use std::rc::Rc;

/// Members that change the length of a vector.
pub(super) const GROWING: &[&str] = &[
    "push_back",
    "emplace_back",
    "pop_back",
    "resize",
    "clear",
    "assign",
    "insert",
    "emplace",
    "erase",
    "swap",
    "operator=",
];

/// Those of them that a vector of a length which does not change may get, where it has that length afterwards.
const REPLACING: &[&str] = &["assign", "swap", "operator="];

/// A variable or an object's own, or a member of it.
#[derive(Clone, PartialEq)]
pub(in super::super) struct Reached<'u> {
    /// `None` is the object that a member function is called on.
    pub root: Option<Cursor<'u>>,
    pub members: Vec<Cursor<'u>>,
    /// Where something says so.
    pub at: Cursor<'u>,
}

impl<'u> Reached<'u> {
    /// What an expression names.
    pub fn of(e: Cursor<'u>) -> Option<Self> {
        if let Some(d) = named(e) {
            let another_name = d.kind() == CXCursor_VarDecl
                && (matches!(types::of(d), Ty::Reference(_)) || pointee(d.ty()).is_some())
                && d.initializer().is_some();
            return match d.initializer().filter(|_| another_name) {
                Some(init) => Self::of(init),
                None => Some(Reached {
                    root: Some(d),
                    members: vec![],
                    at: e,
                }),
            };
        }
        let e = peeled(e);
        let all_of_this = |at| Reached {
            root: None,
            members: vec![],
            at,
        };
        match e.kind() {
            CXCursor_CXXThisExpr => Some(all_of_this(e)),
            CXCursor_UnaryOperator => Self::of(*operands(e).first()?),
            CXCursor_MemberRefExpr => {
                let field = e.referenced()?;
                let of = match operands(e)[..] {
                    [] => all_of_this(e),
                    [object] => Self::of(object)?,
                    _ => return None,
                };
                (field.kind() == CXCursor_FieldDecl).then(|| of.member(&[field], e))
            }
            _ => None,
        }
    }

    pub fn member(mut self, more: &[Cursor<'u>], at: Cursor<'u>) -> Self {
        self.members.extend(more);
        Reached { at, ..self }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.root == other.root && self.members == other.members
    }

    /// Whether it is the other one or a part of that.
    fn is_part_of(&self, other: &Self) -> bool {
        self.root == other.root && self.members.starts_with(&other.members)
    }
}

/// What may change in other ways than element by element.
#[derive(Default)]
pub(in super::super) struct Changes<'u> {
    /// The vectors whose length may change, and whether they may get any.
    pub vectors: Vec<(Reached<'u>, bool)>,
    /// The objects that are assigned.
    pub objects: Vec<Replaced<'u>>,
    /// The members that are numbers and are assigned.
    pub numbers: Vec<Reached<'u>>,
    /// Such members of objects that have no name, and where something says so.
    pub of_no_name: Vec<(Cursor<'u>, Cursor<'u>)>,
}

/// An object that is assigned.
#[derive(Clone)]
pub(in super::super) struct Replaced<'u> {
    pub object: Reached<'u>,
    pub ty: Type<'u>,
    /// Whether anything looks at it before: then it has to keep its sizes, which are known by their values at the call.
    pub keeps_sizes: bool,
}

impl<'u> Changes<'u> {
    /// What a function, or a statement, may change, and all that it calls.
    pub fn of(c: Cursor<'u>) -> Self {
        let mut changes = Changes::default();
        collect(c, c, &mut changes, &mut Helpers::new());
        changes
    }

    fn add(&mut self, vector: Option<Reached<'u>>, to_any_length: bool) {
        let Some(vector) = vector else { return };
        match self.vectors.iter_mut().find(|(v, _)| v.is_same(&vector)) {
            Some((_, any)) => *any |= to_any_length,
            None => self.vectors.push((vector, to_any_length)),
        }
    }

    fn add_object(&mut self, new: Replaced<'u>) {
        let mut known = self.objects.iter_mut();
        match known.find(|known| known.object.is_same(&new.object)) {
            Some(known) => known.keeps_sizes |= new.keeps_sizes,
            None => self.objects.push(new),
        }
    }

    fn add_number(&mut self, new: Reached<'u>) {
        if !self.numbers.iter().any(|known| known.is_same(&new)) {
            self.numbers.push(new);
        }
    }

    /// The variables that are vectors whose length may change, and whether they may get any.
    pub fn variables(&self) -> impl Iterator<Item = (Cursor<'u>, bool)> {
        let plain = self.vectors.iter().filter(|(v, _)| v.members.is_empty());
        plain.filter_map(|(v, any)| Some((v.root?, *any)))
    }
}

/// The number that an expression assigns, if it is a member of what a reference or a pointer leads to, or of the object that a
/// member function is called on.
pub(in super::super) fn assigned_number<'u>(c: Cursor<'u>) -> Option<Reached<'u>> {
    let target = assigned_place(c)?;
    let number = Reached::of(target).filter(|_| member_number(peeled(target)).is_some())?;
    let leads_there = number.root.is_none_or(|d| {
        matches!(
            d.ty().canonical().kind(),
            CXType_LValueReference | CXType_Pointer
        )
    });
    leads_there.then_some(number)
}

/// Whether a function looks at an object before the assignment to it ends.
fn is_used_before<'u>(
    function: Cursor<'u>,
    object: &Reached<'u>,
    assignment: Cursor<'u>,
    target: Cursor<'u>,
) -> bool {
    let end = |c: Cursor<'u>| span(c).map_or(usize::MAX, |s| s.end);
    let last = end(assignment);
    let mut pending = function.children();
    while let Some(c) = pending.pop() {
        if c == target {
            continue;
        }
        let names = matches!(
            c.kind(),
            CXCursor_DeclRefExpr | CXCursor_MemberRefExpr | CXCursor_CXXThisExpr
        );
        if names && end(c) <= last && Reached::of(c).is_some_and(|r| r.is_part_of(object)) {
            return true;
        }
        pending.extend(c.children());
    }
    false
}

/// What each function that is called may change, once it is known: functions that call each other may do anything.
type Helpers<'u> = HashMap<Cursor<'u>, Option<Rc<Changes<'u>>>>;

/// Collects what may change in a part of a function.
fn collect<'u>(
    c: Cursor<'u>,
    function: Cursor<'u>,
    changes: &mut Changes<'u>,
    helpers: &mut Helpers<'u>,
) {
    if c.kind() == CXCursor_CallExpr
        && let Some(callee) = c.referenced()
    {
        let name = callee.spelling();
        let to_any_length = !REPLACING.contains(&name.as_str());
        if in_std(callee) && GROWING.contains(&name.as_str()) {
            let target = object(c).or_else(|| c.arguments().first().copied());
            let target = target.and_then(Reached::of);
            // What a member is assigned is mostly of its length; what it is filled with is of the length that it gets.
            let any = to_any_length
                || name == "assign" && target.as_ref().is_some_and(|t| !t.members.is_empty());
            changes.add(target, any);
        }
        let assignment = super::method::plain_assignment(c);
        if let Some([target, _]) = assignment
            && is_object(target.ty())
            && let Some(object) = Reached::of(target)
        {
            changes.add_object(Replaced {
                keeps_sizes: is_used_before(function, &object, c, target),
                ty: target.ty(),
                object,
            });
        }
        if in_std(callee)
            && matches!(
                name.as_str(),
                "back_inserter" | "swap" | "exchange" | "erase" | "erase_if"
            )
        {
            let arguments = c.arguments().into_iter();
            arguments.for_each(|a| changes.add(Reached::of(a), to_any_length));
        }
        // (What the language has made of an assignment has a body, too.)
        if !in_std(callee)
            && assignment.is_none()
            && let Some(definition) = call::helper(callee)
        {
            changed_by_helper(c, definition, changes, helpers);
        }
    }
    if let Some(number) = assigned_number(c) {
        changes.add_number(number);
    }
    for child in c.children() {
        collect(child, function, changes, helpers);
    }
}

/// The same of a call of the file's own function.
fn changed_by_helper<'u>(
    c: Cursor<'u>,
    definition: Cursor<'u>,
    changes: &mut Changes<'u>,
    helpers: &mut Helpers<'u>,
) {
    let inside = match helpers.get(&definition) {
        Some(known) => known.clone(),
        None => {
            helpers.insert(definition, None);
            let mut inside = Changes::default();
            collect(definition, definition, &mut inside, helpers);
            let inside = Some(Rc::new(inside));
            helpers.insert(definition, inside.clone());
            inside
        }
    };
    let (receiver, arguments) = match super::method::is_method(definition) {
        true => super::method::receiver(c, definition),
        false => (None, c.arguments()),
    };
    let parameters = definition.arguments();
    let given = |root: Option<Cursor<'u>>| match root {
        None => receiver.map_or_else(
            || {
                Some(Reached {
                    root: None,
                    members: vec![],
                    at: c,
                })
            },
            Reached::of,
        ),
        Some(d) => {
            let number = parameters.iter().position(|p| *p == d)?;
            Reached::of(*arguments.get(number)?)
        }
    };
    match inside {
        None => arguments
            .iter()
            .for_each(|a| changes.add(Reached::of(*a), true)),
        Some(inside) => {
            for (vector, any) in &inside.vectors {
                let of = given(vector.root);
                changes.add(of.map(|of| of.member(&vector.members, c)), *any);
            }
            for number in &inside.numbers {
                match given(number.root) {
                    Some(of) => changes.add_number(of.member(&number.members, c)),
                    None => {
                        let field = number.members.last().map(|field| (*field, c));
                        changes.of_no_name.extend(field);
                    }
                }
            }
            changes.of_no_name.extend(&inside.of_no_name);
            for replaced in &inside.objects {
                if let Some(of) = given(replaced.object.root) {
                    changes.add_object(Replaced {
                        object: of.member(&replaced.object.members, c),
                        ..replaced.clone()
                    });
                }
            }
        }
    }
}
