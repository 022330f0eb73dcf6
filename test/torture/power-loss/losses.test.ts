/**
 * What a loss of power may leave of a SQLite store has all that was acknowledged (D17, D56, D57, D59), and a store
 * that did not flush would be found.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { random } from "../plan.ts";
import { Disk, choices, torn } from "./disk.ts";
import { losePower, type Losses, traced } from "./losses.ts";
import { MARK } from "./object-work.ts";
import { type Step, stepsOf } from "./trace.ts";

const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;
if (!HAS_STRACE) process.stdout.write("Skipped: losses of power; install strace.\n");

describe.runIf(HAS_STRACE)("a traced store", () => {
	let place: string;
	let run: ReturnType<typeof traced>;

	beforeAll(() => {
		place = mkdtempSync(join(tmpdir(), "sluice-power-loss-"));
		run = traced(place, { sessions: 2, rounds: 1 });
	}, 60_000);
	afterAll(() => rmSync(place, { recursive: true }));

	const lose = (steps: readonly Step[], most: number): Promise<Losses> =>
		losePower(place, { ...run, steps, most, random: random(1) });

	it("D17, D56, D57, D59: has every acknowledged job, result, chunk, file, object and batch", async () => {
		const { violations, states, jobs, files, objects, uploads, batches } = await lose(run.steps, 60);
		expect(violations).toEqual([]);
		expect(states).toBeGreaterThan(20);
		expect([jobs, files, objects, uploads, batches]).toEqual([10, 4, 8, 8, 2]);
	}, 60_000);

	it("D57: without the flushes of files of batches it would not", async () => {
		const isOfBatch = (step: Step): boolean => step.kind === "write" && step.data.includes('{"id":"batch_req_');
		const files = new Set(run.steps.flatMap((step) => (step.kind === "write" && isOfBatch(step) ? [step.file] : [])));
		const steps = run.steps.filter((step) => step.kind !== "flush" || !files.has(step.file));
		const { violations } = await lose(steps, 60);
		expect(violations.flatMap(({ what }) => what).join()).toMatch(/file of batch batch_0+1? is not whole/);
	}, 60_000);

	it("D59: without the flushes of the bytes of objects it would not", async () => {
		const isOfObject = (step: Step): boolean => step.kind === "write" && step.data.includes(MARK);
		const files = new Set(run.steps.flatMap((step) => (step.kind === "write" && isOfObject(step) ? [step.file] : [])));
		const steps = run.steps.filter((step) => step.kind !== "flush" || !files.has(step.file));
		const { violations } = await lose(steps, 60);
		expect(violations.flatMap(({ what }) => what).join()).toMatch(
			/(object \w|part \d of upload-\w+) (is not whole|has other bytes)/,
		);
	}, 60_000);

	it.each([
		["the log", /-wal$/],
		["payload files", /\.payloads\/\d+$/],
		["the folder of payload files", /\.payloads$/],
		["uploaded files", /\.files\/file-\w+\.part$/],
		["the folder of uploaded files", /\.files$/],
	])(
		"D17, D56: without the flushes of %s it would not",
		async (_, flushed) => {
			const steps = run.steps.filter((step) => step.kind !== "flush" || !flushed.test(step.file));
			const { violations } = await lose(steps, 60);
			expect(violations.flatMap(({ what }) => what).join()).toMatch(
				/is lost|is not whole|cannot be opened|cannot be used/,
			);
		},
		60_000,
	);
});

describe("a disk", () => {
	const write = (text: string, at: number): Step => ({
		kind: "write",
		file: "/d/f",
		at,
		data: Buffer.from(text),
	});
	function disk(...steps: Step[]): Disk {
		const made = new Disk();
		for (const step of steps) if (step.kind !== "say") made.apply(step);
		return made;
	}
	const text = (made: Disk, choose: Parameters<Disk["lose"]>[0], entries = true) =>
		made.lose(choose, entries).get("/d/f")?.toString();

	it("keeps what was flushed, and of the rest what was chosen", () => {
		const made = disk(
			{ kind: "create", file: "/d/f" },
			write("aaaa", 0),
			{ kind: "flush", file: "/d/f" },
			write("b", 0),
			write("c", 1),
		);
		expect(text(made, () => undefined)).toBe("aaaa");
		expect(text(made, (_, change) => change)).toBe("bcaa");
		expect(text(made, (index, change) => (index === 1 ? change : undefined))).toBe("acaa");
		expect([...choices(made.pending, random(1))]).toHaveLength(10);
	});

	it("has a name only after a flush of its folder, unless by chance", () => {
		const made = disk({ kind: "create", file: "/d/f" }, write("a", 0));
		expect(text(made, () => undefined)).toBe("");
		expect(text(made, () => undefined, false)).toBeUndefined();
		made.apply({ kind: "flush", file: "/d" });
		expect(text(made, () => undefined, false)).toBe("");
		made.apply({ kind: "remove", file: "/d/f" });
		expect(text(made, (_, change) => change, false)).toBe("a");
	});

	it("tears writes at sectors", () => {
		const change = { kind: "write", file: "/d/f", at: 100, data: Buffer.alloc(5000, 1) } as const;
		for (let seed = 0; seed < 50; seed += 1) {
			const part = torn(change, random(seed)) as typeof change;
			const [from, to] = [part.at, part.at + part.data.length];
			expect(from === 100 || to === 5100).toBe(true);
			expect([from % 512, to % 512]).toContain(0);
		}
	});
});

it("a trace is read in the order of its calls; a flush counts from its answer on", () => {
	const hex = (value: string): string => Buffer.from(value).toString("hex").replace(/../g, "\\x$&");
	const trace = [
		`1 openat(AT_FDCWD</>, "${hex("/d/f")}", O_RDWR|O_CREAT, 0600) = 3</d/f>`,
		`1 pwrite64(3</d/f>, "${hex("ab")}", 2, 7) = 2`,
		"2 fdatasync(3</d/f> <unfinished ...>",
		`1 write(1</out>, "${hex("{}")}", 2) = 2`,
		"2 <... fdatasync resumed>) = 0",
		`1 write(3</d/f>, "${hex("c")}", 1) = 1`,
		"1 ftruncate(3</d/f>, 4) = 0",
		`1 rename("${hex("/d/f")}", "${hex("/d/g")}") = 0`,
		`1 unlink("${hex("/d/g")}") = 0`,
		`1 unlink("${hex("/d/h")}") = -1 ENOENT`,
	].join("\n");
	expect(stepsOf(trace, "/d").map(({ kind, ...rest }) => [kind, ...Object.values(rest)])).toEqual([
		["create", "/d/f"],
		["write", "/d/f", 7, Buffer.from("ab")],
		["say", "{}"],
		["flush", "/d/f"],
		["write", "/d/f", 9, Buffer.from("c")],
		["truncate", "/d/f", 4],
		["rename", "/d/f", "/d/g"],
		["remove", "/d/g"],
	]);
});
