/**
 * The results file of `sluice jobs submit --file`: what a power loss may leave of it, and that it
 * is flushed.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { fileResults } from "./results.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-results-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const line = (index: number): string => `{"index":${index},"status":"COMPLETED","key":"k${index}"}\n`;

it.each([
	["half a line", '{"index":3,"sta'],
	["zeros", "\0".repeat(5000)],
])("D36: %s at the end is removed, and its line is unknown", async (_, end) => {
	const path = join(mkdtempSync(join(root, "a-")), "r.jsonl");
	writeFileSync(path, line(1) + line(2) + end);
	const results = await fileResults(path);
	expect([1, 2, 3].map((index) => results.known(index, `k${index}`))).toEqual(["COMPLETED", "COMPLETED", undefined]);
	results.write({ index: 3, status: "COMPLETED", key: "k3" });
	results.close();
	expect(readFileSync(path, "utf8")).toBe(line(1) + line(2) + line(3));
});

it("D36: zeros inside are refused, and nothing is changed", async () => {
	const path = join(root, "hole.jsonl");
	const text = `${line(1)}${"\0".repeat(40)}\n${line(3)}`;
	writeFileSync(path, text);
	await expect(fileResults(path)).rejects.toThrow("not results of this command");
	expect(readFileSync(path, "utf8")).toBe(text);
});

it("D36: the exception in an error has members of its own", async () => {
	const path = join(root, "errors.jsonl");
	const results = await fileResults(path);
	const exception = JSON.stringify({
		error_type: "<class 'ValueError'>",
		error_message: "no model",
		error_traceback: "",
	});
	results.write({ index: 1, status: "FAILED", key: "k1", error: JSON.stringify(exception) });
	results.write({ index: 2, status: "FAILED", key: "k2", error: '"it was lost"' });
	results.close();
	const lines = readFileSync(path, "utf8").trimEnd().split("\n");
	expect(lines.map((each) => JSON.parse(each) as unknown)).toEqual([
		{ index: 1, status: "FAILED", error: exception, errorType: "ValueError", errorMessage: "no model", key: "k1" },
		{ index: 2, status: "FAILED", error: "it was lost", key: "k2" },
	]);
});

it("D36: is written where nothing can be flushed, such as a pipe", async () => {
	const results = await fileResults("/dev/null");
	results.write({ index: 1, status: "COMPLETED", key: "k" });
	expect(() => results.close()).not.toThrow();
});

const STRACE = (() => {
	try {
		execFileSync("strace", ["-o", "/dev/null", "true"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
})();

it.skipIf(!STRACE)(
	`D36: writes are flushed at once and at the end, with the name of a new file${STRACE ? "" : " (no strace here)"}`,
	() => {
		const place = mkdtempSync(join(root, "s-"));
		const log = join(root, "calls");
		const script = `const { fileResults } = await import(process.argv[1]);
			const results = await fileResults(process.argv[2]);
			const write = (index) => results.write({ index, status: "COMPLETED", key: "k" });
    write(1); write(2); await new Promise((go) => setTimeout(go, 300)); write(3); results.close();`;
		execFileSync("strace", [
			"-f",
			"-y",
			"-o",
			log,
			"-e",
			"trace=write,fsync,fdatasync",
			process.execPath,
			"--input-type=module",
			"-e",
			script,
			new URL("./results.ts", import.meta.url).href,
			join(place, "r.jsonl"),
		]);
		const calls = readFileSync(log, "utf8")
			.split("\n")
			.filter((each) => each.includes(place) && !each.includes("resumed"))
			.map((each) => `${/\b(write|fsync|fdatasync)\(/.exec(each)?.[1]}${each.includes("r.jsonl>") ? "" : " folder"}`);
		expect(calls.indexOf("fsync folder")).toBeGreaterThanOrEqual(0);
		expect(calls.indexOf("fsync folder")).toBeLessThan(calls.indexOf("write"));
		expect(calls.slice(calls.indexOf("write"), calls.lastIndexOf("write"))).toContain("fdatasync");
		expect(calls.at(-1)).toBe("fdatasync");
	},
);
