/** What of a folder goes to the daemon, by the rules of .dockerignore. */
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { unpackTar } from "modern-tar";
import { describe, expect, it } from "vitest";
import { buildContext, ignoreRules } from "./build-context.ts";

describe("ignoreRules", () => {
	it.each<[rules: string, path: string, ignored: boolean]>([
		["node_modules", "node_modules/a/b.js", true],
		["node_modules", "src/node_modules/a.js", false],
		["**/node_modules", "src/node_modules/a.js", true],
		["**/node_modules", "node_modules", true],
		["/build/", "build/a", true],
		["*.log", "a.log", true],
		["*.log", "logs/a.log", false],
		["**/*.log", "logs/deep/a.log", true],
		["a?.txt", "a1.txt", true],
		["a?.txt", "a.txt", false],
		["a.c", "abc", false],
		["models/**", "models/x/y", true],
		["models/**", "models", false],
		["# models\n\nmodels", "models", true],
		["*.md\n!README.md", "README.md", false],
		["!README.md\n*.md", "README.md", true],
		["*\n!src", "src/a.py", false],
		["*\n!src\nsrc/secret", "src/secret/key", true],
		["", "src/a.py", false],
		["", ".sluice/outputs/a.png", true],
	])("D36: %j for %s", (rules, path, ignored) => {
		expect(ignoreRules(rules)(path)).toBe(ignored);
	});
});

it("D36: the archive has the files, executable as they are, and the Dockerfile even if it is ignored", async () => {
	using temporary = mkdtempDisposableSync(join(tmpdir(), "sluice-context-"));
	const folder = temporary.path;
	const files = ["Dockerfile", "src/start.sh", "src/a.py", "data/big.bin", "keep/one", "keep/two", ".sluice/key"];
	for (const name of files) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		writeFileSync(join(folder, name), name, { mode: name.endsWith(".sh") ? 0o755 : 0o644 });
	}
	writeFileSync(join(folder, ".dockerignore"), "data\nkeep\n!keep/two\nDockerfile\n");
	const entries = await unpackTar(new Uint8Array(await buffer(buildContext(folder, "Dockerfile"))));
	const found = entries.filter(({ header }) => header.type === "file").map(({ header }) => header);
	expect(found.map(({ name }) => name).toSorted()).toEqual([
		".dockerignore",
		"Dockerfile",
		"keep/two",
		"src/a.py",
		"src/start.sh",
	]);
	expect(found.find(({ name }) => name === "src/start.sh")).toMatchObject({ mode: 0o755, uid: 0 });
});
