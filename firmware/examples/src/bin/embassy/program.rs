//! The two tasks.

use cortex_m::peripheral::NVIC;
use cortex_m_rt::entry;
use embassy_executor::{InterruptExecutor, SendSpawner};
use embassy_futures::select::{Either3, select3};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, Ticker, Timer};
use examples::board::{Serial, blob, light, station};
use examples::device::{Interrupt, interrupt};
use examples::recent::{Reading, Recent};
use examples::station::{FEATURES, Memory, Next, Station};
use lopa_core::blob::Blob;
use lopa_core::samples::Samples;
use mps2::{clock, uart};

use crate::sensor::Sensor;

/// Readings that the node learns from at a time.
const ROWS: usize = 20;
/// Time between two readings.
const PERIOD: Duration = Duration::from_millis(10);

/// There is something to do on the lines.
static LOOK: Signal<CriticalSectionRawMutex, ()> = Signal::new();
/// Readings on their way to the learning task.
static READINGS: Channel<CriticalSectionRawMutex, Reading<FEATURES>, 4> = Channel::new();

static SAMPLING: InterruptExecutor = InterruptExecutor::new();
static LEARNING: InterruptExecutor = InterruptExecutor::new();

/// Takes readings for ever.
#[embassy_executor::task]
async fn sample(mut sensor: Sensor) {
    let mut ticker = Ticker::every(PERIOD);
    loop {
        // The simulated sensor waits if there is no room. A real one would not: use `try_send`, and count what is lost.
        READINGS.send(sensor.read()).await;
        ticker.next().await;
    }
}

/// Learns and predicts for ever.
#[embassy_executor::task]
async fn learn(
    blob: Blob<'static>,
    validation: Samples<'static>,
    mut lines: Serial,
    memory: &'static mut Memory,
) {
    let mut recent = Recent::<FEATURES, ROWS>::new(validation, blob.problem().base());
    while !recent.is_full() {
        recent.push(&READINGS.receive().await);
    }
    let mut node = station(&blob, recent, memory);
    loop {
        match node.turn(&mut lines, clock::now()) {
            Next::Compute => {
                while let Ok(reading) = READINGS.try_receive() {
                    serve_reading(&mut node, &reading);
                }
                node.compute();
            }
            Next::Wait(until) => {
                let due = || Timer::at(Instant::from_micros(until));
                while let Either3::Third(reading) =
                    select3(LOOK.wait(), due(), READINGS.receive()).await
                {
                    serve_reading(&mut node, &reading);
                }
            }
        }
    }
}

/// Predicts first, so that the light shows what the node did not know yet; then keeps the reading to learn from.
fn serve_reading(node: &mut Station<Recent<'static, FEATURES, ROWS>>, reading: &Reading<FEATURES>) {
    light(node.node.problem().predict(node.node.state().theta, reading));
    node.node.problem_mut().push(reading);
}

#[entry]
fn main() -> ! {
    static mut MEMORY: Memory = Memory::new();
    let (blob, _) = blob();
    let [train, validation] = blob.problem().samples().expect("logistic regression has samples");
    let lines = Serial::start(blob.baud());
    let mut core = cortex_m::Peripherals::take().expect("taken once");
    // SAFETY: no critical section relies on priorities; a lower number is a higher priority.
    unsafe {
        core.NVIC.set_priority(Interrupt::SOFTWARE0, 0x80);
        core.NVIC.set_priority(Interrupt::SOFTWARE1, 0xc0);
    }
    let learning: SendSpawner = LEARNING.start(Interrupt::SOFTWARE1);
    learning
        .spawn(learn(blob, validation, lines, MEMORY).unwrap_or_else(|_| panic!("spawned once")));
    let sampling = SAMPLING.start(Interrupt::SOFTWARE0);
    sampling.spawn(sample(Sensor::new(train)).unwrap_or_else(|_| panic!("spawned once")));
    for interrupt in [
        Interrupt::UART0RX,
        Interrupt::UART0TX,
        Interrupt::UART1RX,
        Interrupt::UART1TX,
        Interrupt::UART2RX,
        Interrupt::UART2TX,
        Interrupt::ALARM,
    ] {
        // SAFETY: no critical section relies on it being masked.
        unsafe { NVIC::unmask(interrupt) };
    }
    loop {
        clock::sleep();
    }
}

// SAFETY: only the interrupt that the executor was started with calls this.
#[cortex_m_rt::interrupt]
unsafe fn SOFTWARE0() {
    // SAFETY: as above.
    unsafe { SAMPLING.on_interrupt() }
}

// SAFETY: only the interrupt that the executor was started with calls this.
#[cortex_m_rt::interrupt]
unsafe fn SOFTWARE1() {
    // SAFETY: as above.
    unsafe { LEARNING.on_interrupt() }
}

/// Moves bytes between a UART and its buffer.
fn serve(uart: Interrupt) {
    if uart::interrupt(uart as u16) {
        LOOK.signal(());
    }
}

#[cortex_m_rt::interrupt]
fn UART0RX() {
    serve(Interrupt::UART0RX);
}
#[cortex_m_rt::interrupt]
fn UART0TX() {
    serve(Interrupt::UART0TX);
}
#[cortex_m_rt::interrupt]
fn UART1RX() {
    serve(Interrupt::UART1RX);
}
#[cortex_m_rt::interrupt]
fn UART1TX() {
    serve(Interrupt::UART1TX);
}
#[cortex_m_rt::interrupt]
fn UART2RX() {
    serve(Interrupt::UART2RX);
}
#[cortex_m_rt::interrupt]
fn UART2TX() {
    serve(Interrupt::UART2TX);
}
