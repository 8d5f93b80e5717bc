use super::*;

/// A volume of `planes` times `rows` rows: the tables, and where row `j` of plane `i` is.
fn tables(planes: usize, rows: usize, at: impl Fn(usize, usize) -> usize) -> Vec<Vec<*mut c_void>> {
    let plane = |i| (0..rows).map(|j| at(i, j) as *mut c_void).collect();
    (0..planes).map(plane).collect()
}

fn outer(tables: &[Vec<*mut c_void>]) -> Vec<*mut c_void> {
    tables
        .iter()
        .map(|t| t.as_ptr().cast_mut().cast())
        .collect()
}

fn spaced(
    planes: (i64, i64),
    rows: (i64, i64),
    at: impl Fn(usize, usize) -> usize,
) -> Result<(usize, i64, i64), Misfit> {
    let tables = tables(planes.1 as usize, rows.1 as usize, at);
    let outer = outer(&tables);
    Planes::of("u", outer.as_ptr(), Some(planes), Some(rows))?
        .spaced(Some((0, 7)), 4)
        .map(|(a, r, p)| (a as usize, r, p))
}

#[test]
fn even_volumes_are_flat_arrays() {
    let even = |i: usize, j: usize| 0x1000 + (i * 10 + j) * 64;
    assert_eq!(spaced((0, 3), (0, 4), even), Ok((0x1000, 10, 16)));
    // What is touched is a part of it.
    assert_eq!(spaced((1, 3), (2, 4), even), Ok((0x1000, 10, 16)));
    assert_eq!(spaced((1, 2), (2, 4), even), Ok((0x1000 + 8 * 64, 2, 16)));
    // One row of each plane: planes are rows.
    assert_eq!(spaced((0, 3), (0, 1), even), Ok((0x1000, 1, 160)));
    assert_eq!(spaced((0, 1), (0, 1), even), Ok((0x1000, 1, 7)));
    assert_eq!(spaced((2, 2), (0, 4), even), Ok((0, 1, 7)));
}

#[test]
fn uneven_volumes_are_none() {
    let uneven: [&dyn Fn(usize, usize) -> usize; 6] = [
        // A row of one plane.
        &|i, j| 0x1000 + (i * 10 + j) * 64 + if (i, j) == (2, 3) { 64 } else { 0 },
        // The last plane.
        &|i, j| 0x1000 + (i * 10 + j) * 64 + if i == 2 { 64 } else { 0 },
        // Planes that are no multiple of rows apart, in bytes and in elements.
        &|i, j| 0x1000 + i * 650 + j * 64,
        &|i, j| 0x1000 + i * 648 + j * 64,
        // All planes are one, and planes that go back.
        &|_, j| 0x1000 + j * 64,
        &|i, j| 0x8000 - i * 640 + j * 64,
    ];
    for (n, at) in uneven.iter().enumerate() {
        assert!(spaced((0, 3), (0, 4), at).is_err(), "{n}");
    }
}

#[test]
fn what_can_not_be_read_is_no_crash() {
    let gone = 16usize as *const *mut c_void;
    assert!(Planes::of("u", gone, Some((0, 2)), Some((0, 2))).is_err());
    let outer = [gone.cast_mut().cast::<c_void>()];
    assert!(Planes::of("u", outer.as_ptr(), Some((0, 1)), Some((0, 2))).is_err());
    assert!(Planes::of("u", outer.as_ptr(), None, Some((0, 2))).is_err());
    // Nothing of it is touched.
    assert!(Planes::of("u", gone, Some((0, 0)), Some((0, 2))).is_ok());
    assert!(Planes::of("u", outer.as_ptr(), Some((0, 1)), Some((2, 1))).is_ok());
}

#[test]
fn uneven_volumes_are_copied_and_stored() {
    let mut data: Vec<Vec<f32>> = (0..6).map(|r| vec![r as f32; 5]).collect();
    let rows: Vec<usize> = data.iter_mut().map(|r| r.as_mut_ptr() as usize).collect();
    // The rows of plane 1 come before those of plane 0.
    let tables = tables(2, 3, |i, j| rows[3 * (1 - i) + j]);
    let outer = outer(&tables);
    let planes = Planes::of("u", outer.as_ptr(), Some((0, 2)), Some((1, 3))).unwrap();
    let mut block = Block::default();
    // SAFETY: the rows are there.
    let (origin, each, pitch) =
        unsafe { planes.gather(&mut block, Some((2, 5)), 4, true) }.unwrap();
    assert_eq!((each, pitch), (2, 3));
    let element = |i: isize, j: isize, k: isize| {
        let at = (i * each as isize + j) * pitch as isize + k;
        origin.cast::<f32>().wrapping_offset(at)
    };
    for (i, j) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
        // SAFETY: within the block.
        assert_eq!(unsafe { *element(i, j, 4) }, (3 * (1 - i) + j) as f32);
    }
    // SAFETY: within the block, and the rows are there.
    unsafe {
        *element(1, 2, 3) = 99.0;
        block.scatter();
    }
    assert_eq!(data[2], [2.0, 2.0, 2.0, 99.0, 2.0]);
    assert!(
        data.iter()
            .enumerate()
            .all(|(r, row)| r == 2 || row.iter().all(|x| *x == r as f32))
    );
    // What is written must not be among the pointers.
    let ranges: Vec<_> = planes.entries().collect();
    assert_eq!(ranges.len(), 3);
    assert_eq!(
        ranges[0],
        (outer.as_ptr() as usize, outer.as_ptr() as usize + 16)
    );
    let inner = tables[1].as_ptr() as usize;
    assert_eq!(ranges[2], (inner + 8, inner + 24));
}
