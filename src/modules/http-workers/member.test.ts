/** What the setting http is refused for, by the launcher of its endpoint. */
import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { isManaged, LAUNCHERS } from "../../kernel/launchers/index.ts";
import { HTTP } from "./member.ts";

/** Faults for an endpoint that may have several workers, unless `rest` says otherwise. `type`: of its launcher. */
const faultsOf = (type: string, http: object, { launcher, ...rest }: Partial<Endpoint> = {}): string[] =>
	HTTP.faults(
		http as Record<string, unknown>,
		{
			...{ workersMax: 3, gpusPerWorker: 1, release: { maxSurge: 1, failAfter: 3 }, env: {}, ...rest },
			launcher: { ...launcher, type },
		} as Endpoint,
	).map(({ field, message }) => `${field} ${message}`);

/** Settings by which an endpoint never has two workers. */
const ALONE = { workersMax: 1, release: { maxSurge: 0, failAfter: 3 } };

const able = LAUNCHERS.filter(({ adapts, managed }) => adapts || !managed);
const typesWith = (kind: "child" | "container"): string[] =>
	LAUNCHERS.filter(({ adapts }) => adapts === kind).map(({ type }) => type);

it("D35: workers of another launcher take jobs themselves", () => {
	const [fault] = faultsOf("pretend", { port: 1 });
	expect(fault).toMatch(/^http is for the launchers .* and external; workers of pretend take jobs themselves\.$/);
	for (const { type } of able) expect(fault, type).toContain(type);
});

it.each(typesWith("container"))("D35: a server in a container of %s has the port of its program", (type) => {
	expect(faultsOf(type, { port: 0 })).toEqual([expect.stringMatching(/^http\.port .*such as http\.port: 8000\.$/)]);
	expect(faultsOf(type, { socket: "/tmp/a" })).toEqual([expect.stringMatching(/^http\.socket .*http\.port: 8000\.$/)]);
	expect(faultsOf(type, { port: 8000 })).toEqual([]);
});

describe.each(typesWith("child"))("D35: a server that an adapter of %s starts", (type) => {
	it("has a port of its own for each worker", () => {
		expect(faultsOf(type, { port: 0 })).toEqual([]);
		const refused = (name: string) =>
			expect.stringMatching(
				new RegExp(
					`^http\\.${name} .* write http\\.port: 0, and \\{port\\} in launcher\\.command .*: workersMax: 1 and release`,
				),
			);
		expect(faultsOf(type, { port: 8000 })).toEqual([refused("port")]);
		expect(faultsOf(type, { preset: "vllm" }), "the port of a preset").toEqual([refused("port")]);
		expect(faultsOf(type, { socket: "/tmp/a" })).toEqual([refused("socket")]);
	});

	it("may have a fixed port or a socket if it is the only one", () => {
		for (const http of [{ socket: "/tmp/a" }, { port: 8000 }]) {
			expect(faultsOf(type, http, ALONE)).toEqual([]);
			expect(faultsOf(type, http, { ...ALONE, workersMax: 2 })).toHaveLength(1);
			expect(faultsOf(type, http, { workersMax: 1 }), "a rollout starts a second one").toHaveLength(1);
			const asleep = { ...ALONE, sleep: {} } as Partial<Endpoint>;
			expect(faultsOf(type, http, asleep), "one that sleeps still listens").toEqual([
				expect.stringMatching(/without sleep\.$/),
			]);
		}
	});
});

it("D35: without GPUs a process is stopped before the next one starts, so workersMax alone decides", () => {
	const own = { workersMax: 1, gpusPerWorker: 0 };
	expect(faultsOf("process", { port: 8000 }, own)).toEqual([]);
	expect(faultsOf("process", { port: 8000 }, { ...own, workersMax: 2 })).toEqual([
		expect.stringMatching(/: workersMax: 1\.$/),
	]);
});

it("D35: a server in a container has a port of the machine where it has its network", () => {
	const host = { launcher: { type: "docker", network: "host" } };
	expect(faultsOf("docker", { port: 8000 }, host)).toEqual([
		expect.stringMatching(
			/^http\.port is a port of the machine .* write another network in launcher, or workersMax: 1/,
		),
	]);
	expect(faultsOf("docker", { port: 8000 }, { ...host, ...ALONE })).toEqual([]);
	expect(faultsOf("docker", { port: 8000 }, { launcher: { type: "docker", network: "jobs" } } as object)).toEqual([]);
});

it.each(able.map(({ type }) => type))("D35: only %s that starts no server takes an address of one", (type) => {
	const faults = faultsOf(type, { url: "https://models.example.com/a" });
	expect(faults).toEqual(isManaged(type) ? [expect.stringMatching(/^http\.url is for the launcher external: /)] : []);
});
