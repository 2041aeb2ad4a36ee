//! The node program on Nordic's nRF52840-DK.
//!
//! | what | where |
//! |---|---|
//! | link 0, to a host | USB, the connector "nRF USB" |
//! | link 1, to a neighbour | out P1.02, in P1.01 |
//! | link 2, to a neighbour | out P1.04, in P1.03 |
//! | light | LED1 |
//! | blob, checkpoints | `memory.x` |
//! | logs, with the feature `log` | RTT, over the connector "J-Link" |
#![no_std]
#![no_main]

use embassy_executor::{InterruptExecutor, Spawner, main, task};
use embassy_nrf::buffered_uarte::{self, BufferedUarte};
use embassy_nrf::config::{Config, HfclkSource, LfclkSource};
use embassy_nrf::gpio::{Level, Output, OutputDrive};
use embassy_nrf::interrupt::{InterruptExt, Priority};
use embassy_nrf::nvmc::Nvmc;
use embassy_nrf::uarte::{self, Baudrate};
use embassy_nrf::usb::vbus_detect::{self, HardwareVbusDetect};
use embassy_nrf::usb::{self, Driver};
use embassy_nrf::wdt::{self, HaltConfig, WatchdogHandle};
use embassy_nrf::{bind_interrupts, interrupt, pac, peripherals};
use lopa_embassy::usb::{HostLine, serve};
use lopa_embassy::{Kept, Link, LowIsOn, PATIENCE, RECEIVE, SEND, Time, blob};
use lopa_node::{Board, Desk, Watchdog, run};
use static_cell::ConstStaticCell;

/// Floats for a node.
const FLOATS: usize = 40 * 1024;
/// The host's and two neighbours'.
const LINKS: usize = 3;

bind_interrupts!(struct Interrupts {
    UARTE0 => buffered_uarte::InterruptHandler<peripherals::UARTE0>;
    UARTE1 => buffered_uarte::InterruptHandler<peripherals::UARTE1>;
    USBD => usb::InterruptHandler<peripherals::USBD>;
    CLOCK_POWER => vbus_detect::InterruptHandler;
});

/// USB is served while a round is computed, but after the lines.
static HOST: InterruptExecutor = InterruptExecutor::new();

#[interrupt]
fn EGU0_SWI0() {
    // SAFETY: called from the interrupt it was started with, and nowhere else.
    unsafe { HOST.on_interrupt() }
}

#[task]
async fn host(driver: Driver<'static, HardwareVbusDetect>, node: Option<u32>) {
    serve(driver, "nRF52840-DK", node).await;
}

struct Dog(WatchdogHandle);

impl Watchdog for Dog {
    fn feed(&mut self) {
        self.0.pet();
    }
}

/// The baud rate as a fraction of 16 MHz, rounded like the values in the chip's manual.
fn rate(baud: u32) -> Baudrate {
    let fraction = (u64::from(baud) << 32) / 16_000_000;
    Baudrate::from_bits((fraction as u32 + 0x800) & 0xffff_f000)
}

#[main]
async fn main(_spawner: Spawner) {
    static ARENA: ConstStaticCell<[f32; FLOATS]> = ConstStaticCell::new([0.0; FLOATS]);
    static DESK: ConstStaticCell<Desk> = ConstStaticCell::new(Desk::new());
    static IN: ConstStaticCell<[[u8; RECEIVE]; 2]> = ConstStaticCell::new([[0; RECEIVE]; 2]);
    static OUT: ConstStaticCell<[[u8; SEND]; 2]> = ConstStaticCell::new([[0; SEND]; 2]);

    let mut config = Config::default();
    // USB needs the external crystal.
    config.hfclk_source = HfclkSource::ExternalXtal;
    config.lfclk_source = LfclkSource::ExternalXtal;
    let p = embassy_nrf::init(config);
    let (blob, baud) = blob(LINKS, FLOATS);

    interrupt::EGU0_SWI0.set_priority(Priority::P6);
    let driver = Driver::new(p.USBD, Interrupts, HardwareVbusDetect::new(Interrupts));
    let node = blob.as_ref().ok().map(|blob| blob.node());
    HOST.start(interrupt::EGU0_SWI0).spawn(host(driver, node).unwrap());

    let mut serial = uarte::Config::default();
    serial.baudrate = rate(baud);
    let ([in1, in2], [out1, out2]) = (IN.take(), OUT.take());
    let first = BufferedUarte::new(
        p.UARTE0,
        p.TIMER1,
        p.PPI_CH0,
        p.PPI_CH1,
        p.PPI_GROUP0,
        p.P1_01,
        p.P1_02,
        Interrupts,
        serial.clone(),
        in1,
        out1,
    );
    let second = BufferedUarte::new(
        p.UARTE1,
        p.TIMER2,
        p.PPI_CH2,
        p.PPI_CH3,
        p.PPI_GROUP1,
        p.P1_03,
        p.P1_04,
        Interrupts,
        serial,
        in2,
        out2,
    );
    for pin in [1, 3] {
        // The pull-up keeps an unconnected line silent.
        pac::P1.pin_cnf(pin).modify(|w| w.set_pull(pac::gpio::vals::Pull::Pullup));
    }

    let mut config = wdt::Config::default();
    // A debugger's reset does not stop the watchdog: its timeout must be longer than flashing a blob takes.
    config.timeout_ticks = 32_768 * 4 * PATIENCE.as_secs() as u32;
    config.action_during_debug_halt = HaltConfig::Pause;
    let Ok((_, [dog])) = wdt::Watchdog::try_new(p.WDT, config) else {
        panic!("the watchdog already runs with other settings: cut the power once")
    };

    let board = Board {
        links: [
            Link::Host(HostLine),
            Link::Wire(first),
            Link::Wire(second),
            Link::Open,
            Link::Open,
        ],
        clock: Time,
        light: LowIsOn(Output::new(p.P0_13, Level::High, OutputDrive::Standard)),
        watchdog: Dog(dog),
        flash: Kept::new(Nvmc::new(p.NVMC), 0, |_| {}),
    };
    run(board, &blob, ARENA.take(), DESK.take()).await
}
