/**
 * Bundles the worker kit (`packages/worker`) with the parts of undici that it uses into
 * `packages/worker/dist` and `dist/worker`, so that a worker's image needs nothing but Node.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "vite";

/** What the kit imports of undici, without `fetch`, mocks and caches. */
const UNDICI = "\0undici";
const USED = `
export { default as Client } from "undici/lib/dispatcher/client.js";
export { default as Pool } from "undici/lib/dispatcher/pool.js";
export { default as buildConnector } from "undici/lib/core/connect.js";
`;
/**
 * Files of undici that the ones above import for what the kit does not do: forms as bodies, HTTP/2 (`allowH2: false`),
 * and an experimental parser, which an environment variable would choose. They are half of its size.
 */
const UNUSED_FILES = /\/(?:parser-h1|client-h2|fetch\/(?:body|formdata)|webidl)(?:\.js)?$/;
const UNUSED = "\0unused";
const NOTHING = "module.exports = { getMiloEnabled: () => false };";

/** `root` ends with a slash. */
export async function buildWorker(root: string): Promise<void> {
	const folder = `${root}packages/worker/dist`;
	rmSync(folder, { recursive: true, force: true });
	await build({
		root: `${root}packages/worker`,
		configFile: false,
		logLevel: "warn",
		plugins: [
			{
				name: "undici",
				enforce: "pre",
				resolveId(id, importer) {
					if (id === "undici") return UNDICI;
					if (UNUSED_FILES.test(id) && importer?.includes("/undici/lib/")) return UNUSED;
					// WebAssembly with SIMD runs wherever Node 24 does.
					if (id.endsWith("/llhttp-wasm.js")) return this.resolve(id.replace("llhttp-", "llhttp_simd-"), importer);
					return undefined;
				},
				load: (id) => (id === UNDICI ? USED : id === UNUSED ? NOTHING : undefined),
			},
		],
		build: {
			ssr: true,
			target: "node24",
			minify: true,
			outDir: folder,
			rolldownOptions: {
				input: {
					index: `${root}packages/worker/src/index.ts`,
					"ping-thread": `${root}packages/worker/src/pings/ping-thread.ts`,
					http: `${root}packages/worker/src/http/index.ts`,
					"sluice-http": `${root}packages/worker/src/http/main.ts`,
				},
				output: { entryFileNames: "[name].js", chunkFileNames: "[name].js" },
			},
		},
		ssr: { noExternal: true },
	});
	execFileSync("tsc", ["-p", "packages/worker/tsconfig.json"], { cwd: root, stdio: "inherit" });
	const entries = ["index.d.ts", "http/index.d.ts"].map((name) => `${folder}/types/src/${name}`);
	removeAllBut(declarationsOf(entries), `${folder}/types`);
	cpSync(`${root}node_modules/undici/LICENSE`, `${folder}/undici.LICENSE`);
	cpSync(folder, `${root}dist/worker`, { recursive: true });
}

/** Declarations that those in `paths` import, with these themselves. */
function declarationsOf(paths: readonly string[]): Set<string> {
	const found = new Set(paths);
	for (const path of found)
		for (const [, wanted] of readFileSync(path, "utf8").matchAll(/(?:from|import) "(\.[^"]+)\.ts"/g))
			found.add(`${join(dirname(path), wanted!)}.d.ts`);
	return found;
}

/** The compiler writes a declaration for each file, and users can import those of the entries only. */
function removeAllBut(kept: ReadonlySet<string>, folder: string): void {
	for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
		if (name.endsWith(".ts") && !kept.has(join(folder, name))) rmSync(join(folder, name));
}
