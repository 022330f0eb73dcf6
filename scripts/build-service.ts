/**
 * Bundles `src/` into `dist/`, with `yaml`, which is 72 files: a start reads a few files instead of hundreds
 * (docs/decisions/0006), with what is used of OpenTelemetry, 34 MB as packages (0055), with the SMTP client of
 * alerts and the parser of forms (0064). Other packages stay in `node_modules`.
 */
import { cpSync } from "node:fs";
import * as http from "node:http";
import { dirname, relative } from "node:path";
import { build, type Plugin, type Rolldown } from "vite";

/** The command, its threads, and what `sluice dev` starts in other processes. */
const ENTRIES = [
	"main",
	"cli/serve/service-thread",
	"kernel/store/sqlite/thread/database-thread",
	"cli/dev/worker-entry",
	"cli/dev/server-entry",
	"cli/dev/kit",
];

/** `root` ends with a slash. */
export async function buildService(root: string): Promise<void> {
	await bundle({ root, entries: ENTRIES });
	cpSync(`${root}node_modules/nodemailer/LICENSE`, `${root}dist/chunks/nodemailer.LICENSE`);
	cpSync(`${root}node_modules/@fastify/busboy/LICENSE`, `${root}dist/chunks/busboy.LICENSE`);
	cpSync(`${root}node_modules/@opentelemetry/api/LICENSE`, `${root}dist/chunks/opentelemetry.LICENSE`);
}

/** Bundles `entries`, paths in `src` without ending, into `dist/` unless `write` is false. Returns the files. */
export async function bundle(q: {
	root: string;
	entries: readonly string[];
	write?: boolean;
}): Promise<Rolldown.RolldownOutput["output"]> {
	const { root, entries, write = true } = q;
	const result = await build({
		root,
		configFile: false,
		logLevel: "warn",
		plugins: [ownPaths(`${root}src/`), httpWithoutUndici()],
		ssr: { noExternal: ["@fastify/busboy", "nodemailer", "yaml", /^@opentelemetry\//] },
		build: {
			ssr: true,
			target: "node24",
			outDir: `${root}dist`,
			emptyOutDir: false,
			copyPublicDir: false,
			write,
			rolldownOptions: {
				input: Object.fromEntries(entries.map((name) => [name, `${root}src/${name}.ts`])),
				external: ["sluice/worker", "sluice/worker/http"],
				// A service that still runs after an upgrade in its folder finds no chunk of the new version under an old name.
				output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
			},
		},
	});
	return (result as Rolldown.RolldownOutput).output;
}

/** Exports of `node:http` for which it loads undici. */
const OF_UNDICI = new Set(["WebSocket", "CloseEvent", "MessageEvent"]);

/**
 * An import of `node:http` reads all its exports, so that Node loads undici: 70 ms of processor time in each thread.
 * The module itself has them as getters (docs/decisions/0006).
 */
function httpWithoutUndici(): Plugin {
	const id = "\0http";
	const names = Object.keys(http).filter((name) => name !== "default" && !OF_UNDICI.has(name));
	return {
		name: "http-without-undici",
		enforce: "pre",
		resolveId: (source) => (/^(node:)?http$/.test(source) ? id : undefined),
		load: (module) =>
			module === id
				? `const http = process.getBuiltinModule("node:http");
					export default http;
					export const { ${names.join(", ")} } = http;`
				: undefined,
	};
}

/** Keeps `import.meta.url` the path that a module would have without bundling: files are found relative to it. */
function ownPaths(src: string): Plugin {
	const PLACE = /__path_of\("([^"]+)"\)/g;
	return {
		name: "own-paths",
		enforce: "pre",
		transform(code, id) {
			if (!id.startsWith(src) || !code.includes("import.meta.url")) return undefined;
			const path = id.slice(src.length).replace(/\.ts$/, ".js");
			return { code: code.replaceAll("import.meta.url", `__path_of("${path}")`), map: null };
		},
		renderChunk(code, { fileName }) {
			const from = dirname(fileName);
			const moved = code.replaceAll(
				PLACE,
				(_, path: string) => `new URL(${JSON.stringify(`./${relative(from, path)}`)}, import.meta.url).href`,
			);
			return { code: moved, map: null };
		},
	};
}
