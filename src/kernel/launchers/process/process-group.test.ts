/** Identity of processes and the end of groups, with real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
	endGroup,
	groupOf,
	groupRuns,
	hasEnded,
	identify,
	type Identity,
	identityOf,
	isRunning,
	isStartedBy,
	killAll,
	signal,
} from "./process-group.ts";

/** A clock whose sleeps are over at once, and how much was slept in all. */
function hastyClock() {
	let slept = 0;
	return {
		now: () => slept,
		wall: () => slept,
		sleep: async (ms: number) => {
			slept += ms;
			await new Promise((resolve) => setImmediate(resolve));
		},
	};
}

let child: ChildProcess;
let leader: Identity;
beforeEach(() => {
	child = spawn("sleep", ["300"], { detached: true, stdio: "ignore" });
	leader = identify(child.pid!)!;
});
afterEach(async () => {
	if (child.exitCode !== null || child.signalCode !== null) return;
	child.kill("SIGKILL");
	await once(child, "exit");
});

describe("process group", () => {
	it("is running until its leader ended", async () => {
		expect([isRunning(leader), groupRuns(leader), groupOf(leader)]).toEqual([true, true, [leader.pid]]);
		child.kill("SIGKILL");
		await once(child, "exit");
		expect([isRunning(leader), groupRuns(leader), groupOf(leader)]).toEqual([false, false, []]);
		expect(identify(leader.pid)).toBeUndefined();
	});

	it("D34: is never that of a later process with the same pid", async () => {
		const earlier = { ...leader, startTime: "earlier" };
		expect([isRunning(earlier), groupRuns(earlier), groupOf(earlier)]).toEqual([false, false, []]);
		await endGroup(hastyClock(), { leader: earlier, marks: [], graceLeftMs: 1000 });
		await endGroup(hastyClock(), { leader: earlier, marks: [], graceLeftMs: 0 });
		expect(isRunning(leader)).toBe(true);
	});

	it.runIf(process.platform === "linux")("D34: shows who started it, or its handle does where it shows nothing", () => {
		const asks = (environment: string[], handle: Record<string, string>): boolean =>
			isStartedBy("s", { environment, handle });
		const [own, foreign] = ["SLUICE_SERVICE_ID=s", "SLUICE_SERVICE_ID=original"];
		expect([asks([own], {}), asks([foreign], {}), asks([foreign], { sluiceService: "s" })]).toEqual([
			true,
			false,
			false,
		]);
		const unreadable = [{}, { sluiceService: "s" }, { sluiceService: "original" }];
		// The first is of an earlier version, whose workers without a mark must go on when the service is replaced.
		expect(unreadable.map((handle) => asks([], handle))).toEqual([true, true, false]);
	});

	it("is asked to end first, and killed at once without grace", async () => {
		const exit = once(child, "exit");
		await endGroup(hastyClock(), { leader, marks: [], graceLeftMs: 60_000 });
		expect(await exit).toEqual([null, "SIGTERM"]);
		const other = spawn("sleep", ["300"], { detached: true, stdio: "ignore" });
		const killed = once(other, "exit");
		await endGroup(hastyClock(), { leader: identify(other.pid!)!, marks: [], graceLeftMs: 0 });
		expect(await killed).toEqual([null, "SIGKILL"]);
	});

	it("signals neither init, nor everything, nor its own group", () => {
		expect([-1, 0, 1].map((target) => signal(target, 0))).toEqual([false, false, false]);
		expect(signal(leader.pid, 0)).toBe(true);
	});

	it("gives up 10 s after SIGKILL, naming what stays", async () => {
		child.kill("SIGKILL");
		await once(child, "exit");
		const clock = hastyClock();
		await expect(killAll({ clock, find: () => [leader.pid] })).rejects.toThrow(
			`process ${leader.pid} still runs 10 s after SIGKILL`,
		);
		expect(clock.now()).toBe(10_000);
	});

	it("D34: asks again while the system does not answer, for 10 s", async () => {
		const clock = hastyClock();
		const answers = [[leader.pid], new Error("EMFILE"), []];
		const find = (): number[] => {
			const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
			if (answer instanceof Error) throw answer;
			return answer;
		};
		const exit = once(child, "exit");
		await killAll({ clock, find });
		expect(await exit).toEqual([null, "SIGKILL"]);
		const unknown = (): never => {
			throw new Error("EMFILE");
		};
		expect(hasEnded(leader, unknown)).toBe(false);
		const before = clock.now();
		await expect(killAll({ clock, find: unknown })).rejects.toThrow("EMFILE");
		expect(clock.now() - before).toBe(10_000);
	});

	it("D34: reads back only a handle of a process of this boot", () => {
		expect(identityOf(JSON.parse(JSON.stringify(leader)) as Record<string, string>)).toEqual(leader);
		for (const handle of [
			{},
			{ pid: 0, startTime: 1 },
			{ pid: -1, startTime: 1 },
			{ pid: "7", startTime: 1 },
			{ pid: 7 },
		]) {
			expect(
				identityOf({
					...(leader.boot && { boot: leader.boot }),
					...(handle as Record<string, number>),
				}),
			).toBeUndefined();
		}
		expect(identityOf({ ...leader, boot: "another" })).toBeUndefined();
	});
});
