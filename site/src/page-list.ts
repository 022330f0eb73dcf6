/** The pages of the documentation: files of the repository, in the order of the navigation. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Pictures that the build makes. */
export const DIAGRAMS = `${ROOT}node_modules/.cache/site-diagrams`;

/** Guides before the reference before pages for contributors. */
const GUIDE_WEIGHT = 3;
const PROJECT_WEIGHT = 0.05;

interface Section {
	label: string;
	/** Paths in the repository. */
	files: readonly string[];
	/** Sections within this one. */
	groups?: readonly Section[];
	/** Closed until a reader opens it or is on one of its pages. */
	closed?: boolean;
	/** Weight of its pages in the search; 1 by default. */
	weight?: number;
}

const guides = (...names: string[]): string[] => names.map((name) => `docs/guides/${name}.md`);

const reference = (...names: string[]): string[] => names.map((name) => `docs/reference/${name}.md`);

const DECISIONS = readdirSync(`${ROOT}docs/decisions`)
	.filter((name) => /^\d/.test(name))
	.toSorted()
	.map((name) => `docs/decisions/${name}`);

const RUNBOOKS = readdirSync(`${ROOT}docs/runbooks`)
	.filter((name) => name !== "README.md")
	.toSorted()
	.map((name) => `docs/runbooks/${name}`);

/** The start page, which no section has. */
export const START = "docs/README.md";

/** Served by the service itself, with examples for its address. */
export const API = { file: "docs/reference/api.md", path: "api/" };

export const SECTIONS: readonly Section[] = [
	{
		label: "Tutorials",
		files: [...guides("first-hour", "from-runpod"), "examples/README.md"],
		weight: GUIDE_WEIGHT,
	},
	{
		label: "Recipes",
		files: guides("openai", "vllm", "comfyui", "whisper", "infinity"),
		weight: GUIDE_WEIGHT,
	},
	{
		label: "Call endpoints",
		files: guides("clients", "streaming", "files", "batches", "webhooks", "priorities-and-limits"),
		weight: GUIDE_WEIGHT,
	},
	{
		label: "Run workers",
		files: guides(
			"endpoints",
			"http-workers",
			"http-presets",
			"endpoints-in-git",
			"gpus",
			"models",
			"docker",
			"docker-hosts",
			"kubernetes",
			"slurm",
			"management-api",
		),
		weight: GUIDE_WEIGHT,
	},
	{
		label: "Run the service",
		files: [
			...guides("install", "command-line", "console"),
			"deploy/README.md",
			...guides("systemd"),
			"docs/scaling.md",
			...guides("tls", "backup", "upgrade"),
		],
		weight: GUIDE_WEIGHT,
	},
	{
		label: "Watch and repair",
		files: guides("alerts", "monitoring", "tracing", "troubleshooting", "cost-per-job"),
		groups: [{ label: "Runbooks", files: ["docs/runbooks/README.md", ...RUNBOOKS], closed: true }],
		weight: GUIDE_WEIGHT,
	},
	{
		label: "Reference",
		files: [
			...reference("cli", "config", "errors", "limits", "events", "metrics", "job-states"),
			"docs/behaviour.md",
			"docs/protocol.md",
			"CHANGELOG.md",
		],
	},
	{
		label: "Explanation",
		files: [...guides("compare"), "docs/durability.md", "docs/benchmarks.md", "SECURITY.md"],
	},
	{
		label: "Project",
		files: [
			"CONTRIBUTING.md",
			"docs/architecture.md",
			"docs/testing.md",
			"docs/security-review.md",
			...reference("rules", "licences"),
		],
		groups: [
			{ label: "Decisions", files: ["docs/decisions/README.md", ...DECISIONS], closed: true, weight: PROJECT_WEIGHT },
		],
		closed: true,
		weight: PROJECT_WEIGHT,
	},
];

const ALL = SECTIONS.flatMap((section) => [section, ...(section.groups ?? [])]);

/** Weights in the search by file. */
const WEIGHTS = new Map(ALL.flatMap(({ files, weight = 1 }) => files.map((file) => [file, weight] as const)));

/** Weights in the search by path in the site. */
export const weightOf = (slug: string): number => {
	for (const [file, path] of PAGES) if (path === slug) return WEIGHTS.get(file) ?? 1;
	return 1;
};

/** Paths in the site by file, without slashes at their ends; "" is the start page. */
export const PAGES: ReadonlyMap<string, string> = new Map(
	[START, ...ALL.flatMap(({ files }) => files)].map((file) => [file, slugOf(file)]),
);

function slugOf(file: string): string {
	return file
		.replace(/^docs\//, "")
		.replace(/\/?README\.md$/, "")
		.replace(/\.md$/, "")
		.toLowerCase();
}
