//! Logs a panic before the board reboots.

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
/// After the reset the node continues from its last checkpoint, as after a power failure.
pub fn last_words(info: &PanicInfo<'_>) {
    #[cfg(feature = "log")]
    defmt::error!("{}", defmt::Display2Format(info));
    // Without logs, the text of panics must not take room in the image.
    #[cfg(not(feature = "log"))]
    let _ = info;
}
