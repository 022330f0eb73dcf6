/**
 * The database thread of the stores that tests open in their own process, bundled from `src/` at the beginning of a
 * run: it starts thousands of times, and each start would read sixty modules of TypeScript.
 */
import { createHash } from "node:crypto";
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { VitestPluginContext } from "vitest/node";
import { bundle } from "../../scripts/build-service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/database-thread");
const ENTRY = "kernel/store/sqlite/thread/database-thread";
const MIGRATIONS = "kernel/store/sqlite/migrations";

const IN_SOURCE = "new URL(`./thread/database-thread${extname(import.meta.url)}`, import.meta.url)";

const STARTS_THREAD = join(ROOT, "src/kernel/store/sqlite/open.ts");

/** A plugin for vitest: `openSqlite` starts the bundle. */
export async function bundledDatabaseThread() {
	const url = new URL(`file://${await bundledThread()}`).href;
	return {
		name: "bundled-database-thread",
		enforce: "pre" as const,
		/** Vitest keeps what it has transformed from run to run, and would start the bundle of an earlier run. */
		configureVitest({ defineCacheKeyGenerator }: Pick<VitestPluginContext, "defineCacheKeyGenerator">): void {
			defineCacheKeyGenerator(({ id }) => (id === STARTS_THREAD ? url : undefined));
		},
		transform(code: string, id: string): string | undefined {
			if (id !== STARTS_THREAD) return undefined;
			if (!code.includes(IN_SOURCE)) throw new Error(`${id} starts the database thread in another way`);
			return code.replace(IN_SOURCE, `new URL(${JSON.stringify(url)})`);
		},
	};
}

/** Its path, in a folder named by its content: the compiled code is kept from run to run. */
async function bundledThread(): Promise<string> {
	const files = await bundle({ root: ROOT, entries: [ENTRY], write: false });
	const migrations = join(ROOT, "src", MIGRATIONS);
	const hash = createHash("sha256");
	for (const file of files) hash.update(file.fileName).update(file.type === "chunk" ? file.code : file.source);
	for (const name of readdirSync(migrations).toSorted()) hash.update(name).update(readFileSync(join(migrations, name)));
	const folder = join(CACHE, hash.digest("hex").slice(0, 16));
	if (!existsSync(folder)) {
		mkdirSync(CACHE, { recursive: true });
		const made = mkdtempSync(join(CACHE, "made-"));
		for (const file of files) {
			mkdirSync(dirname(join(made, file.fileName)), { recursive: true });
			writeFileSync(join(made, file.fileName), file.type === "chunk" ? file.code : file.source);
		}
		cpSync(migrations, join(made, MIGRATIONS), { recursive: true });
		try {
			renameSync(made, folder);
		} catch (error) {
			// Another run has made it meanwhile.
			rmSync(made, { recursive: true });
			if (!existsSync(folder)) throw error;
		}
	}
	return join(folder, `${ENTRY}.js`);
}
