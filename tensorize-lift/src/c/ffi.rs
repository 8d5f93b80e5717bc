//! libclang, wrapped. The only unsafe code of the front end.
//!
//! The library is opened at run time, so that a missing one is a message and not a link failure.
//! Children are collected in the visitor callback and nothing else is done there: a panic inside of
//! it would abort the process.
// The functions keep the names that libclang gives them.
#![allow(unsafe_code, non_snake_case)]

mod api;
mod cursor;
mod once;
mod ty;

pub(super) use api::{load, version};
pub(super) use cursor::{Constant, Cursor};
pub(super) use once::Once;
pub(super) use ty::{MOST_MEMBERS, Type};

use api::{api, string};
use clang_sys::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_uint, c_ulong};
use std::path::{Path, PathBuf};
use tensorize_ir::scalar::ScalarType;

/// A parsed file.
pub(super) struct Unit {
    index: CXIndex,
    tu: CXTranslationUnit,
    /// Its name, as places have it.
    file: PathBuf,
    /// The structs of the file and of what it includes, if that may be headers of ours.
    structs: HashMap<String, CXCursor>,
    /// What was asked of its structs already.
    pub asked: Asked,
}

/// What is asked of structs again and again. One holds others, which hold others: without notes that takes twice as long for each
/// level.
#[derive(Default)]
pub(super) struct Asked {
    /// How many members there are, those of the structs in it counted, too.
    members: Once<u64>,
    /// The numbers that it consists of.
    pub numbers: Once<Option<(ScalarType, u64)>>,
    /// Whether there is nothing in it but numbers and pointers.
    pub is_known: Once<bool>,
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

/// A file of the project that the parsed one includes.
pub(super) struct Included {
    pub file: PathBuf,
    /// The line of the parsed file that brings it, maybe by way of others.
    pub line: u32,
    raw: CXFile,
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
        let mut file = Cow::Borrowed(file);
        // Its name stands among the arguments.
        if matches!(file.as_os_str().as_encoded_bytes(), [b'-' | b'@', ..]) {
            file = Path::new(".").join(file).into();
        }
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
            let mut unit = Unit {
                index,
                tu,
                file: PathBuf::new(),
                structs: HashMap::new(),
                asked: Asked::default(),
            };
            unit.file = unit.root().spelling().into();
            if !names.is_empty() {
                unit.structs = unit.named_structs();
            }
            Ok(unit)
        }
    }

    fn named_structs(&self) -> HashMap<String, CXCursor> {
        let mut all = self.root().children();
        all.retain(|c| c.kind() == CXCursor_StructDecl && c.is_definition());
        all.into_iter().map(|c| (c.spelling(), c.raw)).collect()
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

    /// What is included besides the machine's headers, once for each time.
    pub fn included(&self) -> Vec<Included> {
        extern "C" fn note(
            file: CXFile,
            stack: *mut CXSourceLocation,
            depth: c_uint,
            found: CXClientData,
        ) {
            let Some(outermost) = depth.checked_sub(1) else {
                return;
            };
            // Safety: `found` is the vector below, and the stack has `depth` places.
            unsafe {
                let found = &mut *found.cast::<Vec<(CXFile, CXSourceLocation)>>();
                found.push((file, *stack.add(outermost as usize)));
            }
        }
        let mut found: Vec<(CXFile, CXSourceLocation)> = Vec::new();
        // Safety: the unit is alive, and `note` has what it expects.
        unsafe { (api().clang_getInclusions)(self.tu, note, (&raw mut found).cast()) };
        let of_project = |(file, from): (CXFile, CXSourceLocation)| {
            // Safety: the file is one of the unit's.
            let (is_system, name) = unsafe {
                let start = (api().clang_getLocation)(self.tu, file, 1, 1);
                let is_system = (api().clang_Location_isInSystemHeader)(start) != 0;
                (is_system, string((api().clang_getFileName)(file)))
            };
            (!is_system).then(|| Included {
                file: name.into(),
                line: place(from).map_or(1, |p| p.line),
                raw: file,
            })
        };
        found.into_iter().filter_map(of_project).collect()
    }

    /// What stands in one of these files.
    pub fn text_of(&self, included: &Included) -> String {
        let mut size = 0;
        // Safety: the file is one of the unit's; what it holds lives as long as the unit.
        let bytes = unsafe {
            let text = (api().clang_getFileContents)(self.tu, included.raw, &mut size);
            match text.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(text.cast::<u8>(), size),
            }
        };
        String::from_utf8_lossy(bytes).into_owned()
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
