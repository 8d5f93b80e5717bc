//! How the parameters of a source function and those of its LoopIR belong together.
//!
//! LoopIR knows numbers and flat arrays. A parameter that is more than that (a struct, a table of row
//! pointers, a `std::vector`) is *flattened*: each part that the function uses becomes a parameter of its
//! own, and this says which. Who calls the flat function takes the source's arguments apart by it; who
//! calls the source's function from flat arguments builds them.
//!
//! So are the variables outside of the function that it works on. A function without any, whose parameters are numbers
//! and pointers as they stand, needs no description.

mod display;

use serde::{Deserialize, Serialize};
/// A function of the source, seen from its LoopIR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The language.
    pub language: Language,
    /// How an expression of the source names the function: `blend`, `image::blend<float>`.
    pub call: String,
    /// The name that the linker sees.
    pub symbol: String,
    /// What is returned, spelled as in the source; `void` for nothing.
    pub returns: String,
    /// How the returned value is flattened, if it is not LoopIR's own return value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Shape>,
    /// In the source's order.
    #[serde(default)]
    pub params: Vec<Param>,
    /// Variables outside of the function that it reads or writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globals: Vec<Global>,
    /// A variable of the function's own that all calls share, so that no two may run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// Elements of a vector whose length it sets are reached by number: whether they are there, then, no size alone says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reaches_into_growing: bool,
    /// It compares places in a table of rows that may be in two of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub compares_rows: bool,
}

/// The language of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// A parameter of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type as it can stand in a prototype without names, such as `const struct matrix *`.
    pub ty: String,
    /// What becomes of it.
    pub shape: Shape,
}

/// A variable that code at the end of the file can name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Global {
    /// An expression that names it: `gain`, `image::gain`.
    pub name: String,
    /// What becomes of it.
    pub shape: Shape,
    /// Another file defines it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub elsewhere: bool,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its name; of a part of a `std::tuple` or a `std::complex` the function that gives it, `std::get<0>`.
    pub name: String,
    /// The class that declares it, if that is one that the struct is derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// If it is private, its type, which code that is to reach it has to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// If it is a reference, how many bytes of the class that declares it lie before what the reference is kept in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<u64>,
    /// What becomes of it.
    pub shape: Shape,
}

/// One of the numbers behind a pointer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Which element it is.
    pub index: u64,
    /// The scalar.
    pub to: String,
}

/// One of the pointers of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Which one it is.
    pub index: u64,
    /// What it leads to.
    pub shape: Shape,
}

/// The members of one type of structs in an array: the structs' memory, seen as an array of that type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// The array.
    pub to: String,
    /// How many of its elements fill a struct.
    pub stride: u64,
    /// Which of these are members that the function looks at: the first of each range and one past its last, in ascending
    /// order.
    pub at: Vec<(u64, u64)>,
}

/// What structs lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// Behind a pointer.
    Pointer,
    /// In a `std::vector` that is passed by reference.
    Vector,
    /// In a `std::span`.
    Span,
}

/// How one value of the source is flattened. All strings but spelled types are names of LoopIR parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// The function does not look at it.
    Unused,
    /// A number: a scalar.
    Scalar {
        /// The scalar.
        to: String,
    },
    /// A pointer or a reference to numbers, or an array within a struct, of which nothing is used but some that are only read:
    /// a scalar for each.
    Numbers {
        /// Passed by pointer, not by reference or as the array itself.
        #[serde(default, skip_serializing_if = "is_false")]
        pointer: bool,
        /// In ascending order.
        at: Vec<Number>,
    },
    /// A pointer to elements, or an iterator over contiguous ones: an array.
    Pointer {
        /// The array.
        to: String,
        /// An `i1`: whether it is not null. Only if the function asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<String>,
    },
    /// A pointer or iterator to the end of the array that starts at another parameter.
    End {
        /// That other parameter's array.
        of: String,
        /// An `i64`: how many elements lie between.
        count: String,
    },
    /// What lies in memory itself, such as a number behind a C++ reference, a field that is assigned, an
    /// array within a struct, a `std::array`: an array that starts at its address.
    Place {
        /// The array.
        to: String,
        /// How many elements it has.
        len: u64,
    },
    /// A table of pointers, each of which leads to an array of its own.
    Pointers {
        /// Those that are used, in order.
        at: Vec<Entry>,
    },
    /// A table of row pointers: element *j* of row *i* is element `i*pitch + j` of a flat array. Or a table of such tables, which
    /// are planes: element *k* of row *j* of plane *i* is element `(i*per_plane + j)*pitch + k`.
    Rows {
        /// The array.
        to: String,
        /// An `i64`.
        pitch: String,
        /// An `i64`, of a table of tables.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_plane: Option<String>,
        /// An `i1`: whether the table is not null. Only if the function asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<String>,
        /// Where the table itself is here, and not a pointer to one: how many pointers it has, such as three of the
        /// field `float *planes[3]`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<u64>,
    },
    /// A struct; fields that are not listed are not used.
    Struct {
        /// Passed by pointer. (A C++ reference is used like a value.)
        #[serde(default, skip_serializing_if = "is_false")]
        pointer: bool,
        /// The struct's type alone, such as `struct matrix`.
        ty: String,
        /// In the struct's order.
        fields: Vec<Field>,
    },
    /// What is returned is a parameter as it was passed: a pointer, or a reference to what one refers to.
    Argument {
        /// Which parameter.
        number: usize,
    },
    /// What is returned is a reference to a member of a parameter.
    Member {
        /// Which parameter.
        number: usize,
        /// The parameter, with the one member.
        part: Box<Shape>,
    },
    /// A `std::optional` that is returned.
    Optional {
        /// An array of one `i1`: whether there is a value.
        has_value: String,
        /// The value; zeros where there is none.
        value: Box<Shape>,
    },
    /// A pointer to one object of the library: what that object becomes.
    Behind {
        /// The object's.
        object: Box<Shape>,
    },
    /// A `std::vector`, by value or by reference, or one that is returned.
    Vector {
        /// Its elements: an array.
        to: String,
        /// Its length at the call, an `i64`; none for one that is returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<String>,
        /// How many numbers each of its elements is, such as two of a complex one.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        each: u64,
        /// An array of one `i64` that gets its length at the end, if that can change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resized: Option<String>,
    },
    /// A `std::span`.
    Span {
        /// Its elements: an array.
        to: String,
        /// Its length, an `i64`; none where its type says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<String>,
        /// How many numbers each of its elements is.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        each: u64,
    },
    /// Structs with members of several types: an array for each type, all of which are the structs' memory.
    Records {
        /// What they lie in.
        holder: Holder,
        /// The struct's type alone.
        ty: String,
        /// One for each type, in the order of their first use.
        members: Vec<Members>,
        /// How many structs there are, an `i64`, where the holder says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<String>,
    },
    /// A vector of vectors of one length.
    Nested {
        /// Element *j* of row *i* is element `i*pitch + j` of this array.
        to: String,
        /// How many rows there are at the call, an `i64`; none for one that is returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<String>,
        /// An `i64`: the length of every row at the call; for one that is returned, a length that the
        /// rows don't exceed.
        pitch: String,
        /// An array of two `i64` that gets the number of rows and their length at the end, if these can
        /// change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resized: Option<String>,
    },
}

fn one() -> u64 {
    1
}

fn is_one(n: &u64) -> bool {
    *n == 1
}

fn is_false(b: &bool) -> bool {
    !b
}

impl Shape {
    /// Its members, and theirs, if it is a struct, or what its pointers lead to; else itself.
    pub fn leaves(&self) -> Vec<&Shape> {
        match self {
            Shape::Struct { fields, .. } => fields.iter().flat_map(|f| f.shape.leaves()).collect(),
            Shape::Pointers { at } => at.iter().flat_map(|e| e.shape.leaves()).collect(),
            Shape::Behind { object } => object.leaves(),
            leaf => vec![leaf],
        }
    }

    /// The arrays that an array of structs with members of several types becomes; of all else, there are none.
    pub fn members(&self) -> &[Members] {
        match self {
            Shape::Records { members, .. } => members,
            _ => &[],
        }
    }

    /// The LoopIR parameters that this becomes, in the order in which LoopIR has them: those of each value
    /// stand together, the array first.
    pub fn flat(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        match self {
            Shape::Unused | Shape::Argument { .. } | Shape::Member { .. } => {}
            Shape::Scalar { to } | Shape::Place { to, .. } => names.push(to),
            Shape::Numbers { at, .. } => names.extend(at.iter().map(|n| n.to.as_str())),
            Shape::Pointer { to, given } => {
                names.push(to);
                names.extend(given.as_deref());
            }
            Shape::End { count, .. } => names.push(count),
            Shape::Rows {
                to,
                pitch,
                per_plane,
                given,
                ..
            } => {
                names.extend([to.as_str(), pitch]);
                names.extend(per_plane.as_deref());
                names.extend(given.as_deref());
            }
            Shape::Pointers { at } => names.extend(at.iter().flat_map(|e| e.shape.flat())),
            Shape::Behind { object } => names.extend(object.flat()),
            Shape::Struct { fields, .. } => {
                names.extend(fields.iter().flat_map(|f| f.shape.flat()));
            }
            Shape::Optional { has_value, value } => {
                names.push(has_value);
                names.extend(value.flat());
            }
            Shape::Vector {
                to, size, resized, ..
            } => {
                names.push(to);
                names.extend(size.as_deref());
                names.extend(resized.as_deref());
            }
            Shape::Span { to, size, .. } => {
                names.push(to);
                names.extend(size.as_deref());
            }
            Shape::Records { members, size, .. } => {
                names.extend(members.iter().map(|m| m.to.as_str()));
                names.extend(size.as_deref());
            }
            Shape::Nested {
                to,
                rows,
                pitch,
                resized,
            } => {
                names.push(to);
                names.extend(rows.as_deref());
                names.push(pitch);
                names.extend(resized.as_deref());
            }
        }
        names
    }
}

/// What the object of a member function is called, which no other parameter can be.
pub const THIS: &str = "this";

/// A vector that gets a length at the end ([`Shape::Vector`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Resized {
    /// The array of its elements.
    pub array: String,
    /// The array of one `i64` that gets its length, in elements of the vector.
    pub size: String,
    /// How many numbers each of these is.
    pub each: i64,
}

impl Source {
    /// Whether it is a member function, called on its first parameter.
    pub fn is_method(&self) -> bool {
        self.params.first().is_some_and(|p| p.name == THIS)
    }

    /// The parts of the parameters that are no structs.
    pub fn leaves(&self) -> Vec<&Shape> {
        self.given().flat_map(Shape::leaves).collect()
    }

    /// The array of this name, if it is members of structs that have members of other types, too.
    pub fn members(&self, array: &str) -> Option<&Members> {
        let leaves = self.leaves().into_iter();
        leaves.flat_map(Shape::members).find(|m| m.to == array)
    }

    /// The pitch of a table of row pointers, by the name of its flat array; and of a table of tables, how many rows there are per
    /// plane.
    pub fn pitch_of(&self, array: &str) -> Option<(&str, Option<&str>)> {
        self.leaves().into_iter().find_map(|s| match s {
            Shape::Rows {
                to,
                pitch,
                per_plane,
                ..
            } if to == array => Some((pitch.as_str(), per_plane.as_deref())),
            _ => None,
        })
    }

    /// The vectors that get a length at the end.
    pub fn resized(&self) -> Vec<Resized> {
        let made = self.given().chain(&self.result).flat_map(Shape::leaves);
        let resized = made.filter_map(|s| match s {
            Shape::Vector {
                to,
                resized: Some(size),
                each,
                ..
            } => Some(Resized {
                array: to.clone(),
                size: size.clone(),
                each: i64::try_from(*each).ok()?,
            }),
            _ => None,
        });
        resized.collect()
    }

    /// What becomes of the parameters, then of the variables.
    pub fn given(&self) -> impl Iterator<Item = &Shape> {
        let globals = self.globals.iter().map(|g| &g.shape);
        self.params.iter().map(|p| &p.shape).chain(globals)
    }

    /// The LoopIR parameters in their order: those of the source's parameters, its variables', then the result's.
    pub fn flat(&self) -> Vec<&str> {
        let all = self.given().chain(&self.result);
        all.flat_map(Shape::flat).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Source {
        let rows = Shape::Rows {
            to: "m_vals".into(),
            pitch: "m_vals_pitch".into(),
            per_plane: None,
            given: None,
            held: None,
        };
        let field = |name: &str, shape| Field {
            name: name.into(),
            base: None,
            hidden: None,
            reference: None,
            shape,
        };
        Source {
            language: Language::C,
            call: "scale".into(),
            symbol: "scale".into(),
            returns: "void".into(),
            result: None,
            globals: vec![],
            shared: None,
            reaches_into_growing: false,
            compares_rows: false,
            params: vec![
                Param {
                    name: "m".into(),
                    ty: "matrix *".into(),
                    shape: Shape::Struct {
                        pointer: true,
                        ty: "matrix".into(),
                        fields: vec![
                            field(
                                "rows",
                                Shape::Scalar {
                                    to: "m_rows".into(),
                                },
                            ),
                            field("vals", rows),
                        ],
                    },
                },
                Param {
                    name: "b".into(),
                    ty: "const float *".into(),
                    shape: Shape::Pointer {
                        to: "b".into(),
                        given: Some("b_given".into()),
                    },
                },
            ],
        }
    }

    #[test]
    fn flat_parameters_in_order() {
        assert_eq!(
            matrix().flat(),
            ["m_rows", "m_vals", "m_vals_pitch", "b", "b_given"]
        );
    }

    #[test]
    fn it_reads_back() {
        let source = matrix();
        let json = serde_json::to_string(&source).unwrap();
        assert_eq!(serde_json::from_str::<Source>(&json).unwrap(), source);
        assert_eq!(
            source.to_string(),
            "void scale(matrix * m: *{ rows: m_rows, vals: rows of m_vals by m_vals_pitch }, \
             const float * b: *b if b_given)"
        );
    }
}
