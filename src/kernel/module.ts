/**
 * A capability that can be removed: a folder in `src/modules` and its entry in a list there. `Module` is data, loaded
 * at every start; its `open` imports what runs.
 */
import type { RouteDefinition } from "./api/definition/route.ts";
import type { ModuleSettings } from "./config/module-settings.ts";
import type { Endpoint } from "./core/endpoints/endpoint.ts";
import type { RegistryLogin } from "./core/access/image-registry.ts";
import type { Family, FamilyDescription } from "./core/metrics/family.ts";
import type { ErrorTable } from "./core/error-table.ts";
import type { Access } from "./engine/access/access.ts";
import type { EngineContext, Hooks } from "./engine/context.ts";
import type { Engine, StoreState } from "./engine/engine.ts";
import type { WorkerVariables } from "./engine/workers/workers-context.ts";
import type { Scaling } from "./engine/scaling/scaling.ts";
import type { EventTable } from "./events.ts";
import type { AnsweredOf } from "./http/server/route.ts";
import type { Env } from "./lib/env.ts";
import type { Authenticator } from "./http/exchange/call.ts";
import type { WorkerLogs } from "./launchers/launcher.ts";
import type { Encryption } from "./secrets/encryption.ts";
import type { Service } from "./system/loop.ts";
import type { SignedPost } from "./post/contract.ts";
import type { RecentLines } from "./system/recent-lines.ts";

export interface Module<Settings = unknown> {
	/** Name of its folder, and of its member of `sluice.yaml`. */
	readonly name: string;
	/** Its member of `sluice.yaml`. A start opens the module only if the file has it. */
	readonly settings?: ModuleSettings<Settings>;
	/**
	 * Used instead of {@link settings} by a module whose settings are variables of the environment. `read` is called at
	 * the start if the name of any variable begins with the prefix. If it returns undefined, the module is off.
	 */
	readonly fromVariables?: { readonly prefix: string; read(env: Env): Promise<Settings | undefined> };
	readonly routes?: readonly RouteDefinition[];
	readonly errors?: ErrorTable;
	readonly events?: EventTable;
	/**
	 * `start`: opened at every start, because it has no settings but must see what happens. `use`: opened when something
	 * asks for it, even if it has settings.
	 */
	readonly opens?: "start" | "use";
	/** Returns whether an endpoint needs the module, which is then opened before the endpoint is used. */
	readonly opensFor?: (endpoint: Endpoint) => boolean;
	/** It is also opened by a request with a cookie and without a key, and for its sign-in link. */
	readonly authenticates?: true;
	/** It is also opened when a launcher asks for a login to a registry of images: that of a host, or one by id. */
	readonly registryLogins?: "host" | "id";
	/** It is also opened when a worker starts with a variable that contains such a text, which the module replaces. */
	readonly fillsVariables?: RegExp;
	/** Describes the families that the open module adds to `/metrics`: for the reference, and while it is not open. */
	familyDescriptions?(): Promise<readonly FamilyDescription[]>;
	/** The kernel keeps the last lines of its log for the module, also those written before it is opened. */
	readonly readsLog?: true;
	/**
	 * Called at the start if there are settings or `opens` says so, else when something first asks for the module: a call
	 * of one of its routes, a sign-in, a pull, a worker that starts. Called again only after it has thrown.
	 */
	open(kernel: Kernel, settings: Settings | undefined): Promise<OpenModule>;
}

export interface OpenModule {
	/** Keys are names of routes. */
	readonly handlers?: Readonly<Record<string, (call: never) => unknown>>;
	/** Started in the order of the list of modules, or when the module opens later; stopped in reverse. */
	readonly services?: readonly Service[];
	/** Called with the outcome of each request, also of the kernel's routes. Only for modules opened at the start. */
	readonly answered?: AnsweredOf;
	/** Called by the kernel while the module is open. At most one module has each hook. */
	readonly hooks?: Hooks;
	/** Samples for `/metrics`, and for modules that decide by figures of others. Leaves out what cannot be read now. */
	families?(): Promise<readonly Family[]>;
	/** Called when the service has stopped, while the store is still open. */
	close?(): Promise<void>;
	/** Used if `authenticates` is set. */
	readonly authenticator?: Authenticator;
	/** Creates a link that signs in the operator at the machine: its path. Undefined without any key. */
	signInLink?(): Promise<string | undefined>;
	/**
	 * The login to a registry of images, by what the module says in `registryLogins`: undefined if the host needs none.
	 * Throws an Error with a sentence.
	 */
	registryLogin?(name: string): Promise<RegistryLogin | undefined>;
	/** Throws an Error with a sentence, which becomes that of the worker. Of modules that have `fillsVariables`. */
	workerVariables?(env: WorkerVariables["env"]): Promise<WorkerVariables>;
}

/** What the kernel lends to a module; its handlers also have the engine, in the call. */
export interface Kernel extends EngineContext, StoreState, Pick<Engine, "cluster" | "endpoints" | "metrics"> {
	workers: Pick<Engine["workers"], "registry" | "launcher" | "gpus" | "sleep">;
	/** Queues and stops of workers, for policies; a check at once, for hooks. */
	scaling: Scaling["lent"];
	/** `setShare` limits which jobs this server hands to workers of an endpoint; the rest is for modules with jobs. */
	jobs: Pick<
		Engine["jobs"],
		"setShare" | "newId" | "submitAndWait" | "status" | "statusSync" | "streamFrom" | "cancel" | "retain"
	>;
	releases: Engine["releases"];
	/** Id of this server among those that share a store; with a store of its own, of this run. */
	instance: string;
	/** Keys, the count of wrong credentials, and a listener for changes of credentials by other servers. */
	access: Pick<Access, "keys" | "failures" | "alsoForget">;
	/** Id of the store, and so of the service, created with it. */
	storeId: string;
	/** Folder of a site that was built beside the service, such as `console`. */
	siteFolder: (name: string) => string;
	/** Encrypts texts for the store with the keys of the service (D22). */
	encryption: Encryption;
	/** Machines on which launchers place workers, and which of them get none. */
	hosts: Pick<Engine["workers"]["hosts"], "list" | "drain">;
	/** Name of this machine. */
	hostname: string;
	/** Address of the service, known once it listens. */
	url: Promise<string>;
	/** The option `publicUrl`, without a slash at its end. */
	publicUrl: string | undefined;
	/** One POST to an address, which may be refused for the network that it is in. */
	post: (q: { allowPrivateNetworks: boolean }) => SignedPost;
	/** Families of all modules. A module that is not open contributes its families without samples. */
	families: () => Promise<readonly Family[]>;
	/** The last lines of the log. Empty unless a module says `readsLog`. */
	log: Pick<RecentLines, "read">;
	/** Output of the workers that this server launched, also of those that have ended. */
	workerLogs: WorkerLogs;
	/** Whether addresses of clients may be in private networks (`webhooks.allowPrivateNetworks`). */
	allowPrivateNetworks: boolean;
}
