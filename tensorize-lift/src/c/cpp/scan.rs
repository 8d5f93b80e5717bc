//! Looks ahead: which local vectors are returned or become rows, and which vectors change their length.

use super::super::call;
use super::super::ffi::{Cursor, Type};
use super::super::flatten::is_object;
use super::super::lower::{Lower, Result, operands, peeled, span};
use super::super::operator::{self, Binary, Unary};
use super::super::types::{self, Ty};
use super::Role;
use super::class::{Class, in_std};
use super::pointed::pointee;
use clang_sys::*;
use std::collections::{HashMap, HashSet};
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

/// The variable that an expression names, through casts, copies and `std::move`.
pub(super) fn named<'u>(e: Cursor<'u>) -> Option<Cursor<'u>> {
    let e = peeled(e);
    match e.kind() {
        CXCursor_DeclRefExpr => e.referenced(),
        CXCursor_CallExpr => {
            let callee = e.referenced()?;
            let copies = callee.kind() == CXCursor_Constructor
                && (e.arguments().first()).is_some_and(|a| {
                    is_vector(&types::of(e)) && is_vector(&types::of(*a))
                        || is_object(e.ty()) && is_object(a.ty())
                });
            let moves = in_std(callee) && matches!(callee.spelling().as_str(), "move" | "forward");
            (copies || moves)
                .then(|| named(*e.arguments().first()?))
                .flatten()
        }
        CXCursor_CXXStaticCastExpr | CXCursor_CXXFunctionalCastExpr => match operands(e)[..] {
            [inner] => named(inner),
            _ => None,
        },
        _ => None,
    }
}

/// The variable that an expression names a part of, or all.
pub(super) fn root<'u>(e: Cursor<'u>) -> Option<Cursor<'u>> {
    let e = peeled(e);
    match e.kind() {
        CXCursor_DeclRefExpr => e.referenced(),
        // What a pointer points to is looked for by its name.
        CXCursor_MemberRefExpr | CXCursor_ArraySubscriptExpr | CXCursor_UnaryOperator => {
            root(*operands(e).first()?)
        }
        CXCursor_CallExpr => {
            // `rows[i]`
            let callee = e.referenced()?;
            let subscripts = callee.spelling() == "operator[]";
            root(*operands(e).first().filter(|_| subscripts)?)
        }
        _ => None,
    }
}

fn is_vector(t: &Ty) -> bool {
    matches!(t, Ty::Class(Class::Vector(_) | Class::Array(..)))
}

/// The object that a member function is called on.
pub(super) fn object<'u>(call: Cursor<'u>) -> Option<Cursor<'u>> {
    let member = *call.children().first()?;
    // `x.values[i]` has a member, too, which is no function.
    let names_it = member
        .referenced()
        .is_some_and(|m| m.kind() != CXCursor_FieldDecl);
    if member.kind() != CXCursor_MemberRefExpr || !names_it {
        return None;
    }
    operands(member).first().copied()
}

impl<'u> Lower<'u, '_> {
    /// Looks through a function that is about to be lowered.
    pub fn scan_objects(&mut self, f: Cursor<'u>) -> Result<()> {
        let Some(body) = super::super::source::body(f) else {
            return Ok(());
        };
        self.check_moves(f)?;
        self.returned(body);
        self.row_roles(body);
        let mut grown = Grown::default();
        growing(f, f, &mut grown, &mut Helpers::new());
        for (variable, to_any_length) in grown.variables() {
            self.cpp.grown.insert(variable);
            if to_any_length {
                self.cpp.to_any_length.insert(variable);
            }
        }
        let members = grown.vectors.into_iter().filter(|(_, any)| *any);
        let members = members.map(|(v, _)| v).filter(|v| !v.members.is_empty());
        self.cpp.grown_members = members.collect();
        self.cpp.replaced = grown.objects;
        self.cpp.changed_numbers = grown.numbers;
        self.cpp.changed_anywhere = grown.anybodys;
        Ok(())
    }

    /// The one variable that all `return`s return, if it is a vector or an object that holds arrays.
    fn returned(&mut self, body: Cursor<'u>) {
        let mut found: HashSet<Cursor<'u>> = HashSet::new();
        let mut pending = vec![body];
        while let Some(c) = pending.pop() {
            if c.kind() == CXCursor_LambdaExpr {
                continue;
            }
            if c.kind() == CXCursor_ReturnStmt
                && let Some(&e) = operands(c).first()
                && let Some(d) = named(e)
                && matches!(d.kind(), CXCursor_VarDecl | CXCursor_ParmDecl)
                && (is_vector(&types::of(d)) || d.kind() == CXCursor_VarDecl && is_object(d.ty()))
            {
                found.insert(d);
            }
            pending.extend(c.children());
        }
        if found.len() == 1 {
            let roles = found.into_iter().map(|d| (d, Role::Result));
            self.cpp.roles.extend(roles);
        }
    }

    /// Vectors that are pushed onto a vector of vectors, in the block that declares them and at the end of
    /// their life: they can be built in place.
    fn row_roles(&mut self, c: Cursor<'u>) {
        if c.kind() == CXCursor_CompoundStmt {
            let stmts = operands(c);
            for (i, s) in stmts.iter().enumerate() {
                let Some((outer, row)) = pushed(*s) else {
                    continue;
                };
                let declared = stmts[..i]
                    .iter()
                    .any(|d| d.kind() == CXCursor_DeclStmt && d.children().contains(&row));
                let used_again = stmts[i + 1..].iter().any(|s| s.mentions(row));
                let used_before = stmts[..i].iter().any(|s| pushes(*s, outer));
                if declared && !used_again && !used_before {
                    self.cpp.roles.insert(row, Role::RowOf(outer));
                }
            }
        }
        for child in c.children() {
            self.row_roles(child);
        }
    }
}

/// `outer.push_back(row)`, as a statement: both variables.
fn pushed<'u>(s: Cursor<'u>) -> Option<(Cursor<'u>, Cursor<'u>)> {
    let s = peeled(s);
    if s.kind() != CXCursor_CallExpr
        || !matches!(s.spelling().as_str(), "push_back" | "emplace_back")
    {
        return None;
    }
    let outer = named(object(s)?)?;
    let [row] = s.arguments()[..] else {
        return None;
    };
    let row = named(row)?;
    (row.kind() == CXCursor_VarDecl && matches!(types::of(row), Ty::Class(Class::Vector(_))))
        .then_some((outer, row))
}

/// Whether anything changes the length of a vector.
fn pushes<'u>(c: Cursor<'u>, d: Cursor<'u>) -> bool {
    let mut grown = Grown::default();
    growing(c, c, &mut grown, &mut Helpers::new());
    grown.variables().any(|(v, _)| v == d)
}

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
struct Grown<'u> {
    /// The vectors whose length may change, and whether they may get any.
    vectors: Vec<(Reached<'u>, bool)>,
    /// The objects that are assigned.
    objects: Vec<Replaced<'u>>,
    /// The members that are numbers and are assigned.
    numbers: Vec<Reached<'u>>,
    /// Those of which nobody can tell whose they are, and where something says so.
    anybodys: Vec<(Cursor<'u>, Cursor<'u>)>,
}

/// An object that is assigned.
#[derive(Clone)]
pub(in super::super) struct Replaced<'u> {
    pub object: Reached<'u>,
    pub ty: Type<'u>,
    /// Whether anything looks at it before: then it has to keep its sizes, which are known by their values at the call.
    pub keeps_sizes: bool,
}

impl<'u> Grown<'u> {
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

    fn variables(&self) -> impl Iterator<Item = (Cursor<'u>, bool)> {
        let plain = self.vectors.iter().filter(|(v, _)| v.members.is_empty());
        plain.filter_map(|(v, any)| Some((v.root?, *any)))
    }
}

/// The number that an expression assigns, if it is a member of what a reference or a pointer leads to, or of the object that a
/// member function is called on.
pub(in super::super) fn assigned_number<'u>(c: Cursor<'u>) -> Option<Reached<'u>> {
    let assigns = match c.kind() {
        CXCursor_BinaryOperator => matches!(operator::binary(c), Ok(Binary::Assign)),
        CXCursor_CompoundAssignOperator => true,
        CXCursor_UnaryOperator => matches!(operator::unary(c), Ok(Unary::Step { .. })),
        _ => false,
    };
    let target = peeled(*operands(c).first().filter(|_| assigns)?);
    let field = target
        .referenced()
        .filter(|_| target.kind() == CXCursor_MemberRefExpr)?;
    let is_number = matches!(types::read(field.ty()), Ty::Scalar(_)) && !field.is_bit_field();
    let number = Reached::of(target).filter(|_| is_number)?;
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

/// What each function that is called may make longer, once it is known: functions that call each other may do anything.
type Helpers<'u> = HashMap<Cursor<'u>, Option<Rc<Grown<'u>>>>;

/// Collects what may change in a part of a function.
fn growing<'u>(
    c: Cursor<'u>,
    function: Cursor<'u>,
    grown: &mut Grown<'u>,
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
            grown.add(target, any);
        }
        let assignment = super::method::plain_assignment(c);
        if let Some([target, _]) = assignment
            && is_object(target.ty())
            && let Some(object) = Reached::of(target)
        {
            grown.add_object(Replaced {
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
            arguments.for_each(|a| grown.add(Reached::of(a), to_any_length));
        }
        // (What the language has made of an assignment has a body, too.)
        if !in_std(callee)
            && assignment.is_none()
            && let Some(definition) = call::helper(callee)
        {
            grown_by_helper(c, definition, grown, helpers);
        }
    }
    if let Some(number) = assigned_number(c) {
        grown.add_number(number);
    }
    for child in c.children() {
        growing(child, function, grown, helpers);
    }
}

/// The same of a call of the file's own function.
fn grown_by_helper<'u>(
    c: Cursor<'u>,
    definition: Cursor<'u>,
    grown: &mut Grown<'u>,
    helpers: &mut Helpers<'u>,
) {
    let inside = match helpers.get(&definition) {
        Some(known) => known.clone(),
        None => {
            helpers.insert(definition, None);
            let mut inside = Grown::default();
            growing(definition, definition, &mut inside, helpers);
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
            .for_each(|a| grown.add(Reached::of(*a), true)),
        Some(inside) => {
            for (vector, any) in &inside.vectors {
                let of = given(vector.root);
                grown.add(of.map(|of| of.member(&vector.members, c)), *any);
            }
            for number in &inside.numbers {
                match given(number.root) {
                    Some(of) => grown.add_number(of.member(&number.members, c)),
                    None => {
                        let field = number.members.last().map(|field| (*field, c));
                        grown.anybodys.extend(field);
                    }
                }
            }
            grown.anybodys.extend(&inside.anybodys);
            for replaced in &inside.objects {
                if let Some(of) = given(replaced.object.root) {
                    grown.add_object(Replaced {
                        object: of.member(&replaced.object.members, c),
                        ..replaced.clone()
                    });
                }
            }
        }
    }
}
