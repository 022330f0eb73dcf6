/** Which calls run, wait and fail while others hang. */
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { FileCalls } from "./file-calls.ts";

/** Calls answer when the test says so. */
function bed() {
	const clock = manualClock();
	const calls = new FileCalls(clock);
	const begun: string[] = [];
	const ends = new Map<string, () => void>();
	return {
		clock,
		begun,
		/** Resolves with what became of it. */
		run(path: string, group?: string): Promise<string> {
			const call = async (): Promise<string> => {
				begun.push(path);
				await new Promise<void>((resolve) => ends.set(path, resolve));
				return `${path} answered`;
			};
			return calls.run(path, call, group).catch((error: Error) => error.message);
		},
		async answer(path: string): Promise<void> {
			ends.get(path)!();
			await clock.advance(0);
		},
	};
}

const HANGS = "does not answer: its file system hangs";

it("two calls of a folder, three in all and one of each path run at once", async () => {
	const { run, begun, answer } = bed();
	for (const path of ["/a/1", "/a/2", "/a/3", "/b/1", "/c/1"]) void run(path);
	expect(begun).toEqual(["/a/1", "/a/2", "/b/1"]);
	await answer("/b/1");
	expect(begun.slice(3), "the folder has its two").toEqual(["/c/1"]);
	await answer("/a/1");
	expect(begun.slice(4)).toEqual(["/a/3"]);
	await answer("/c/1");
	void run("/d/1");
	void run("/d/1");
	expect(begun.slice(5), "the second waits for the first").toEqual(["/d/1"]);
});

it("a call that hangs fails after 5 s, and those that wait for it at once; other folders go on", async () => {
	const { run, clock, begun, answer } = bed();
	const hanging = ["/a/1", "/a/2", "/a/3"].map((path) => run(path));
	await clock.advance(4999);
	expect(begun).toEqual(["/a/1", "/a/2"]);
	await clock.advance(1);
	expect(await Promise.all(hanging)).toEqual(["/a/1", "/a/2", "/a/3"].map((path) => `${path} ${HANGS}`));
	expect(await run("/a/4")).toBe(`/a/4 ${HANGS}`);
	const other = run("/b/1");
	await answer("/b/1");
	expect(await other).toBe("/b/1 answered");
	// The folder answers again.
	await answer("/a/1");
	const again = run("/a/4");
	await answer("/a/4");
	expect(await again).toBe("/a/4 answered");
});

it("waiting for calls that answer has no limit", async () => {
	const { run, clock, answer } = bed();
	const all = Array.from({ length: 12 }, (_, n) => run(`/a/${n}`));
	for (let n = 0; n < 12; n += 1) {
		await clock.advance(1000);
		await answer(`/a/${n}`);
	}
	expect(await Promise.all(all)).toEqual(Array.from({ length: 12 }, (_, n) => `/a/${n} answered`));
});

it("files of several folders of one file system hang together", async () => {
	const { run, begun } = bed();
	for (const path of ["/s/a/1", "/s/b/1", "/s/c/1"]) void run(path, "/s");
	expect(begun).toEqual(["/s/a/1"]);
});

it("two shared folders that hang leave a call to local folders, and one leaves a call to others", async () => {
	const { run, clock, begun, answer } = bed();
	const hanging = [run("/s/1", "/s"), run("/s/2", "/s")];
	await clock.advance(5000);
	const other = run("/t/1", "/t");
	await answer("/t/1");
	expect(await other, "another shared folder").toBe("/t/1 answered");
	hanging.push(run("/t/2", "/t"), run("/t/3", "/t"));
	const third = run("/u/1", "/u");
	for (const path of ["/etc/1", "/etc/2"]) {
		const local = run(path);
		expect(begun.at(-1)).toBe(path);
		await answer(path);
		expect(await local).toBe(`${path} answered`);
	}
	await clock.advance(5000);
	expect(await Promise.all([...hanging, third])).toEqual(
		["/s/1", "/s/2", "/t/2", "/t/3", "/u/1"].map((path) => `${path} ${HANGS}`),
	);
	const local = run("/s/3");
	await answer("/s/3");
	expect(await local, "a file beside the shared folder").toBe("/s/3 answered");
});
