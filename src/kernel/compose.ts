/** The composition root, the only file that knows all layers. It contains no logic of its own. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { budgetMeters } from "./core/budgets.ts";
import type { Clock } from "./system/clock.ts";
import { withoutSecrets } from "./config/options.ts";
import type { Config } from "./config/config.ts";
import { RecentLines } from "./system/recent-lines.ts";
import { makeFolder, openToOthers } from "./system/durable-file.ts";
import type { SealKeys } from "./secrets/encryption.ts";
import { createEngine, type Engine } from "./engine/engine.ts";
import { pooled, type Random } from "./lib/ids.ts";
import type { EventBus } from "./events.ts";
import { log } from "./log.ts";
import { type HttpServer, listen } from "./http/server/server.ts";
import type { LauncherDependencies } from "./launchers/definition.ts";
import { LAUNCHERS } from "./launchers/index.ts";
import type { Launcher } from "./launchers/launcher.ts";
import { LazyLauncher } from "./launchers/lazy-launcher.ts";
import { workerLogs } from "./launchers/logs/worker-logs.ts";
import { secretKeys } from "./secrets/secret-key.ts";
import { diskOf, openStore } from "./stores.ts";
import type { Module } from "./module.ts";
import { eventsOf, moduleHost, type ModuleHost, variableSettings } from "./module-host.ts";
import { version } from "./version.ts";
import { hostResolver } from "./post/resolver.ts";
import { signedPost } from "./post/post.ts";
import type { Env } from "./lib/env.ts";

export interface App {
	/** Listening address, which has no trailing slash. */
	url: string;
	/** Created at the first start and shown once (D30). */
	firstKey: string | undefined;
	/** Single-use sign-in link. Undefined if other machines can connect (D31). */
	consoleLink: string | undefined;
	engine: Engine;
	modules: ModuleHost;
	events: EventBus;
	/** Reads the TLS certificate files again (D34). */
	reload(): void;
	/** Stops gracefully, once (D34). With `leaveWorkers`, launched workers run on where they can. */
	stop(q?: { leaveWorkers?: boolean }): Promise<void>;
}

/** Maximum time for connections after the drain, ms. */
const CLOSE_MS = 2000;

/** Time for which kept-alive connections are still served if other servers remain, ms. */
const LINGER_MS = 1000;

/** Next to this file in the build, in `dist` when run from source. */
function builtSite(site: string): string {
	const folder = import.meta.url.endsWith(".ts") ? "../../dist" : "..";
	return fileURLToPath(new URL(`${folder}/${site}`, import.meta.url));
}

interface AppOptions {
	modules: readonly Module[];
	clock: Clock;
	events: EventBus;
	random?: Random;
	open?: typeof openStore;
	env: Env;
	/** Folders of built sites, by name. */
	siteFolders?: Readonly<Record<string, string>>;
	/** Gap between two clock readings above which the job clock leaves it out, ms. */
	pauseMs?: number | undefined;
}

export async function startApp(config: Config, o: AppOptions): Promise<App> {
	const { clock, events, random = pooled(randomBytes), open = openStore } = o;
	const host = moduleHost(o.modules, { ...config.modules, ...(await variableSettings(o.modules, o.env)) });
	const recent = new RecentLines(clock);
	if (o.modules.some(({ readsLog }) => readsLog))
		log({ events, clock, write: recent.add, level: config.logLevel, more: eventsOf(o.modules) });
	makeFolder(config.dataDir);
	if (openToOthers(config.dataDir) === "write") events.emit("folder.writable", { path: config.dataDir });
	const shared = config.store.kind === "postgres";
	// On a shared store the server's identity marks the workers it launched.
	const folder = shared ? (await import("./system/data-folder.ts")).openDataFolder(config.dataDir) : undefined;
	const { store, sealKeys } = await storeWithKeys(config, { clock, random, open }).catch((error: unknown) => {
		folder?.close();
		throw error;
	});
	store.onFailure?.(({ message }) => events.emit("store.failed", { why: message }));
	store.onFileFault?.((error) => events.emit("fault", { where: "the store", error }));
	const logs = join(config.dataDir, "logs");
	const launchers = await createLaunchers(config, {
		...o,
		logs,
		registryLogin: host.registryLogin,
	});
	const budgets = budgetMeters(config.budgets);
	const disk = await diskOf(config.store, budgets.reservedDisk.limit);
	const logFiles = workerLogs(
		[...launchers.keys()].map((name) => join(logs, name)),
		clock,
	);
	const sender = { clock, userAgent: `Sluice/${version}`, resolve: hostResolver({ clock }) };
	const engine = createEngine({
		budgets,
		pauseMs: o.pauseMs,
		store,
		disk: disk && { ...disk, reserve: budgets.reservedDisk },
		clock,
		random,
		events,
		apiKey: config.apiKey,
		launchers,
		workerLogs: logFiles,
		sealKeys,
		storeId: await store.identity(),
		serviceId: folder?.serverId,
		gpus: config.gpus,
		publicUrl: config.publicUrl,
		workerVariables: host.workerVariables,
		hostname: hostname(),
	});
	let server: HttpServer | undefined;
	try {
		await engine.prepare(config.endpoints);
		const { services, answered } = await host.openAtStart({
			...engine.kernel,
			post: (q) => signedPost({ ...sender, ...q }),
			families: host.families,
			log: recent,
			workerLogs: logFiles,
			allowPrivateNetworks: config.webhooksAllowPrivateNetworks,
			publicUrl: config.publicUrl,
			siteFolder: (name) => o.siteFolders?.[name] ?? builtSite(name),
		});
		const firstKey = await engine.access.keys.makeFirst();
		server = await listen({
			engine,
			routes: host.routes,
			errorCodes: host.errorCodes,
			answered,
			clock,
			events,
			host: config.host,
			port: config.port,
			tls: config.tls,
			corsOrigins: config.corsOrigins,
			publicUrl: config.publicUrl,
			traceUrl: config.consoleTraceUrl,
			authenticator: host.authenticator,
			random,
			accessLog: config.accessLog,
		});
		const url = `http${config.tls ? "s" : ""}://${reachable(server.host)}:${server.port}`;
		const link = isLoopback(server.host) ? await host.signInLink() : undefined;
		// A load balancer could route calls to any server; launched workers must call their own.
		await engine.start({
			url: (shared ? config.advertiseUrl : config.publicUrl) ?? url,
			sharedUrl: config.publicUrl ?? config.advertiseUrl ?? url,
			services,
		});
		events.emit("service.listening", { url });
		const { close, reload } = server;
		return {
			url,
			firstKey,
			engine,
			modules: host,
			events,
			consoleLink: link && url + link,
			reload,
			async stop({ leaveWorkers = false } = {}) {
				const lingerMs = engine.cluster.others() ? LINGER_MS : 0;
				await engine.stop({ drainMs: config.drainMs, leaveWorkers });
				await logFiles.marks.close();
				await close(CLOSE_MS, lingerMs);
				await host.close();
				await store.close();
				folder?.close();
			},
		};
	} catch (error) {
		await server?.close(0);
		await host.close();
		await store.close();
		folder?.close();
		throw error;
	}
}

async function storeWithKeys(
	config: Config,
	{ clock, random, open }: Required<Pick<AppOptions, "clock" | "random" | "open">>,
) {
	const source = {
		secret: config.secret,
		previousSecret: config.secretPrevious,
		database: config.store.kind === "sqlite" ? config.store.path : undefined,
		random,
	};
	let sealKeys: SealKeys = { ring: [new Uint8Array()], checks: { opened: "", used: "", alone: "" } };
	// SQLite calls this with the file locked, since another process may be creating the key before.
	const store = await open({
		address: config.store,
		clock,
		checkKey: (stored) => (sealKeys = secretKeys(source, stored)).checks.opened,
	});
	return { store, sealKeys };
}

/** A wildcard address becomes loopback. */
function reachable(host: string): string {
	if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
	return host.includes(":") ? `[${host}]` : host;
}

function isLoopback(host: string): boolean {
	return host === "::1" || host.startsWith("127.");
}

async function createLaunchers(
	{ dataDir, gpus, launchers: fromFile, secretVariables }: Config,
	{
		clock,
		env,
		events,
		logs,
		registryLogin,
	}: AppOptions & Required<Pick<LauncherDependencies, "registryLogin">> & { logs: string },
) {
	const base = withoutSecrets(env, secretVariables);
	// If GPUs are assigned, a worker without any must see none. For HIP an empty list is all.
	const serviceEnv = gpus > 0 ? { ...base, CUDA_VISIBLE_DEVICES: "", HIP_VISIBLE_DEVICES: "-1" } : base;
	const launchers = LAUNCHERS.map(async ({ type, atStart, create }) => {
		const dependencies = {
			clock,
			logDir: join(logs, type),
			volumeDir: join(dataDir, "volumes"),
			serviceEnv,
			registryLogin,
			fromFile: fromFile[type],
			log: (message: string) => events.emit("fault", { where: `the ${type} launcher`, error: message }),
		};
		const isNeeded = atStart?.(dependencies) ?? false;
		return [type, isNeeded ? await create(dependencies) : new LazyLauncher(type, () => create(dependencies))] as const;
	});
	return new Map<string, Launcher>(await Promise.all(launchers));
}
