//! With the feature `defmt` every public type can be logged. This list does not compile otherwise, and a
//! test across the crates checks that it is complete.

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
    formatted::<check::MemoryError>();
    formatted::<check::Report>();
    formatted::<checkpoint::CheckpointError>();
    formatted::<checkpoint::Words<'_>>();
    formatted::<draw::Draws>();
    formatted::<draw::Purpose>();
    formatted::<draw::Stream>();
    formatted::<exchange::Exchange<2, 2, 2, 2, 256>>();
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
    formatted::<samples::Features<'_>>();
    formatted::<samples::LabelKind>();
    formatted::<samples::Labels<'_>>();
    formatted::<samples::Row<'_>>();
    formatted::<samples::Samples<'_>>();
    formatted::<samples::SamplesError>();
    formatted::<steps::StepSizeError>();
    formatted::<steps::StepSizes>();
    formatted::<vector::CompensatedSum>();
    formatted::<wire::Acks>();
    formatted::<wire::Answer<Bytes>>();
    formatted::<wire::Ask>();
    formatted::<wire::Body<Bytes>>();
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
};
