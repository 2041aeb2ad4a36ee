//! The header is the one that cbindgen generates from the sources.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config =
        cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("a configuration");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in ["error.rs", "node.rs", "api.rs"] {
        builder = builder.with_src(folder.join("src").join(source));
    }
    let mut generated = Vec::new();
    builder.generate().expect("a header").write(&mut generated);
    let generated = String::from_utf8(generated).expect("text");
    let path = folder.join("include/lopa.h");
    if std::env::var_os("LOPA_BLESS").is_some() {
        std::fs::write(&path, &generated).expect("the header can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let hint = "LOPA_BLESS=1 cargo test -p lopa-c writes the header anew";
    assert!(kept == generated, "include/lopa.h is out of date: {hint}");
}
