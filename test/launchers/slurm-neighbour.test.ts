/** The slurm launcher where another user of a real cluster can write its shared folder. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Handle } from "../../src/kernel/launchers/launcher.ts";
import { folderOf } from "../../src/modules/slurm/script.ts";
import { noSlurm, titled } from "../support/slurm.ts";
import { root, script, suiteOfSlurm } from "./slurm-workers.ts";

const noUser = noSlurm ?? (process.getuid?.() === 0 ? undefined : "it needs root, to act as another user");

describe.skipIf(noUser !== undefined)(titled("another user of the cluster"), () => {
	const { cluster, open } = suiteOfSlurm();

	let shared: string;
	beforeEach(() => {
		shared = mkdtempSync(join(tmpdir(), "sluice-shared-"));
		chmodSync(shared, 0o1777);
	});
	afterEach(() => rmSync(shared, { recursive: true, force: true }));
	const neighbour = (text: string): void => void execFileSync("runuser", ["-u", "nobody", "--", "sh", "-c", text]);
	const start = (): Promise<Handle> => open().start(script("exec true", { sharedDir: shared }));

	it.each<[string, (own: string) => string, RegExp]>([
		["the folder", (own) => `mkdir -m 777 ${own}`, /the folder \S+ belongs to user 65534 and has mode 0777; remove it/],
		["a link for it", (own) => `ln -s ${root} ${own}`, /the link \S+ belongs to user 65534 .* remove it/],
		[
			"the folder of volumes",
			(own) => `mkdir -m 777 ${dirname(own)}/volumes`,
			/the folder \S+volumes belongs to user 65534/,
		],
	])("D26: makes %s first: no worker starts there", async (_, attack, why) => {
		const spec = script("exec true", { sharedDir: shared, image: "x", volumes: ["models:/runpod-volume"] });
		neighbour(attack(dirname(folderOf(spec))));
		await expect(open().start(spec)).rejects.toThrow(why);
		expect(await cluster().jobs(spec.workerId)).toEqual([]);
		expect(readdirSync(shared, { recursive: true, encoding: "utf8" }).join()).not.toContain(".env");
	});

	it.each<[string, number]>([
		["others", 0o777],
		["a group", 0o775],
	])("D26: no worker starts where %s may rename folders", async (_, mode) => {
		chmodSync(shared, mode);
		chownSync(shared, 0, 65_534);
		await expect(start()).rejects.toThrow(
			`the folder ${shared} belongs to user 0 and has mode 0${mode.toString(8)}; run chmod go-w ${shared}`,
		);
		chmodSync(shared, 0o755);
		await start();
		chownSync(shared, 65_534, 65_534);
		await expect(start()).rejects.toThrow("belongs to user 65534");
	});

	it("D26: no worker starts where others may read its folder", async () => {
		await start();
		const [name] = readdirSync(shared);
		chmodSync(join(shared, name!), 0o755);
		await expect(start()).rejects.toThrow(`run chmod 700 ${join(shared, name!)}`);
	});
});
