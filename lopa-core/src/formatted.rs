//! With the feature `defmt`, every public type can be logged: otherwise this list does not compile. A test checks that the
//! list is complete.

use defmt::Format;

use crate::*;

const fn formatted<T: Format>() {}

type Logistic = problems::LogisticLoss;
type Vectors = [f32; 2];
type Bytes = &'static [u8];

const _: () = {
    formatted::<batch::Batch>();
    formatted::<batch::BatchSize>();
    formatted::<batch::Indices>();
    formatted::<batch::Sampler>();
    formatted::<batch::Sharing>();
    formatted::<blob::Blob<'_>>();
    formatted::<blob::BlobError>();
    formatted::<blob::BuiltNode<'_, problems::Ridge<'_>>>();
    formatted::<blob::Capacity>();
    formatted::<blob::Plan>();
    formatted::<blob::SetName>();
    formatted::<blob::Start<'_>>();
    formatted::<blob::Wiring>();
    formatted::<check::CheckError>();
    formatted::<check::Report>();
    formatted::<checkpoint::CheckpointError>();
    formatted::<checkpoint::Words<'_>>();
    formatted::<codec::Bits>();
    formatted::<codec::Block>();
    formatted::<codec::Codec>();
    formatted::<codec::CodecError>();
    formatted::<codec::CodedNeighbour<'_>>();
    formatted::<codec::CodedNode<problems::Ridge<'_>, Vectors, Vectors, Vectors, [i32; 2], [i32; 2]>>(
    );
    formatted::<codec::Grid>();
    formatted::<codec::Ledger<'_>>();
    formatted::<codec::Ledgers<[i32; 2], [i32; 2]>>();
    formatted::<codec::OutOfRange>();
    formatted::<codec::Outgoing<'_>>();
    formatted::<codec::Pull>();
    formatted::<codec::Share>();
    formatted::<codec::Words<'_>>();
    formatted::<draw::Draws>();
    #[cfg(feature = "simd")]
    formatted::<draw::Lanes<16>>();
    formatted::<draw::Purpose>();
    formatted::<draw::Stream>();
    formatted::<epoch::Epoch>();
    formatted::<exchange::Exchange<2, 2, 8>>();
    formatted::<exchange::ExchangeError>();
    formatted::<exchange::Peer>();
    formatted::<exchange::Settings>();
    formatted::<exchange::SettingsError>();
    formatted::<exchange::Standing>();
    formatted::<exchange::Step>();
    formatted::<exchange::Timing>();
    formatted::<footprint::Footprint>();
    formatted::<math::Kind>();
    formatted::<network::Edge>();
    formatted::<network::NetworkError>();
    formatted::<node::Buffers<Vectors, Vectors, Vectors>>();
    formatted::<node::Config>();
    formatted::<node::Divergence>();
    formatted::<node::Neighbour<'_>>();
    formatted::<node::Node<problems::Ridge<'_>, Vectors, Vectors, Vectors>>();
    formatted::<node::NodeError>();
    formatted::<node::Phase>();
    formatted::<node::Scheme>();
    formatted::<node::Scratch<Vectors, Vectors>>();
    formatted::<node::State<'_>>();
    formatted::<node::Variable>();
    formatted::<oracles::Evaluations>();
    formatted::<oracles::Oracles<'_, problems::Ridge<'_>>>();
    formatted::<problem::Dimensions>();
    formatted::<problem::Point<'_>>();
    formatted::<problem::Population>();
    formatted::<problem::ProblemError>();
    formatted::<problems::AnyProblem<'_>>();
    formatted::<problems::LogisticLoss>();
    formatted::<problems::Meta<'_, Logistic>>();
    formatted::<problems::Quadratic<'_>>();
    formatted::<problems::QuadraticParts<'_>>();
    formatted::<problems::Regularised<'_, Logistic>>();
    formatted::<problems::SharedLayer<'_>>();
    formatted::<problems::SquaredLoss>();
    formatted::<samples::Arithmetic>();
    formatted::<samples::Features<'_>>();
    formatted::<samples::LabelKind>();
    formatted::<samples::Labels<'_>>();
    #[cfg(feature = "simd")]
    formatted::<samples::Lists>();
    formatted::<samples::Row<'_>>();
    formatted::<samples::Samples<'_>>();
    formatted::<samples::SamplesError>();
    formatted::<samples::Scale>();
    formatted::<samples::Scaling<'_>>();
    formatted::<steps::StepSizeError>();
    formatted::<steps::StepSizes>();
    formatted::<vector::CompensatedSum>();
    formatted::<wire::Acks>();
    formatted::<wire::Answer<Bytes>>();
    formatted::<wire::Ask>();
    formatted::<wire::Body<Bytes>>();
    formatted::<wire::Cause>();
    formatted::<wire::Changes<'_>>();
    formatted::<wire::Counters>();
    formatted::<wire::Data<Bytes>>();
    formatted::<wire::Floats<'_>>();
    formatted::<wire::FrameError>();
    formatted::<wire::FrameReader<8>>();
    formatted::<wire::FrameWriter<'_>>();
    formatted::<wire::Held>();
    formatted::<wire::Hello>();
    formatted::<wire::Identity>();
    formatted::<wire::Message<Bytes>>();
    formatted::<wire::MessageError>();
    formatted::<wire::Metrics>();
    formatted::<wire::Reason>();
    formatted::<wire::Refuse>();
    formatted::<wire::Reply<Bytes>>();
    formatted::<wire::Request>();
    formatted::<wire::Seal>();
    formatted::<wire::Status>();
    formatted::<wire::Trouble>();
};
