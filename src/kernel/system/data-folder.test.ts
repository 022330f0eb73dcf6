/** A server finds its identity again, and no two share a folder. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, it } from "vitest";
import { openDataFolder } from "./data-folder.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-data-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it("D34: keeps the identity of its server, each folder its own", () => {
	const ids = ["a/deep", "a/deep", "b"].map((name) => {
		const folder = openDataFolder(join(root, name));
		folder.close();
		return folder.serverId;
	});
	expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
	expect([ids[1] === ids[0], ids[2] === ids[0]]).toEqual([true, false]);
});

it("D34: refuses a folder that another process uses, until that is dead", async () => {
	const path = join(root, "used");
	const script =
		"const { openDataFolder } = await import(process.argv[1]); " +
		"console.log(openDataFolder(process.argv[2]).serverId); " +
		"setInterval(() => {}, 1000);";
	const other = spawn(
		process.execPath,
		["--input-type=module", "-e", script, new URL("./data-folder.ts", import.meta.url).href, path],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	const [id] = (await once(createInterface(other.stdout), "line")) as [string];
	expect(() => openDataFolder(path)).toThrow(
		`The folder ${path} is in use by another server. Each server needs its own: --data-dir FOLDER.`,
	);
	other.kill("SIGKILL");
	await once(other, "exit");
	const folder = openDataFolder(path);
	expect(folder.serverId).toBe(id);
	folder.close();
});

it("D34: what has the place of the folder or of its file is named at once", () => {
	writeFileSync(join(root, "file"), "");
	expect(() => openDataFolder(join(root, "file"))).toThrow("file is a file; a folder is needed there.");
	mkdirSync(join(root, "fifo"));
	execFileSync("mkfifo", [join(root, "fifo/server.db")]);
	expect(() => openDataFolder(join(root, "fifo"))).toThrow("server.db is a FIFO; a file is needed there.");
});
