//! What a board says before it reboots because of a panic.

use core::panic::PanicInfo;

/// Logs a panic, with the feature `log`. A board's panic handler calls this, then resets the chip:
///
/// ```ignore
/// #[panic_handler]
/// fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
///     lopa_node::last_words(info);
///     cortex_m::peripheral::SCB::sys_reset()
/// }
/// ```
///
/// After the reset the node goes on from its last checkpoint, as after a loss of power.
pub fn last_words(info: &PanicInfo<'_>) {
    #[cfg(feature = "log")]
    defmt::error!("{}", defmt::Display2Format(info));
    // Without logs nobody reads it: its text must not come into the image.
    #[cfg(not(feature = "log"))]
    let _ = info;
}
