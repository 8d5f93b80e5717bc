//! What C++ adds: objects of the standard library, and exceptions, which must not unwind through the
//! dispatcher.

use super::{Adaptor, Around, I64, c_type, local};
use std::fmt::Write as _;
use tensorize_ir::signature::{Field, Holder, Language, Shape};

pub(super) const PRELUDE: &str = r#"
#include <cstddef>
#include <exception>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>
/* tensorize: a call, as the dispatcher gets it from a shim. */
struct tensorize_call {
    void *const *arguments;
    const void *const *fixed;
    std::size_t fixed_count;
    const char *refused;
    void *(*allocate)(void *const *arguments, __INT64_TYPE__ which, __INT64_TYPE__ count, __INT64_TYPE__ pitch);
    void (*settle)(void *const *arguments, __INT64_TYPE__ which, __INT64_TYPE__ rows, __INT64_TYPE__ size, __INT64_TYPE__ pitch);
    const void *const *moved;
    std::size_t moved_count;
};
namespace tensorize {
/* Without `__restrict`, which traits of the library do not know, nor casts. */
template <class T> struct same_as { using type = T; };
template <class T> struct same_as<T *__restrict> { using type = T *; };
template <class T> using same = typename same_as<T>::type;
/* As a parameter is held: what is declared as an array is a pointer, unless it is a reference to one. */
template <class T> using held = typename same_as<typename std::conditional<std::is_reference<T>::value, std::remove_reference<T>, std::decay<T>>::type::type>::type;
template <class T> using bare = typename std::remove_cv<held<T>>::type;
/* The shim's parameter again; what is passed by value is copied, since it may be needed once more. */
template <class T> auto forward(void *p) -> typename std::conditional<std::is_rvalue_reference<T>::value, T, held<T> &>::type {
    return static_cast<typename std::conditional<std::is_rvalue_reference<T>::value, T, held<T> &>::type>(*static_cast<held<T> *>(p));
}
template <class T> typename std::enable_if<std::is_pointer<T>::value, T>::type pointer(const void *p) { return (T)const_cast<void *>(p); }
template <class T> typename std::enable_if<!std::is_pointer<T>::value, T>::type pointer(const void *p) {
    return T((typename T::pointer)const_cast<void *>(p));
}
template <class T> const void *address(T *p) { return p; }
template <class T> auto address(const T &p) -> decltype(static_cast<const void *>(p.base())) { return p.base(); }
template <class T> auto address(const T &p) -> decltype(static_cast<const void *>(p.get())) { return p.get(); }
template <class F> void caught(void *const *arguments, int slot, F run) {
#ifdef __cpp_exceptions
    if (arguments) {
        try {
            run();
        } catch (...) {
            *static_cast<std::exception_ptr *>(arguments[slot + 1]) = std::current_exception();
        }
        return;
    }
#endif
    (void)arguments; (void)slot;
    run();
}
/* Of `size` elements, those between `lo` and `hi` from one place to another. */
template <class A, class B> void copy(A *to, const B *from, __INT64_TYPE__ lo, __INT64_TYPE__ hi, __INT64_TYPE__ size) {
    if (lo < 0) lo = 0;
    if (hi > size) hi = size;
    for (__INT64_TYPE__ i = lo; i < hi; i++) to[i] = from[i];
}
/* The same for vectors of vectors, and a flat array of rows. What stands in a row may be several numbers. */
template <class V, class T> void copy_in(V &rows, const T *from, __INT64_TYPE__ pitch, __INT64_TYPE__ lo, __INT64_TYPE__ hi) {
    const __INT64_TYPE__ each = sizeof(*rows[0].data()) / sizeof(T);
    for (std::size_t i = 0; i < rows.size(); i++) {
        __INT64_TYPE__ start = (__INT64_TYPE__)i * pitch * each;
        copy((T *)rows[i].data(), from + start, lo - start, hi - start, (__INT64_TYPE__)rows[i].size() * each);
    }
}
template <class V, class T> void copy_out(T *to, const V &rows, __INT64_TYPE__ pitch, __INT64_TYPE__ lo, __INT64_TYPE__ hi) {
    const __INT64_TYPE__ each = sizeof(*rows[0].data()) / sizeof(T);
    for (std::size_t i = 0; i < rows.size(); i++) {
        __INT64_TYPE__ start = (__INT64_TYPE__)i * pitch * each, size = (__INT64_TYPE__)rows[i].size();
        copy(to + start, (const T *)rows[i].data(), lo - start, hi - start, (size < pitch ? size : pitch) * each);
    }
}
/* Elements that are structs of numbers, from a flat array of these. */
template <class V, class T> void assign(V &v, const T *from, __INT64_TYPE__ size) {
    const typename V::value_type *first = (const typename V::value_type *)from;
    v.assign(first, first + size);
}
/* So many elements. A string is not made of their number alone. */
template <class V> typename std::enable_if<std::is_constructible<V, std::size_t>::value, V>::type sized(std::size_t n) { return V(n); }
template <class V> typename std::enable_if<!std::is_constructible<V, std::size_t>::value, V>::type sized(std::size_t n) {
    return V(n, typename V::value_type());
}
/* Where elements lie that are written. A string may share its own with others until somebody asks for one to change. */
template <class V, class = typename V::traits_type> auto written(V &v, int) -> decltype(&v[0]) { return &v[0]; }
template <class V> auto written(V &v, long) -> decltype(v.data()) { return v.data(); }
/* What an object is besides its elements, which a short string holds: so many bytes before them, and all from this one on. */
template <class V> const char *first(const V &v) { return &reinterpret_cast<const char &>(v); }
template <class V> const char *within(const V &v, const void *element) {
    const char *at = (const char *)element;
    return std::less<const char *>()(at, first(v)) || std::less<const char *>()(first(v) + sizeof v, at) ? nullptr : at;
}
template <class V> std::size_t before(const V &v) {
    const char *at = within(v, v.data());
    return at ? at - first(v) : sizeof v;
}
template <class V> const char *after(const V &v) {
    const char *at = within(v, v.data() + v.size());
    return at && before(v) != sizeof v ? at : first(v) + sizeof v;
}
template <class V> bool even(const V &rows) {
    for (const auto &row : rows) if (row.size() != rows[0].size()) return false;
    return true;
}
/* What a shim returns. Of a class that nobody can make without a word, the members are made one by one. */
template <class T, bool = std::is_default_constructible<T>::value> struct result { T value; bool set; };
template <class T> struct result<T, false> {
    union { T value; };
    bool set;
    result() : set() { __builtin_memset((void *)&value, 0, sizeof value); }
    ~result() { value.~T(); }
};
template <class T, class V> void begin(result<T, true> &, V &) {}
template <class T, class V> void begin(result<T, false> &, V &member) { new ((void *)&member) V(); }
/* Zeros in the place of an object. */
template <class T> union blank {
    unsigned char bytes[sizeof(T)];
    T value;
    blank() : bytes() {}
    ~blank() {}
};
/* A member gets a value, though it be const. */
template <class T, class V> void set(const T &member, V value) {
    T own = (T)value;
    __builtin_memcpy((void *)&member, (const void *)&own, sizeof own);
}
template <class V> void put(const V &member, V value) { new ((void *)&member) V(std::move(value)); }
template <class V> void taken(const V &member, V &value) {
    V &own = const_cast<V &>(member);
    value = std::move(own);
    own.~V();
}
/* The real or the imaginary part of a complex number, which the standard has be an array of two. */
template <int which, class C> auto part(C &z) -> typename std::conditional<std::is_const<C>::value, const typename C::value_type, typename C::value_type>::type & {
    using T = typename std::conditional<std::is_const<C>::value, const typename C::value_type, typename C::value_type>::type;
    return reinterpret_cast<T (&)[2]>(z)[which];
}
/* A member that is private. */
template <class Tag, class Pointer, Pointer member> struct reach { friend Pointer reached(Tag) { return member; } };
}
"#;

impl Adaptor<'_> {
    /// An expression for an argument that is built from flat ones.
    pub(super) fn cpp_argument(
        &self,
        shape: &Shape,
        ty: &str,
        before: &mut String,
        after: &mut String,
        count: &mut usize,
    ) -> Result<String, String> {
        *count += 1;
        let v = format!("tensorize_v{count}");
        let bare = format!("tensorize::bare<{ty}>");
        let extents = |to: &str| {
            let n = self.array_number(to);
            format!("extents[{}], extents[{}]", 2 * n, 2 * n + 1)
        };
        let written = |to: &str| self.find(to).map(|f| !f.is_const);
        let returns_it = ty.ends_with('&') && !ty.starts_with("const ");
        match shape {
            Shape::Optional { .. } | Shape::Argument { .. } | Shape::Member { .. } => {
                return Err(format!("a parameter that is {shape} is not supported"));
            }
            Shape::Behind { object } => {
                let of = format!("std::remove_pointer<{bare}>::type &");
                let held = self.cpp_argument(object, &of, before, after, count)?;
                return Ok(format!("&{held}"));
            }
            // Nobody looks at it, so nobody has to make it.
            Shape::Unused if ty.ends_with('&') && !ty.ends_with("&&") => {
                writeln!(before, "    {}", self.zeroed(&bare, &v)).ok();
            }
            Shape::Unused => {
                writeln!(before, "    {bare} {v}{{}};").ok();
                return Ok(format!("static_cast<tensorize::same<{ty}>>({v})"));
            }
            Shape::Scalar { to } => return Ok(format!("({bare})({})", local(to))),
            Shape::Numbers { pointer: false, at } => {
                return Ok(format!("({bare})({})", local(&at[0].to)));
            }
            Shape::Numbers { at, .. } => {
                let numbers = self.numbers(at, before, count)?;
                return Ok(format!("tensorize::pointer<{bare}>({numbers})"));
            }
            Shape::Pointers { .. } | Shape::Rows { .. } => {
                let mut around = Around {
                    count: *count,
                    ..Around::default()
                };
                let table = match shape {
                    Shape::Pointers { at } => self.pointers(at, &mut around)?,
                    _ => self.table(shape, &mut around)?,
                };
                *count = around.count;
                *before += &around.before;
                *after += &around.after;
                return Ok(format!("tensorize::pointer<{bare}>({table})"));
            }
            Shape::Pointer { to, given } => {
                let p = match given {
                    Some(g) => format!("{} ? {} : nullptr", local(g), local(to)),
                    None => local(to),
                };
                return Ok(format!("tensorize::pointer<{bare}>({p})"));
            }
            Shape::End { of, count } => {
                return Ok(format!(
                    "tensorize::pointer<{bare}>({} + {})",
                    local(of),
                    local(count)
                ));
            }
            Shape::Place { to, .. } => {
                writeln!(before, "    {bare} {v}{{}};").ok();
                self.cpp_place(&v, to, before, after)?;
            }
            Shape::Struct {
                pointer, ty: own, ..
            } => {
                writeln!(before, "    {}", self.zeroed(own, &v)).ok();
                self.fill_struct(shape, &v, before, after, count)?;
                return Ok(if *pointer { format!("&{v}") } else { v });
            }
            Shape::Vector {
                to, size, resized, ..
            } => {
                let size = size.as_ref().map_or("0".into(), |s| local(s));
                let (array, ends) = (local(to), extents(to));
                let (numbers, count) = numbers(&v, c_type(self.find(to)?.scalar, Language::Cpp));
                writeln!(
                    before,
                    "    {bare} {v} = tensorize::sized<{bare}>({size} > 0 ? {size} : 0);"
                )
                .ok();
                writeln!(
                    before,
                    "    tensorize::copy({numbers}, {array}, {ends}, {count});"
                )
                .ok();
                if returns_it && written(to)? {
                    writeln!(
                        after,
                        "    tensorize::copy({array}, {numbers}, {ends}, {count});"
                    )
                    .ok();
                }
                if let Some(r) = resized {
                    writeln!(after, "    *{} = ({I64}){v}.size();", local(r)).ok();
                }
            }
            Shape::Span { to, size, .. } => {
                let size = size
                    .as_ref()
                    .map_or(format!("{bare}::extent"), |s| local(s));
                let p = format!("(typename tensorize::same<{bare}>::pointer)({})", local(to));
                let p = p.replace("typename ", "");
                return Ok(format!("{bare}({p}, {size})"));
            }
            Shape::Records {
                holder, members, ..
            } => {
                let mut around = Around {
                    count: *count,
                    ..Around::default()
                };
                let (start, n) = self.structs(shape, &mut around)?;
                *count = around.count;
                *before += &around.before;
                let is_written = members.iter().any(|m| written(&m.to).is_ok_and(|w| w));
                if *holder == Holder::Vector && is_written {
                    writeln!(after, "    __builtin_memcpy({start}, (const void *){v}.data(), {n} * sizeof({bare}::value_type));").ok();
                }
                *after += &around.after;
                match holder {
                    Holder::Pointer => return Ok(format!("tensorize::pointer<{bare}>({start})")),
                    Holder::Span => {
                        let p = format!("(tensorize::same<{bare}>::pointer)({start})");
                        return Ok(format!("{bare}({p}, {n})"));
                    }
                    Holder::Vector => {
                        let first = format!("(const {bare}::value_type *)({start})");
                        writeln!(before, "    {bare} {v}({first}, {first} + {n});").ok();
                    }
                }
            }
            Shape::Nested {
                to,
                rows,
                pitch,
                resized,
            } => {
                let rows = rows.as_ref().map_or("0".into(), |r| local(r));
                let (array, ends, pitch) = (local(to), extents(to), local(pitch));
                writeln!(
                    before,
                    "    {bare} {v}({rows} > 0 ? {rows} : 0, {bare}::value_type({pitch} > 0 ? {pitch} : 0));\n    \
                     tensorize::copy_in({v}, {array}, {pitch}, {ends});"
                )
                .ok();
                if returns_it && written(to)? {
                    writeln!(
                        after,
                        "    tensorize::copy_out({array}, {v}, {pitch}, {ends});"
                    )
                    .ok();
                }
                if let Some(r) = resized {
                    writeln!(after, "    {}", sizes(&local(r), &v)).ok();
                }
            }
        }
        Ok(if ty.ends_with("&&") {
            format!("std::move({v})")
        } else {
            v
        })
    }

    /// Copies the vectors in a parameter that may have grown to their flat arrays. `of` is an expression for what the
    /// parameter refers to.
    pub(super) fn grown(&self, shape: &Shape, of: &str) -> String {
        let ends = |to: &str| {
            let n = self.array_number(to);
            format!("extents[{}], extents[{}]", 2 * n, 2 * n + 1)
        };
        let store = match shape {
            Shape::Struct {
                pointer,
                ty,
                fields,
            } => {
                let each = |f: &Field| self.grown(&f.shape, &self.member(of, *pointer, ty, f));
                return fields.iter().map(each).collect();
            }
            Shape::Behind { object } => return self.grown(object, &format!("(*{of})")),
            Shape::Vector {
                to,
                resized: Some(r),
                ..
            } => {
                let ty = self
                    .find(to)
                    .map_or(I64, |f| c_type(f.scalar, Language::Cpp));
                let (here, count) = numbers("v", ty);
                format!(
                    "tensorize::copy({}, {here}, {}, {count}); *{} = ({I64})v.size();",
                    local(to),
                    ends(to),
                    local(r)
                )
            }
            Shape::Nested {
                to,
                pitch,
                resized: Some(r),
                ..
            } => format!(
                "tensorize::copy_out({}, v, {}, {}); {}",
                local(to),
                local(pitch),
                ends(to),
                sizes(&local(r), "v")
            ),
            _ => return String::new(),
        };
        format!("        if (extents) {{ auto &v = {of}; {store} }}\n")
    }

    fn cpp_place(
        &self,
        v: &str,
        to: &str,
        before: &mut String,
        after: &mut String,
    ) -> Result<(), String> {
        let flat = self.find(to)?;
        let (ty, n, array) = (
            c_type(flat.scalar, Language::Cpp),
            self.array_number(to),
            local(to),
        );
        let ends = format!("extents[{}], extents[{}]", 2 * n, 2 * n + 1);
        let here = format!("({ty} *)&{v}");
        let size = format!("({I64})(sizeof({v}) / sizeof({ty}))");
        writeln!(
            before,
            "    tensorize::copy({here}, {array}, {ends}, {size});"
        )
        .ok();
        if !flat.is_const {
            writeln!(
                after,
                "    tensorize::copy({array}, {here}, {ends}, {size});"
            )
            .ok();
        }
        Ok(())
    }

    /// The call of a function whose result is flattened, too.
    pub(super) fn result(&self, shape: &Shape, invoked: &str) -> Result<String, String> {
        let slot = self.source.params.len();
        let store = self.stored(shape, "v")?;
        let ty = format!("tensorize::bare<{}>", self.source.returns);
        if let Shape::Optional { .. } = shape {
            // The shim makes the object of what is stored.
            return Ok(format!(
                "        tensorize::caught(arguments, {slot}, [&] {{\n            \
                 {ty} v = {invoked};\n            {store}\n        }});\n"
            ));
        }
        Ok(format!(
            "        tensorize::caught(arguments, {slot}, [&] {{\n            \
             {ty} v = {invoked};\n            \
             if (extents) {{ {store}}}\n            \
             if (arguments) {{ auto *r = static_cast<tensorize::result<{ty}> *>(arguments[{slot}]); r->value = std::move(v); r->set = true; }}\n        \
             }});\n"
        ))
    }

    /// Copies what was returned to its flat arrays.
    fn stored(&self, shape: &Shape, v: &str) -> Result<String, String> {
        let mut store = String::new();
        let extents = |to: &str| {
            let n = self.array_number(to);
            format!("extents[{}], extents[{}]", 2 * n, 2 * n + 1)
        };
        match shape {
            Shape::Vector { to, resized, .. } => {
                let (array, ends) = (local(to), extents(to));
                let (numbers, count) = numbers(v, c_type(self.find(to)?.scalar, Language::Cpp));
                write!(
                    store,
                    "tensorize::copy({array}, {numbers}, {ends}, {count}); "
                )
                .ok();
                if let Some(r) = resized {
                    write!(store, "*{} = ({I64}){v}.size(); ", local(r)).ok();
                }
            }
            Shape::Nested {
                to, pitch, resized, ..
            } => {
                let (array, ends) = (local(to), extents(to));
                write!(
                    store,
                    "tensorize::copy_out({array}, {v}, {}, {ends}); ",
                    local(pitch)
                )
                .ok();
                if let Some(r) = resized {
                    store += &sizes(&local(r), v);
                }
            }
            Shape::Place { to, .. } => {
                let (array, ends) = (local(to), extents(to));
                let ty = c_type(self.find(to)?.scalar, Language::Cpp);
                write!(
                    store,
                    "tensorize::copy({array}, (const {ty} *)&{v}, {ends}, ({I64})(sizeof({v}) / sizeof({ty}))); "
                )
                .ok();
            }
            Shape::Struct { ty, fields, .. } => {
                for f in fields {
                    store += &self.stored(&f.shape, &self.member(v, false, ty, f))?;
                }
            }
            Shape::Optional { has_value, value } => {
                for to in shape.flat() {
                    write!(store, "*{} = 0; ", local(to)).ok();
                }
                write!(
                    store,
                    "if ({v}.has_value()) {{ *{} = 1; {}}} ",
                    local(has_value),
                    self.number_stored(value, &format!("(*{v})"))?
                )
                .ok();
            }
            other => return Err(format!("a result that is {other} is not supported")),
        }
        Ok(store)
    }

    /// The same for numbers of which each is an array of one element.
    fn number_stored(&self, shape: &Shape, v: &str) -> Result<String, String> {
        match shape {
            Shape::Place { to, .. } => Ok(format!("*{} = {v}; ", local(to))),
            Shape::Struct { ty, fields, .. } => fields
                .iter()
                .map(|f| self.number_stored(&f.shape, &self.member(v, false, ty, f)))
                .collect(),
            other => Err(format!("a result that is {other} is not supported")),
        }
    }
}

/// Where the numbers in a vector begin, and how many there are: its elements may be structs of several.
pub(super) fn numbers(v: &str, ty: &str) -> (String, String) {
    (
        format!("({ty} *){v}.data()"),
        format!("({I64})({v}.size() * sizeof(*{v}.data()) / sizeof({ty}))"),
    )
}

/// Stores the number of rows and their length.
fn sizes(to: &str, v: &str) -> String {
    format!("{to}[0] = ({I64}){v}.size(); {to}[1] = {v}.empty() ? 0 : ({I64}){v}[0].size(); ")
}
