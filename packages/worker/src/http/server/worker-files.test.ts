import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workerFiles } from "./worker-files.ts";

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the files of a worker", () => {
	it("are in a folder of the user without access for others", () => {
		const files = workerFiles("w/1", folder);
		files.writePort(81);
		files.writePort(82);
		files.setAsleep(true);
		expect([files.readPort(), files.isAsleep()]).toEqual([82, true]);
		const name = `sluice-http-${process.getuid!()}-w_1`;
		expect(readdirSync(folder)).toEqual([name]);
		expect(statSync(join(folder, name)).mode & 0o777).toBe(0o700);
		files.remove();
		expect([readdirSync(folder), files.readPort(), files.isAsleep()]).toEqual([[], undefined, false]);
	});

	it("are refused in a folder that others can open, or behind a link", () => {
		const files = workerFiles("w", folder);
		files.setAsleep(true);
		const own = join(folder, readdirSync(folder)[0]!);
		chmodSync(own, 0o755);
		expect(files.isAsleep()).toBe(false);
		expect(() => files.writePort(1)).toThrow(`${own} must be a folder`);
		expect(() => files.remove()).toThrow("Remove it.");
		chmodSync(own, 0o700);
		files.remove();
		const other = mkdtempSync(join(folder, "other-"));
		symlinkSync(other, own);
		expect(() => files.setAsleep(true)).toThrow(`${own} must be a folder`);
		expect(readdirSync(other)).toEqual([]);
	});

	it("do not follow a link in the place of a file", () => {
		const files = workerFiles("w", folder);
		files.writePort(1);
		const own = join(folder, readdirSync(folder)[0]!);
		const target = join(folder, "target");
		rmSync(join(own, "port"));
		symlinkSync(target, join(own, "port"));
		files.writePort(2);
		expect([readdirSync(folder).includes("target"), files.readPort()]).toEqual([false, 2]);
	});
});
