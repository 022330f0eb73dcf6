/** A launcher is created when it is first needed, and misses nothing of what came before. */
import { expect, describe, it } from "vitest";
import type { Exit, Launcher, WorkerSpec } from "./launcher.ts";
import { LazyLauncher } from "./lazy-launcher.ts";

/** Records what it is called with. */
function pretend(q: { fails?: number } = {}) {
	const calls: string[] = [];
	let fails = q.fails ?? 0;
	let exit: (exit: Exit) => void = () => {};
	const lazy = new LazyLauncher("pretend", async () => {
		calls.push("create");
		if (fails-- > 0) throw new Error("no module");
		const launcher: Launcher = {
			name: "pretend",
			start: async ({ workerId }) => {
				calls.push(`start ${workerId}`);
				return { workerId };
			},
			adopt: async (id) => calls.push(`adopt ${id}`) > 0,
			stop: async (id) => void calls.push(`stop ${id}`),
			list: async () => ["w"],
			removeStrays: async ({ serviceId }) => calls.push(`removeStrays ${serviceId}`),
			onExit: (listener) => (exit = listener),
			prepare: (endpoints) => void calls.push(`prepare ${endpoints.length}`),
			setBusy: (id) => void calls.push(`setBusy ${id}`),
			hosts: { views: () => [], setDrained: (names) => void calls.push(`drained ${[...names].join()}`) },
			close: async () => void calls.push("close"),
		};
		return launcher;
	});
	return { lazy, calls, exit: (given: Exit) => exit(given) };
}

const SPEC = { workerId: "w" } as WorkerSpec;
const UNUSED = { serviceId: "s", recorded: [], endpoints: [] };

describe("a launcher that no endpoint uses", () => {
	it("D25: is not created by a start and an end of the service", async () => {
		const { lazy, calls } = pretend();
		lazy.onExit(() => {});
		lazy.hosts.setDrained(new Set(["rig1"]));
		expect(await lazy.removeStrays(UNUSED)).toBe(0);
		lazy.prepare([], () => {});
		lazy.setBusy("w", true);
		lazy.release("e");
		await lazy.stop("w", 0);
		expect(await lazy.list()).toEqual([]);
		expect(lazy.hosts.views()).toEqual([]);
		expect(await lazy.machineGpus()).toEqual([]);
		expect((await lazy.usage([])).size).toBe(0);
		expect(lazy.roomFor({} as never)).toEqual([]);
		await lazy.close();
		expect(calls).toEqual([]);
		await expect(lazy.start(SPEC)).rejects.toThrow("The service ends.");
	});

	it("D25: is created by its first start, after the strays of earlier runs are removed", async () => {
		const { lazy, calls, exit } = pretend();
		const exits: Exit[] = [];
		lazy.onExit((each) => exits.push(each));
		lazy.hosts.setDrained(new Set(["rig1"]));
		await lazy.removeStrays(UNUSED);
		lazy.prepare([], () => {});
		await Promise.all([lazy.start(SPEC), lazy.start({ ...SPEC, workerId: "v" })]);
		expect(calls).toEqual(["create", "removeStrays s", "drained rig1", "prepare 0", "start w", "start v"]);
		exit({ workerId: "w", lastOutput: "" });
		expect(exits).toMatchObject([{ workerId: "w" }]);
		lazy.setBusy("w", true);
		await lazy.close();
		expect(calls.slice(-2)).toEqual(["setBusy w", "close"]);
	});

	it.each([
		["a worker to take over", (lazy: Launcher) => lazy.adopt("w", {}, "s"), ["create", "adopt w"]],
		[
			"an endpoint at the start",
			(lazy: Launcher) =>
				lazy.removeStrays({ ...UNUSED, endpoints: [{ id: "e", settings: { type: "pretend" } as never }] }),
			["create", "removeStrays s"],
		],
		[
			"a worker in the store",
			(lazy: Launcher) => lazy.removeStrays({ ...UNUSED, recorded: ["w"] }),
			["create", "removeStrays s"],
		],
	])("D25: is created for %s", async (_, use, expected) => {
		const { lazy, calls } = pretend();
		await use(lazy);
		expect(calls).toEqual(expected);
	});

	it("D25: that could not be created is tried again by the next start", async () => {
		const { lazy, calls } = pretend({ fails: 1 });
		await expect(lazy.start(SPEC)).rejects.toThrow("no module");
		await lazy.start(SPEC);
		expect(calls).toEqual(["create", "create", "start w"]);
	});

	it("D34: that is being created at the end of the service is closed", async () => {
		const { lazy, calls } = pretend();
		const started = lazy.start(SPEC);
		await lazy.close();
		await started;
		expect(calls).toContain("close");
	});
});
