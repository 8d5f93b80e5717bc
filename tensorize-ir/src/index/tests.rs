use super::*;

fn s(name: &str) -> Idx {
    Idx::sym(name)
}

#[test]
fn polynomials_have_one_form() {
    let a = &(&s("i") * &s("n")) + &s("j");
    let b = &(&s("j") + &(&s("n") * &s("i"))) + &Idx::constant(0);
    assert_eq!(a, b);
    assert_eq!((&a - &b).as_constant(), Some(0));
    assert_eq!((&a + &Idx::constant(-1)).to_string(), "i*n + j - 1");
}

#[test]
fn linear_parts_come_apart() {
    let a = &(&s("i") * &s("n")) + &s("j");
    let (c, rest) = a.linear_in("i").unwrap();
    assert_eq!((c, rest), (s("n"), s("j")));
    assert!((&s("i") * &s("i")).linear_in("i").is_none());
    assert!(s("i").floor_div(&Idx::constant(2)).linear_in("i").is_none());
}

#[test]
fn division_rounds_down() {
    assert_eq!(
        Idx::constant(-7).floor_div(&Idx::constant(2)).as_constant(),
        Some(-4)
    );
    assert_eq!(
        Idx::constant(-7).modulo(&Idx::constant(2)).as_constant(),
        Some(1)
    );
    let four_n = &Idx::constant(4) * &s("n");
    let four_i_3 = &(&Idx::constant(4) * &s("i")) + &Idx::constant(7);
    assert_eq!(four_i_3.floor_div(&Idx::constant(4)).to_string(), "i + 1");
    assert_eq!(four_i_3.modulo(&Idx::constant(4)).as_constant(), Some(3));
    assert_eq!(
        four_n.floor_div(&Idx::constant(2)),
        &Idx::constant(2) * &s("n")
    );
}

#[test]
fn remainders_are_found_where_they_are_multiplied_out() {
    for (text, factor) in [
        ("(y + h - h*floordiv(y + h, h))*w + x", "w"),
        ("y - 8*floordiv(y, 8)", "1"),
        ("3*y - 3*n*floordiv(y, n) - 1", "3"),
        ("-2*w*(y - 1) + 2*n*w*floordiv(y - 1, n)", "-2*w"),
    ] {
        let idx: Idx = text.parse().unwrap();
        let r = idx.remainder().expect(text);
        assert_eq!(r.factor, factor.parse().unwrap(), "{text}");
        let quotient = r.dividend.floor_div(&r.divisor);
        let modulo = &r.dividend - &(&quotient * &r.divisor);
        assert_eq!(&(&r.factor * &modulo) + &r.rest, idx, "{text}");
    }
    for text in [
        "n*floordiv(y, h)",
        "y + h*floordiv(y, h)*floordiv(y, h)",
        "x + h*floordiv(y, h)",
        "y - 8*floordiv(y, 16)",
        "i*n + j",
    ] {
        assert_eq!(text.parse::<Idx>().unwrap().remainder(), None, "{text}");
    }
}

#[test]
fn locations_are_written_as_people_write_them() {
    for text in [
        "((i*R + j)*(H - R + 1) + k)*(-S + W + 1) + l",
        "(2*i + 1)*(cols - 2*p) - 3*j*p + q",
        "(k*(H - R + 1) + y)*(W - S + 1) + x",
        "2*i*(a + b + e)*(c + 3*d)",
        "2*i*(cols - k + 1) + j - 2",
        "(mod(i, n) + 1)*(cols + n - 2) + j",
    ] {
        let idx: Idx = text.parse().unwrap();
        let nested = idx.nested().expect(text);
        let again = &(&nested.quotient * &nested.divisor) + &nested.rest;
        assert_eq!(again, idx, "{text}");
        assert_eq!(idx.to_string().parse::<Idx>().unwrap(), idx, "{idx}");
        assert!(
            idx.to_string().contains(")*(") || idx.to_string().contains("*("),
            "{idx}"
        );
        assert!(idx.to_string().len() <= text.len() + 4, "{idx}");
    }
    // What isn't shorter that way stays a sum.
    for text in [
        "i*n + j",
        "a*b + c*d + e*f + g*h + i",
        "x*x + 2*x*y + y*y + x + y",
    ] {
        assert_eq!(text.parse::<Idx>().unwrap().nested(), None, "{text}");
    }
}
