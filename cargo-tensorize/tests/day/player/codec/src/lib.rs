use std::os::raw::{c_int, c_short, c_uchar};

extern "C" {
    fn pcm_mix(dst: *mut c_short, src: *const c_short, n: c_int);
    fn pcm_expand(dst: *mut c_short, src: *const c_uchar, n: c_int);
}

pub fn mix(dst: &mut [i16], src: &[i16]) {
    let n = dst.len().min(src.len());
    unsafe { pcm_mix(dst.as_mut_ptr(), src.as_ptr(), n as c_int) }
}

pub fn expand(src: &[u8]) -> Vec<i16> {
    let mut dst = vec![0; src.len()];
    unsafe { pcm_expand(dst.as_mut_ptr(), src.as_ptr(), src.len() as c_int) }
    dst
}
