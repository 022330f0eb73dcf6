/** Why a worker waits or has ended, from the status of its Pod. */
import { describe, expect, it } from "vitest";
import { endOf } from "./pod-end.ts";
import {
	allEnded,
	deletionOf,
	hasBegun,
	hasEnded,
	isFailedPull,
	isOnLostNode,
	isOver,
	type Pod,
	preparationOf,
	waitingOf,
} from "./pod-status.ts";

type Status = NonNullable<Pod["status"]>;

function pod(status: Status, metadata: Partial<Pod["metadata"]> = {}): Pod {
	return {
		metadata: { name: "p", uid: "u", ...metadata },
		spec: {
			nodeName: "n1",
			containers: [{ name: "worker", image: "a:1", resources: { limits: { memory: "64Mi" } } }],
		},
		status,
	};
}
const worker = (state: object, more: object[] = []): Status => ({
	containerStatuses: [{ name: "worker", state }, ...(more as [])],
});
const waits = (reason: string, message?: string): Status => worker({ waiting: { reason, message } });
const scheduled = (message: string): Status => ({
	conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
});

describe("D29: waitingOf", () => {
	it.each<[string, Status, object | undefined]>([
		["no node", scheduled("0/3 nodes are available: 3 Insufficient nvidia.com/gpu."), { code: "unschedulable" }],
		["no claim", scheduled('persistentvolumeclaim "models" not found'), { code: "volume" }],
		["a failed pull", waits("ErrImagePull", "denied"), { code: "image_pull" }],
		["its pause", waits("ImagePullBackOff"), { code: "image_pull" }],
		["an invalid name", waits("InvalidImageName"), { code: "image_pull", giveUpAfterMs: 0 }],
		["no Secret", waits("CreateContainerConfigError", "no secret"), { code: "config", giveUpAfterMs: 30_000 }],
		["preparation", waits("ContainerCreating"), { code: "starting" }],
		["it runs", worker({ running: {} }), undefined],
		["it has ended", { phase: "Failed", reason: "Evicted" }, undefined],
	])("%s", (_, status, reason) => {
		const found = waitingOf(pod(status));
		if (reason) expect(found).toMatchObject(reason);
		else expect(found).toBeUndefined();
	});

	it("says what to do about an image of root", () => {
		expect(waitingOf(pod(waits("CreateContainerConfigError", "container has runAsNonRoot")))?.message).toMatch(
			/Set runAsUser/,
		);
	});
});

describe("D28: endOf", () => {
	it.each<[string, Status, object]>([
		["an exit code alone", worker({ terminated: { exitCode: 3 } }), { code: 3 }],
		[
			"too much memory",
			worker({ terminated: { exitCode: 137, reason: "OOMKilled" } }),
			{
				code: 137,
				reason: { code: "out_of_memory", message: expect.stringContaining("64Mi"), crash: true },
			},
		],
		[
			"a command that is missing",
			worker({ terminated: { exitCode: 128, reason: "StartError", message: "no such file" } }),
			{
				code: 128,
				reason: { code: "config", message: expect.stringContaining("no such file"), crash: true },
			},
		],
		[
			"a node without memory",
			{ phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." },
			{
				reason: { code: "evicted", message: "The node was low on resource: memory.", crash: false },
			},
		],
		[
			"too much storage",
			{
				phase: "Failed",
				reason: "Evicted",
				message: "Pod ephemeral local storage usage exceeds 1Gi.",
			},
			{ reason: { code: "evicted", message: expect.any(String), crash: true } },
		],
		[
			"a node that refuses it",
			{ phase: "Failed", reason: "OutOfnvidia.com/gpu" },
			{ reason: { code: "unschedulable", message: "OutOfnvidia.com/gpu", crash: true } },
		],
		[
			"a deadline of its own",
			{ phase: "Failed", reason: "DeadlineExceeded" },
			{ reason: { code: "time_limit", message: "DeadlineExceeded", crash: false } },
		],
	])("%s", (_, status, end) => {
		expect(endOf(pod(status), { asked: false })).toEqual(end);
	});

	it("a deletion is a drain unless the launcher asked for it", () => {
		const deleted = pod(worker({ terminated: { exitCode: 143 } }), { deletionTimestamp: "x" });
		expect(endOf(deleted, { asked: true })).toEqual({ code: 143 });
		expect(endOf(deleted, { asked: false })).toMatchObject({
			code: 143,
			reason: { code: "node_drained", crash: false },
		});
	});
});

it("D28: a preemption is not a drain", () => {
	const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
	expect(deletionOf(pod({ conditions: [condition] })).code).toBe("preempted");
	expect(deletionOf(pod({})).code).toBe("node_drained");
});

it("a worker ends before its sidecars", () => {
	const state = worker({ terminated: { exitCode: 0 } }, [{ name: "side", state: { running: {} } }]);
	expect([hasEnded(pod(state)), allEnded(pod(state))]).toEqual([true, false]);
});

it("a Pod that runs and is not ready is on a lost node", () => {
	const ready = (status: string): Status => ({
		...worker({ running: {} }),
		conditions: [{ type: "Ready", status }],
	});
	expect([isOnLostNode(pod(ready("False"))), isOnLostNode(pod(ready("True")))]).toEqual([true, false]);
});

it.each([
	["FailedMount", "volume"],
	["Pulling", "image_pull"],
	["FailedCreatePodSandBox", "starting"],
	["Scheduled", undefined],
])("D29: the event %s explains a preparation as %s", (reason, code) => {
	expect(preparationOf({ reason, message: "m" })?.code).toBe(code);
});

describe("a worker with an adapter", () => {
	const ended = (exitCode: number, more: object = {}): object => ({ terminated: { exitCode, ...more } });
	const runs = { running: {} };

	function pair(adapter: object, server: object, metadata: Partial<Pod["metadata"]> = {}): Pod {
		const statuses = [
			{ name: "server", state: server },
			{ name: "worker", state: adapter },
		];
		const found = pod({ containerStatuses: statuses }, { annotations: { "sluice/server": "server" }, ...metadata });
		const limits = { memory: "8Gi" };
		found.spec!.containers!.push({ name: "server", image: "server:1", resources: { limits } });
		return found;
	}

	it("runs when both containers do, has ended with one of them, and is over with both", () => {
		const states = [pair(runs, { waiting: {} }), pair(runs, runs), pair(runs, ended(3)), pair(ended(0), ended(3))];
		expect(states.map((each) => hasBegun(each))).toEqual([false, true, true, true]);
		expect(states.map(hasEnded)).toEqual([false, false, true, true]);
		expect(states.map((each) => isOver(each))).toEqual([false, false, false, true]);
	});

	it("D29: waits for the container that has a fault", () => {
		const denied = { waiting: { reason: "ErrImagePull", message: "denied" } };
		const creating = { waiting: { reason: "ContainerCreating" } };
		expect(waitingOf(pair(creating, denied))?.message).toBe("Image server:1 cannot be pulled: denied");
		expect(waitingOf(pair(denied, creating))?.message).toMatch(/^Image a:1 of the adapter .*: denied$/);
		expect(waitingOf(pair(creating, runs))?.code).toBe("starting");
		expect([pair(creating, denied), pair(denied, runs), pair(creating, runs)].map(isFailedPull)).toEqual([
			true,
			true,
			false,
		]);
	});

	it.each<[string, Pod, object]>([
		["memory of the server", pair(runs, ended(137, { reason: "OOMKilled" })), { message: /^It used .* 8Gi/ }],
		[
			"memory of the adapter",
			pair(ended(137, { reason: "OOMKilled" }), runs),
			{ message: /^Its adapter used .* 64Mi/ },
		],
		[
			"an image without the adapter",
			pair(ended(127, { reason: "StartError" }), runs),
			{ message: /sluice-http of image a:1/ },
		],
		["a command of the server", pair(runs, ended(127, { reason: "StartError" })), { message: /^Its command cannot/ }],
	])("D29: the reason of %s names whose it is", (_, each, { message }: any) => {
		expect(endOf(each, { asked: false }).reason?.message).toMatch(message);
	});

	it("D28: drained, it has that reason and the code of what ended first", () => {
		const deleted = pair(runs, ended(0), { deletionTimestamp: "x" });
		expect(endOf(deleted, { asked: false })).toMatchObject({ code: 0, reason: { code: "node_drained" } });
	});

	it("is on a lost node only while both containers run", () => {
		expect([pair(runs, runs), pair(runs, ended(3))].map(isOnLostNode)).toEqual([true, false]);
	});
});
