//! The node program on ST's NUCLEO-L476RG.
//!
//! | what | where |
//! |---|---|
//! | link 0, to a host | the ST-LINK's serial port (PA2, PA3) |
//! | link 1, to a neighbour | out PA9 (D8), in PA10 (D2) |
//! | link 2, to a neighbour | out PA0 (A0), in PA1 (A1) |
//! | link 3, to a neighbour | out PC10 (CN7 pin 1), in PC11 (CN7 pin 2) |
//! | link 4, to a neighbour | out PC12 (CN7 pin 3), in PD2 (CN7 pin 4) |
//! | light | LD2 |
//! | blob, checkpoints | `memory.x` |
//! | logs, with the feature `log` | RTT, over the ST-LINK |
#![no_std]
#![no_main]

mod flash;

use embassy_executor::{Spawner, main};
use embassy_stm32::gpio::{Level, Output, Pull, Speed};
use embassy_stm32::peripherals::{IWDG, UART4, UART5, USART1, USART2, USART3};
use embassy_stm32::usart::{self, BufferedInterruptHandler, BufferedUart};
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, bind_interrupts, flash as driver, rcc};
use lopa_embassy::{Kept, PATIENCE, RECEIVE, SEND, Time, blob};
use lopa_node::{Board, Desk, LINKS, Watchdog, run};
use static_cell::ConstStaticCell;

/// Floats for a node.
const FLOATS: usize = 13 * 1024;
/// Where the flash is read.
const FLASH_AT: u32 = 0x0800_0000;

bind_interrupts!(struct Interrupts {
    USART1 => BufferedInterruptHandler<USART1>;
    USART2 => BufferedInterruptHandler<USART2>;
    USART3 => BufferedInterruptHandler<USART3>;
    UART4 => BufferedInterruptHandler<UART4>;
    UART5 => BufferedInterruptHandler<UART5>;
    FLASH => driver::InterruptHandler;
});

struct Dog(IndependentWatchdog<'static, IWDG>);

impl Watchdog for Dog {
    fn feed(&mut self) {
        self.0.pet();
    }
}

fn clocks() -> Config {
    let mut config = Config::default();
    // 80 MHz, the chip's maximum.
    config.rcc.hsi = true;
    config.rcc.pll = Some(rcc::Pll {
        source: rcc::PllSource::HSI,
        prediv: rcc::PllPreDiv::DIV1,
        mul: rcc::PllMul::MUL10,
        divp: None,
        divq: None,
        divr: Some(rcc::PllRDiv::DIV2),
    });
    config.rcc.sys = rcc::Sysclk::PLL1_R;
    config
}

#[main]
async fn main(_spawner: Spawner) {
    static ARENA: ConstStaticCell<[f32; FLOATS]> = ConstStaticCell::new([0.0; FLOATS]);
    static DESK: ConstStaticCell<Desk> = ConstStaticCell::new(Desk::new());
    static IN: ConstStaticCell<[[u8; RECEIVE]; LINKS]> =
        ConstStaticCell::new([[0; RECEIVE]; LINKS]);
    static OUT: ConstStaticCell<[[u8; SEND]; LINKS]> = ConstStaticCell::new([[0; SEND]; LINKS]);

    let p = embassy_stm32::init(clocks());
    let (blob, baud) = blob(LINKS, FLOATS);

    let mut serial = usart::Config::default();
    serial.baudrate = baud;
    // The pull-up keeps an unconnected line silent.
    serial.rx_pull = Pull::Up;
    let ([i0, i1, i2, i3, i4], [o0, o1, o2, o3, o4]) = (IN.take(), OUT.take());
    let links = [
        BufferedUart::new(p.USART2, p.PA3, p.PA2, o0, i0, Interrupts, serial),
        BufferedUart::new(p.USART1, p.PA10, p.PA9, o1, i1, Interrupts, serial),
        BufferedUart::new(p.UART4, p.PA1, p.PA0, o2, i2, Interrupts, serial),
        BufferedUart::new(p.USART3, p.PC11, p.PC10, o3, i3, Interrupts, serial),
        BufferedUart::new(p.UART5, p.PD2, p.PC12, o4, i4, Interrupts, serial),
    ];

    let mut dog = IndependentWatchdog::new(p.IWDG, PATIENCE.as_micros() as u32);
    dog.unleash();

    let board = Board {
        // At 80 MHz every rate that `blob` returns is possible.
        links: links.map(|link| link.unwrap_or_else(|_| panic!("baud rate out of range"))),
        clock: Time,
        light: Output::new(p.PA5, Level::Low, Speed::Low),
        watchdog: Dog(dog),
        flash: Kept::new(flash::SecondBank::new(p.FLASH, Interrupts), FLASH_AT, flash::cache),
    };
    run(board, &blob, ARENA.take(), DESK.take()).await
}
