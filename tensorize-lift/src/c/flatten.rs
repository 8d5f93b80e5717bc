//! Parameters that are more than numbers and pointers: structs, tables of row pointers, pointers that may
//! be null, ends of arrays. Each becomes parameters of its own, made when they are first used; how, is
//! what [`Lower::flat_signature`] says in the end.

mod alias;
mod apart;
mod captured;
mod changing;
mod element;
mod ends;
mod first_value;
mod given_member;
mod global;
mod inherited;
mod local;
mod mixed;
mod noted;
mod numbers;
mod object;
mod one_row;
mod record;
mod replaced;
mod result;
mod shapes;
mod stored;
mod tables;
mod tag;
mod unused;
mod void_member;
mod zeroed;

pub(super) use apart::returns_reference;
pub(super) use apart::taken_apart;
pub(super) use captured::{has_mutable, may_change};
pub(super) use element::{StructArgument, fields, parts, uniform};
pub(super) use first_value::is_zero_at_first;
pub(super) use global::is_reached;
pub(super) use local::{Leaf, is_of_numbers, numbers};
pub(super) use mixed::{has_name, mixed};
pub(super) use object::is_object;
pub(super) use record::{Part, is_private};
pub(super) use unused::is_dropped;

use self::tables::row_table;
use super::codes;
use super::cpp::Described;
use super::cpp::method::This;
use super::ffi::{Cursor, Type};
use super::lower::{Lower, Result, Target, problem, zero_offset};
use super::place::Place;
use super::types::{self, Ty};
use clang_sys::*;
use std::collections::{HashMap, HashSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{self, Shape};

/// What is known of the parameters.
#[derive(Default)]
pub(super) struct Flat<'u> {
    roots: Vec<Root<'u>>,
    /// Structs that a parameter or a variable stands for.
    records: HashMap<Cursor<'u>, Path<'u>>,
    /// What the used fields of structs are bound to.
    fields: HashMap<Path<'u>, Place>,
    /// What members and parameters are taken to point to, apart from what their types say: a type of pointers.
    taken_for: HashMap<Path<'u>, Type<'u>>,
    /// What some code casts a member to that is a pointer, as far as somebody has asked.
    cast: HashMap<Cursor<'u>, Option<Type<'u>>>,
    /// The members of which a use is known that does so whatever other members are.
    taken_anyhow: HashSet<Path<'u>>,
    /// Arrays that these point to.
    const_unless_written: HashSet<Sym>,
    /// Fields that are assigned, whosever they are, or whose address is taken, somewhere in what was seen so far.
    assigned: HashSet<Cursor<'u>>,
    /// The caller's objects that are assigned, and whether they have to keep their sizes.
    replaced: Vec<(Path<'u>, bool)>,
    /// The caller's numbers that are assigned, as far as it is known whose they are.
    changed: HashSet<Path<'u>>,
    /// Variables that are objects, of which members are assigned, and whether pointers are among these.
    own_assigned: HashMap<Cursor<'u>, bool>,
    /// Variables with the values of numbers in the caller's memory: how a change of one is refused.
    of_the_caller: HashMap<Sym, &'static str>,
    /// What lies behind a parameter at such a place, where that is all that is used of it.
    numbers: HashMap<(Cursor<'u>, u64), Place>,
    /// Fields of structs of which there is a copy, which has to stay what it is.
    copied: HashSet<Cursor<'u>>,
    /// Pitches of tables of row pointers.
    pitches: HashSet<Sym>,
    /// The flat arrays of these tables.
    tables: HashSet<Sym>,
    /// Places in such a table are compared that may be in two rows.
    pub compares_rows: bool,
    /// For a pointer to the end of an array: the parameter that points to its start.
    ends: HashMap<Cursor<'u>, Cursor<'u>>,
    /// The arrays of the numbers of the struct that the kernel returns.
    results: Vec<Target>,
    /// The offsets of the pointers that local objects hold.
    offsets: HashMap<Path<'u>, Sym>,
    /// The vectors and spans that local objects hold, once they are made.
    vectors: HashMap<Path<'u>, super::cpp::seq::Seq>,
    /// The numbers of the object that the kernel returns, and the arrays that they go to.
    object_numbers: Vec<(Place, Target)>,
    /// Arrays of structs with members of several types, which LoopIR does not have, by the names that they would have there.
    mixed: HashMap<Sym, mixed::Mixed>,
    /// How many local structs there are.
    locals: usize,
}

/// Whose a struct is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Owner {
    /// The parameter of this number.
    Parameter(usize),
    /// The local variable of this number.
    Local(usize),
}

impl Owner {
    fn is_parameter(self) -> bool {
        matches!(self, Owner::Parameter(_))
    }

    pub fn number(self) -> usize {
        match self {
            Owner::Parameter(n) | Owner::Local(n) => n,
        }
    }
}

/// A struct: whose it is, and the fields on the way to it.
pub(super) type Path<'u> = (Owner, Vec<Cursor<'u>>);

/// A member of a struct.
fn within<'u>(object: &Path<'u>, field: Cursor<'u>) -> Path<'u> {
    (object.0, [&object.1[..], &[field]].concat())
}

/// A parameter of the source, or a variable of its file.
struct Root<'u> {
    name: String,
    ty: String,
    /// Nothing that a prototype can't spell.
    plain: bool,
    /// What it points to is an object of the library, and stands here in its place.
    points: bool,
    /// It is a variable of the file.
    global: Option<Cursor<'u>>,
    node: Node<'u>,
}

/// A part of a parameter.
pub(super) enum Node<'u> {
    Leaf(Shape, Vec<Param>),
    Struct {
        pointer: bool,
        /// Whether it is the caller's own: passed by pointer or by reference.
        shared: bool,
        declaration: Cursor<'u>,
        ty: String,
        /// Names of what is in it begin with this.
        prefix: String,
        /// Whether all of it is `const`.
        is_const: bool,
        fields: Vec<(Cursor<'u>, Node<'u>)>,
    },
}

/// The declaration of a struct type, a `std::pair` or a complex number among them; not of a union.
pub(super) fn struct_declaration(t: Type<'_>) -> Option<Cursor<'_>> {
    let t = t.canonical();
    if t.kind() == CXType_Complex {
        return super::complex::stand_in(t);
    }
    if t.kind() != CXType_Record || t.is_volatile() || t.has_too_many_members() {
        return None;
    }
    let declaration = t.declaration();
    let declaration = declaration.definition().unwrap_or(declaration);
    matches!(declaration.kind(), CXCursor_StructDecl | CXCursor_ClassDecl)
        .then_some(declaration)
        .filter(|d| {
            let own = super::cpp::class::of(t).is_none() && !super::cpp::class::in_std(*d);
            own || super::cpp::class::is_plain(*d)
        })
}

/// Whether a type is a struct that can be flattened, or a reference or a pointer to one.
pub(super) fn is_struct(t: Type<'_>) -> bool {
    struct_type(t).is_some()
}

/// The struct that a type is, or points to; whether it is a pointer; whether it is `const`.
fn struct_type(t: Type<'_>) -> Option<(Cursor<'_>, Type<'_>, bool)> {
    let c = t.canonical();
    let (inner, pointer) = match c.kind() {
        CXType_Pointer => (c.pointee(), true),
        CXType_LValueReference => (c.pointee(), false),
        _ => (t, false),
    };
    Some((struct_declaration(inner)?, inner, pointer))
}

/// A union behind a pointer to `const`: one of its members is read as if it were all there is.
fn const_union(t: Type<'_>) -> Option<(Cursor<'_>, Type<'_>, bool)> {
    let inner = t.canonical().pointee();
    let declaration = inner.canonical().declaration();
    let declaration = declaration.definition().unwrap_or(declaration);
    let is_one = t.canonical().kind() == CXType_Pointer
        && declaration.kind() == CXCursor_UnionDecl
        && inner.canonical().is_const()
        && !inner.canonical().is_volatile();
    is_one.then_some((declaration, inner, true))
}

/// The type's name without qualifiers.
fn bare(t: Type<'_>) -> String {
    let words = t.written();
    let words = words
        .trim_start_matches("const ")
        .trim_start_matches("volatile ");
    words.to_string()
}

/// How code at the end of the file names the struct `inner` that something of type `t` is or, if it is a pointer, points to. One
/// without a name may still be what a name for pointers points to.
fn named(t: Type<'_>, inner: Type<'_>, is_pointer: bool) -> String {
    let name = bare(inner);
    if !is_pointer {
        return name;
    }
    let pointer = t.spelling();
    let pointer = pointer.trim_start_matches("const ");
    let is_name = pointer
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_:".contains(&b));
    match name.contains('(') && is_name && !inner.canonical().is_const() {
        true => format!("__typeof__(*({pointer})0)"),
        false => name,
    }
}

impl<'u> Lower<'u, '_> {
    /// Notes a parameter that needs nothing special.
    pub fn plain_parameter(&mut self, p: Cursor<'u>, name: &str, param: Param) {
        let to = param.name().to_string();
        let shape = match param {
            Param::Scalar { .. } => Shape::Scalar { to },
            Param::Array { .. } => Shape::Pointer { to, given: None },
        };
        self.add_parameter(p, name, Node::Leaf(shape, vec![param]));
    }

    /// Notes a parameter.
    pub fn add_parameter(&mut self, p: Cursor<'u>, name: &str, node: Node<'u>) {
        let made = match &node {
            Node::Leaf(_, params) => params.iter().find_map(|p| match p {
                Param::Array { elem, .. } => Some(*elem),
                _ => None,
            }),
            Node::Struct { .. } => None,
        };
        let plain = match types::of(p) {
            Ty::Pointer(t) if *t == Ty::Void || !t.flatten().1.is_empty() => false,
            // Bytes that are used as something else.
            Ty::Pointer(t) => made.is_none() || t.as_scalar() == made,
            _ => true,
        };
        self.flat.roots.push(Root {
            name: name.into(),
            ty: if self.source.cpp {
                // What a typedef or a template's parameter stands for.
                p.ty().written()
            } else {
                super::source::parameter_spelling(p)
            },
            plain,
            points: false,
            global: None,
            node,
        });
    }

    /// A parameter of a kind that is flattened; `false` if it is none.
    pub fn special_parameter(&mut self, p: Cursor<'u>, name: &str) -> Result<bool> {
        if let Some(&begin) = self.flat.ends.get(&p) {
            return self.end_parameter(p, name, begin).map(|()| true);
        }
        let code = self.frames[0].function;
        let behind = self.struct_behind_void(p);
        if behind.is_none() && self.mixed_parameter(p, name)? {
            return Ok(true);
        }
        if element::walks(self, code, p) {
            return Ok(false);
        }
        if self.unused_parameter(p, name) {
            return Ok(true);
        }
        // A pointer to what nobody here knows can be passed on, and that is all.
        let complete = |(_, t, _): &(_, Type<'_>, _)| t.canonical().size().is_some();
        let behind = behind.or_else(|| self.extended_parameter(p));
        let given = behind.unwrap_or_else(|| p.ty());
        let held = struct_type(given).or_else(|| const_union(given));
        if let Some((declaration, t, pointer)) = held.filter(complete) {
            let by_value = !pointer && p.ty().canonical().kind() == CXType_Record;
            let is_copy = by_value && self.source.cpp && !element::is_copied_plainly(t);
            if is_copy && !(is_object(t) && element::is_copied_by_members(t)) {
                let mut refused = problem(
                    codes::RECORD,
                    format!(
                        "'{name}' is passed by value, and more than numbers and vectors is copied"
                    ),
                    p,
                );
                refused.help = Some("pass it by const reference".into());
                return Err(refused);
            }
            let root = self.flat.roots.len();
            let node = Node::Struct {
                pointer,
                shared: pointer || p.ty().canonical().kind() == CXType_LValueReference,
                declaration,
                ty: named(given, t, pointer),
                prefix: name.into(),
                is_const: is_copy || t.canonical().is_const(),
                fields: vec![],
            };
            self.add_parameter(p, name, node);
            let path = (Owner::Parameter(root), vec![]);
            match is_copy {
                // What the function does to its copy, nobody else sees.
                true => self.record_parameter(p, path)?,
                false => self.name_record(p, path),
            }
            return Ok(true);
        }
        if let Some(table) = row_table(&types::of(p), p.ty()) {
            if self.numbered_entries(p, name, &table) {
                return Ok(true);
            }
            let (target, dims, (shape, params)) = self.rows(name, &table);
            self.add_parameter(p, name, Node::Leaf(shape, params));
            self.bind_pointer(p, Some((target, dims, zero_offset())))?;
            return Ok(true);
        }
        if self.numbers_behind(p, name) {
            return Ok(true);
        }
        Ok(false)
    }

    /// Notes that the last parameter is a pointer to what has been noted.
    pub fn points_to_object(&mut self) {
        if let Some(root) = self.flat.roots.last_mut() {
            root.points = true;
        }
    }

    /// The object that a member function is called on, as a parameter.
    pub fn this_parameter(&mut self, f: Cursor<'u>) -> Result<()> {
        let class = f.semantic_parent().map(|c| c.definition().unwrap_or(c));
        let class = class.filter(|c| struct_declaration(c.ty()).is_some());
        let declaration = class.ok_or_else(|| {
            problem(
                codes::RECORD,
                "a member function of this class is not supported",
                f,
            )
        })?;
        let (is_const, ty) = (f.is_const_method(), bare(declaration.ty()));
        let root = self.flat.roots.len();
        self.flat.roots.push(Root {
            name: signature::THIS.into(),
            ty: format!("{}{ty} *", if is_const { "const " } else { "" }),
            plain: false,
            points: false,
            global: None,
            node: Node::Struct {
                pointer: true,
                shared: true,
                declaration,
                ty,
                prefix: signature::THIS.into(),
                is_const,
                fields: vec![],
            },
        });
        if let Some(frame) = self.frames.last_mut() {
            frame.this = Some(This::Named((Owner::Parameter(root), vec![])));
        }
        Ok(())
    }

    /// A name of a parameter, which has to be one in C.
    pub fn flat_name(&mut self, name: &str) -> Sym {
        let mut wanted = name.to_string();
        let mut n = 1;
        while self.is_used(&wanted) {
            n += 1;
            wanted = format!("{name}_{n}");
        }
        self.fresh(wanted)
    }

    /// `p != NULL`
    pub fn given(&mut self, c: Cursor<'u>) -> Result<Expr> {
        // Calls with a null pointer to a struct have no flat form: they are the original's.
        let is_struct = is_struct(c.ty().canonical()) || self.is_void_record(c)?;
        if is_struct && !self.is_in_array(c) && self.record(c).is_ok() {
            return Ok(Expr::int(ScalarType::I1, 1));
        }
        if self.source.cpp && self.one_object(c)?.is_some() {
            return Ok(Expr::int(ScalarType::I1, 1));
        }
        let p = self.pointer(c)?;
        let is_table = p.dims.iter().any(|d| self.is_pitch(d));
        self.given_array(&p.target.array, is_table, c)
    }

    /// Whether a pointer into that array is not null.
    pub fn given_array(&mut self, array: &Sym, is_table: bool, c: Cursor<'u>) -> Result<Expr> {
        if let Some(given) = self.picked_given(array, c)? {
            return Ok(given);
        }
        if let Some(got) = self.allocations.get(array) {
            return Ok(got.clone());
        }
        if self.arrays.iter().any(|a| a.name == *array) {
            return Ok(Expr::int(ScalarType::I1, 1));
        }
        let name = self.flat_name_of_given(array, is_table).ok_or_else(|| {
            let message = "this pointer is tested for being null, which a proof cannot follow";
            problem(codes::POINTER_USE, message, c)
        })?;
        Ok(Expr::Var(name, ScalarType::I1))
    }

    fn flat_name_of_given(&mut self, array: &Sym, is_table: bool) -> Option<Sym> {
        fn find<'a>(
            node: &'a mut Node<'_>,
            array: &str,
        ) -> Option<(&'a mut Shape, &'a mut Vec<Param>)> {
            match node {
                Node::Leaf(shape, params) => params
                    .first()
                    .is_some_and(|p| **p.name() == *array)
                    .then_some((shape, params)),
                Node::Struct { fields, .. } => fields.iter_mut().find_map(|(_, n)| find(n, array)),
            }
        }
        let mut roots = std::mem::take(&mut self.flat.roots);
        let found = roots.iter_mut().find_map(|r| find(&mut r.node, array));
        let name = found.and_then(|(shape, params)| {
            let given = match shape {
                Shape::Pointer { given, .. } => given,
                Shape::Rows { given, .. } if is_table => given,
                _ => return None,
            };
            if let Some(known) = given {
                return Some(known.as_str().into());
            }
            let name = self.flat_name(&format!("{array}_given"));
            *given = Some(name.to_string());
            params.push(Param::Scalar {
                name: name.clone(),
                ty: ScalarType::I1,
            });
            Some(name)
        });
        self.flat.roots = roots;
        name
    }

    /// Whether a length is the distance between rows that lie anywhere.
    pub fn is_pitch(&self, e: &Expr) -> bool {
        matches!(e, Expr::Var(name, _) if self.flat.pitches.contains(name))
    }

    /// LoopIR's parameters, and how the source's become them, if there is more to it than that.
    pub fn flat_signature(
        &mut self,
        result: Option<(Vec<Param>, Shape)>,
    ) -> Result<(Vec<Param>, Option<Described>)> {
        self.check_globals()?;
        let mut params = Vec::new();
        let mut described = Described {
            shared: self.statics.keys().map(|d| d.spelling()).min(),
            reaches_into_growing: self.cpp.reaches_into_growing,
            compares_rows: self.flat.compares_rows,
            ..Described::default()
        };
        let mut plain = result.is_none() && described.shared.is_none();
        for root in std::mem::take(&mut self.flat.roots) {
            let mut shape = self.shape_of(root.node, &mut params);
            if root.points {
                shape = Shape::Behind {
                    object: Box::new(shape),
                };
            }
            plain &= root.plain
                && root.global.is_none()
                && matches!(
                    shape,
                    Shape::Scalar { .. } | Shape::Pointer { given: None, .. }
                );
            let name = root.name;
            match root.global {
                Some(d) => described.globals.push(signature::Global {
                    name,
                    shape,
                    // `int n;` may be all there is, and is no definition to libclang.
                    elsewhere: d.definition().is_none() && d.storage() == CX_SC_Extern,
                }),
                None => described.params.push(signature::Param {
                    name,
                    ty: root.ty,
                    shape,
                }),
            }
        }
        if let Some((more, shape)) = result {
            params.extend(more);
            described.result = Some(shape);
        }
        Ok((params, (!plain || self.source.cpp).then_some(described)))
    }

    /// A part's shape; its parameters are added to `params` in the struct's order.
    fn shape_of(&self, node: Node<'_>, params: &mut Vec<Param>) -> Shape {
        match node {
            Node::Leaf(shape @ Shape::Records { .. }, own) => {
                self.shape_of_mixed(shape, own, params)
            }
            Node::Leaf(shape, mut own) => {
                self.const_where_not_written(&mut own);
                params.extend(own);
                shape
            }
            Node::Struct {
                pointer,
                declaration,
                ty,
                mut fields,
                ..
            } => {
                let order = element::members(declaration);
                fields.sort_by_key(|(f, _)| order.iter().position(|o| o == f));
                let fields = fields
                    .into_iter()
                    .map(|(f, n)| signature::Field {
                        name: name_of(f),
                        base: record::base_of(declaration, f),
                        hidden: record::hidden(f),
                        reference: record::is_reference(f)
                            .then(|| f.offset_in_struct())
                            .flatten(),
                        shape: self.shape_of(n, params),
                    })
                    .collect();
                Shape::Struct {
                    pointer,
                    ty,
                    fields,
                }
            }
        }
    }
}

/// How code at the end of the file names a member: a part of a complex number by a function of its own.
fn name_of(member: Cursor<'_>) -> String {
    super::complex::name_of(member).unwrap_or_else(|| member.spelling())
}

fn array_param(name: &Sym, elem: ScalarType, is_const: bool, restrict: bool) -> Param {
    Param::Array {
        name: name.clone(),
        elem,
        is_const,
        restrict,
    }
}
