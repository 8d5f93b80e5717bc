fn main() {
    let mut sound = codec::expand(&[0, 64, 128, 192, 255]);
    codec::mix(&mut sound, &[-32700, 1, 2, 3, 32700]);
    println!("sound {sound:?}");
    println!("image {:?}", scaler::halve(&[1, 2, 30, 31, 200, 255]));
    println!("light {}", scaler::mean(&[0.5, 1.5, 4.0]));
}
