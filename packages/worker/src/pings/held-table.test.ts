import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { createHeldJobs } from "../held-jobs.ts";
import { heldTableWriter, newHeldTable, readHeldTable } from "./held-table.ts";

describe("D16: the shared table of held jobs", () => {
	it("gives back the ids that are in it", () => {
		const table = newHeldTable();
		const writer = heldTableWriter(table);
		const a = writer.add("a");
		writer.add("bé");
		expect(readHeldTable(table).sort()).toEqual(["a", "bé"]);
		writer.remove(a);
		expect(readHeldTable(table)).toEqual(["bé"]);
	});

	it("passes ids that are too long, or too many, on as overflow", () => {
		const table = newHeldTable();
		let overflow: string[] = [];
		const held = createHeldJobs(table, (ids) => (overflow = ids));
		const long = held.add("x".repeat(300))!;
		expect(overflow).toEqual([long.id]);
		for (let index = 0; index < 1025; index += 1) held.add(`j-${index}`);
		expect(overflow).toEqual([long.id, "j-1024"]);
		held.remove(long);
		expect(overflow).toEqual(["j-1024"]);
		expect(readHeldTable(table)).toHaveLength(1024);
	});

	it("never shows another thread half an id", async () => {
		const table = newHeldTable();
		const writer = heldTableWriter(table);
		const code = `
      import { parentPort, workerData } from "node:worker_threads";
      const { readHeldTable } = await import(workerData.module);
      parentPort.postMessage("ready");
      let torn = 0, seen = 0;
      const until = Atomics.load(new Int32Array(workerData.done), 0);
      while (Atomics.load(new Int32Array(workerData.done), 0) === 0) {
        for (const id of readHeldTable(workerData.table)) {
          seen += 1;
          if (!/^(a+|b+)$/.test(id) || (id.length !== 200 && id.length !== 3)) torn += 1;
        }
      }
      parentPort.postMessage({ torn, seen });`;
		const done = new SharedArrayBuffer(4);
		const reader = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
			workerData: { table, done, module: new URL("./held-table.ts", import.meta.url).href },
		});
		const next = () => new Promise<unknown>((resolve) => reader.once("message", resolve));
		await next();
		for (let round = 0; round < 300_000; round += 1) {
			const slot = writer.add(round % 2 === 0 ? "a".repeat(200) : "bbb");
			writer.remove(slot);
		}
		const outcome = next();
		Atomics.store(new Int32Array(done), 0, 1);
		expect(await outcome).toMatchObject({ torn: 0 });
		await reader.terminate();
	});
});
