//! Parameters that are more than numbers and pointers: structs, tables of row pointers, pointers that may
//! be null, ends of arrays. Each becomes parameters of its own, made when they are first used; how, is
//! what [`Lower::flat_signature`] says in the end.

use super::codes;
use super::ffi::{Cursor, Type};
use super::lower::{
    Lower, Result, Target, const_elements, operand, peeled, problem, scalar_type, zero_offset,
};
use super::place::{Place, Pointer};
use super::types::{self, Ty};
use clang_sys::*;
use std::collections::{HashMap, HashSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{self, Shape};

/// Structs within structs.
const MAX_DEPTH: usize = 4;

/// What is known of the parameters.
#[derive(Default)]
pub(super) struct Flat<'u> {
    roots: Vec<Root<'u>>,
    /// Structs that a parameter or a variable stands for.
    records: HashMap<Cursor<'u>, Path<'u>>,
    /// What the used fields of structs are bound to.
    fields: HashMap<Path<'u>, Place>,
    /// Fields that are assigned, or whose address is taken, somewhere in what was seen so far.
    assigned: HashSet<Cursor<'u>>,
    /// Fields of structs of which there is a copy, which has to stay what it is.
    copied: HashSet<Cursor<'u>>,
    /// Pitches of tables of row pointers.
    pitches: HashSet<Sym>,
    /// For a pointer to the end of an array: the parameter that points to its start.
    ends: HashMap<Cursor<'u>, Cursor<'u>>,
}

/// A struct: the parameter's number, and the fields on the way to it.
pub(super) type Path<'u> = (usize, Vec<Cursor<'u>>);

/// A parameter of the source.
struct Root<'u> {
    name: String,
    ty: String,
    /// Nothing that a prototype can't spell.
    plain: bool,
    node: Node<'u>,
}

/// A part of a parameter.
pub(super) enum Node<'u> {
    Leaf(Shape, Vec<Param>),
    Struct {
        pointer: bool,
        declaration: Cursor<'u>,
        ty: String,
        /// Names of what is in it begin with this.
        prefix: String,
        /// Whether all of it is `const`.
        is_const: bool,
        fields: Vec<(Cursor<'u>, Node<'u>)>,
    },
}

/// The declaration of a struct type, not of a union or a class with anything hidden.
fn struct_declaration(t: Type<'_>) -> Option<Cursor<'_>> {
    let t = t.canonical();
    if t.kind() != CXType_Record || t.is_volatile() {
        return None;
    }
    let declaration = t.declaration();
    let declaration = declaration.definition().unwrap_or(declaration);
    (declaration.kind() == CXCursor_StructDecl).then_some(declaration)
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

/// The type's name without qualifiers.
fn bare(t: Type<'_>) -> String {
    let words = t.canonical().spelling();
    let words = words
        .trim_start_matches("const ")
        .trim_start_matches("volatile ");
    words.to_string()
}

/// Whether a pointer is one to pointers to numbers; the numbers, and whether these are `const`.
fn row_table(t: &Ty, spelled: Type<'_>) -> Option<(ScalarType, bool)> {
    let Ty::Pointer(row) = t else { return None };
    let Ty::Pointer(elem) = &**row else {
        return None;
    };
    let elem = elem.as_scalar()?;
    let c = spelled.canonical();
    // `float *m[]` is an array of pointers until it decays.
    let row = if c.kind() == CXType_Pointer {
        c.pointee()
    } else {
        c.array_element()
    };
    Some((elem, const_elements(row.pointee())))
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
        self.flat.roots.push(Root {
            name: name.into(),
            ty: if self.source.cpp {
                // What a typedef or a template's parameter stands for.
                p.ty().canonical().spelling()
            } else {
                super::source::parameter_spelling(p)
            },
            plain: !matches!(types::of(p), Ty::Pointer(t) if matches!(*t, Ty::Array(..))),
            node,
        });
    }

    /// A parameter of a kind that is flattened; `false` if it is none.
    pub fn special_parameter(&mut self, p: Cursor<'u>, name: &str) -> Result<bool> {
        if let Some(&begin) = self.flat.ends.get(&p) {
            return self.end_parameter(p, name, begin).map(|()| true);
        }
        if let Some((declaration, t, pointer)) = struct_type(p.ty()) {
            let root = self.flat.roots.len();
            let node = Node::Struct {
                pointer,
                declaration,
                ty: bare(t),
                prefix: name.into(),
                is_const: t.canonical().is_const(),
                fields: vec![],
            };
            self.add_parameter(p, name, node);
            self.flat.records.insert(p, (root, vec![]));
            return Ok(true);
        }
        if let Some((elem, is_const)) = row_table(&types::of(p), p.ty()) {
            let (target, dims, node) = self.rows(name, elem, is_const);
            self.add_parameter(p, name, node);
            self.bind_pointer(p, Some((target, dims, zero_offset())))?;
            return Ok(true);
        }
        let has_no_type = match types::of(p) {
            Ty::Pointer(t) => !matches!(t.flatten().0, Ty::Scalar(_)),
            t => t.as_scalar().is_none(),
        };
        let volatile = matches!(types::of(p), Ty::Other(codes::VOLATILE, _));
        if has_no_type && !volatile && !self.is_mentioned(p) {
            self.add_parameter(p, name, Node::Leaf(Shape::Unused, vec![]));
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether the kernel's text names a variable.
    fn is_mentioned(&self, d: Cursor<'u>) -> bool {
        fn find<'u>(c: Cursor<'u>, d: Cursor<'u>) -> bool {
            c.kind() == CXCursor_DeclRefExpr && c.referenced() == Some(d)
                || c.children().into_iter().any(|c| find(c, d))
        }
        let function = self.frames[0].function;
        super::source::body(function).is_none_or(|body| find(body, d))
    }

    /// A name of a parameter, which has to be one in C.
    fn flat_name(&mut self, name: &str) -> Sym {
        let mut wanted = name.to_string();
        let mut n = 1;
        while self.is_used(&wanted) {
            n += 1;
            wanted = format!("{name}_{n}");
        }
        self.fresh(wanted)
    }

    fn rows(
        &mut self,
        name: &str,
        elem: ScalarType,
        is_const: bool,
    ) -> (Target, Vec<Expr>, Node<'u>) {
        let array = self.flat_name(name);
        let pitch = self.flat_name(&format!("{array}_pitch"));
        self.flat.pitches.insert(pitch.clone());
        let shape = Shape::Rows {
            to: array.to_string(),
            pitch: pitch.to_string(),
            given: None,
        };
        let params = vec![
            array_param(&array, elem, is_const, false),
            Param::Scalar {
                name: pitch.clone(),
                ty: ScalarType::I64,
            },
        ];
        let dims = vec![Expr::Var(pitch, ScalarType::I64)];
        (Target { array, elem }, dims, Node::Leaf(shape, params))
    }

    /// `end`, which is `begin` and a number of elements.
    fn end_parameter(&mut self, p: Cursor<'u>, name: &str, begin: Cursor<'u>) -> Result<()> {
        let Some(super::lower::Base::One(target, dims)) = self.pointers.get(&begin).cloned() else {
            let message = format!("'{name}' is compared with a pointer that is not an array");
            return Err(problem(codes::POINTER_BASE, message, p));
        };
        let count = self.flat_name(&format!("{}_count", target.array));
        let shape = Shape::End {
            of: target.array.to_string(),
            count: count.to_string(),
        };
        let param = Param::Scalar {
            name: count.clone(),
            ty: ScalarType::I64,
        };
        self.add_parameter(p, name, Node::Leaf(shape, vec![param]));
        self.bind_pointer(p, Some((target, dims, Expr::Var(count, ScalarType::I64))))
    }

    /// The struct that an expression stands for, or points to.
    fn record(&mut self, c: Cursor<'u>) -> Result<Path<'u>> {
        let unsupported = |what: &str| problem(codes::RECORD, what, c);
        let inner = peeled(c);
        match inner.kind() {
            CXCursor_DeclRefExpr => {
                let d = inner.referenced();
                let known = d.and_then(|d| self.flat.records.get(&d)).cloned();
                known.ok_or_else(|| {
                    let message =
                        format!("'{}' is a struct that is not a parameter", inner.spelling());
                    unsupported(&message)
                })
            }
            CXCursor_MemberRefExpr => {
                let field = self.field(inner)?;
                let (root, mut path) = self.record(self.base_of(inner)?)?;
                path.push(field);
                self.node(&(root, path.clone()), inner)?;
                Ok((root, path))
            }
            CXCursor_UnaryOperator => match super::operator::unary(inner)? {
                super::operator::Unary::Deref | super::operator::Unary::AddressOf => {
                    self.record(operand(inner)?)
                }
                _ => Err(unsupported("this use of a struct is not supported")),
            },
            CXCursor_CStyleCastExpr => self.record(operand(inner)?),
            CXCursor_ArraySubscriptExpr => Err(unsupported("an array of structs is used")),
            _ => Err(unsupported("this use of a struct is not supported")),
        }
    }

    fn base_of(&self, member: Cursor<'u>) -> Result<Cursor<'u>> {
        operand(member).map_err(|_| problem(codes::RECORD, "this member is not supported", member))
    }

    /// The field that a member expression names.
    fn field(&self, member: Cursor<'u>) -> Result<Cursor<'u>> {
        let field = member
            .referenced()
            .filter(|f| f.kind() == CXCursor_FieldDecl && !f.spelling().is_empty());
        field.ok_or_else(|| {
            let message = format!("the member '{}' is not supported", member.spelling());
            problem(codes::RECORD, message, member)
        })
    }

    /// A struct's node, which is made if it isn't there.
    fn node(&mut self, (root, path): &Path<'u>, at: Cursor<'u>) -> Result<&mut Node<'u>> {
        let unsupported = |what: &str| problem(codes::RECORD, what, at);
        if path.len() > MAX_DEPTH {
            return Err(unsupported("structs are nested too deeply"));
        }
        let mut node = &mut self.flat.roots[*root].node;
        for &field in path {
            let Node::Struct {
                prefix,
                fields,
                declaration,
                is_const,
                pointer: _,
                ty: _,
            } = node
            else {
                return Err(unsupported("a member of something that is no struct"));
            };
            if !declaration.children().contains(&field) {
                return Err(unsupported("a member of a union or of an unnamed struct"));
            }
            let place = match fields.iter().position(|(f, _)| *f == field) {
                Some(place) => place,
                None => {
                    let (inner, t, pointer) = struct_type(field.ty())
                        .ok_or_else(|| unsupported("a struct of this kind is not supported"))?;
                    let made = Node::Struct {
                        pointer,
                        declaration: inner,
                        ty: bare(t),
                        prefix: format!("{prefix}_{}", field.spelling()),
                        is_const: t.canonical().is_const() || !pointer && *is_const,
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
        let (root, mut path) = self.record(self.base_of(c)?)?;
        let owner = (root, path.clone());
        path.push(field);
        if let Some(place) = self.flat.fields.get(&(root, path.clone())) {
            return Ok(place.clone());
        }
        let (by_pointer, is_const, prefix) = self.memory_of(&owner, field, c)?;
        let name = format!("{prefix}_{}", field.spelling());
        let assigned = self.flat.assigned.contains(&field);
        let t = types::read(field.ty());
        let (place, node) = match &t {
            Ty::Scalar(ty) if !assigned || !by_pointer && !self.in_memory.contains(&field) => {
                let name = self.flat_name(&name);
                let shape = Shape::Scalar {
                    to: name.to_string(),
                };
                let param = Param::Scalar {
                    name: name.clone(),
                    ty: *ty,
                };
                (Place::Var(name, *ty), Node::Leaf(shape, vec![param]))
            }
            Ty::Scalar(_) | Ty::Array(..) => {
                let (elem, lens) = t.flatten();
                let elem = scalar_type(elem, c)?;
                let lens: Option<Vec<u64>> = lens.into_iter().collect();
                let lens = lens.filter(|_| !field.is_bit_field()).ok_or_else(|| {
                    let message = format!("the member '{}' has no fixed length", field.spelling());
                    problem(codes::RECORD, message, c)
                })?;
                let array = self.flat_name(&name);
                let shape = Shape::Place {
                    to: array.to_string(),
                    len: lens.iter().product(),
                };
                let is_const = is_const || const_elements(field.ty().canonical());
                let param = array_param(&array, elem, is_const, false);
                let dims = lens.iter().map(|&l| Expr::int(ScalarType::I64, l.into()));
                let pointer = Pointer {
                    target: Target { array, elem },
                    offset: zero_offset(),
                    dims: dims.collect(),
                    view: elem,
                };
                let place = if pointer.dims.is_empty() {
                    pointer.deref()
                } else {
                    Place::Array(pointer)
                };
                (place, Node::Leaf(shape, vec![param]))
            }
            Ty::Pointer(_) if assigned => {
                let message = format!("the pointer '{}' in a struct is changed", field.spelling());
                return Err(problem(codes::POINTER_USE, message, c));
            }
            Ty::Pointer(_) if row_table(&t, field.ty()).is_some() => {
                let (elem, is_const) = row_table(&t, field.ty()).expect("just looked");
                let (target, dims, node) = self.rows(&name, elem, is_const);
                (member_pointer(target, dims), node)
            }
            Ty::Pointer(to) => {
                let (elem, lens) = to.flatten();
                let elem = scalar_type(elem, c)?;
                let lens: Option<Vec<u64>> = lens.into_iter().collect();
                let lens = lens.ok_or_else(|| {
                    let message = format!("the shape of '{}' is not known", field.spelling());
                    problem(codes::TYPE, message, c)
                })?;
                let array = self.flat_name(&name);
                let shape = Shape::Pointer {
                    to: array.to_string(),
                    given: None,
                };
                let t = field.ty().canonical();
                let param = array_param(&array, elem, const_elements(t.pointee()), t.is_restrict());
                let dims = lens.iter().map(|&l| Expr::int(ScalarType::I64, l.into()));
                let place = member_pointer(Target { array, elem }, dims.collect());
                (place, Node::Leaf(shape, vec![param]))
            }
            Ty::Other(code, what) => {
                return Err(problem(code, format!("{what} is not supported"), c));
            }
            _ => {
                let message = format!("the member '{}' is not supported", field.spelling());
                return Err(problem(codes::RECORD, message, c));
            }
        };
        if let Node::Struct { fields, .. } = self.node(&owner, c)? {
            fields.push((field, node));
        }
        self.flat.fields.insert((root, path), place.clone());
        Ok(place)
    }

    /// Of a struct with this field: whether it lies in memory that others see, whether it is `const`, and
    /// its name.
    fn memory_of(
        &mut self,
        path: &Path<'u>,
        field: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<(bool, bool, String)> {
        let mut shared = false;
        for depth in 0..=path.1.len() {
            if let Node::Struct { pointer, .. } =
                self.node(&(path.0, path.1[..depth].to_vec()), at)?
            {
                shared |= *pointer;
            }
        }
        match self.node(path, at)? {
            Node::Struct {
                is_const,
                prefix,
                declaration,
                ..
            } if declaration.children().contains(&field) => Ok((shared, *is_const, prefix.clone())),
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

    /// Whether a variable with this initialiser is another name for a struct.
    pub fn is_record(&self, d: Cursor<'u>, init: Cursor<'u>) -> bool {
        struct_type(d.ty()).is_some() && init.kind() != CXCursor_InitListExpr
    }

    /// Makes it one.
    pub fn bind_record(&mut self, d: Cursor<'u>, value: Cursor<'u>) -> Result<()> {
        let path = self.record(value)?;
        self.record_alias(d, path)
    }

    /// The struct that an argument is, if it is one.
    pub fn record_argument(&mut self, c: Cursor<'u>) -> Result<Option<Path<'u>>> {
        match struct_type(c.ty()) {
            Some(_) => self.record(c).map(Some),
            None => Ok(None),
        }
    }

    /// Gives a struct another name. A copy must stay what it is.
    pub fn record_alias(&mut self, d: Cursor<'u>, path: Path<'u>) -> Result<()> {
        let (fields, pointer) = match struct_type(d.ty()) {
            Some((s, _, pointer)) => (s.children(), pointer),
            None => (vec![], true),
        };
        if self.assigned.contains(&d) {
            let message = format!("'{}' stands for several structs", d.spelling());
            return Err(problem(codes::RECORD, message, d));
        }
        if !pointer {
            let changed = fields.iter().any(|f| self.flat.assigned.contains(f));
            // The elements of an array may change without a trace here.
            let in_place =
                |f: &Cursor<'_>| !matches!(types::read(f.ty()), Ty::Scalar(_) | Ty::Pointer(_));
            if changed || fields.iter().any(in_place) {
                let message = format!("'{}' is a copy of a struct that may change", d.spelling());
                return Err(problem(codes::RECORD, message, d));
            }
            self.flat.copied.extend(fields);
        }
        self.flat.records.insert(d, path);
        Ok(())
    }

    /// Notes what a piece of code assigns of structs, before it is lowered.
    pub fn scan_members(&mut self, target: Option<Cursor<'u>>, address: bool) -> Result<()> {
        let Some((target, field)) = target.and_then(|t| Some((t, t.referenced()?))) else {
            return Ok(());
        };
        // An array or a struct is in memory anyhow.
        if !matches!(types::read(field.ty()), Ty::Scalar(_) | Ty::Pointer(_)) {
            return Ok(());
        }
        if address {
            self.in_memory.insert(field);
        }
        if self.flat.assigned.insert(field) {
            if self.flat.copied.contains(&field) {
                let message = format!("'{}' is changed after it was copied", field.spelling());
                return Err(problem(codes::RECORD, message, target));
            }
            let used = self.flat.fields.iter();
            let late = used.clone().any(|((_, path), place)| {
                path.last() == Some(&field) && matches!(place, Place::Var(..))
            });
            if late {
                let message = format!("'{}' is changed by a helper function", field.spelling());
                return Err(problem(codes::RECORD, message, target));
            }
        }
        Ok(())
    }

    /// `p != NULL`
    pub fn given(&mut self, c: Cursor<'u>) -> Result<Expr> {
        let p = self.pointer(c)?;
        let array = p.target.array.clone();
        if self.arrays.iter().any(|a| a.name == array) {
            return Ok(Expr::int(ScalarType::I1, 1));
        }
        let is_table = p.dims.iter().any(|d| self.is_pitch(d));
        let name = self.flat_name_of_given(&array, is_table).ok_or_else(|| {
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
    pub fn flat_signature(&mut self) -> (Vec<Param>, Option<Vec<signature::Param>>) {
        let mut params = Vec::new();
        let mut described = Vec::new();
        let mut plain = true;
        for root in std::mem::take(&mut self.flat.roots) {
            let shape = shape_of(root.node, &mut params);
            plain &= root.plain
                && matches!(
                    shape,
                    Shape::Scalar { .. } | Shape::Pointer { given: None, .. }
                );
            described.push(signature::Param {
                name: root.name,
                ty: root.ty,
                shape,
            });
        }
        (params, (!plain || self.source.cpp).then_some(described))
    }

    /// Finds pairs of parameters that are the two ends of one array.
    pub fn scan_ends(&mut self, function: Cursor<'u>) {
        let mut pairs = Vec::new();
        if let Some(body) = super::source::body(function) {
            compared(body, &mut HashMap::new(), &mut pairs);
        }
        let params = function.arguments();
        let place = |d: &Cursor<'u>| params.iter().position(|p| p == d);
        for (a, b) in pairs {
            let (Some(i), Some(j)) = (place(&a), place(&b)) else {
                continue;
            };
            let elements = |p: Cursor<'u>| match types::of(p) {
                Ty::Pointer(t) => t.as_scalar(),
                _ => None,
            };
            let (begin, end) = (params[i.min(j)], params[i.max(j)]);
            if i != j && elements(begin).is_some() && elements(begin) == elements(end) {
                // An end of two arrays, or of one that is an end itself, is refused where it is used.
                self.flat.ends.entry(end).or_insert(begin);
            }
        }
        let ends = self.flat.ends.clone();
        self.flat.ends.retain(|_, begin| !ends.contains_key(begin));
    }
}

/// Pairs of parameters from which two pointers come that are compared or subtracted.
fn compared<'u>(
    c: Cursor<'u>,
    origins: &mut HashMap<Cursor<'u>, Cursor<'u>>,
    pairs: &mut Vec<(Cursor<'u>, Cursor<'u>)>,
) {
    use super::expr::Arith;
    use super::operator::{Binary, binary};
    use tensorize_ir::op::BinOp;
    if c.kind() == CXCursor_VarDecl
        && let Some(from) = c.initializer().and_then(|e| origin(e, origins))
    {
        origins.insert(c, from);
    }
    if c.kind() == CXCursor_BinaryOperator
        && let [l, r] = super::lower::operands(c)[..]
    {
        let together = matches!(
            binary(c),
            Ok(Binary::Compare(_) | Binary::Arithmetic(Arith::Plain(BinOp::Subtract)))
        );
        if together && let (Some(a), Some(b)) = (origin(l, origins), origin(r, origins)) {
            pairs.push((a, b));
        }
        if matches!(binary(c), Ok(Binary::Assign))
            && let Some(d) = peeled(l).referenced()
            && let Some(from) = origin(r, origins)
        {
            origins.entry(d).or_insert(from);
        }
    }
    for child in c.children() {
        compared(child, origins, pairs);
    }
}

/// The variable that a pointer expression starts from.
fn origin<'u>(c: Cursor<'u>, origins: &HashMap<Cursor<'u>, Cursor<'u>>) -> Option<Cursor<'u>> {
    if !matches!(types::of(c), Ty::Pointer(_)) {
        return None;
    }
    let c = peeled(c);
    match c.kind() {
        CXCursor_DeclRefExpr => {
            let d = c.referenced()?;
            match d.kind() {
                CXCursor_ParmDecl => Some(d),
                _ => origins.get(&d).copied(),
            }
        }
        CXCursor_UnaryOperator | CXCursor_CStyleCastExpr | CXCursor_BinaryOperator => {
            super::lower::operands(c)
                .into_iter()
                .find_map(|o| origin(o, origins))
        }
        _ => None,
    }
}

/// The place of a pointer in a struct: an array of arrays, of which the outer length means nothing.
fn member_pointer(target: Target, dims: Vec<Expr>) -> Place {
    let view = target.elem;
    let mut all = vec![Expr::int(ScalarType::I64, 1)];
    all.extend(dims);
    Place::Array(Pointer {
        target,
        offset: zero_offset(),
        dims: all,
        view,
    })
}

fn array_param(name: &Sym, elem: ScalarType, is_const: bool, restrict: bool) -> Param {
    Param::Array {
        name: name.clone(),
        elem,
        is_const,
        restrict,
    }
}

/// A part's shape; its parameters are added to `params` in the struct's order.
fn shape_of(node: Node<'_>, params: &mut Vec<Param>) -> Shape {
    match node {
        Node::Leaf(shape, own) => {
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
            let order = declaration.children();
            fields.sort_by_key(|(f, _)| order.iter().position(|o| o == f));
            let fields = fields
                .into_iter()
                .map(|(f, n)| signature::Field {
                    name: f.spelling(),
                    shape: shape_of(n, params),
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
