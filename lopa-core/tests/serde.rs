//! Settings round-trip through a file, and bad ones are refused.

use lopa_core::batch::{BatchSize, Sampler};
use lopa_core::node::{Config, Scheme};
use lopa_core::steps::StepSizes;

#[test]
fn a_configuration_survives_json() {
    let steps = StepSizes::new(0.01, 0.02, 0.03, 0.4, 0.5).unwrap();
    let mut sampler = Sampler::full(7);
    sampler.size = BatchSize::drawn(40);
    let config = Config { steps, sampler };
    let text = serde_json::to_string(&(Scheme::GradientTracking, config)).unwrap();
    let (scheme, back): (Scheme, Config) = serde_json::from_str(&text).unwrap();
    assert_eq!((scheme, back), (Scheme::GradientTracking, config));
}

#[test]
fn step_sizes_are_checked_on_the_way_in() {
    let text = r#"{"alpha":0.01,"beta":-0.02,"lambda":0.03,"gamma":0.4,"tau":0.5}"#;
    let error = serde_json::from_str::<StepSizes>(text).unwrap_err();
    assert!(error.to_string().contains("beta = -0.02 is out of range"), "{error}");
}
