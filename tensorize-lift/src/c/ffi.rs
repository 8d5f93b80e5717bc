//! libclang, wrapped. The only unsafe code of the front end.
//!
//! The library is opened at run time, so that a missing one is a message and not a link failure.
//! Children are collected in the visitor callback and nothing else is done there: a panic inside of
//! it would abort the process.
// The functions keep the names that libclang gives them.
#![allow(unsafe_code, non_snake_case)]

use clang_sys::*;
use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_uint, c_ulong, c_ulonglong};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The functions we call, looked up by name. `optional` ones may be absent in an older library.
macro_rules! api {
    (required { $(fn $name:ident($($arg:ty),*) $(-> $ret:ty)?;)* }
     optional { $(fn $oname:ident($($oarg:ty),*) $(-> $oret:ty)?;)* }) => {
        struct Api {
            $($name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            $($oname: Option<unsafe extern "C" fn($($oarg),*) $(-> $oret)?>,)*
            path: PathBuf,
            // Last, so that it outlives the pointers into it.
            _library: libloading::Library,
        }

        impl Api {
            fn open(path: &Path) -> Result<Api, String> {
                // Safety: libclang's initialisers have no preconditions.
                let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
                $(
                    // Safety: the type is that of libclang's `Index.h`.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) $(-> $ret)?>(
                            concat!(stringify!($name), "\0").as_bytes())
                    }
                    .map(|f| *f)
                    .map_err(|_| concat!("it has no ", stringify!($name)).to_string())?;
                )*
                $(
                    // Safety: as above.
                    let $oname = unsafe {
                        library.get::<unsafe extern "C" fn($($oarg),*) $(-> $oret)?>(
                            concat!(stringify!($oname), "\0").as_bytes())
                    }
                    .map(|f| *f)
                    .ok();
                )*
                Ok(Api { $($name,)* $($oname,)* path: path.to_path_buf(), _library: library })
            }
        }
    };
}

api! {
    required {
        fn clang_createIndex(c_int, c_int) -> CXIndex;
        fn clang_disposeIndex(CXIndex);
        fn clang_parseTranslationUnit2(
            CXIndex, *const c_char, *const *const c_char, c_int,
            *mut CXUnsavedFile, c_uint, c_int, *mut CXTranslationUnit
        ) -> c_int;
        fn clang_disposeTranslationUnit(CXTranslationUnit);
        fn clang_getTranslationUnitCursor(CXTranslationUnit) -> CXCursor;
        fn clang_getTranslationUnitTargetInfo(CXTranslationUnit) -> CXTargetInfo;
        fn clang_TargetInfo_getTriple(CXTargetInfo) -> CXString;
        fn clang_TargetInfo_dispose(CXTargetInfo);
        fn clang_getClangVersion() -> CXString;
        fn clang_getCString(CXString) -> *const c_char;
        fn clang_disposeString(CXString);
        fn clang_visitChildren(CXCursor, CXCursorVisitor, CXClientData) -> c_uint;
        fn clang_getCursorKind(CXCursor) -> CXCursorKind;
        fn clang_getCursorSpelling(CXCursor) -> CXString;
        fn clang_getCursorType(CXCursor) -> CXType;
        fn clang_getCursorReferenced(CXCursor) -> CXCursor;
        fn clang_getCursorDefinition(CXCursor) -> CXCursor;
        fn clang_getCanonicalCursor(CXCursor) -> CXCursor;
        fn clang_isCursorDefinition(CXCursor) -> c_uint;
        fn clang_Cursor_isNull(CXCursor) -> c_int;
        fn clang_hashCursor(CXCursor) -> c_uint;
        fn clang_equalCursors(CXCursor, CXCursor) -> c_uint;
        fn clang_getCursorExtent(CXCursor) -> CXSourceRange;
        fn clang_getCursorLocation(CXCursor) -> CXSourceLocation;
        fn clang_getRangeStart(CXSourceRange) -> CXSourceLocation;
        fn clang_getRangeEnd(CXSourceRange) -> CXSourceLocation;
        fn clang_getExpansionLocation(
            CXSourceLocation, *mut CXFile, *mut c_uint, *mut c_uint, *mut c_uint
        );
        fn clang_getSpellingLocation(
            CXSourceLocation, *mut CXFile, *mut c_uint, *mut c_uint, *mut c_uint
        );
        fn clang_Location_isFromMainFile(CXSourceLocation) -> c_int;
        fn clang_getFileName(CXFile) -> CXString;
        fn clang_getCanonicalType(CXType) -> CXType;
        fn clang_getTypeSpelling(CXType) -> CXString;
        fn clang_getTypeDeclaration(CXType) -> CXCursor;
        fn clang_Type_getSizeOf(CXType) -> c_longlong;
        fn clang_getPointeeType(CXType) -> CXType;
        fn clang_getArrayElementType(CXType) -> CXType;
        fn clang_getArraySize(CXType) -> c_longlong;
        fn clang_getElementType(CXType) -> CXType;
        fn clang_getNumElements(CXType) -> c_longlong;
        fn clang_getResultType(CXType) -> CXType;
        fn clang_isConstQualifiedType(CXType) -> c_uint;
        fn clang_isVolatileQualifiedType(CXType) -> c_uint;
        fn clang_isRestrictQualifiedType(CXType) -> c_uint;
        fn clang_isFunctionTypeVariadic(CXType) -> c_uint;
        fn clang_getEnumDeclIntegerType(CXCursor) -> CXType;
        fn clang_getEnumConstantDeclValue(CXCursor) -> c_longlong;
        fn clang_getEnumConstantDeclUnsignedValue(CXCursor) -> c_ulonglong;
        fn clang_Cursor_getNumArguments(CXCursor) -> c_int;
        fn clang_Cursor_getArgument(CXCursor, c_uint) -> CXCursor;
        fn clang_Cursor_getStorageClass(CXCursor) -> CX_StorageClass;
        fn clang_Cursor_getVarDeclInitializer(CXCursor) -> CXCursor;
        fn clang_Cursor_Evaluate(CXCursor) -> CXEvalResult;
        fn clang_EvalResult_getKind(CXEvalResult) -> CXEvalResultKind;
        fn clang_EvalResult_isUnsignedInt(CXEvalResult) -> c_uint;
        fn clang_EvalResult_getAsLongLong(CXEvalResult) -> c_longlong;
        fn clang_EvalResult_getAsUnsigned(CXEvalResult) -> c_ulonglong;
        fn clang_EvalResult_getAsDouble(CXEvalResult) -> f64;
        fn clang_EvalResult_dispose(CXEvalResult);
        fn clang_getNumDiagnostics(CXTranslationUnit) -> c_uint;
        fn clang_getDiagnostic(CXTranslationUnit, c_uint) -> CXDiagnostic;
        fn clang_getDiagnosticSeverity(CXDiagnostic) -> CXDiagnosticSeverity;
        fn clang_getDiagnosticSpelling(CXDiagnostic) -> CXString;
        fn clang_getDiagnosticLocation(CXDiagnostic) -> CXSourceLocation;
        fn clang_disposeDiagnostic(CXDiagnostic);
        fn clang_tokenize(CXTranslationUnit, CXSourceRange, *mut *mut CXToken, *mut c_uint);
        fn clang_getTokenKind(CXToken) -> CXTokenKind;
        fn clang_getTokenSpelling(CXTranslationUnit, CXToken) -> CXString;
        fn clang_getTokenLocation(CXTranslationUnit, CXToken) -> CXSourceLocation;
        fn clang_disposeTokens(CXTranslationUnit, *mut CXToken, c_uint);
        fn clang_Cursor_isBitField(CXCursor) -> c_uint;
        fn clang_getCursorSemanticParent(CXCursor) -> CXCursor;
        fn clang_Cursor_getMangling(CXCursor) -> CXString;
        fn clang_Type_getNumTemplateArguments(CXType) -> c_int;
        fn clang_Type_getTemplateArgumentAsType(CXType, c_uint) -> CXType;
        fn clang_CXXMethod_isStatic(CXCursor) -> c_uint;
    }
    optional {
        fn clang_getCursorBinaryOperatorKind(CXCursor) -> CXBinaryOperatorKind;
        fn clang_getCursorUnaryOperatorKind(CXCursor) -> CXUnaryOperatorKind;
    }
}

static API: OnceLock<Api> = OnceLock::new();

fn api() -> &'static Api {
    // A `Unit`, without which nothing here is reached, exists only after `load`.
    API.get()
        .expect("libclang is loaded before a file is parsed")
}

/// Opens the first of these files that is a usable libclang; keeps it for the rest of the process.
pub(super) fn load(
    candidates: impl FnOnce() -> Vec<PathBuf>,
) -> Result<&'static Path, Vec<String>> {
    if let Some(api) = API.get() {
        return Ok(&api.path);
    }
    let mut failures = Vec::new();
    for path in candidates() {
        match Api::open(&path) {
            Ok(api) => return Ok(&API.get_or_init(|| api).path),
            Err(why) => failures.push(format!("{}: {why}", path.display())),
        }
    }
    Err(failures)
}

/// The version as libclang spells it. Call [`load`] first.
pub(super) fn version() -> String {
    // Safety: no arguments; the string is taken over.
    string(unsafe { (api().clang_getClangVersion)() })
}

fn string(s: CXString) -> String {
    // Safety: `s` was just returned by libclang and is disposed of exactly once, here.
    unsafe {
        let p = (api().clang_getCString)(s);
        let text = if p.is_null() {
            String::new()
        } else {
            CStr::from_ptr(p).to_string_lossy().into_owned()
        };
        (api().clang_disposeString)(s);
        text
    }
}

/// A parsed file.
pub(super) struct Unit {
    index: CXIndex,
    tu: CXTranslationUnit,
}

impl Drop for Unit {
    fn drop(&mut self) {
        // Safety: both were created by `parse` and nothing borrowed from them outlives `self`.
        unsafe {
            (api().clang_disposeTranslationUnit)(self.tu);
            (api().clang_disposeIndex)(self.index);
        }
    }
}

/// A complaint of the compiler.
pub(super) struct Diagnostic {
    /// An error after which clang reports no others.
    pub fatal: bool,
    /// What is wrong.
    pub message: String,
    /// Where, if anywhere.
    pub place: Option<Place>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
    pub offset: usize,
}

impl Unit {
    /// Parses a file, or `text` in its place. `headers` are files that only seem to be there. `Err` has
    /// libclang's error number.
    pub fn parse(
        file: &Path,
        text: Option<&str>,
        args: &[String],
        headers: &[(String, &'static str)],
    ) -> Result<Unit, String> {
        let names: Vec<CString> = headers
            .iter()
            .map(|(name, _)| CString::new(name.as_str()).unwrap_or_default())
            .collect();
        let file = CString::new(file.as_os_str().as_encoded_bytes())
            .map_err(|_| "the file name contains a NUL byte".to_string())?;
        let args: Vec<CString> = args
            .iter()
            .map(|a| CString::new(a.as_bytes()))
            .collect::<Result<_, _>>()
            .map_err(|_| "an argument contains a NUL byte".to_string())?;
        let pointers: Vec<*const c_char> = args.iter().map(|a| a.as_ptr()).collect();
        let mut tu = std::ptr::null_mut();
        let headers = names.iter().zip(headers.iter().map(|(_, text)| *text));
        let mut unsaved: Vec<CXUnsavedFile> = text
            .iter()
            .map(|text| (&file, *text))
            .chain(headers)
            .map(|(name, text)| CXUnsavedFile {
                Filename: name.as_ptr(),
                Contents: text.as_ptr().cast(),
                Length: text.len() as c_ulong,
            })
            .collect();
        // Safety: all pointers live across the calls; the index is disposed of on either path.
        unsafe {
            let index = (api().clang_createIndex)(0, 0);
            let code = (api().clang_parseTranslationUnit2)(
                index,
                file.as_ptr(),
                pointers.as_ptr(),
                pointers.len() as c_int,
                unsaved.as_mut_ptr(),
                unsaved.len() as c_uint,
                CXTranslationUnit_None,
                &mut tu,
            );
            if code != 0 || tu.is_null() {
                (api().clang_disposeIndex)(index);
                return Err(format!("libclang's error {code}"));
            }
            Ok(Unit { index, tu })
        }
    }

    /// The root.
    pub fn root(&self) -> Cursor<'_> {
        // Safety: the unit is alive.
        self.cursor(unsafe { (api().clang_getTranslationUnitCursor)(self.tu) })
    }

    /// The target triple that types were sized for.
    pub fn triple(&self) -> String {
        // Safety: the unit is alive; the info is disposed of once.
        unsafe {
            let info = (api().clang_getTranslationUnitTargetInfo)(self.tu);
            if info.is_null() {
                return String::new();
            }
            let triple = string((api().clang_TargetInfo_getTriple)(info));
            (api().clang_TargetInfo_dispose)(info);
            triple
        }
    }

    /// Errors, in order. Warnings are none of our business.
    pub fn errors(&self) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        // Safety: the unit is alive, numbers are in range, each diagnostic is disposed of once.
        unsafe {
            for i in 0..(api().clang_getNumDiagnostics)(self.tu) {
                let d = (api().clang_getDiagnostic)(self.tu, i);
                let severity = (api().clang_getDiagnosticSeverity)(d);
                if severity >= CXDiagnostic_Error {
                    errors.push(Diagnostic {
                        fatal: severity >= CXDiagnostic_Fatal,
                        message: string((api().clang_getDiagnosticSpelling)(d)),
                        place: place((api().clang_getDiagnosticLocation)(d)),
                    });
                }
                (api().clang_disposeDiagnostic)(d);
            }
        }
        errors
    }

    fn cursor(&self, raw: CXCursor) -> Cursor<'_> {
        Cursor { raw, unit: self }
    }
}

fn place(location: CXSourceLocation) -> Option<Place> {
    locate(location, api().clang_getExpansionLocation)
}

fn locate(
    location: CXSourceLocation,
    how: unsafe extern "C" fn(CXSourceLocation, *mut CXFile, *mut c_uint, *mut c_uint, *mut c_uint),
) -> Option<Place> {
    let (mut file, mut line, mut column, mut offset) = (std::ptr::null_mut(), 0, 0, 0);
    // Safety: the location belongs to a live unit; the out-pointers are valid.
    unsafe { how(location, &mut file, &mut line, &mut column, &mut offset) };
    if file.is_null() {
        return None;
    }
    // Safety: `file` is not null and belongs to a live unit.
    let name = string(unsafe { (api().clang_getFileName)(file) });
    Some(Place {
        file: name.into(),
        line,
        column,
        offset: offset as usize,
    })
}

/// A node of the syntax tree.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'u> {
    raw: CXCursor,
    unit: &'u Unit,
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
pub(super) enum Constant {
    Int(i128),
    Float(f64),
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
        let mut raw: Vec<CXCursor> = Vec::new();
        unsafe { (api().clang_visitChildren)(self.raw, collect, (&raw mut raw).cast()) };
        raw.into_iter().map(|c| self.unit.cursor(c)).collect()
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

    pub fn is_definition(&self) -> bool {
        unsafe { (api().clang_isCursorDefinition)(self.raw) != 0 }
    }

    pub fn is_bit_field(&self) -> bool {
        unsafe { (api().clang_Cursor_isBitField)(self.raw) != 0 }
    }

    pub fn in_main_file(&self) -> bool {
        unsafe {
            let location = (api().clang_getCursorLocation)(self.raw);
            (api().clang_Location_isFromMainFile)(location) != 0
        }
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

    /// The tokens of the extent: whether it is punctuation, text, offset in the file.
    pub fn tokens(&self) -> Vec<(bool, String, usize)> {
        let (mut tokens, mut count) = (std::ptr::null_mut(), 0);
        let mut out = Vec::new();
        unsafe {
            let range = (api().clang_getCursorExtent)(self.raw);
            (api().clang_tokenize)(self.unit.tu, range, &mut tokens, &mut count);
            for i in 0..count as usize {
                let token = *tokens.add(i);
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

    pub fn storage(&self) -> CX_StorageClass {
        unsafe { (api().clang_Cursor_getStorageClass)(self.raw) }
    }

    /// The initial value of a variable.
    pub fn initializer(&self) -> Option<Cursor<'u>> {
        self.other(unsafe { (api().clang_Cursor_getVarDeclInitializer)(self.raw) })
    }

    /// The arguments of a call, or the parameters of a function.
    pub fn arguments(&self) -> Vec<Cursor<'u>> {
        let count = unsafe { (api().clang_Cursor_getNumArguments)(self.raw) };
        (0..count.max(0) as c_uint)
            .map(|i| {
                self.unit
                    .cursor(unsafe { (api().clang_Cursor_getArgument)(self.raw, i) })
            })
            .collect()
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

/// A C type.
#[derive(Clone, Copy)]
pub(super) struct Type<'u> {
    raw: CXType,
    unit: &'u Unit,
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

    /// Without typedefs.
    pub fn canonical(&self) -> Type<'u> {
        self.with(unsafe { (api().clang_getCanonicalType)(self.raw) })
    }

    /// In bytes; `None` for incomplete types and those of variable length.
    pub fn size(&self) -> Option<u64> {
        u64::try_from(unsafe { (api().clang_Type_getSizeOf)(self.raw) }).ok()
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

    /// Of a vector: the type of its lanes, and how many there are.
    pub fn vector(&self) -> Option<(Type<'u>, u64)> {
        let elem = self.with(unsafe { (api().clang_getElementType)(self.raw) });
        let n = u64::try_from(unsafe { (api().clang_getNumElements)(self.raw) }).ok()?;
        Some((elem, n))
    }

    pub fn result(&self) -> Type<'u> {
        self.with(unsafe { (api().clang_getResultType)(self.raw) })
    }

    pub fn is_const(&self) -> bool {
        unsafe { (api().clang_isConstQualifiedType)(self.raw) != 0 }
    }

    pub fn is_volatile(&self) -> bool {
        unsafe { (api().clang_isVolatileQualifiedType)(self.raw) != 0 }
    }

    pub fn is_restrict(&self) -> bool {
        unsafe { (api().clang_isRestrictQualifiedType)(self.raw) != 0 }
    }

    pub fn is_variadic(&self) -> bool {
        unsafe { (api().clang_isFunctionTypeVariadic)(self.raw) != 0 }
    }

    /// Where the type is declared.
    pub fn declaration(&self) -> Cursor<'u> {
        self.unit
            .cursor(unsafe { (api().clang_getTypeDeclaration)(self.raw) })
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
