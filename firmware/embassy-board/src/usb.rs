//! The host's line over USB: a serial port on the host, `/dev/ttyACM…` or `COM…`.
//!
//! Two pipes buffer the bytes, so that reads and writes can be cancelled. A host that does not read does not block the node.

use core::fmt::Write as _;

use embassy_futures::join::join3;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::pipe::Pipe;
use embassy_usb::class::cdc_acm::{CdcAcmClass, State};
use embassy_usb::driver::Driver;
use embassy_usb::{Builder, Config};
use embedded_io_async::{ErrorType, Read, Write};
use heapless::String;
use static_cell::StaticCell;

use crate::{RECEIVE, SEND};

/// The largest packet at USB full speed.
const PACKET: u16 = 64;

static TO_HOST: Pipe<CriticalSectionRawMutex, SEND> = Pipe::new();
static FROM_HOST: Pipe<CriticalSectionRawMutex, RECEIVE> = Pipe::new();

/// The node's end of the line.
#[derive(Debug)]
pub struct HostLine;

impl ErrorType for HostLine {
    type Error = core::convert::Infallible;
}

impl Read for HostLine {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Self::Error> {
        Ok(FROM_HOST.read(bytes).await)
    }
}

impl Write for HostLine {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        Ok(TO_HOST.write(bytes).await)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Serves the line forever. Call it once, and not on the executor that computes: a host must not wait for a round.
///
/// The host sees the board's name as the product and the node's number, if there is one, as the serial number.
pub async fn serve<D: Driver<'static>>(driver: D, board: &'static str, node: Option<u32>) {
    static NUMBER: StaticCell<String<10>> = StaticCell::new();
    static BUFFERS: StaticCell<([u8; 128], [u8; 16], [u8; 64])> = StaticCell::new();
    static STATE: StaticCell<State<'static>> = StaticCell::new();

    // The test ID of pid.codes, for boards that are not sold.
    let mut config = Config::new(0x1209, 0x0001);
    config.manufacturer = Some("LoPA");
    config.product = Some(board);
    config.serial_number = node.map(|node| {
        let number = NUMBER.init(String::new());
        // A u32 has at most ten digits.
        let _ = write!(number, "{node}");
        number.as_str()
    });
    let (configuration, capabilities, control) = BUFFERS.init(([0; 128], [0; 16], [0; 64]));
    let mut builder = Builder::new(driver, config, configuration, capabilities, &mut [], control);
    let class = CdcAcmClass::new(&mut builder, STATE.init(State::new()), PACKET);
    let (mut sender, mut receiver) = class.split();
    let mut device = builder.build();

    let up = async {
        // One byte less than a packet: a full packet would not end the transfer.
        let mut packet = [0; PACKET as usize - 1];
        loop {
            sender.wait_connection().await;
            loop {
                let len = TO_HOST.read(&mut packet).await;
                // The host is gone: drop what was meant for it.
                if sender.write_packet(packet.get(..len).unwrap_or(&packet)).await.is_err() {
                    break;
                }
            }
        }
    };
    let down = async {
        let mut packet = [0; PACKET as usize];
        loop {
            receiver.wait_connection().await;
            while let Ok(len) = receiver.read_packet(&mut packet).await {
                FROM_HOST.write_all(packet.get(..len).unwrap_or(&packet)).await;
            }
        }
    };
    join3(device.run(), up, down).await;
}
