use super::*;
use crate::Elem;

fn spaced(rows: &[*mut f32], range: (i64, i64)) -> Result<(usize, i64), Misfit> {
    let range = RowRange {
        lo: range.0,
        hi: range.1,
        pitch: 3,
    };
    let table = rows.as_ptr().cast();
    // SAFETY: the table has these rows.
    unsafe { equally_spaced("m", table, Some(range), 4, false) }.map(|(p, n)| (p as usize, n))
}

#[test]
fn rows_that_are_equally_far_apart_are_an_array() {
    let mut m = [0f32; 40];
    let p = m.as_mut_ptr();
    let at = |i: usize| p.wrapping_add(i);
    assert_eq!(spaced(&[at(0), at(5), at(10)], (0, 3)), Ok((p as usize, 5)));
    // Rows 1 and 2 alone; row 0 is anywhere.
    assert_eq!(
        spaced(&[ptr::null_mut(), at(10), at(14)], (1, 3)),
        Ok((at(6) as usize, 4))
    );
    assert_eq!(spaced(&[at(7)], (0, 1)), Ok((at(7) as usize, 3)));
    assert_eq!(spaced(&[], (0, 0)), Ok((0, 3)));
    for uneven in [
        [at(0), at(5), at(11)],
        [at(10), at(5), at(0)],
        [at(0), at(0), at(0)],
    ] {
        assert!(spaced(&uneven, (0, 3)).unwrap_err().contains("`m`"));
    }
    let odd = [p.cast::<u8>(), p.cast::<u8>().wrapping_add(6)];
    assert!(spaced(&[odd[0].cast(), odd[1].cast()], (0, 2)).is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn a_table_that_may_not_be_read_is_no_crash() {
    let range = RowRange {
        lo: 0,
        hi: 4,
        pitch: 1,
    };
    let nowhere = ptr::without_provenance::<*mut c_void>(64);
    // SAFETY: it depends on the data.
    let answer = unsafe { equally_spaced("m", nowhere, Some(range), 4, true) };
    assert!(answer.unwrap_err().contains("can't be read"));
}

#[test]
fn rows_follow_from_extents() {
    let range = |lo: i64, hi: i64, pitch: i64| Some(RowRange { lo, hi, pitch });
    // (rows - 1)*pitch + cols
    assert_eq!(row_range(&|p| Some((0, 6 * p + 9))), range(0, 7, 9));
    // A stencil's rows, from row 1 and column 1 on.
    assert_eq!(row_range(&|p| Some((p + 1, 6 * p + 8))), range(1, 7, 8));
    assert_eq!(
        row_range(&|p| Some((0, (4 * p + 2).max(2 * p + 9)))),
        range(0, 5, 2)
    );
    assert_eq!(row_range(&|p| Some((0, 9 - p))), range(0, 0, 1));
    assert_eq!(row_range(&|_| Some((0, 0))), range(0, 0, 1));
    type Extent = &'static dyn Fn(i64) -> Option<(i64, i64)>;
    let unknown: [Extent; 5] = [
        &|p| Some((0, p * p)),
        &|p| Some((0, 3 * p)),
        &|p| Some((0, 3 * p - 1)),
        &|_| Some((0, 1 << 40)),
        &|_| None,
    ];
    for extent in unknown {
        assert_eq!(row_range(extent), None);
    }
}

#[test]
fn blocks_give_back_what_changed() {
    let (mut a, mut b) = ([1i16, 2, 3], [4i16, 5, 6]);
    let table: [*mut c_void; 2] = [b.as_mut_ptr().cast(), a.as_mut_ptr().cast()];
    let mut block = Block::default();
    // SAFETY: the table has two rows of three elements.
    let p: *mut i16 = unsafe { block.gather(table.as_ptr(), 2, 3, 2, true) }
        .unwrap()
        .cast();
    // SAFETY: the block has six elements.
    let data = unsafe { std::slice::from_raw_parts_mut(p, 6) };
    assert_eq!(data, [4, 5, 6, 1, 2, 3]);
    data[4] = 20;
    // Somebody else's.
    b[0] = 40;
    // SAFETY: both rows are there.
    unsafe { block.scatter() };
    assert_eq!((a, b), ([1, 20, 3], [40, 5, 6]));
    // SAFETY: both rows are there.
    unsafe { block.refresh() };
    assert_eq!(block.data[0] & 0xffff, 40);
}

#[test]
fn copied_rows_that_share_memory_with_writes_are_refused() {
    let mut m = [0f32; 16];
    let p: *mut c_void = m.as_mut_ptr().cast();
    let row = |i: usize| p.wrapping_byte_add(4 * i);
    let block = |rows: &[*mut c_void], writes| {
        let mut b = Block::default();
        // SAFETY: four elements from each on are there.
        unsafe { b.gather(rows.as_ptr(), rows.len() as i64, 4, 4, writes) }.unwrap();
        b
    };
    let array = |i: usize, writes| Array {
        name: "x",
        pointer: row(i),
        elem: Elem::F32,
        lo: 0,
        hi: 4,
        writes,
        depends_on_data: false,
        members: None,
    };
    let (written, read) = (block(&[row(0), row(4)], true), block(&[row(2)], false));
    assert!(rows_apart(&[&written], &[]).is_ok());
    assert!(rows_apart(&[&written], &[&array(8, true)]).is_ok());
    assert!(rows_apart(&[&written, &read], &[]).is_err());
    assert!(rows_apart(&[&written], &[&array(7, false)]).is_err());
    assert!(rows_apart(&[&read], &[&array(3, false)]).is_ok());
    assert!(rows_apart(&[&read], &[&array(3, true)]).is_err());
    assert!(rows_apart(&[&block(&[row(0), row(3)], true)], &[]).is_err());
    assert!(rows_apart(&[&block(&[row(0), row(3)], false)], &[]).is_ok());
    // Arrays among themselves are the guards' affair.
    assert!(
        rows_apart(
            &[&block(&[row(12)], false)],
            &[&array(0, true), &array(0, true)]
        )
        .is_ok()
    );
}

/// What a shim says of a call: what it has read, and the vectors that get their elements at the end.
fn described(fixed: &[*const c_void], moved: &[*const c_void]) -> Call {
    Call {
        fixed: fixed.as_ptr(),
        fixed_count: fixed.len() / 2,
        moved: moved.as_ptr(),
        moved_count: moved.len() / 3,
        ..FLAT
    }
}

#[test]
fn what_a_call_changes_is_apart_from_what_it_goes_by() {
    let mut m = [0f32; 32];
    let p: *mut c_void = m.as_mut_ptr().cast();
    let at = |i: usize| p.wrapping_byte_add(4 * i);
    let array = |i: usize, writes| Array {
        name: "x",
        pointer: at(i),
        elem: Elem::F32,
        lo: 0,
        hi: 4,
        writes,
        depends_on_data: false,
        members: None,
    };
    let rows = |i: usize, writes| {
        let mut b = Block::default();
        // SAFETY: four elements from there on are there.
        unsafe { b.gather([at(i)].as_ptr(), 1, 4, 4, writes) }.unwrap();
        b
    };
    // A number that was read before.
    let read = [at(9), at(10)].map(<*mut c_void>::cast_const);
    let call = described(&read, &[]);
    assert!(call.keeps_apart(&[array(6, false)], &[], &[], &[]).is_ok());
    assert!(call.keeps_apart(&[array(6, true)], &[], &[], &[]).is_err());
    assert!(call.keeps_apart(&[array(10, true)], &[], &[], &[]).is_ok());
    assert!(call.keeps_apart(&[], &[], &[], &[&rows(6, false)]).is_ok());
    assert!(call.keeps_apart(&[], &[], &[], &[&rows(6, true)]).is_err());
    // A vector at 30, the elements of which are those from 8 to 12.
    let vector = [at(30), at(8), at(12)].map(<*mut c_void>::cast_const);
    let call = described(&[], &vector);
    for writes in [false, true] {
        assert!(
            call.keeps_apart(&[array(11, writes)], &[], &[], &[])
                .is_err()
        );
        assert!(
            call.keeps_apart(&[array(12, writes)], &[], &[], &[])
                .is_ok()
        );
        assert!(
            call.keeps_apart(&[], &[], &[], &[&rows(5, writes)])
                .is_err()
        );
        assert!(call.keeps_apart(&[], &[], &[], &[&rows(4, writes)]).is_ok());
    }
    assert!(
        described(&read, &vector)
            .keeps_apart(&[], &[], &[], &[])
            .is_err()
    );
    // The same one twice, though it be empty; another one.
    let twice = [at(30), at(8), at(8), at(30), at(8), at(8)].map(<*mut c_void>::cast_const);
    assert!(
        described(&[], &twice)
            .keeps_apart(&[], &[], &[], &[])
            .is_err()
    );
    let two = [at(30), at(8), at(12), at(26), at(12), at(14)].map(<*mut c_void>::cast_const);
    assert!(described(&[], &two).keeps_apart(&[], &[], &[], &[]).is_ok());
}

#[test]
fn pointers_to_rows_and_to_planes_are_apart_from_what_is_written() {
    let mut m = [0f32; 4];
    let row: *mut c_void = m.as_mut_ptr().cast();
    let mut inner = [row; 4];
    let inner: *mut c_void = inner.as_mut_ptr().cast();
    let mut outer = [inner; 2];
    let outer: *mut c_void = outer.as_mut_ptr().cast();
    // The second plane, and the third row of it.
    let planes = Planes::of("u", outer.cast_const().cast(), Some((1, 2)), Some((2, 3))).unwrap();
    let over = |table: *mut c_void, entry: usize, writes| {
        let array = Array {
            name: "x",
            pointer: table.wrapping_byte_add(8 * entry),
            elem: Elem::F32,
            lo: 0,
            hi: 2,
            writes,
            depends_on_data: false,
            members: None,
        };
        FLAT.keeps_apart(&[array], &[], &[&planes], &[]).is_err()
    };
    for writes in [false, true] {
        assert_eq!(over(outer, 1, writes), writes);
        assert_eq!(over(inner, 2, writes), writes);
        for (table, entry) in [(outer, 0), (inner, 1), (inner, 3)] {
            assert!(!over(table, entry, writes));
        }
    }
}
