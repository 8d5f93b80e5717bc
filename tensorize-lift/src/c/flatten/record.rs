//! Structs: which one an expression stands for, and what its members are bound to.

use super::element::{called, class_of};
use super::global::is_reached;
use super::mixed::has_name;
use super::tables::{RowTable, row_table};
use super::void_member::is_void;
use super::{Node, Owner, Path, array_param, bare, named, struct_type};
use crate::c::codes;
use crate::c::cpp::class::Class;
use crate::c::cpp::method::This;
use crate::c::cpp::optional;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{
    Lower, Result, Target, Variable, operand, operands, peeled, problem, scalar_type, zero_offset,
};
use crate::c::operator::{self, Unary};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{Holder, Shape};

/// A member, or a variable of the file, that is no struct.
pub(in crate::c) struct Part<'a, 'u> {
    /// Its parameters' names begin with this.
    pub name: &'a str,
    /// What messages call it.
    pub called: &'a str,
    pub spelled: Type<'u>,
    /// If it is a number: its value is all that is asked for.
    pub by_value: bool,
    /// What it is in is `const`.
    pub is_const: bool,
}

/// Structs within structs.
const MAX_DEPTH: usize = 4;

impl<'u> Lower<'u, '_> {
    /// The struct that an expression stands for, or points to.
    pub fn record(&mut self, c: Cursor<'u>) -> Result<Path<'u>> {
        self.settle_member(c)?;
        let inner = peeled(c);
        let path = self.record_named(inner)?;
        match struct_type(inner.ty()) {
            Some((declaration, _, _)) => self.seen_as(path, declaration, c),
            None => Ok(path),
        }
    }

    fn record_named(&mut self, inner: Cursor<'u>) -> Result<Path<'u>> {
        let unsupported = |what: &str| problem(codes::RECORD, what, inner);
        match inner.kind() {
            CXCursor_DeclRefExpr => {
                let d = inner.referenced();
                let mut known = d.and_then(|d| self.flat.records.get(&d)).cloned();
                if let Some(d) = d.filter(|d| known.is_none() && d.kind() == CXCursor_VarDecl) {
                    let d = d.canonical();
                    if !self.flat.records.contains_key(&d) && is_reached(d) {
                        self.file_variable(d, inner)?;
                    }
                    known = self.flat.records.get(&d).cloned();
                }
                known.ok_or_else(|| {
                    let message =
                        format!("'{}' is a struct that is not a parameter", inner.spelling());
                    unsupported(&message)
                })
            }
            CXCursor_CXXThisExpr => match self.this(inner)? {
                This::Named(path) => Ok(path),
                This::Element(_) => Err(unsupported("this use of an object is not supported")),
            },
            CXCursor_MemberRefExpr => {
                let field = self.field(inner)?;
                let (root, mut path) = self.path_of(inner)?;
                path.push(field);
                if root.is_parameter() {
                    self.node(&(root, path.clone()), inner)?;
                }
                Ok((root, path))
            }
            CXCursor_UnaryOperator => match operator::unary(inner)? {
                Unary::Deref | Unary::AddressOf => self.record(operand(inner)?),
                _ => Err(unsupported("this use of a struct is not supported")),
            },
            CXCursor_CStyleCastExpr => self.cast_record(inner),
            CXCursor_CXXStaticCastExpr if inner.ty().canonical().kind() == CXType_Pointer => {
                self.cast_record(inner)
            }
            CXCursor_CXXReinterpretCastExpr if is_void(operand(inner)?.ty()) => {
                self.cast_record(inner)
            }
            CXCursor_CallExpr
                if let Some(path) = self.passed_on(inner, |s, given| s.record(given))? =>
            {
                Ok(path)
            }
            CXCursor_CallExpr if let Some(path) = self.returned_record(inner)? => Ok(path),
            CXCursor_CallExpr if optional::is_value(inner) => self.optional_contents(inner),
            CXCursor_ArraySubscriptExpr => {
                let mut p = unsupported(
                    "an array of structs with members that are no numbers, arrays of these or pointers",
                );
                p.help = Some("keep an array for each member that is used".into());
                Err(p)
            }
            _ => Err(unsupported("this use of a struct is not supported")),
        }
    }

    /// The struct of which an expression names a member.
    pub(super) fn path_of(&mut self, member: Cursor<'u>) -> Result<Path<'u>> {
        match self.implied(member)? {
            Some(This::Named(path)) => Ok(path),
            Some(This::Element(_)) => {
                let message = "this use of an object is not supported";
                Err(problem(codes::RECORD, message, member))
            }
            None => self.record(self.base_of(member)?),
        }
    }

    /// The object of a member that is named alone, or with `this->`.
    pub(super) fn implied(&self, member: Cursor<'u>) -> Result<Option<This<'u>>> {
        match operands(member)[..] {
            [] => self.this(member).map(Some),
            [base] if self.is_this(base) => self.this(member).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn base_of(&self, member: Cursor<'u>) -> Result<Cursor<'u>> {
        operand(member).map_err(|_| problem(codes::RECORD, "this member is not supported", member))
    }

    /// The field that a member expression names.
    pub(super) fn field(&self, member: Cursor<'u>) -> Result<Cursor<'u>> {
        let field = member
            .referenced()
            .filter(|f| f.kind() == CXCursor_FieldDecl && !f.spelling().is_empty());
        field.ok_or_else(|| {
            let message = format!("the member '{}' is not supported", member.spelling());
            problem(codes::RECORD, message, member)
        })
    }

    /// A struct's node, which is made if it isn't there.
    pub(super) fn node(
        &mut self,
        (root, path): &Path<'u>,
        at: Cursor<'u>,
    ) -> Result<&mut Node<'u>> {
        let unsupported = |what: &str| problem(codes::RECORD, what, at);
        if path.len() > MAX_DEPTH {
            return Err(unsupported("structs are nested too deeply"));
        }
        let mut types = Vec::new();
        for (depth, &field) in path.iter().enumerate() {
            self.check_access(field, at)?;
            let owner = (*root, path[..depth].to_vec());
            self.guess_member(&owner, field, at)?;
            types.push(self.type_of_member(&owner, field));
        }
        let Owner::Parameter(root) = *root else {
            return Err(unsupported(
                "this member of a local struct is not supported",
            ));
        };
        let mut node = &mut self.flat.roots[root].node;
        for (&field, of) in path.iter().zip(types) {
            let Node::Struct {
                prefix,
                fields,
                declaration,
                is_const,
                pointer: _,
                shared: _,
                ty: _,
            } = node
            else {
                return Err(unsupported("a member of something that is no struct"));
            };
            if !has_field(*declaration, field) {
                return Err(unsupported("a member of a union or of an unnamed struct"));
            }
            if is_second_of_union(*declaration, fields, field) {
                return Err(unsupported("two members of a union are used"));
            }
            let place = match fields.iter().position(|(f, _)| *f == field) {
                Some(place) => place,
                None => {
                    let (inner, t, pointer) = struct_type(of)
                        .ok_or_else(|| unsupported("a struct of this kind is not supported"))?;
                    // What it refers to is no part of what holds it.
                    let elsewhere = pointer || is_reference(field);
                    let made = Node::Struct {
                        pointer,
                        shared: elsewhere,
                        declaration: inner,
                        ty: named(of, t, pointer),
                        prefix: format!("{prefix}_{}", called(field)),
                        is_const: t.canonical().is_const()
                            || !elsewhere && *is_const && !field.is_mutable(),
                        fields: vec![],
                    };
                    fields.push((field, made));
                    fields.len() - 1
                }
            };
            node = &mut fields[place].1;
        }
        Ok(node)
    }

    /// What a member of a struct parameter names: a number, an array, or what a pointer points to. A
    /// pointer's place is an array of unknown length, and is marked by the `bool`.
    pub fn member(&mut self, c: Cursor<'u>) -> Result<Place> {
        if let Some(place) = self.union_member(c)? {
            return Ok(place);
        }
        let field = self.field(c)?;
        match self.implied(c)? {
            Some(This::Named(path)) => return self.member_of(path, field, c),
            Some(This::Element(of)) => return self.element_member(of, field, c),
            None => {}
        }
        let base = self.base_of(c)?;
        if self.is_in_array(base) {
            let of = self.element(base)?;
            return self.element_member(of, field, c);
        }
        let owner = match super::is_object(base.ty()) && self.is_temporary(base) {
            true => self.temporary_object(base)?,
            false => self.record(base)?,
        };
        self.member_of(owner, field, c)
    }

    /// What a member of this struct names.
    pub(super) fn member_of(
        &mut self,
        owner: Path<'u>,
        field: Cursor<'u>,
        c: Cursor<'u>,
    ) -> Result<Place> {
        let (root, mut path) = owner.clone();
        path.push(field);
        if let Some(place) = self.flat.fields.get(&(root, path.clone())) {
            return Ok(place.clone());
        }
        if let Some(seq) = self.flat.vectors.get(&(root, path.clone())) {
            return Ok(seq.place());
        }
        if let Some(offset) = self.flat.offsets.get(&(root, path.clone())) {
            let offset = Expr::Var(offset.clone(), ScalarType::I64);
            let p = self.pointer_at(&Variable::Member((root, path)), offset, c)?;
            return Ok(pointer_place(p));
        }
        let (by_pointer, is_const, prefix) = self.memory_of(&owner, field, c)?;
        self.check_access(field, c)?;
        let name = format!("{prefix}_{}", called(field));
        let spelled = self.type_of_used_member(&owner, field, c)?;
        let t = types::read(spelled);
        let member = (root, path.clone());
        let assigned = self.flat.assigned.contains(&field) || self.is_number_changed(&member, &t);
        if field.is_bit_field() {
            // Its values are fewer than its type's.
            let message = format!("the member '{}' is a bit-field", field.spelling());
            return Err(problem(codes::RECORD, message, c));
        }
        if assigned && matches!(t, Ty::Pointer(_)) {
            let message = format!("the pointer '{}' in a struct is changed", field.spelling());
            return Err(problem(codes::POINTER_USE, message, c));
        }
        // Nobody assigns a member of what is const here; that it is no other object's is checked where it is called.
        let by_value = !assigned || (is_const || !by_pointer) && !self.in_memory.contains(&field);
        let part = Part {
            name: &name,
            called: &format!("the member '{}'", called(field)),
            spelled,
            by_value,
            is_const,
        };
        let (place, mut node) = self.part(&part, c)?;
        if let Node::Leaf(_, params) = &mut node {
            self.const_as_the_member_says(field, params);
        }
        match &place {
            Place::Var(name, _) if by_pointer => {
                self.flat.of_the_caller.insert(name.clone(), codes::RECORD);
            }
            // The caller's has been copied, which nobody sees as long as neither changes.
            Place::Array(p) if !by_pointer && !holds_pointers(&t) => {
                self.must_not_change(field, &p.target);
            }
            _ => {}
        }
        if let Node::Struct { fields, .. } = self.node(&owner, c)? {
            fields.push((field, node));
        }
        self.flat.fields.insert((root, path), place.clone());
        Ok(place)
    }

    /// Refuses a member whose type code at the end of the file can't name where it has to: what is private is
    /// reached by its type, and what a pointer to a struct points to is built.
    pub(super) fn check_access(&self, field: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        let named = is_private(field) || struct_type(field.ty()).is_some_and(|(_, _, p)| p);
        if !named || !is_private(named_in(field.ty())) {
            return Ok(());
        }
        let message = format!(
            "'{}' is of a type that is private, so that no other code can name it",
            field.spelling()
        );
        Err(problem(codes::RECORD, message, at))
    }

    /// What a number, an array or a pointer outside of the kernel's own variables becomes.
    pub(super) fn part(
        &mut self,
        part: &Part<'_, 'u>,
        at: Cursor<'u>,
    ) -> Result<(Place, Node<'u>)> {
        let called = part.called;
        let t = types::read(part.spelled);
        let dims = |lens: Vec<u64>| -> Vec<Expr> {
            let lens = lens.into_iter();
            lens.map(|l| Expr::int(ScalarType::I64, l.into())).collect()
        };
        match &t {
            Ty::Scalar(ty) if part.by_value => {
                let name = self.flat_name(part.name);
                let shape = Shape::Scalar {
                    to: name.to_string(),
                };
                let param = Param::Scalar {
                    name: name.clone(),
                    ty: *ty,
                };
                Ok((Place::Var(name, *ty), Node::Leaf(shape, vec![param])))
            }
            // Planes that lie in the struct are none.
            Ty::Array(_, Some(n))
                if let Some(table) =
                    row_table(&t, part.spelled).filter(|table| !table.of_tables) =>
            {
                let held = Some(*n);
                let table = RowTable { held, ..table };
                let (target, mut dims, (shape, params)) = self.rows(part.name, &table);
                dims.insert(0, Expr::int(ScalarType::I64, (*n).into()));
                let place = Place::Array(start_of(target, dims));
                Ok((place, Node::Leaf(shape, params)))
            }
            Ty::Scalar(_) | Ty::Array(..) | Ty::Class(Class::Array(..)) => {
                let (elem, lens) = self.element_shape(&t, at)?;
                let lens: Option<Vec<u64>> = lens.into_iter().collect();
                let lens = lens.ok_or_else(|| {
                    problem(codes::TYPE, format!("{called} has no fixed length"), at)
                })?;
                let array = self.flat_name(part.name);
                let shape = Shape::Place {
                    to: array.to_string(),
                    len: lens.iter().product(),
                };
                let is_const = part.is_const || types::const_elements(part.spelled.canonical());
                let param = array_param(&array, elem, is_const, false);
                let pointer = start_of(Target { array, elem }, dims(lens));
                let place = if pointer.dims.is_empty() {
                    pointer.deref()
                } else {
                    Place::Array(pointer)
                };
                Ok((place, Node::Leaf(shape, vec![param])))
            }
            Ty::Pointer(to) => {
                if let Some(table) = row_table(&t, part.spelled) {
                    let (target, dims, (shape, params)) = self.rows(part.name, &table);
                    return Ok((pointer_to(target, dims), Node::Leaf(shape, params)));
                }
                if let Ty::Mixed(name, bytes) = &**to
                    && has_name(name)
                {
                    let holder = (Holder::Pointer, None);
                    let is_const = types::const_elements(part.spelled.canonical().pointee());
                    let (start, shape) =
                        self.mixed_array(part.name, name, *bytes, is_const, holder);
                    let place = pointer_to(start.target, start.dims);
                    return Ok((place, Node::Leaf(shape, vec![])));
                }
                let (elem, lens) = to.flatten();
                let elem = scalar_type(elem, at)?;
                let lens: Option<Vec<u64>> = lens.into_iter().collect();
                let lens = lens.ok_or_else(|| {
                    let message = format!("the shape of what {called} points to is not known");
                    problem(codes::TYPE, message, at)
                })?;
                let array = self.flat_name(part.name);
                let shape = Shape::Pointer {
                    to: array.to_string(),
                    given: None,
                };
                let t = part.spelled.canonical();
                let param = array_param(
                    &array,
                    elem,
                    types::const_elements(t.pointee()),
                    t.is_restrict(),
                );
                let place = pointer_to(Target { array, elem }, dims(lens));
                Ok((place, Node::Leaf(shape, vec![param])))
            }
            Ty::Class(class) => self.object_part(part, class, at),
            Ty::Other(code, what) => Err(problem(code, format!("{what} is not supported"), at)),
            _ => Err(problem(
                codes::RECORD,
                format!("{called} is not supported"),
                at,
            )),
        }
    }

    /// Of a struct with this field: whether it lies in memory that others see, whether it is `const`, and
    /// its name.
    pub(super) fn memory_of(
        &mut self,
        path: &Path<'u>,
        field: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<(bool, bool, String)> {
        let mut shared = false;
        for depth in 0..=path.1.len() {
            if let Node::Struct { shared: own, .. } =
                self.node(&(path.0, path.1[..depth].to_vec()), at)?
            {
                shared |= *own;
            }
        }
        match self.node(path, at)? {
            Node::Struct {
                declaration,
                fields,
                ..
            } if is_second_of_union(*declaration, fields, field) => {
                let message = "two members of a union are used";
                Err(problem(codes::RECORD, message, at))
            }
            Node::Struct { fields, .. }
                if fields.iter().any(|(f, n)| {
                    *f == field && matches!(n, Node::Struct { pointer: true, .. })
                }) =>
            {
                let message =
                    "a pointer is used as one to a struct and as one into an array of structs";
                Err(problem(codes::RECORD, message, at))
            }
            Node::Struct {
                is_const,
                prefix,
                declaration,
                ..
            } if has_field(*declaration, field) => {
                let is_const = *is_const && !field.is_mutable();
                Ok((shared, is_const, prefix.clone()))
            }
            _ => {
                let message = "a member of a union or of an unnamed struct is not supported";
                Err(problem(codes::RECORD, message, at))
            }
        }
    }

    /// The value of a member that is a pointer.
    pub fn member_pointer(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        match self.member(c)? {
            // The outermost length stands for the pointer itself.
            Place::Array(p) => Ok(p.decayed()),
            _ => Err(problem(
                codes::POINTER_USE,
                "a number where a pointer is needed",
                c,
            )),
        }
    }
}

/// Whether another member of a union is in use already: what lies in the one says what lies in the other.
fn is_second_of_union<'u>(
    declaration: Cursor<'u>,
    used: &[(Cursor<'u>, Node<'u>)],
    field: Cursor<'u>,
) -> bool {
    declaration.kind() == CXCursor_UnionDecl && used.iter().any(|(f, _)| *f != field)
}

/// Whether a member is a pointer, an array of pointers, or a view: what these lead to is no copy.
fn holds_pointers(t: &Ty) -> bool {
    match t {
        Ty::Pointer(_) | Ty::Class(Class::Span(..)) => true,
        Ty::Array(inner, _) => matches!(**inner, Ty::Pointer(_)),
        _ => false,
    }
}

/// Whether a member is a reference.
pub(super) fn is_reference(field: Cursor<'_>) -> bool {
    field.ty().canonical().kind() == CXType_LValueReference
}

/// The type of a private member.
pub(super) fn hidden(field: Cursor<'_>) -> Option<String> {
    is_private(field).then(|| field.ty().written())
}

/// The class that declares a field of this one, if it is another.
pub(super) fn base_of(declaration: Cursor<'_>, field: Cursor<'_>) -> Option<String> {
    let class = class_of(field).filter(|c| *c != declaration)?;
    Some(bare(class.ty()))
}

/// Whether a field is one of the class, or of the one class that it is made from. Of several there might be two
/// objects of one class in it.
pub(super) fn has_field(declaration: Cursor<'_>, field: Cursor<'_>) -> bool {
    let parent = class_of(field);
    let mut class = declaration;
    for _ in 0..MAX_DEPTH {
        if parent == Some(class) {
            return true;
        }
        let mut bases = super::element::written(class);
        bases.retain(|c| c.kind() == CXCursor_CXXBaseSpecifier);
        let [base] = bases[..] else { return false };
        let base = base.ty().canonical().declaration();
        class = base.definition().unwrap_or(base);
    }
    false
}

/// The declaration of what a type consists of or points to.
pub(super) fn named_in(t: Type<'_>) -> Cursor<'_> {
    let mut t = t.canonical();
    loop {
        t = match t.kind() {
            CXType_Pointer | CXType_LValueReference => t.pointee(),
            CXType_ConstantArray => t.array_element(),
            _ => return t.declaration(),
        };
    }
}

/// Whether a member is private or protected, which the last word before it says.
pub(in crate::c) fn is_private(member: Cursor<'_>) -> bool {
    let class = member.semantic_parent();
    let is_class = |c: &Cursor<'_>| matches!(c.kind(), CXCursor_ClassDecl | CXCursor_StructDecl);
    let Some(class) = class.filter(is_class) else {
        return false;
    };
    let mut private = class.kind() == CXCursor_ClassDecl;
    for c in super::element::written(class) {
        if c == member.canonical() || c.kind() == member.kind() && c.spelling() == member.spelling()
        {
            break;
        }
        if c.kind() == CXCursor_CXXAccessSpecifier {
            private = c.tokens().first().is_none_or(|t| t.1 != "public");
        }
    }
    private
}

/// The place of a pointer in a struct: an array of arrays, of which the outer length means nothing.
pub(super) fn pointer_to(target: Target, dims: Vec<Expr>) -> Place {
    pointer_place(start_of(target, dims))
}

/// Where an array begins.
fn start_of(target: Target, dims: Vec<Expr>) -> Pointer {
    let view = target.elem;
    Pointer {
        target,
        offset: zero_offset(),
        dims,
        view,
    }
}

fn pointer_place(mut p: Pointer) -> Place {
    p.dims.insert(0, Expr::int(ScalarType::I64, 1));
    Place::Array(p)
}
