//! The panic handler: firmware that contains a panic of this library does not link.

unsafe extern "C" {
    // Never defined: that is the proof.
    fn lopa_a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never runs; a program that contains this call does not link.
    unsafe { lopa_a_panic_is_reachable() }
}
