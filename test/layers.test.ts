/**
 * The direction of dependency (CONTRIBUTING, "Layers"): each folder may import only what its row
 * names. `import type` counts too, and is all that a row allows by "type".
 */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { importCycles } from "./support/import-cycles.ts";
import { LAYERS } from "./support/layers.ts";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

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
		["kernel/http/client-api.ts", 'import { openSqlite } from "../store/sqlite/open.ts";'],
		["kernel/core/jobs/job-states.ts", 'import type { Clock } from "../../system/clock.ts";'],
		["kernel/core/jobs/job-states.ts", 'import { hash } from "node:crypto";'],
		["kernel/api/keys.ts", 'import type { Call } from "../http/call.ts";'],
		["kernel/engine/jobs/submit.ts", 'import type { Call } from "../../http/call.ts";'],
		["kernel/engine/workers/polls.ts", 'import type { Dispatch } from "../jobs/dispatch.ts";'],
		["kernel/engine/jobs/cancel.ts", 'import type { Scaling } from "../scaling/scaling.ts";'],
		["kernel/engine/availability/clock/job-clock.ts", 'import type { EngineContext } from "../../context.ts";'],
		["kernel/store/apply-transition.ts", 'import { openBlocks } from "./sqlite/rows/blocks.ts";'],
		["kernel/store/sqlite/open.ts", 'import { statement } from "../postgres/connection/statement.ts";'],
		["kernel/engine/jobs/submit.ts", 'import { createAlerts } from "../../../modules/alerts/alerts.ts";'],
		["kernel/compose.ts", 'import { MODULES } from "../modules/index.ts";'],
		["kernel/compose.ts", 'const { openAlerts } = await import("../modules/alerts/open.ts");'],
		["cli/commands/keys.ts", 'import { KEY } from "../../api/keys.ts";'],
		["cli/commands/keys.ts", 'import { type Key } from "../../api/keys.ts";'],
		["cli/commands/keys.ts", 'const { KEY } = await import("../../api/keys.ts");'],
		["kernel/launchers/endpoint-settings.ts", 'import { LAUNCHERS } from "#launchers";'],
		["kernel/core/endpoints/endpoint-member.ts", 'import { MEMBERS } from "#endpoint-members";'],
		["modules/http-workers/open.ts", 'import { PRESETS } from "../../../packages/worker/src/http/mapping-index.ts";'],
		["kernel/launchers/index.ts", 'import { KUBERNETES } from "../../modules/kubernetes/definition.ts";'],
		["modules/kubernetes/cluster.ts", 'import type { Engine } from "../../kernel/engine/engine.ts";'],
		["kernel/launchers/process/launcher.ts", 'const engine = await import("../../engine/engine.ts");'],
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
					.filter((wanted) => wanted.startsWith(".") || wanted.startsWith("#"))
					.map((wanted) =>
						wanted.startsWith("#") ? `modules/${wanted.slice(1)}.ts` : relative(SRC, join(SRC, dirname(path), wanted)),
					),
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
		expect(kitFaults("index.ts", 'export { newJob } from "../../../src/kernel/core/job.ts";')).toHaveLength(1);
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

	/** Each may import itself and those before it. */
	const ROOMS = ["text", "client", "values", "parts", "modules", "pages", "frame", "main.tsx"];
	const roomOf = (path: string): string => (path.startsWith("styles/") ? ROOMS[0]! : path.split("/")[0]!);

	function consoleFaults(path: string, text: string): string[] {
		return importsOf(text).flatMap(({ wanted, typesOnly }) => {
			if (!wanted.startsWith(".")) return PACKAGES.includes(wanted) ? [] : [`${path} imports ${wanted}`];
			const target = relative(CONSOLE, join(CONSOLE, dirname(path), wanted));
			if (!target.startsWith(".."))
				return ROOMS.indexOf(roomOf(target)) > ROOMS.indexOf(roomOf(path))
					? [`${path} imports ${target}: rooms are ${ROOMS.join(", ")}`]
					: [];
			// Code of lib/ uses nothing of Node's.
			if (target.startsWith("../../src/kernel/lib/")) return [];
			return typesOnly &&
				/^\.\.\/\.\.\/src\/(kernel\/(core|api)\/|modules\/[\w-]+\/(?:[\w-]+\/)?routes\.ts$)/.test(target)
				? []
				: [`${path} imports ${target}`];
		});
	}

	it("takes types from the service and values from its lib/ only, and a room knows those before it", () => {
		expect(files.length).toBeGreaterThan(30);
		expect(files.flatMap((path) => consoleFaults(path, readFileSync(join(CONSOLE, path), "utf8")))).toEqual([]);
	});

	it.each([
		["client/shapes.ts", 'const { JOB_STATES } = await import("../../../src/kernel/core/job-states.ts");'],
		["client/shapes.ts", 'import { JOB_STATES } from "../../../src/kernel/core/job-states.ts";'],
		["client/shapes.ts", 'import type { Known } from "../../../src/kernel/engine/endpoints/endpoint-registry.ts";'],
		["parts/table.tsx", 'import { KeysPage } from "../pages/access/keys.tsx";'],
		["modules/alerts/alerts.tsx", 'import { Outcome } from "../../pages/job/outcome.tsx";'],
		["client/api.ts", 'import { readFile } from "node:fs/promises";'],
	])("a planted violation in %s is found", (path, line) => {
		expect(consoleFaults(path, line)).toHaveLength(1);
	});
});
