//! The page, in its parts.

/// A part: its path, its kind and its bytes.
type Part = (&'static str, &'static str, &'static str);

/// All of them. They request only each other and `/events`.
const PARTS: [Part; 7] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/network.js", "text/javascript; charset=utf-8", include_str!("page/network.js")),
    ("/chart.js", "text/javascript; charset=utf-8", include_str!("page/chart.js")),
    ("/shared.js", "text/javascript; charset=utf-8", include_str!("page/shared.js")),
];

/// The kind and the bytes of a part.
pub(super) fn part(path: &str) -> Option<(&'static str, &'static str)> {
    PARTS.iter().find(|(own, ..)| *own == path).map(|(_, kind, text)| (*kind, *text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_no_other_place_and_has_nothing_inline() {
        for (path, _, text) in PARTS {
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for word in ["http:", "https:", "//cdn", "eval(", "innerHTML"] {
                assert!(!text.contains(word), "{path} has {word}");
            }
            if path == "/" {
                for word in ["onclick", "onload", "<style", "style=", "javascript:"] {
                    assert!(!text.contains(word), "{path} has {word}");
                }
            }
        }
    }

    #[test]
    fn every_part_that_is_named_is_there() {
        for (path, _, text) in PARTS {
            let names = text.split(['"', '\'']).skip(1).step_by(2);
            let files =
                names.filter(|name| [".js", ".css", ".svg"].iter().any(|e| name.ends_with(e)));
            for name in files {
                let name = format!("/{}", name.trim_start_matches("./"));
                assert!(part(&name).is_some(), "{path} names {name}");
            }
        }
    }
}
