//! The entry point of a Pico and a Pico 2: assembles the board's parts and runs the node.
//!
//! | what | where |
//! |---|---|
//! | link 0, to a host | USB |
//! | link 1, to a neighbour | out GP0, in GP1 |
//! | link 2, to a neighbour | out GP4, in GP5 |
//! | light | the board's own, GP25 |
//! | logs, with the feature `log` | RTT, over a debug probe |

use embassy_executor::{InterruptExecutor, Spawner, main, task};
use embassy_rp::flash::{Blocking, Flash};
use embassy_rp::gpio::{Level, Output};
use embassy_rp::interrupt::{InterruptExt, Priority};
use embassy_rp::peripherals::{FLASH as Chip, UART0, UART1, USB};
use embassy_rp::uart::{self, BufferedInterruptHandler, BufferedUart};
use embassy_rp::usb::{self, Driver};
use embassy_rp::{bind_interrupts, interrupt, pac, watchdog};
use lopa_embassy::usb::{HostLine, serve};
use lopa_embassy::{Kept, Link, PATIENCE, RECEIVE, SEND, Time, blob};
use lopa_node::{Board, Desk, Watchdog, run};
use static_cell::ConstStaticCell;

use crate::catch::{self, Wire};
use crate::{FLASH, FLOATS, NAME};

/// The host's and two neighbours'.
const LINKS: usize = 3;
/// Where the flash is read.
const FLASH_AT: u32 = 0x1000_0000;

bind_interrupts!(struct Interrupts {
    UART0_IRQ => BufferedInterruptHandler<UART0>;
    UART1_IRQ => BufferedInterruptHandler<UART1>;
    USBCTRL_IRQ => usb::InterruptHandler<USB>;
});

/// USB is served while a round is computed, but after the lines.
static HOST: InterruptExecutor = InterruptExecutor::new();

#[interrupt]
fn SWI_IRQ_0() {
    // SAFETY: called from the interrupt it was started with, and nowhere else.
    unsafe { HOST.on_interrupt() }
}

#[task]
async fn host(driver: Driver<'static, USB>, node: Option<u32>) {
    serve(driver, NAME, node).await;
}

struct Dog(watchdog::Watchdog);

impl Watchdog for Dog {
    fn feed(&mut self) {
        self.0.feed(PATIENCE);
    }
}

/// Writing a whole checkpoint takes longer than the watchdog's timeout, so every change of the flash feeds it.
fn changing(now: bool) {
    pac::WATCHDOG.load().write(|w| w.set_load(0xff_ffff));
    catch::changing(now);
}

#[main]
async fn main(_spawner: Spawner) {
    static ARENA: ConstStaticCell<[f32; FLOATS]> = ConstStaticCell::new([0.0; FLOATS]);
    static DESK: ConstStaticCell<Desk> = ConstStaticCell::new(Desk::new());
    static IN: ConstStaticCell<[[u8; RECEIVE]; 2]> = ConstStaticCell::new([[0; RECEIVE]; 2]);
    static OUT: ConstStaticCell<[[u8; SEND]; 2]> = ConstStaticCell::new([[0; SEND]; 2]);
    static CAUGHT: ConstStaticCell<[[u8; RECEIVE]; 2]> = ConstStaticCell::new([[0; RECEIVE]; 2]);

    let p = embassy_rp::init(embassy_rp::config::Config::default());
    let (blob, baud) = blob(LINKS, FLOATS);

    interrupt::SWI_IRQ_0.set_priority(Priority::P2);
    let driver = Driver::new(p.USB, Interrupts);
    let node = blob.as_ref().ok().map(|blob| blob.node());
    HOST.start(interrupt::SWI_IRQ_0).spawn(host(driver, node).unwrap());

    let mut serial = uart::Config::default();
    serial.baudrate = baud;
    let ([in1, in2], [out1, out2], [more1, more2]) = (IN.take(), OUT.take(), CAUGHT.take());
    let first = BufferedUart::new(p.UART0, p.PIN_0, p.PIN_1, Interrupts, out1, in1, serial);
    let second = BufferedUart::new(p.UART1, p.PIN_4, p.PIN_5, Interrupts, out2, in2, serial);
    for pin in [1, 5] {
        // The pull-up keeps an unconnected line silent.
        pac::PADS_BANK0.gpio(pin).modify(|w| w.set_pue(true));
    }

    let mut dog = watchdog::Watchdog::new(p.WATCHDOG);
    dog.pause_on_debug(true);
    dog.start(PATIENCE);

    let flash = Flash::<Chip, Blocking, FLASH>::new_blocking(p.FLASH);
    let board = Board {
        links: [
            Link::Host(HostLine),
            Link::Wire(Wire::new(0, first, more1)),
            Link::Wire(Wire::new(1, second, more2)),
            Link::Open,
            Link::Open,
        ],
        clock: Time,
        light: Output::new(p.PIN_25, Level::Low),
        watchdog: Dog(dog),
        flash: Kept::new(flash, FLASH_AT, changing),
    };
    run(board, &blob, ARENA.take(), DESK.take()).await
}
