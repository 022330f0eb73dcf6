/** What a start opens of modules, and what it leaves alone. */
import { expect, it } from "vitest";
import { given } from "../../test/support/given.ts";
import { route } from "./api/definition/route.ts";
import type { Endpoint } from "./core/endpoints/endpoint.ts";
import type { Hooks } from "./engine/context.ts";
import type { TraceHooks } from "./core/trace.ts";
import type { Module } from "./module.ts";
import { moduleHost, variableSettings } from "./module-host.ts";

function recorded(name: string, traces?: TraceHooks) {
	const calls: string[] = [];
	const module: Module = {
		name,
		fromVariables: {
			prefix: "TRACE_",
			async read(env) {
				calls.push("read");
				return env["TRACE_URL"];
			},
		},
		async open(_, settings) {
			calls.push(`open ${String(settings)}`);
			return { ...(traces && { hooks: { traces } }), close: async () => void calls.push("close") };
		},
	};
	return { calls, module };
}

async function start(modules: readonly Module[], env: Record<string, string>): Promise<Hooks> {
	const hooks: Hooks = {};
	const host = moduleHost(modules, await variableSettings(modules, env));
	await host.openAtStart(given({ hooks }));
	await host.close();
	return hooks;
}

it("D52: without its variables a module is neither read nor opened, and the kernel has no hook", async () => {
	const { calls, module } = recorded("one", given({}));
	expect(await start([module], { OTHER_URL: "x" })).toEqual({});
	expect(calls).toEqual([]);
});

it("D52: variables that turn it off open nothing", async () => {
	const { calls, module } = recorded("one", given({}));
	expect(await start([module], { TRACE_OFF: "1" })).toEqual({});
	expect(calls).toEqual(["read"]);
});

it("D52: with its variables a module is opened with what they say, asked at its hooks, and closed", async () => {
	const traces = given<TraceHooks>({});
	const { calls, module } = recorded("one", traces);
	const hooks = await start([module], { TRACE_URL: "x" });
	expect(hooks.traces).toBe(traces);
	expect(calls).toEqual(["read", "open x", "close"]);
});

it("D34: services of a module that a call opens start then, and stop with the others", async () => {
	const calls: string[] = [];
	const service = { start: () => void calls.push("start"), stop: async () => void calls.push("stop") };
	const module: Module = {
		name: "one",
		routes: [route("get", "GET /v1/one", "read", { summary: "", answer: { description: "" } })],
		open: async () => ({ handlers: { get: () => "answer" }, services: [service] }),
	};
	const host = moduleHost([module], {});
	const { services } = await host.openAtStart(given({ hooks: {} }));
	for (const each of services) each.start();
	expect(calls).toEqual([]);
	for (let n = 0; n < 2; n += 1) expect(await host.routes[0]!.handle(given({}))).toBe("answer");
	expect(calls).toEqual(["start"]);
	for (const each of services) await each.stop();
	expect(calls).toEqual(["start", "stop"]);
	const ended = moduleHost([module], {});
	for (const each of (await ended.openAtStart(given({ hooks: {} }))).services) await each.stop();
	await expect(ended.routes[0]!.handle(given({}))).rejects.toMatchObject({ code: "not_ready" });
	expect(calls).toEqual(["start", "stop"]);
});

it("asks for a login by id the module that has such, not the one of hosts", async () => {
	const login = (username: string) => ({ username, password: "p" });
	const asked: string[] = [];
	const modules = (["host", "id"] as const).map(
		(registryLogins): Module => ({
			name: registryLogins,
			registryLogins,
			open: async () => ({
				registryLogin: async (name) => (asked.push(`${registryLogins} ${name}`), login(registryLogins)),
			}),
		}),
	);
	const host = moduleHost(modules, {});
	await host.openAtStart(given({ hooks: {} }));
	expect(await host.registryLogin("a.example")).toEqual(login("host"));
	expect(await host.registryLogin("a.example", "1f")).toEqual(login("id"));
	expect(asked).toEqual(["host a.example", "id 1f"]);
	expect(await moduleHost([], {}).registryLogin("a.example", "1f")).toBeUndefined();
});

it("a module that fills variables is opened by the first worker that needs it, not by its settings", async () => {
	let opened = 0;
	const module: Module = {
		name: "secrets",
		opens: "use",
		fillsVariables: /<secret/,
		open: async () => {
			opened += 1;
			return { workerVariables: async () => ({ env: { A: "value" }, hidden: { secret: "value" } }) };
		},
	};
	const host = moduleHost([module], { secrets: {} });
	await host.openAtStart(given({ hooks: {} }));
	const plain = { A: "secret", B: "" };
	expect(await host.workerVariables(plain)).toEqual({ env: plain, hidden: plain });
	expect(opened).toBe(0);
	for (let n = 0; n < 2; n += 1)
		expect(await host.workerVariables({ B: "", A: "a <secret>" })).toEqual({
			env: { A: "value" },
			hidden: { secret: "value" },
		});
	expect(opened).toBe(1);
});

it("starts the services of a module once, also if a pull asks for it first, and closes without a start", async () => {
	const started: string[] = [];
	const service = { start: () => void started.push("start"), stop: async () => {} };
	const module: Module = {
		name: "logins",
		registryLogins: "host",
		open: async () => ({ services: [service], registryLogin: async () => ({ username: "u", password: "p" }) }),
	};
	const host = moduleHost([module], {});
	await host.openAtStart(given({ hooks: {} }));
	for (let n = 0; n < 2; n += 1) expect(await host.registryLogin("a.example")).toMatchObject({ username: "u" });
	expect(started).toEqual(["start"]);
	const configured = moduleHost([module], { logins: {} });
	const login = configured.registryLogin("a.example");
	const { services } = await configured.openAtStart(given({ hooks: {} }));
	for (const each of services) each.start();
	await login;
	expect(started).toEqual(["start", "start"]);
	const unstarted = moduleHost([module], {});
	const [asked] = await Promise.allSettled([unstarted.registryLogin("a.example"), unstarted.close()]);
	expect(asked).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("before it had") } });
});

it("opens a module before an endpoint that it serves is used, once, and applies its hooks and services", async () => {
	const started: string[] = [];
	const refusal = (): undefined => undefined;
	const module: Module = {
		name: "one",
		opensFor: ({ gpusPerWorker }) => gpusPerWorker > 0,
		async open() {
			const service = { start: () => void started.push("start"), stop: async () => void started.push("stop") };
			return { hooks: { refusal }, services: [service] };
		},
	};
	const [plain, needing] = [0, 1].map((gpusPerWorker) => given<Endpoint>({ gpusPerWorker }));
	const host = moduleHost([module], {});
	const hooks: Hooks = {};
	const endpoints = given({ all: () => [{ endpoint: plain }] });
	const { services } = await host.openAtStart(given({ hooks, endpoints }));
	for (const each of services) each.start();
	expect(hooks.openFor!(plain!)).toBeUndefined();
	expect([hooks.refusal, started]).toEqual([undefined, []]);
	for (const opening of [hooks.openFor!(needing!), hooks.openFor!(needing!)]) {
		await opening;
		expect([hooks.refusal, started]).toEqual([refusal, ["start"]]);
	}
	expect(hooks.openFor!(needing!)).toBeUndefined();
	for (const each of services) await each.stop();
	expect(started).toEqual(["start", "stop"]);
	const other = moduleHost([module], {});
	const stored = given({ all: () => [{ endpoint: needing }] });
	const atStart = await other.openAtStart(given({ hooks: {}, endpoints: stored }));
	expect(atStart.services).toHaveLength(2);
});

it("starts no services of a module that was opening when the service stopped", async () => {
	const started: string[] = [];
	let finish = (): void => {};
	const opening = new Promise<void>((resolve) => (finish = resolve));
	const module: Module = {
		name: "slow",
		opensFor: () => true,
		async open() {
			await opening;
			return { services: [{ start: () => void started.push("start"), stop: async () => {} }] };
		},
	};
	const hooks: Hooks = {};
	const host = moduleHost([module], {});
	const { services } = await host.openAtStart(given({ hooks, endpoints: given({ all: () => [] }) }));
	const opened = hooks.openFor!(given({}));
	for (const each of services) await each.stop();
	finish();
	await expect(opened).rejects.toMatchObject({ code: "not_ready" });
	expect(started).toEqual([]);
});

it("D40: families are those of open modules, and without samples those of others, which stay closed", async () => {
	const described = { name: "jobs_total", type: "counter", labels: [], help: "Jobs." } as const;
	const module = (name: string, opens?: "start"): Module => ({
		name,
		...(opens && { opens }),
		familyDescriptions: async () => [{ ...described, name }],
		open: async () => {
			if (!opens) expect.fail("it is opened");
			return { families: async () => [{ ...described, name, samples: [[[], 1]] }] };
		},
	});
	const host = moduleHost([module("open", "start"), module("closed"), { name: "none", open: async () => ({}) }], {});
	await host.openAtStart(given({ hooks: {} }));
	expect((await host.families()).map(({ name, samples }) => [name, samples])).toEqual([
		["open", [[[], 1]]],
		["closed", []],
	]);
});
