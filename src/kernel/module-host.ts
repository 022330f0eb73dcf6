/**
 * Opens modules: at the start those that have settings, ask for it or serve an endpoint; others when such an endpoint
 * is stored, or something else first asks for them.
 */
import type { Endpoint } from "./core/endpoints/endpoint.ts";
import { ApiError } from "./core/errors.ts";
import type { Family } from "./core/metrics/family.ts";
import type { RegistryLogin } from "./core/access/image-registry.ts";
import type { Hooks } from "./engine/context.ts";
import type { WorkerVariables } from "./engine/workers/workers-context.ts";
import type { EventTable } from "./events.ts";
import type { Env } from "./lib/env.ts";
import type { AnsweredOf, BoundRoute } from "./http/server/route.ts";
import type { Authenticator } from "./http/exchange/call.ts";
import type { Kernel, Module, OpenModule } from "./module.ts";
import type { Service } from "./system/loop.ts";

export type ModuleHost = ReturnType<typeof moduleHost>;

/** `settings`: by name of the module. */
export function moduleHost(modules: readonly Module[], settings: Readonly<Record<string, unknown>>) {
	const kernel = Promise.withResolvers<Kernel>();
	// A start that fails before has no kernel; nothing may wait for it.
	kernel.promise.catch(() => {});
	const opened = new Map<string, Promise<OpenModule>>();
	/** Modules whose hooks are in use. */
	const inUse = new Set<string>();
	let hooks: Hooks = {};
	const opensAtStart = ({ name, opens }: Module): boolean =>
		opens === "start" || (opens !== "use" && settings[name] !== undefined);

	function open(module: Module): Promise<OpenModule> {
		const { name } = module;
		const before = opened.get(name);
		if (before) return before;
		const opening = kernel.promise.then((lent) => module.open(lent, settings[name]));
		opened.set(name, opening);
		// The next call tries again, such as when a file could not be read.
		opening.catch(() => opened.delete(name));
		return opening;
	}

	function use({ name }: Module, its: OpenModule): void {
		Object.assign(hooks, its.hooks);
		inUse.add(name);
	}

	/** Services of modules that a call or an endpoint opened, which started then. */
	const late: Service[] = [];
	let isStopping = false;

	/** Nothing would stop services that start now. */
	function refuseWhileStopping(): void {
		if (isStopping) throw new ApiError("not_ready", { why: "is shutting down" });
	}

	async function openByCall(module: Module): Promise<OpenModule> {
		const isFirst = !opened.has(module.name) && !opensAtStart(module);
		if (isFirst) refuseWhileStopping();
		const its = await open(module);
		if (!isFirst) return its;
		refuseWhileStopping();
		use(module, its);
		for (const service of its.services ?? []) {
			late.push(service);
			service.start();
		}
		return its;
	}

	function openFor(endpoint: Endpoint): Promise<unknown> | undefined {
		const closed = modules.filter(({ name, opensFor }) => opensFor?.(endpoint) && !inUse.has(name));
		return closed.length === 0 ? undefined : Promise.all(closed.map(openByCall));
	}

	async function stopLate(): Promise<void> {
		isStopping = true;
		for (const service of late.toReversed()) await service.stop();
	}

	async function authenticatingModule(): Promise<OpenModule | undefined> {
		const module = modules.find((each) => each.authenticates);
		return module && (await openByCall(module));
	}

	return {
		routes: boundRoutes(modules, openByCall),
		errorCodes: modules.flatMap(({ errors }) => Object.keys(errors ?? {})),
		/** What runs from the start. Services are not started. */
		async openAtStart(its: Kernel): Promise<{ services: Service[]; answered: AnsweredOf[] }> {
			kernel.resolve(its);
			hooks = its.hooks;
			if (modules.some(({ opensFor }) => opensFor)) hooks.openFor = openFor;
			const isNeeded = ({ opensFor }: Module): boolean =>
				opensFor !== undefined && its.endpoints.all().some(({ endpoint }) => opensFor(endpoint));
			const first = modules.filter((module) => opensAtStart(module) || isNeeded(module));
			const all = await Promise.all(first.map(open));
			for (const [at, module] of first.entries()) use(module, all[at]!);
			return {
				services: [...all.flatMap(({ services = [] }) => services), { start() {}, stop: stopLate }],
				answered: all.flatMap(({ answered = [] }) => answered),
			};
		},
		async close(): Promise<void> {
			kernel.reject(new Error("The service ended before it had started."));
			const all = await Promise.allSettled(opened.values());
			await Promise.all(
				all.map(async (each) => (each.status === "fulfilled" ? await each.value.close?.() : undefined)),
			);
		},
		async authenticator(): Promise<Authenticator | undefined> {
			return (await authenticatingModule())?.authenticator;
		},
		/** A path. Undefined without a module that has sign-ins, or without any key. */
		async signInLink(): Promise<string | undefined> {
			return await (await authenticatingModule())?.signInLink?.();
		},
		/** Families of all modules, without opening any: one that is not open contributes its families without samples. */
		async families(): Promise<Family[]> {
			const all = modules.map(async ({ name, familyDescriptions }) => {
				const its = await opened.get(name)?.catch(() => undefined);
				if (its?.families) return await its.families();
				return ((await familyDescriptions?.()) ?? []).map((each) => ({ ...each, samples: [] }));
			});
			return (await Promise.all(all)).flat();
		},
		/** The login that `id` names, else that of the host. Undefined if no module has one. */
		registryLogin: (host: string, id?: string): Promise<RegistryLogin | undefined> =>
			registryLogin(modules, openByCall, { host, id }),
		/** Variables of a worker that starts, as they are unless a module fills them. */
		async workerVariables(env: WorkerVariables["env"]): Promise<WorkerVariables> {
			const values = Object.values(env);
			const module = modules.find(({ fillsVariables: text }) => text && values.some((value) => text.test(value)));
			return (await (module && (await openByCall(module)).workerVariables?.(env))) ?? { env, hidden: env };
		},
	};
}

async function registryLogin(
	modules: readonly Module[],
	open: (module: Module) => Promise<OpenModule>,
	{ host, id }: { host: string; id: string | undefined },
): Promise<RegistryLogin | undefined> {
	const by = id === undefined ? "host" : "id";
	for (const module of modules) {
		if (module.registryLogins !== by) continue;
		const login = await (await open(module)).registryLogin?.(id ?? host);
		if (login) return login;
	}
	return undefined;
}

/** Settings of modules that have them in variables, by name of the module. Throws what their `read` throws. */
export async function variableSettings(modules: readonly Module[], env: Env): Promise<Record<string, unknown>> {
	const variables = Object.keys(env);
	const read = modules.map(async ({ name, fromVariables: from }) => {
		if (!from || !variables.some((each) => each.startsWith(from.prefix))) return [];
		return [[name, await from.read(env)] as const];
	});
	return Object.fromEntries((await Promise.all(read)).flat());
}

/** Events of all modules. */
export function eventsOf(modules: readonly Module[]): EventTable {
	return Object.assign({}, ...modules.map(({ events }) => events));
}

/** Each handler opens its module. */
export function boundRoutes(modules: readonly Module[], open: (module: Module) => Promise<OpenModule>): BoundRoute[] {
	return modules.flatMap((module) =>
		(module.routes ?? []).map((definition) => ({
			...definition,
			definition: definition.name,
			changes: definition.changesByGet && (({ req }) => req.method !== "HEAD"),
			async handle(call) {
				const { handlers } = await open(module);
				const handler = handlers?.[definition.name];
				if (!handler) throw new Error(`The module ${module.name} has no handler of ${definition.name}.`);
				return await handler(call as never);
			},
		})),
	);
}
