/**
 * The direction of dependency (CONTRIBUTING, "Layers"): each folder may import only what its row
 * names. `import type` counts too, and is all that a row allows by "type".
 */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { importCycles } from "./support/import-cycles.ts";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** What both dialects share. */
const CALLS = ["system/clock.ts", "system/file-calls.ts", "system/run-program.ts"];
const LAUNCHERS = ["launchers/", "core/", "lib/", ...CALLS, "node"];

const STORE = [
	"store/contract/",
	"store/migrate.ts",
	"store/apply-transition.ts",
	"store/views.ts",
	"store/row.ts",
	"store/states.ts",
	"store/operations/",
	"store/job-columns.ts",
	"store/positional.ts",
	"store/cursor.ts",
	"store/tables/",
];

/** What every part of the engine may import. */
const ENGINE = [
	"lib/",
	"system/clock.ts",
	"system/loop.ts",
	"system/paced.ts",
	"core/",
	"store/contract/",
	"store/operations/table.ts",
	"launchers/launcher.ts",
	"launchers/index.ts",
	"launchers/endpoint-settings.ts",
	"secrets/encryption.ts",
	"webhooks/contract.ts",
	"alerting/contract.ts",
	"telemetry/contract.ts",
	"events.ts",
	"node:crypto",
];

/** The domains of the engine: each may import itself and those of the lines before. */
const DOMAINS = [
	["availability"],
	["access", "limits"],
	["cluster"],
	["endpoints"],
	["management"],
	["workers"],
	["releases", "tracing"],
	["jobs", "scaling", "webhooks", "metrics"],
	["alerts"],
	["lifecycle"],
];

function engineRows(): Record<string, readonly string[]> {
	const rows: Record<string, readonly string[]> = {
		"engine/": [...ENGINE, "engine/"],
		"engine/context.ts": [...ENGINE, "engine/availability/"],
		"engine/invalid-cursor.ts": ["core/"],
	};
	const before: string[] = [];
	for (const domains of DOMAINS) {
		for (const name of domains) rows[`engine/${name}/`] = [...ENGINE, ...before, `engine/${name}/`];
		before.push(...domains.map((name) => `engine/${name}/`));
		if (before.length === 1) before.push("engine/context.ts", "engine/invalid-cursor.ts");
	}
	return rows;
}

/**
 * Layer of a file, by the longest prefix; what it may import: layers, `node:*` or package names.
 */
const LAYERS: Record<string, readonly string[]> = {
	"lib/": ["lib/"],
	"system/": ["system/", "lib/", "node"],
	"core/": ["core/", "lib/"],
	"secrets/": ["secrets/", "lib/", "system/durable-file.ts", "node"],
	"store/contract/": ["store/contract/", "core/", "lib/"],
	"store/": [...STORE, "core/", "lib/", "secrets/key-check.ts", "node"],
	"store/sqlite/": [...STORE, "store/sqlite/", "core/", "lib/", "secrets/key-check.ts", "system/", "node"],
	"store/postgres/": [
		...STORE,
		"store/postgres/",
		"core/",
		"lib/",
		"secrets/key-check.ts",
		"system/clock.ts",
		"node",
		"pg",
	],
	"launchers/": LAUNCHERS,
	"launchers/kubernetes/": [...LAUNCHERS, "undici", "yaml"],
	"webhooks/": ["webhooks/", "core/", "lib/", "system/clock.ts", "system/file-calls.ts", "node"],
	"alerting/": ["alerting/", "webhooks/contract.ts", "core/", "lib/"],
	"alerting/mail.ts": ["alerting/", "core/", "lib/", "nodemailer"],
	"telemetry/": ["telemetry/", "core/tracing/", "core/metrics/family.ts", "lib/", "system/clock.ts"],
	"telemetry/error-report.ts": ["system/clock.ts", "@opentelemetry/api"],
	"telemetry/resource.ts": ["@opentelemetry/resources", "telemetry/"],
	"telemetry/trace-exporter.ts": [
		"telemetry/",
		"core/tracing/",
		"@opentelemetry/api",
		"@opentelemetry/exporter-trace-otlp-proto",
		"@opentelemetry/resources",
		"@opentelemetry/sdk-trace",
	],
	"telemetry/log-exporter.ts": ["telemetry/", "@opentelemetry/exporter-logs-otlp-proto", "@opentelemetry/resources"],
	"telemetry/metric-exporter.ts": [
		"telemetry/",
		"core/metrics/family.ts",
		"lib/",
		"@opentelemetry/api",
		"@opentelemetry/exporter-metrics-otlp-proto",
		"@opentelemetry/resources",
		"@opentelemetry/sdk-metrics",
	],
	...engineRows(),
	// Types of TypeBox only: nothing of it is loaded.
	"api/": ["api/", "core/", "lib/", "launchers/endpoint-settings.ts", "typebox/schema"],
	"http/": [
		"http/",
		"api/",
		"engine/",
		"core/",
		"lib/",
		"store/contract/store.ts",
		"store/contract/jobs.ts",
		"store/contract/webhooks.ts",
		"launchers/endpoint-settings.ts",
		"system/",
		"events.ts",
		"version.ts",
		"cookie",
		"node",
	],
	"http/v1/backup-api.ts": ["http/", "api/", "core/", "engine/", "version.ts", "modern-tar", "node:crypto"],
	"cli/": [
		"cli/",
		"core/",
		"lib/",
		"type api/",
		"yaml",
		"compose.ts",
		"stores.ts",
		"config/",
		"launchers/endpoint-settings.ts",
		"launchers/index.ts",
		"launchers/definition.ts",
		"events.ts",
		"log.ts",
		"system/",
		"version.ts",
		"node",
	],
	"cli/dev/kit.ts": ["sluice/worker"],
	"cli/backup/archive.ts": ["cli/", "core/", "modern-tar", "node"],
	"compose.ts": [
		"lib/",
		"core/",
		"config/",
		"engine/",
		"http/server/server.ts",
		"launchers/",
		"telemetry/",
		"alerting/",
		"webhooks/",
		"secrets/",
		"stores.ts",
		"system/",
		"events.ts",
		"log.ts",
		"node",
		"version.ts",
	],
	"stores.ts": [
		"engine/lifecycle/reencrypt.ts",
		"secrets/",
		"config/",
		"store/contract/",
		"store/sqlite/",
		"store/postgres/",
		"system/clock.ts",
		"node",
	],
	"config/": [
		"config/",
		"core/",
		"lib/",
		"event-table.ts",
		"launchers/endpoint-settings.ts",
		"launchers/index.ts",
		"node",
		"yaml",
	],
	"main.ts": ["cli/"],
	"event-table.ts": ["core/", "lib/"],
	"events.ts": ["event-table.ts"],
	"log.ts": [
		"core/workers/log-line.ts",
		"event-table.ts",
		"events.ts",
		"system/clock.ts",
		"lib/terminal-text.ts",
		"pino",
	],
	"version.ts": ["node"],
};

/** Modules that a source text imports, dynamically too, and whether only types of them. */
function importsOf(text: string): { wanted: string; typesOnly: boolean }[] {
	return [
		...text.matchAll(
			/^(?:import|export)\s+(type\s)?(?:[\w*\s{},$]+?\s+from\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
		),
	].map(([, type, wanted, dynamic]) => ({ wanted: (wanted ?? dynamic)!, typesOnly: type !== undefined }));
}

function layerOf(path: string): string | undefined {
	return Object.keys(LAYERS)
		.filter((layer) => (layer.endsWith("/") ? path.startsWith(layer) : path === layer))
		.toSorted((a, b) => b.length - a.length)[0];
}

/** Faults of one file as sentences. */
function faultsOf(path: string, text: string): string[] {
	const layer = layerOf(path);
	if (layer === undefined) return [`${path} belongs to no layer`];
	return importsOf(text).flatMap(({ wanted, typesOnly }) => {
		const target = wanted.startsWith(".") ? relative(SRC, join(SRC, dirname(path), wanted)) : wanted;
		const allowed = LAYERS[layer]!.map((entry) => (typesOnly ? entry.replace(/^type /, "") : entry)).some((entry) =>
			entry === "node" ? target.startsWith("node:") : entry.endsWith("/") ? target.startsWith(entry) : target === entry,
		);
		return allowed ? [] : [`${path} imports ${target}, which ${layer} must not`];
	});
}

/** All files of the service, tests excluded, relative to `src`. */
const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter(
	(path) => path.endsWith(".ts") && !path.endsWith(".test.ts"),
);

describe("layers", () => {
	it("no file imports against the direction", () => {
		expect(files.length).toBeGreaterThan(40);
		expect(files.flatMap((path) => faultsOf(path, readFileSync(join(SRC, path), "utf8")))).toEqual([]);
	});

	it.each([
		["http/client-api.ts", 'import { openSqlite } from "../store/sqlite/open.ts";'],
		["core/jobs/job-states.ts", 'import type { Clock } from "../../system/clock.ts";'],
		["core/jobs/job-states.ts", 'import { hash } from "node:crypto";'],
		["api/keys.ts", 'import type { Call } from "../http/call.ts";'],
		["engine/jobs/submit.ts", 'import type { Call } from "../../http/call.ts";'],
		["engine/workers/polls.ts", 'import type { Dispatch } from "../jobs/dispatch.ts";'],
		["engine/jobs/cancel.ts", 'import type { Scaling } from "../scaling/scaling.ts";'],
		["engine/availability/clock/job-clock.ts", 'import type { EngineContext } from "../../context.ts";'],
		["store/apply-transition.ts", 'import { openBlocks } from "./sqlite/rows/blocks.ts";'],
		["store/sqlite/open.ts", 'import { statement } from "../postgres/connection/statement.ts";'],
		["cli/commands/keys.ts", 'import { KEY } from "../../api/keys.ts";'],
		["cli/commands/keys.ts", 'import { type Key } from "../../api/keys.ts";'],
		["cli/commands/keys.ts", 'const { KEY } = await import("../../api/keys.ts");'],
		["launchers/process/launcher.ts", 'const engine = await import("../../engine/engine.ts");'],
	])("a planted violation in %s is found", (path, line) => {
		expect(faultsOf(path, line)).toHaveLength(1);
	});
});

/** Calls of `node:child_process` in a source text that let a child inherit the environment. */
function inheritingSpawns(text: string): string[] {
	return [...text.matchAll(/\b(?:spawn|fork|exec|execFile)(?:Sync)?\([^]*?;$/gm)]
		.map(([call]) => call)
		.filter((call) => !/\benv\b/.test(call));
}

describe("child processes", () => {
	it("each gets an environment, so that none inherits secrets of the service", () => {
		const found = files.flatMap((path) => {
			const text = readFileSync(join(SRC, path), "utf8");
			return text.includes('"node:child_process"') ? inheritingSpawns(text).map((call) => `${path}: ${call}`) : [];
		});
		expect(found).toEqual([]);
		expect(inheritingSpawns('const a = spawn("ssh", [f(x)], { stdio: "pipe" });')).toHaveLength(1);
	});
});

describe("import cycles, types included", () => {
	const cycles = importCycles(
		new Map(
			files.map((path) => [
				path,
				importsOf(readFileSync(join(SRC, path), "utf8"))
					.map(({ wanted }) => wanted)
					.filter((wanted) => wanted.startsWith("."))
					.map((wanted) => relative(SRC, join(SRC, dirname(path), wanted))),
			]),
		),
	);
	it("there are none", () => {
		expect(cycles).toEqual([]);
	});

	it.each([
		["a pair", { a: ["b"], b: ["a"] }, [["a", "b"]]],
		["a file that imports itself", { a: ["a"] }, [["a"]]],
		[
			"two of three and more, with a way between them",
			{ a: ["b"], b: ["c"], c: ["a", "d"], d: ["e"], e: ["d", "f"], f: [] },
			[
				["a", "b", "c"],
				["d", "e"],
			],
		],
		["none, though two ways lead to one file", { a: ["b", "c"], b: ["d"], c: ["d"], d: [] }, []],
	])("finds %s", (_, imports, expected) => {
		expect(importCycles(new Map(Object.entries(imports)))).toEqual(expected);
	});
});

/** The worker kit: a package of its own, which nothing of the service may enter. */
describe("layers of the worker kit", () => {
	const KIT = fileURLToPath(new URL("../packages/worker/src", import.meta.url));
	const files = readdirSync(KIT, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

	function kitFaults(path: string, text: string): string[] {
		return importsOf(text).flatMap(({ wanted }) => {
			const target = wanted.startsWith(".") ? relative(KIT, join(KIT, dirname(path), wanted)) : wanted;
			const allowed = wanted.startsWith(".")
				? !target.startsWith("..") || target === "../package.json"
				: wanted === "undici" || wanted.startsWith("node:");
			return allowed ? [] : [`${path} imports ${target}`];
		});
	}

	it("imports itself, Node and undici", () => {
		const own = files.filter((path) => !path.endsWith(".test.ts"));
		expect(own.length).toBeGreaterThan(20);
		expect(own.flatMap((path) => kitFaults(path, readFileSync(join(KIT, path), "utf8")))).toEqual([]);
		expect(kitFaults("index.ts", 'export { newJob } from "../../../src/core/job.ts";')).toHaveLength(1);
	});
});

/**
 * The console: a browser's code, which the service's must not enter. Of `core` and `api` it takes
 * types, which are removed when it is built.
 */
describe("layers of the console", () => {
	const CONSOLE = fileURLToPath(new URL("../console/src", import.meta.url));
	const PACKAGES = [
		"react",
		"react-dom/client",
		"react-aria-components",
		"uplot",
		"uplot/dist/uPlot.min.css",
		"markdown-it",
	];
	const files = readdirSync(CONSOLE, { recursive: true, encoding: "utf8" }).filter(
		(path) => /\.tsx?$/.test(path) && !path.endsWith(".test.ts"),
	);

	function consoleFaults(path: string, text: string): string[] {
		return importsOf(text).flatMap(({ wanted, typesOnly }) => {
			if (!wanted.startsWith(".")) return PACKAGES.includes(wanted) ? [] : [`${path} imports ${wanted}`];
			const target = relative(CONSOLE, join(CONSOLE, dirname(path), wanted));
			if (!target.startsWith(".."))
				return path.startsWith("parts/") && target.startsWith("pages/")
					? [`${path} imports ${target}: parts know no page`]
					: [];
			// Code of lib/ uses nothing of Node's.
			if (target.startsWith("../../src/lib/")) return [];
			return typesOnly && /^\.\.\/\.\.\/src\/(core|api)\//.test(target) ? [] : [`${path} imports ${target}`];
		});
	}

	it("takes types from the service and values from its lib/ only, and a part knows no page", () => {
		expect(files.length).toBeGreaterThan(30);
		expect(files.flatMap((path) => consoleFaults(path, readFileSync(join(CONSOLE, path), "utf8")))).toEqual([]);
	});

	it.each([
		["shapes.ts", 'const { JOB_STATES } = await import("../../src/core/job-states.ts");'],
		["shapes.ts", 'import { JOB_STATES } from "../../src/core/job-states.ts";'],
		["shapes.ts", 'import type { Known } from "../../src/engine/endpoints/endpoint-registry.ts";'],
		["parts/table.tsx", 'import { KeysPage } from "../pages/keys.tsx";'],
		["api.ts", 'import { readFile } from "node:fs/promises";'],
	])("a planted violation in %s is found", (path, line) => {
		expect(consoleFaults(path, line)).toHaveLength(1);
	});
});
