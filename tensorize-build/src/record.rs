//! One kernel's stored result: `.tensorize/<kernel>.toml`.
//!
//! A review shows what changed in it, so it is text, and what is mathematics stands in the text forms
//! of `tensorize-ir` (`Guard`, `Idx`, `tensir::Function`). Generated sources stand beside it, as
//! `.tensorize/<target>/<kernel>.<ext>`. A checksum over everything else tells a hand edit.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tensorize_ir::signature::Source;

/// The version of the format. An entry of another version is treated as absent.
pub const FORMAT: u32 = 1;

/// What is known of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`FORMAT`].
    pub format: u32,
    /// The C name.
    pub name: String,
    /// Its file, relative to the manifest's folder, with `/`.
    pub file: String,
    /// The line of its definition, or of the `#include` that brings it.
    pub line: u32,
    /// The hash of the kernel as the compiler sees it: [`crate::hash::kernel_hash`].
    pub hash: String,
    /// How it went.
    pub status: Status,
    /// `exact` or `real`, if proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// It is read as the same where plain `char` and `wchar_t` have the other signs
    /// ([`crate::hash::Signs`]), so that all this holds there, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub either_sign: bool,
    /// The code of the refusal, such as `TZ0203`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why it is not proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What has to hold at a call, in the text form of `tensorize_ir::guard::Guard`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// What holds at every call that C or C++ allows, and flat arguments could violate: guards of the safe
    /// bindings alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within_objects: Vec<String>,
    /// Name and version of the tool that wrote this.
    pub tool: String,
    /// The solver's version, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub z3: Option<String>,
    /// What share of the kernel a target had to compute for a split, if it was not the target's own to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_share: Option<f64>,
    /// TensIR text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Over everything else; [`Record::seal`] sets it.
    #[serde(default)]
    pub checksum: String,
    /// The C prototype, if all its types are ones we know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prototype: Option<Prototype>,
    /// The memory that is touched, at most an entry for each array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub footprints: Vec<StoredFootprint>,
    /// What the second line of defence saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What was generated, by the target's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, TargetRecord>,
}

/// How it went with a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The summary is what the C computes.
    Proven,
    /// It isn't, on inputs that were found.
    Refuted,
    /// Nobody knows.
    Unproven,
    /// The C uses something that we don't handle.
    Unsupported,
    /// Something went wrong on the way.
    Error,
}

impl Status {
    /// `proven`, `refuted`, `unproven`, `unsupported` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Proven => "proven",
            Status::Refuted => "refuted",
            Status::Unproven => "unproven",
            Status::Unsupported => "unsupported",
            Status::Error => "error",
        }
    }
}

/// A C prototype.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prototype {
    /// The result's type; none for `void`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ret: Option<CType>,
    /// Whether it is `static`. Nobody outside of its file can call it, so it is never swapped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_static: bool,
    /// In C's order.
    #[serde(default)]
    pub params: Vec<Param>,
    /// Where the function's own parameters are more than numbers and pointers: how they become `params`,
    /// which are then those of generated code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A scalar type as C spells it, and what it is on this target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CType {
    /// C's spelling, typedefs kept.
    pub c: String,
    /// The text form of `tensorize_ir::scalar::ScalarType`.
    pub scalar: String,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Its name in the record's guards, footprints and summary.
    pub name: String,
    /// C's spelling, such as `const uint8_t *`.
    pub c: String,
    /// Its scalar type, or that of what it points to.
    pub scalar: String,
    /// A pointer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pointer: bool,
    /// A pointer to `const`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_const: bool,
    /// Declared `restrict`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub restrict: bool,
}

/// `tensorize_ir::guard::Footprint`, its polynomials as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredFootprint {
    /// The parameter.
    pub array: String,
    /// First element.
    pub lo: String,
    /// One past the last element.
    pub hi: String,
    /// Of a table of rows: the first column and one past the last, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<[String; 2]>,
    /// Of a table of tables: the first row and one past the last, of all planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<[String; 2]>,
    /// Of a table of tables: the first plane and one past the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<[String; 2]>,
    /// Whether some are read.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads: bool,
    /// Whether some are written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub writes: bool,
    /// Whether some are read only on some data.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_depend_on_data: bool,
    /// Whether some are written only on some data.
    #[serde(default, skip_serializing_if = "is_false")]
    pub writes_depend_on_data: bool,
}

/// What the runs of original, interpreter and generated code against each other showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// How many inputs were tried.
    pub inputs: u64,
    /// The largest relative error of a float; 0 where all were bit for bit the same.
    pub max_rel_error: f64,
    /// Where a run is too large to be interpreted: at how many places the summary was compared. Generated code was
    /// compared with the original at all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<Places>,
}

/// Some elements of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    /// How many were compared, on each input.
    pub compared: u64,
    /// How many there are.
    pub all: u64,
}

/// What there is for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// How it went.
    pub status: TargetStatus,
    /// The tier of the generated code, the weaker one of the summary's and its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The source, relative to the store: `<target>/<kernel>.<ext>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The function in it. Its parameters are the kernel's, in order. For a device: its kernels, in the order in which
    /// they run, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The source's hash; [`crate::store::Store::save`] sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<String>,
    /// The device is not the machine itself, and a part of the program stands in for it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub emulated: bool,
    /// Guards that this target needs beyond the kernel's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How it went with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetStatus {
    /// There is a source.
    Generated,
    /// The target lacks something that the kernel needs.
    Unsupported,
    /// The generated code did not pass.
    Failed,
    /// There was nothing to run the generated code on, so it is not stored.
    #[serde(rename = "not-run")]
    NotRun,
}

fn is_false(b: &bool) -> bool {
    !b
}

impl Record {
    /// A record of a kernel of which nothing else is known.
    pub fn new(name: &str, file: &str, line: u32, hash: &str, status: Status) -> Record {
        Record {
            format: FORMAT,
            name: name.into(),
            file: file.into(),
            line,
            hash: hash.into(),
            status,
            tier: None,
            either_sign: false,
            code: None,
            why: None,
            guards: vec![],
            within_objects: vec![],
            tool: concat!("cargo-tensorize ", env!("CARGO_PKG_VERSION")).into(),
            z3: None,
            least_share: None,
            summary: None,
            checksum: String::new(),
            prototype: None,
            footprints: vec![],
            evidence: None,
            targets: BTreeMap::new(),
        }
    }

    /// Whether this version of the program wrote it.
    pub fn is_of_this_version(&self) -> bool {
        self.tool == Record::new("", "", 0, "", Status::Proven).tool
    }

    /// Sets the checksum.
    pub fn seal(&mut self) {
        self.checksum = self.expected_checksum();
    }

    /// Whether the checksum is right: nobody edited the record.
    pub fn is_sealed(&self) -> bool {
        self.checksum == self.expected_checksum()
    }

    fn expected_checksum(&self) -> String {
        let bare = Record {
            checksum: String::new(),
            ..self.clone()
        };
        // A record that can't be written has no checksum that fits it.
        toml::to_string(&bare).map_or_else(|e| e.to_string(), |text| short_hash(text.as_bytes()))
    }

    /// The record as its file holds it.
    pub fn to_toml(&self) -> Result<String, String> {
        let body = toml::to_string_pretty(self).map_err(|e| e.to_string())?;
        Ok(format!(
            "# Written by `cargo tensorize`. An edited record is not used; see `checksum`.\n{body}"
        ))
    }

    /// Reads a record; the reason if there is none that can be trusted.
    pub fn from_toml(text: &str) -> Result<Record, Fault> {
        #[derive(Deserialize)]
        struct Version {
            format: Option<u32>,
        }
        let version: Version = toml::from_str(text).map_err(|e| in_toml(text, &e))?;
        match version.format {
            Some(FORMAT) => {}
            Some(v) => {
                return Err(Fault {
                    why: format!("it has format {v}, and this version reads {FORMAT}"),
                    is_newer: v > FORMAT,
                });
            }
            None => return Err("it has no `format`".to_string().into()),
        }
        let record: Record = toml::from_str(text).map_err(|e| in_toml(text, &e))?;
        if !is_c_name(&record.name) {
            return Err(format!("'{}' is no C name", record.name).into());
        }
        if !record.is_sealed() {
            let why = "its checksum is wrong: it was edited after `cargo tensorize` wrote it";
            return Err(why.to_string().into());
        }
        Ok(record)
    }
}

/// Why a record is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In words, about the file.
    pub why: String,
    /// A later version of this program wrote it, and can read it: it is not ours to replace.
    pub is_newer: bool,
}

impl From<String> for Fault {
    fn from(why: String) -> Fault {
        Fault {
            why,
            is_newer: false,
        }
    }
}

/// The error with its line.
fn in_toml(text: &str, e: &toml::de::Error) -> Fault {
    let before = e.span().and_then(|s| text.get(..s.start));
    let line = before.map_or(1, |b| b.matches('\n').count() + 1);
    format!("line {line}: {}", e.message()).into()
}

/// The hash of a text, long enough that nobody meets a collision by chance.
pub fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_string()
}

/// Whether `name` is an identifier of C, and so safe as a file's name and in generated code.
pub fn is_c_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        let mut r = Record::new("blend", "kernels/blend.c", 7, "00ff", Status::Proven);
        r.tier = Some("exact".into());
        r.guards = vec!["rows*cols >= 0".into()];
        r.summary = Some("line one\n  'line' \"two\" \\\n".into());
        r.evidence = Some(Evidence {
            inputs: 40,
            max_rel_error: 0.0,
            places: None,
        });
        r.seal();
        r
    }

    #[test]
    fn a_record_reads_back() {
        let r = sample();
        let text = r.to_toml().unwrap();
        assert_eq!(Record::from_toml(&text).unwrap(), r, "{text}");
        assert!(
            text.contains("line one\n"),
            "the summary stands on lines of its own:\n{text}"
        );
    }

    #[test]
    fn an_edit_is_noticed() {
        let text = sample().to_toml().unwrap();
        let edited = text.replace("rows*cols >= 0", "rows*cols >= 1");
        assert!(
            Record::from_toml(&edited)
                .unwrap_err()
                .why
                .contains("checksum")
        );
        let newer = text.replace("format = 1", "format = 2");
        let newer = Record::from_toml(&newer).unwrap_err();
        assert!(
            newer.is_newer && newer.why.contains("format 2"),
            "{newer:?}"
        );
        let older = text.replace("format = 1", "format = 0");
        assert!(!Record::from_toml(&older).unwrap_err().is_newer);
        assert!(Record::from_toml("{").is_err());
        assert!(Record::from_toml("").is_err());
    }
}
