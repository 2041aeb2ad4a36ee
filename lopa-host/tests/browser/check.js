// What is wrong with the page, as a list of sentences; what it links to; and where a pointer shows a value.
(() => {
  const wrong = [];
  const page = document.scrollingElement;
  if (page.scrollWidth > page.clientWidth)
    wrong.push(`the page scrolls sideways: it is ${page.scrollWidth} wide in ${page.clientWidth}`);

  // The contrast of two colours, as WCAG defines it.
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const part = (a) => ((a /= 255) <= 0.03928 ? a / 12.92 : ((a + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const behind = (element) => {
    // A node's number stands on its disc.
    const disc = element.closest("g.node")?.querySelector("circle.body");
    if (disc) return parse(getComputedStyle(disc).fill);
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
      const paper = at instanceof SVGSVGElement && at.querySelector("rect");
      if (paper) return parse(getComputedStyle(paper).fill);
    }
    return [255, 255, 255];
  };
  // What is hidden has no size; checkVisibility() does not know about pictures.
  const shown = (element) => element.getBoundingClientRect().width > 0;
  const seen = (element) => shown(element) && element.textContent.trim() !== "";
  const words = document.querySelectorAll(
    "h1, h2, h3, p, dt, dd, th, td, figcaption, footer, a, summary, label, pre, svg text"
  );
  for (const element of words) {
    if (!seen(element)) continue;
    const style = getComputedStyle(element);
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    const value = contrast(colour, behind(element));
    if (value < 4.5)
      wrong.push(`${element.tagName} "${element.textContent.trim().slice(0, 40)}" has a contrast of ${value.toFixed(2)}`);
  }

  // Words in a picture must not touch one another.
  for (const svg of document.querySelectorAll("svg")) {
    if (!shown(svg)) continue;
    const texts = [...svg.querySelectorAll("text")].filter(shown);
    const boxes = texts.map((text) => text.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++)
      for (let j = 0; j < i; j++) {
        const [a, b] = [boxes[i], boxes[j]];
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // A line of letters has some air above and below.
        if (across > 0.5 && down > 0.3 * Math.min(a.height, b.height))
          wrong.push(`"${texts[i].textContent}" overlaps "${texts[j].textContent}" in "${svg.querySelector("title")?.textContent}"`);
      }
    const own = svg.getBoundingClientRect();
    texts.forEach((text, i) => {
      if (boxes[i].left < own.left - 1 || boxes[i].right > own.right + 1)
        wrong.push(`"${text.textContent}" leaves its picture "${svg.querySelector("title")?.textContent}"`);
    });
  }
  for (const image of document.images)
    if (!image.complete || image.naturalWidth === 0) wrong.push(`the image ${image.src} does not load`);
  const links = [...document.links].map((link) => decodeURI(link.href));
  return { wrong, links };
})();
