#!/bin/sh
# Renders each Mermaid block of a page to the SVG that the page shows behind it. Run where npm has
# installed mermaid@11 and puppeteer-core, with Debian's chromium:
#   /path/to/docs/images/render.sh /path/to/docs/graph.md
set -eu
exec node - "$1" <<'SCRIPT'
const fs = require("fs"), path = require("path");
const modules = path.join(process.cwd(), "node_modules");
const puppeteer = require(path.join(modules, "puppeteer-core"));
const page_file = process.argv[2];
const text = fs.readFileSync(page_file, "utf8");
const blocks = /```mermaid\n([^]*?)```\n\n!\[[^\]]*\]\(([^)]*)\)/g;

(async () => {
  const browser = await puppeteer.launch({
    executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const page = await browser.newPage();
  await page.addScriptTag({ path: path.join(modules, "mermaid/dist/mermaid.min.js") });
  for (const [, source, image] of text.matchAll(blocks)) {
    const svg = await page.evaluate(async (graph) => {
      mermaid.initialize({ startOnLoad: false, deterministicIds: true,
        htmlLabels: false, flowchart: { htmlLabels: false } });
      return (await mermaid.render("graph", graph)).svg;
    }, source);
    const small = svg.replace(/ data-points="[^"]*"/g, "").replace(/-?\d+\.\d{2,}/g,
      (number) => String(Math.round(10 * number) / 10));
    fs.writeFileSync(path.join(path.dirname(page_file), image), small + "\n");
  }
  await browser.close();
})();
SCRIPT
