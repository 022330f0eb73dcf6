/** The pages of the documentation: files of the repository, in the order of the navigation. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Pictures that the build makes. */
export const DIAGRAMS = `${ROOT}node_modules/.cache/site-diagrams`;

interface Section {
	label: string;
	/** Paths in the repository. */
	files: readonly string[];
}

const guides = (...names: string[]): string[] => names.map((name) => `docs/guides/${name}.md`);

const reference = (...names: string[]): string[] => names.map((name) => `docs/reference/${name}.md`);

const DECISIONS = readdirSync(`${ROOT}docs/decisions`)
	.filter((name) => /^\d/.test(name))
	.toSorted()
	.map((name) => `docs/decisions/${name}`);

/** The start page, which no section has. */
export const START = "docs/README.md";

/** Served by the service itself, with examples for its address. */
export const API = { file: "docs/reference/api.md", path: "api/" };

export const SECTIONS: readonly Section[] = [
	{ label: "Tutorials", files: [...guides("first-hour"), "examples/README.md"] },
	{
		label: "How-to guides",
		files: [
			...guides("clients", "console", "docker", "docker-hosts", "kubernetes", "slurm", "models"),
			"deploy/README.md",
			...guides("systemd"),
			"docs/scaling.md",
			...guides("tls", "backup"),
		],
	},
	{
		label: "Reference",
		files: [
			...reference("cli", "config", "errors", "limits", "events", "job-states"),
			"docs/behaviour.md",
			"docs/protocol.md",
			"CHANGELOG.md",
			...reference("rules", "licences"),
		],
	},
	{
		label: "Explanation",
		files: [
			"docs/architecture.md",
			"docs/durability.md",
			"docs/benchmarks.md",
			"docs/security-review.md",
			"SECURITY.md",
			"CONTRIBUTING.md",
			"docs/testing.md",
		],
	},
	{ label: "Decisions", files: ["docs/decisions/README.md", ...DECISIONS] },
];

/** Paths in the site by file, without slashes at their ends; "" is the start page. */
export const PAGES: ReadonlyMap<string, string> = new Map(
	[START, ...SECTIONS.flatMap(({ files }) => files)].map((file) => [file, slugOf(file)]),
);

function slugOf(file: string): string {
	return file
		.replace(/^docs\//, "")
		.replace(/\/?README\.md$/, "")
		.replace(/\.md$/, "")
		.toLowerCase();
}
