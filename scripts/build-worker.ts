/**
 * Bundles the worker kit (`packages/worker`) with the parts of undici that it uses into
 * `packages/worker/dist` and `dist/worker`, so that a worker's image needs nothing but Node.
 */
import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { build } from "vite";

/** What the kit imports of undici, without `fetch`, mocks and caches. */
const UNDICI = "\0undici";
const USED = `
export { default as Client } from "undici/lib/dispatcher/client.js";
export { default as Pool } from "undici/lib/dispatcher/pool.js";
export { default as buildConnector } from "undici/lib/core/connect.js";
`;

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
					// WebAssembly with SIMD runs wherever Node 24 does.
					if (id.endsWith("/milo/no-simd.js")) return this.resolve(id.replace("no-simd", "simd"), importer);
					if (id.endsWith("/llhttp-wasm.js")) return this.resolve(id.replace("llhttp-", "llhttp_simd-"), importer);
					return undefined;
				},
				load: (id) => (id === UNDICI ? USED : undefined),
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
	cpSync(`${root}node_modules/undici/LICENSE`, `${folder}/undici.LICENSE`);
	cpSync(folder, `${root}dist/worker`, { recursive: true });
}
