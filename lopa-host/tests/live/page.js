// Looks at a live page as people would. Prints a line when it has seen what it waited for, and goes on when it is told to.

import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [url, check, pictures] = process.argv.slice(2);
const CHECK = readFileSync(check, "utf8");
const PATIENCE = 120_000;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Tells what was seen, and waits for the next thing to look for. */
const tell = async (what) => {
  console.log(JSON.stringify(what));
  await lines.next();
};

const wrong = [];
let down = false;

/** A page in a window, whose complaints are noted. */
async function open(browser, width, scheme) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: "reduce" });
  page.setDefaultTimeout(PATIENCE);
  page.on("console", (message) => {
    // While there is no server, the browser itself complains.
    if (message.type() === "error" && !(down && message.text().includes("net::ERR"))) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin)) wrong.push(`requests ${request.url()}`);
  });
  const answer = await page.goto(url);
  if (!answer.headers()["content-security-policy"]?.includes("default-src 'none'")) wrong.push("has no policy");
  return page;
}

const name = process.env.CHROMIUM ?? "chromium";
const paths = name.includes("/") ? [name] : process.env.PATH.split(":").map((folder) => `${folder}/${name}`);
const { existsSync } = await import("node:fs");
const browser = await chromium.launch({
  executablePath: paths.find((path) => existsSync(path)),
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
try {
  const page = await open(browser, 1400, "light");
  const sees = (what, argument) => page.waitForFunction(what, argument, { timeout: PATIENCE });
  const text = (selector) => page.textContent(selector);

  // What is there, and points that are added.
  await page.waitForSelector("#phase[data-phase=running]");
  await page.waitForSelector("#charts .trace");
  await tell({ seen: "running", nodes: await page.locator(".node").count(), charts: await page.locator("#charts figure").count() });
  await sees(() => document.querySelector("#charts .readout")?.textContent.includes("round 40"));
  await tell({ seen: "points", loss: await text("[data-column=outer_loss] dd"), rounds: await text("#rounds") });

  // A node that dies, chosen with the pointer.
  await page.waitForSelector("[data-node='2'].dead");
  await page.click("[data-node='2']");
  await page.waitForSelector("#details:not([hidden])");
  const details = await text("#details");
  const label = await page.getAttribute("[data-node='2']", "aria-label");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#details", { state: "hidden" });

  // Another one, with the keyboard alone.
  await page.focus("[data-node='2']");
  await page.keyboard.press("ArrowUp");
  const focused = await page.evaluate(() => document.activeElement.dataset.node);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#details:not([hidden])");
  const title = await text("#details-title");
  await page.focus("#close");
  await page.keyboard.press("Enter");
  const back = await page.evaluate(() => document.activeElement.dataset.node);
  await page.focus("#charts svg");
  await page.keyboard.press("Home");
  const first = await text("#charts .readout");
  await page.focus("#all summary");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#table tbody tr");
  const rows = await page.locator("#table tbody tr").count();
  down = true;
  await tell({ seen: "dead", details, label, focused, title, back, first, rows });

  // A server that comes back with something else.
  await sees(() => document.querySelector("#title").textContent === "another.toml");
  await page.waitForSelector("#phase[data-phase=running]");
  await page.waitForSelector("[data-node='2'].learning");
  down = false;
  await tell({ seen: "restarted", charts: await page.locator("#charts figure").count() });
  await page.waitForSelector("#phase[data-phase=finished]");
  await page.close();

  // Every window.
  for (const width of [1400, 420])
    for (const scheme of ["light", "dark"]) {
      const own = await open(browser, width, scheme);
      await own.waitForSelector("#charts .trace");
      await own.waitForSelector("#shared svg, #shared canvas");
      await own.click("[data-node='1']");
      const found = await own.evaluate(CHECK);
      wrong.push(...found.wrong.map((what) => `${width}, ${scheme}: ${what}`));
      if (pictures) await own.screenshot({ path: `${pictures}/live-${width}-${scheme}.png`, fullPage: true });
      await own.close();
    }
  await tell({ seen: "all", wrong });
} finally {
  await browser.close();
}
process.exit(0);
