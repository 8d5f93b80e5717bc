//! libclang's functions, looked up in the library when it is opened.

use clang_sys::*;
use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_ulonglong};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

macro_rules! api {
    (required { $(fn $name:ident($($arg:ty),*) $(-> $ret:ty)?;)* }
     optional { $(fn $oname:ident($($oarg:ty),*) $(-> $oret:ty)?;)* }) => {
        pub(super) struct Api {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            $(pub $oname: Option<unsafe extern "C" fn($($oarg),*) $(-> $oret)?>,)*
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
        fn clang_Location_isInSystemHeader(CXSourceLocation) -> c_int;
        fn clang_getInclusions(CXTranslationUnit, CXInclusionVisitor, CXClientData);
        fn clang_getLocation(CXTranslationUnit, CXFile, c_uint, c_uint) -> CXSourceLocation;
        fn clang_getFileContents(CXTranslationUnit, CXFile, *mut usize) -> *const c_char;
        fn clang_getFileName(CXFile) -> CXString;
        fn clang_getCanonicalType(CXType) -> CXType;
        fn clang_getTypeSpelling(CXType) -> CXString;
        fn clang_Type_visitFields(CXType, CXFieldVisitor, CXClientData) -> c_uint;
        fn clang_getSpecializedCursorTemplate(CXCursor) -> CXCursor;
        fn clang_getTypeDeclaration(CXType) -> CXCursor;
        fn clang_Type_getSizeOf(CXType) -> c_longlong;
        fn clang_Type_getAlignOf(CXType) -> c_longlong;
        fn clang_Cursor_getOffsetOfField(CXCursor) -> c_longlong;
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
        fn clang_getCursorLinkage(CXCursor) -> CXLinkageKind;
        fn clang_getCursorTLSKind(CXCursor) -> CXTLSKind;
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
        fn clang_CXXField_isMutable(CXCursor) -> c_uint;
        fn clang_Cursor_isBitField(CXCursor) -> c_uint;
        fn clang_getCursorSemanticParent(CXCursor) -> CXCursor;
        fn clang_Cursor_getMangling(CXCursor) -> CXString;
        fn clang_Type_getNumTemplateArguments(CXType) -> c_int;
        fn clang_Type_getTemplateArgumentAsType(CXType, c_uint) -> CXType;
        fn clang_Cursor_isFunctionInlined(CXCursor) -> c_uint;
        fn clang_CXXMethod_isStatic(CXCursor) -> c_uint;
        fn clang_CXXMethod_isConst(CXCursor) -> c_uint;
        fn clang_CXXMethod_isDefaulted(CXCursor) -> c_uint;
    }
    optional {
        fn clang_getCursorPrettyPrinted(CXCursor, CXPrintingPolicy) -> CXString;
        fn clang_getCursorBinaryOperatorKind(CXCursor) -> CXBinaryOperatorKind;
        fn clang_getCursorUnaryOperatorKind(CXCursor) -> CXUnaryOperatorKind;
    }
}

static API: OnceLock<Api> = OnceLock::new();

pub(super) fn api() -> &'static Api {
    // A `Unit`, without which nothing here is reached, exists only after `load`.
    API.get()
        .expect("libclang is loaded before a file is parsed")
}

/// Opens the first of these files that is a usable libclang; keeps it for the rest of the process.
pub(in crate::c) fn load(
    candidates: impl FnOnce() -> Vec<PathBuf>,
) -> Result<&'static Path, Vec<String>> {
    if let Some(api) = API.get() {
        return Ok(&api.path);
    }
    stay_on_our_thread();
    let mut failures = Vec::new();
    for path in candidates() {
        match Api::open(&path) {
            Ok(api) => return Ok(&API.get_or_init(|| api).path),
            Err(why) => failures.push(format!("{}: {why}", path.display())),
        }
    }
    Err(failures)
}

/// libclang would parse on a thread of its own, with 8 MiB of stack, which a few thousand nested statements overflow. It
/// asks the environment whether it may, and has no other way to be told.
fn stay_on_our_thread() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // Safety: Rust's own uses of the environment take turns. Of C code that reads it, and runs at the same time as this,
    // there is none before libclang is there.
    ONCE.call_once(|| unsafe { std::env::set_var("LIBCLANG_NOTHREADS", "1") });
}

/// The version as libclang spells it. Call [`load`] first.
pub(in crate::c) fn version() -> String {
    // Safety: no arguments; the string is taken over.
    string(unsafe { (api().clang_getClangVersion)() })
}

pub(super) fn string(s: CXString) -> String {
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
