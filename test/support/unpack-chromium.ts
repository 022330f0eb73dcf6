/**
 * Unpacks the browser of `@sparticuz/chromium`, with the libraries and fonts it needs, into the
 * folder that the first argument names. A process of its own: the package takes folder and
 * libraries from the environment, and changes that.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder = ""] = process.argv.slice(2);
process.env["TMPDIR"] = folder;
// So that the package takes its own libraries along: a machine without a desktop has few of them.
process.env["AWS_EXECUTION_ENV"] = "AWS_Lambda_nodejs22.x";
const { default: chromium } = await import("@sparticuz/chromium");
await chromium.executablePath();
// The package's own file looks for fonts in places that are not here. A fixed-width one is the
// machine's, if it has any.
writeFileSync(
	join(folder, "fonts/fonts.conf"),
	`<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">.</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="relative">../fonts-cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias>
    <family>monospace</family>
    <prefer><family>DejaVu Sans Mono</family><family>Liberation Mono</family><family>Open Sans</family></prefer>
  </alias>
</fontconfig>
`,
);
