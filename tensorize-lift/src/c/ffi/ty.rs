//! Types, as the compiler sees them.

use super::api::{api, string};
use super::{Asked, Cursor, Unit};
use clang_sys::*;
use std::ffi::c_uint;
use tensorize_ir::limit;

/// Structs hold structs, and each level may have twice as many members as the one below.
pub(in crate::c) const MOST_MEMBERS: u64 = 4096;

/// A C type.
#[derive(Clone, Copy)]
pub(in crate::c) struct Type<'u> {
    pub(super) raw: CXType,
    pub(super) unit: &'u Unit,
}

// Safety, for every call below: the type belongs to `self.unit`, which is alive.
impl<'u> Type<'u> {
    fn with(&self, raw: CXType) -> Type<'u> {
        Type {
            raw,
            unit: self.unit,
        }
    }

    pub fn kind(&self) -> CXTypeKind {
        self.raw.kind
    }

    pub fn spelling(&self) -> String {
        string(unsafe { (api().clang_getTypeSpelling)(self.raw) })
    }

    /// As a file writes it that has it: without typedefs, and without namespaces that have no name.
    pub fn written(&self) -> String {
        let name = self.canonical().spelling();
        name.replace("(anonymous namespace)::", "")
    }

    /// Without typedefs.
    pub fn canonical(&self) -> Type<'u> {
        self.with(unsafe { (api().clang_getCanonicalType)(self.raw) })
    }

    /// Without typedefs, and without being a reference.
    pub fn referred(&self) -> Type<'u> {
        let t = self.canonical();
        match t.kind() {
            CXType_LValueReference | CXType_RValueReference => t.pointee().canonical(),
            _ => t,
        }
    }

    /// In bytes; `None` for incomplete types and those of variable length.
    pub fn size(&self) -> Option<u64> {
        u64::try_from(unsafe { (api().clang_Type_getSizeOf)(self.raw) }).ok()
    }

    /// In bytes.
    pub fn alignment(&self) -> Option<u64> {
        u64::try_from(unsafe { (api().clang_Type_getAlignOf)(self.raw) }).ok()
    }

    pub fn pointee(&self) -> Type<'u> {
        self.with(unsafe { (api().clang_getPointeeType)(self.raw) })
    }

    pub fn array_element(&self) -> Type<'u> {
        self.with(unsafe { (api().clang_getArrayElementType)(self.raw) })
    }

    /// Of a constant array.
    pub fn array_size(&self) -> Option<u64> {
        u64::try_from(unsafe { (api().clang_getArraySize)(self.raw) }).ok()
    }

    /// Of a vector or a complex number: the type of what it consists of.
    pub fn element(&self) -> Type<'u> {
        self.with(unsafe { (api().clang_getElementType)(self.raw) })
    }

    /// Of a vector: the type of its lanes, and how many there are.
    pub fn vector(&self) -> Option<(Type<'u>, u64)> {
        let elem = self.element();
        let n = u64::try_from(unsafe { (api().clang_getNumElements)(self.raw) }).ok()?;
        Some((elem, n))
    }

    pub fn result(&self) -> Type<'u> {
        self.with(unsafe { (api().clang_getResultType)(self.raw) })
    }

    pub fn is_const(&self) -> bool {
        let canonical = self.canonical();
        unsafe { (api().clang_isConstQualifiedType)(canonical.raw) != 0 }
    }

    pub fn is_volatile(&self) -> bool {
        let canonical = self.canonical();
        unsafe { (api().clang_isVolatileQualifiedType)(canonical.raw) != 0 }
    }

    pub fn is_restrict(&self) -> bool {
        unsafe { (api().clang_isRestrictQualifiedType)(self.raw) != 0 }
    }

    pub fn is_variadic(&self) -> bool {
        // `f()` of old takes whatever it is given where it is only declared. Where it has a body, that is nothing.
        let is_open = self.kind() == CXType_FunctionNoProto;
        !is_open && unsafe { (api().clang_isFunctionTypeVariadic)(self.raw) != 0 }
    }

    /// Where the type is declared.
    pub fn declaration(&self) -> Cursor<'u> {
        self.unit
            .cursor(unsafe { (api().clang_getTypeDeclaration)(self.raw) })
    }

    /// The struct of this name in the type's file.
    pub fn struct_named(&self, name: &str) -> Option<Cursor<'u>> {
        let found = self.unit.structs.get(name);
        found.map(|raw| self.unit.cursor(*raw))
    }

    /// The fields of a struct in their order, also of a template's instance, which has no children.
    pub fn fields(&self) -> Vec<Cursor<'u>> {
        extern "C" fn collect(c: CXCursor, data: CXClientData) -> CXVisitorResult {
            // Safety: `data` is the vector that `fields` passes, and only this callback uses it
            // during the visit. `push` aborts rather than unwinds when memory is out.
            unsafe { (*data.cast::<Vec<CXCursor>>()).push(c) };
            CXVisit_Continue
        }
        limit::tick();
        let mut raw: Vec<CXCursor> = Vec::new();
        unsafe { (api().clang_Type_visitFields)(self.raw, collect, (&raw mut raw).cast()) };
        raw.into_iter().map(|c| self.unit.cursor(c)).collect()
    }

    /// Whether a struct has more members than anybody looks at, those of the structs in it counted, too.
    pub fn has_too_many_members(&self) -> bool {
        self.members_inside() > MOST_MEMBERS
    }

    fn members_inside(&self) -> u64 {
        let t = self.canonical();
        match t.kind() {
            CXType_ConstantArray => t.array_element().members_inside(),
            CXType_Record => {
                let declaration = t.declaration();
                self.unit.asked.members.of(declaration, || {
                    let mut inside = declaration.children();
                    inside.retain(|c| c.kind() == CXCursor_CXXBaseSpecifier);
                    inside.extend(t.fields());
                    let counts = inside.iter().map(|c| 1 + c.ty().members_inside());
                    counts.fold(0, u64::saturating_add)
                })
            }
            _ => 0,
        }
    }

    /// What the file knows of its structs already.
    pub fn asked(&self) -> &'u Asked {
        &self.unit.asked
    }

    /// The arguments of a template's instance; `None` for those that are not types.
    pub fn template_arguments(&self) -> Vec<Option<Type<'u>>> {
        let count = unsafe { (api().clang_Type_getNumTemplateArguments)(self.raw) };
        (0..count.max(0) as c_uint)
            .map(|i| unsafe { (api().clang_Type_getTemplateArgumentAsType)(self.raw, i) })
            .map(|t| (t.kind != CXType_Invalid).then(|| self.with(t)))
            .collect()
    }

    /// The integer type that stands behind an enumeration.
    pub fn enum_integer(&self) -> Type<'u> {
        self.with(unsafe {
            let declaration = (api().clang_getTypeDeclaration)(self.raw);
            (api().clang_getEnumDeclIntegerType)(declaration)
        })
    }
}
