/** The demo as it is run by `npm run demo`, on what has been built. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

describe("the demo", () => {
	it("D33: prints its steps, COMPLETED and the results, and exits with 0", {
		timeout: 120_000,
	}, async ({ onTestFinished }) => {
		const child = spawn(process.execPath, [fileURLToPath(new URL("../../scripts/demo.ts", import.meta.url))], {
			stdio: ["ignore", "pipe", "pipe"],
		});
		onTestFinished(() => void child.kill());
		let said = "";
		for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (said += piece.toString()));
		const [code] = (await once(child, "close")) as [number | null];
		expect(code, said).toBe(0);
		expect(said).toMatch(/\/v2\/thumbnail\/runsync.*COMPLETED/s);
		expect(said).toMatch(/\/v2\/ocr\/run.*154 words/s);
		expect(said).toContain("COMPLETED: every job ran to its result.");
	});
});
