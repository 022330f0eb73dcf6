/**
 * Generates the pages of `docs/reference/`, dashboards, alert rules and the index of runbooks. With `--check` it
 * writes nothing, prints the files that are out of date, and exits with 1 if there are any.
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
import { dashboardFiles } from "./monitoring/dashboards.ts";
import { ruleFiles } from "./monitoring/rule-files.ts";

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

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** All that is in them is made here. */
const FOLDERS = ["docs/reference/", "deploy/grafana/dashboards/"];

function present(path: string): string | undefined {
	try {
		return readFileSync(ROOT + path, "utf8");
	} catch {
		return undefined;
	}
}

for (const folder of FOLDERS) mkdirSync(ROOT + folder, { recursive: true });
const made = new Map([
	...[index, ...PAGES].map((page) => [`docs/reference/${page.file}`, pageText(page)] as const),
	...dashboardFiles(),
	...ruleFiles(),
]);
const stale = [...made].filter(([path, text]) => present(path) !== text).map(([path]) => path);
const left = FOLDERS.flatMap((folder) => readdirSync(ROOT + folder).map((file) => folder + file)).filter(
	(path) => !made.has(path),
);

if (!process.argv.includes("--check")) {
	for (const path of left) rmSync(ROOT + path);
	for (const [path, text] of made) writeFileSync(ROOT + path, text);
} else if (stale.length + left.length > 0) {
	console.error(`Out of date: ${[...stale, ...left].join(", ")}. Run npm run reference.`);
	process.exitCode = 1;
}
