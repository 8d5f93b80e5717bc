extern "C" {
    fn halve_row(input: *const u8, output: *mut u8, w: i32);
    fn row_mean(row: *const f32, w: i32) -> f32;
}

pub fn halve(row: &[u8]) -> Vec<u8> {
    let mut out = vec![0; row.len() / 2];
    unsafe { halve_row(row.as_ptr(), out.as_mut_ptr(), row.len() as i32) }
    out
}

pub fn mean(row: &[f32]) -> f32 {
    unsafe { row_mean(row.as_ptr(), row.len() as i32) }
}
