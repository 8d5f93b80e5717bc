//! Nodes of the syntax tree.

use super::api::{api, string};
use super::{Place, Type, Unit, locate, place};
use clang_sys::*;
use std::ffi::c_uint;
use std::hash::{Hash, Hasher};
use tensorize_ir::limit;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// A node of the syntax tree.
#[derive(Clone, Copy)]
pub(in crate::c) struct Cursor<'u> {
    pub(super) raw: CXCursor,
    pub(super) unit: &'u Unit,
}

impl PartialEq for Cursor<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Safety: both cursors belong to live units.
        unsafe { (api().clang_equalCursors)(self.raw, other.raw) != 0 }
    }
}

impl Eq for Cursor<'_> {}

impl Hash for Cursor<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Safety: the cursor belongs to a live unit.
        unsafe { (api().clang_hashCursor)(self.raw) }.hash(state);
    }
}

/// A constant, as clang evaluates it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::c) enum Constant {
    Int(i128),
    Float(f64),
}

impl Constant {
    /// As a number of the type that clang has evaluated it in.
    pub fn scalar(self, ty: ScalarType) -> Option<Scalar> {
        Some(match (self, ty) {
            (Constant::Int(v), ty) if ty.is_int() => Scalar::int(ty, v),
            (Constant::Float(v), ScalarType::F32) => Scalar::f32(v as f32),
            (Constant::Float(v), ScalarType::F64) => Scalar::f64(v),
            _ => return None,
        })
    }
}

// Safety, for every call below: the cursor belongs to `self.unit`, which is alive.
impl<'u> Cursor<'u> {
    pub fn kind(&self) -> CXCursorKind {
        unsafe { (api().clang_getCursorKind)(self.raw) }
    }

    pub fn spelling(&self) -> String {
        string(unsafe { (api().clang_getCursorSpelling)(self.raw) })
    }

    pub fn children(&self) -> Vec<Cursor<'u>> {
        extern "C" fn collect(c: CXCursor, _: CXCursor, data: CXClientData) -> CXChildVisitResult {
            // Safety: `data` is the vector that `children` passes, and only this callback uses it
            // during the visit. `push` aborts rather than unwinds when memory is out.
            unsafe { (*data.cast::<Vec<CXCursor>>()).push(c) };
            CXChildVisit_Continue
        }
        limit::tick();
        let mut raw: Vec<CXCursor> = Vec::new();
        unsafe { (api().clang_visitChildren)(self.raw, collect, (&raw mut raw).cast()) };
        let children = raw.into_iter().map(|c| self.unit.cursor(c));
        children.map(Cursor::unmoved).collect()
    }

    /// Until C++17, what a call gives is moved to where it stays, which compilers leave out as they may: the call itself, as it
    /// is since then. (No constructor is named where that may be done. A call through a pointer names no function either, but
    /// has the pointer among its children.)
    fn unmoved(self) -> Cursor<'u> {
        if self.kind() != CXCursor_CallExpr || self.referenced().is_some() {
            return self;
        }
        let name = |c: &Cursor<'u>| {
            let name = c.ty().canonical().spelling();
            name.trim_start_matches("const ").to_owned()
        };
        match (&self.children()[..], &self.arguments()[..]) {
            ([inner], [given]) if inner == given && name(inner) == name(&self) => *inner,
            _ => self,
        }
    }

    pub fn ty(&self) -> Type<'u> {
        Type {
            raw: unsafe { (api().clang_getCursorType)(self.raw) },
            unit: self.unit,
        }
    }

    fn other(&self, raw: CXCursor) -> Option<Cursor<'u>> {
        let null = unsafe { (api().clang_Cursor_isNull)(raw) } != 0;
        (!null).then(|| self.unit.cursor(raw))
    }

    /// The declaration that a reference or a call names.
    pub fn referenced(&self) -> Option<Cursor<'u>> {
        self.other(unsafe { (api().clang_getCursorReferenced)(self.raw) })
    }

    /// The template that this is an instance of.
    pub fn template(&self) -> Option<Cursor<'u>> {
        self.other(unsafe { (api().clang_getSpecializedCursorTemplate)(self.raw) })
    }

    /// The definition of what is declared or referenced here.
    pub fn definition(&self) -> Option<Cursor<'u>> {
        self.other(unsafe { (api().clang_getCursorDefinition)(self.raw) })
    }

    /// One cursor for all declarations of a thing.
    pub fn canonical(&self) -> Cursor<'u> {
        self.unit
            .cursor(unsafe { (api().clang_getCanonicalCursor)(self.raw) })
    }

    /// What this is a member of.
    pub fn semantic_parent(&self) -> Option<Cursor<'u>> {
        self.other(unsafe { (api().clang_getCursorSemanticParent)(self.raw) })
    }

    /// The name that the linker sees.
    pub fn mangling(&self) -> String {
        string(unsafe { (api().clang_Cursor_getMangling)(self.raw) })
    }

    pub fn is_static_method(&self) -> bool {
        unsafe { (api().clang_CXXMethod_isStatic)(self.raw) != 0 }
    }

    pub fn is_const_method(&self) -> bool {
        unsafe { (api().clang_CXXMethod_isConst)(self.raw) != 0 }
    }

    /// Whether a member function is written as `= default`.
    pub fn is_defaulted(&self) -> bool {
        unsafe { (api().clang_CXXMethod_isDefaulted)(self.raw) != 0 }
    }

    pub fn is_definition(&self) -> bool {
        unsafe { (api().clang_isCursorDefinition)(self.raw) != 0 }
    }

    /// Whether this is a field that also changes where its object is const.
    pub fn is_mutable(&self) -> bool {
        unsafe { (api().clang_CXXField_isMutable)(self.raw) != 0 }
    }

    /// Whether this is a field of so many bits.
    pub fn is_bit_field(&self) -> bool {
        // libclang looks into anything else as if it were a field.
        self.kind() == CXCursor_FieldDecl
            && unsafe { (api().clang_Cursor_isBitField)(self.raw) != 0 }
    }

    /// How many bytes of its struct come before this field; `None` for one that doesn't begin with a byte.
    pub fn offset_in_struct(&self) -> Option<u64> {
        let bits =
            u64::try_from(unsafe { (api().clang_Cursor_getOffsetOfField)(self.raw) }).ok()?;
        (bits % 8 == 0).then_some(bits / 8)
    }

    /// Where its name stands in the file, as the offsets of tokens are counted.
    pub fn name_offset(&self) -> Option<usize> {
        let location = unsafe { (api().clang_getCursorLocation)(self.raw) };
        place(location).map(|p| p.offset)
    }

    /// Whether it stands in the file that was parsed, or what expands to it does.
    pub fn in_main_file(&self) -> bool {
        let location = unsafe { (api().clang_getCursorLocation)(self.raw) };
        place(location).is_some_and(|p| p.file == self.unit.file)
    }

    /// Whether it stands in a header of the machine's.
    pub fn in_system_header(&self) -> bool {
        unsafe {
            let location = (api().clang_getCursorLocation)(self.raw);
            (api().clang_Location_isInSystemHeader)(location) != 0
        }
    }

    /// Whether a function is declared `inline`, or is as if it were.
    pub fn is_inline(&self) -> bool {
        unsafe { (api().clang_Cursor_isFunctionInlined)(self.raw) != 0 }
    }

    /// First and last place, where macros are expanded.
    pub fn extent(&self) -> Option<(Place, Place)> {
        unsafe {
            let range = (api().clang_getCursorExtent)(self.raw);
            let start = place((api().clang_getRangeStart)(range))?;
            Some((start, place((api().clang_getRangeEnd)(range))?))
        }
    }

    /// Whether the whole extent is written out in the file, with no macro at either end.
    pub fn is_spelled_out(&self) -> bool {
        unsafe {
            let range = (api().clang_getCursorExtent)(self.raw);
            [
                (api().clang_getRangeStart)(range),
                (api().clang_getRangeEnd)(range),
            ]
            .iter()
            .all(|&l| place(l).is_some() && place(l) == locate(l, api().clang_getSpellingLocation))
        }
    }

    /// The tokens of the extent but for comments: whether it is punctuation, text, offset in the file.
    pub fn tokens(&self) -> Vec<(bool, String, usize)> {
        let (mut tokens, mut count) = (std::ptr::null_mut(), 0);
        let mut out = Vec::new();
        unsafe {
            let range = (api().clang_getCursorExtent)(self.raw);
            (api().clang_tokenize)(self.unit.tu, range, &mut tokens, &mut count);
            for i in 0..count as usize {
                let token = *tokens.add(i);
                if (api().clang_getTokenKind)(token) == CXToken_Comment {
                    continue;
                }
                let text = string((api().clang_getTokenSpelling)(self.unit.tu, token));
                let location = (api().clang_getTokenLocation)(self.unit.tu, token);
                let punctuation = (api().clang_getTokenKind)(token) == CXToken_Punctuation;
                out.push((punctuation, text, place(location).map_or(0, |p| p.offset)));
            }
            if !tokens.is_null() {
                (api().clang_disposeTokens)(self.unit.tu, tokens, count);
            }
        }
        out
    }

    /// Whether a function's declaration says that it does not return.
    pub fn does_not_return(&self) -> bool {
        let ty = self.ty().spelling();
        // (What returns a pointer to such a function says so in the same place.)
        if ty.ends_with(") __attribute__((noreturn))") && !ty.contains("(*") {
            return true;
        }
        let Some(print) = api().clang_getCursorPrettyPrinted else {
            return false;
        };
        let text = unsafe { string(print(self.raw, std::ptr::null_mut())) };
        // After the parameters.
        let said = text.rsplit_once(')').map_or("", |(_, after)| after);
        said.split([' ', '{'])
            .any(|w| w == "_Noreturn" || w == "[[noreturn]]")
    }

    pub fn storage(&self) -> CX_StorageClass {
        unsafe { (api().clang_Cursor_getStorageClass)(self.raw) }
    }

    /// Whether no other file can name a function: it is `static`, in a namespace without a name, or has parameters of types
    /// in such a one.
    pub fn is_of_this_file(&self) -> bool {
        let linkage = unsafe { (api().clang_getCursorLinkage)(self.raw) };
        matches!(linkage, CXLinkage_Internal | CXLinkage_UniqueExternal)
    }

    /// Whether a variable keeps its value when the function that declares it returns. (`thread_local` alone says so, too.)
    pub fn is_static(&self) -> bool {
        self.storage() == CX_SC_Static || self.is_thread_local()
    }

    /// Whether each thread has a variable of its own under this name.
    pub fn is_thread_local(&self) -> bool {
        unsafe { (api().clang_getCursorTLSKind)(self.raw) != CXTLS_None }
    }

    /// The initial value of a variable.
    pub fn initializer(&self) -> Option<Cursor<'u>> {
        let found = self.other(unsafe { (api().clang_Cursor_getVarDeclInitializer)(self.raw) });
        found.map(Cursor::unmoved)
    }

    /// The arguments of a call, or the parameters of a function.
    pub fn arguments(&self) -> Vec<Cursor<'u>> {
        let count = unsafe { (api().clang_Cursor_getNumArguments)(self.raw) };
        (0..count.max(0) as c_uint)
            .map(|i| {
                let given = unsafe { (api().clang_Cursor_getArgument)(self.raw, i) };
                self.unit.cursor(given).unmoved()
            })
            .collect()
    }

    /// Whether this or anything in it is such a thing.
    pub fn contains(self, is: &mut dyn FnMut(Cursor<'u>) -> bool) -> bool {
        is(self) || self.children().into_iter().any(|c| c.contains(is))
    }

    /// Whether this names a variable somewhere.
    pub fn mentions(self, d: Cursor<'u>) -> bool {
        self.contains(&mut |c| c.kind() == CXCursor_DeclRefExpr && c.referenced() == Some(d))
    }

    /// The value of a constant expression.
    pub fn evaluate(&self) -> Option<Constant> {
        unsafe {
            let result = (api().clang_Cursor_Evaluate)(self.raw);
            if result.is_null() {
                return None;
            }
            let kind = (api().clang_EvalResult_getKind)(result);
            let value = if kind == CXEval_Int {
                Some(Constant::Int(
                    if (api().clang_EvalResult_isUnsignedInt)(result) != 0 {
                        (api().clang_EvalResult_getAsUnsigned)(result).into()
                    } else {
                        (api().clang_EvalResult_getAsLongLong)(result).into()
                    },
                ))
            } else if kind == CXEval_Float {
                Some(Constant::Float((api().clang_EvalResult_getAsDouble)(
                    result,
                )))
            } else {
                None
            };
            (api().clang_EvalResult_dispose)(result);
            value
        }
    }

    /// The value of an enumerator, read as signed and as unsigned.
    pub fn enumerator(&self) -> (i64, u64) {
        unsafe {
            (
                (api().clang_getEnumConstantDeclValue)(self.raw),
                (api().clang_getEnumConstantDeclUnsignedValue)(self.raw),
            )
        }
    }

    /// libclang 17 and later say which operator it is.
    pub fn binary_operator(&self) -> Option<CXBinaryOperatorKind> {
        let f = api().clang_getCursorBinaryOperatorKind?;
        Some(unsafe { f(self.raw) }).filter(|&k| k != CXBinaryOperator_Invalid)
    }

    /// libclang 17 and later say which operator it is.
    pub fn unary_operator(&self) -> Option<CXUnaryOperatorKind> {
        let f = api().clang_getCursorUnaryOperatorKind?;
        Some(unsafe { f(self.raw) }).filter(|&k| k != CXUnaryOperator_Invalid)
    }
}
