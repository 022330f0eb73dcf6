/**
 * Generates the pages of `docs/reference/`. With `--check` it writes nothing, prints the pages that
 * are out of date, and exits with 1 if there are any.
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { api } from "./gen/api.ts";
import { cli } from "./gen/cli.ts";
import { config } from "./gen/config.ts";
import { errors } from "./gen/errors.ts";
import { events } from "./gen/events.ts";
import { jobStates } from "./gen/job-states.ts";
import { licences } from "./gen/licences.ts";
import { limits } from "./gen/limits.ts";
import { type Page, pageText } from "./gen/markdown.ts";
import { metrics } from "./gen/metrics.ts";
import { rules } from "./gen/rules.ts";

const PAGES: readonly Page[] = [api, errors, limits, jobStates, config, cli, events, metrics, rules, licences];

const index: Page = {
	file: "README.md",
	title: "Reference",
	about: "",
	body: () =>
		[
			"Generated from the source by `npm run reference`; a test fails when a page is out of date.",
			PAGES.map(({ file, title, about }) => `- [${title}](${file}): ${about}`).join("\n"),
		].join("\n\n"),
};

const folder = fileURLToPath(new URL("../docs/reference/", import.meta.url));

function present(file: string): string | undefined {
	try {
		return readFileSync(folder + file, "utf8");
	} catch {
		return undefined;
	}
}

mkdirSync(folder, { recursive: true });
const made = new Map([index, ...PAGES].map((page) => [page.file, pageText(page)]));
const stale = [...made].filter(([file, text]) => present(file) !== text).map(([file]) => file);
const left = readdirSync(folder).filter((file) => !made.has(file));

if (!process.argv.includes("--check")) {
	for (const file of left) rmSync(folder + file);
	for (const [file, text] of made) writeFileSync(folder + file, text);
} else if (stale.length + left.length > 0) {
	const files = [...stale, ...left].map((file) => `docs/reference/${file}`).join(", ");
	console.error(`Out of date: ${files}. Run npm run reference.`);
	process.exitCode = 1;
}
