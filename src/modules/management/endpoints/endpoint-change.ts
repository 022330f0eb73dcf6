/** Requests of RunPod's management API as settings of an endpoint (D49). */
import type { Endpoint, LauncherSettings } from "../../../kernel/core/endpoints/endpoint.ts";
import { badRequest } from "../../../kernel/core/errors.ts";
import { unprocessable } from "../errors.ts";
import { isSame } from "../../../kernel/lib/same.ts";
import { listText, type Fault } from "../../../kernel/lib/schema.ts";
import { changedCommand } from "./command.ts";
import { contentOf, type EndpointContent, type GpuContent, gpuSettings, launcherImage } from "./endpoint-content.ts";
import type { ManagementSetting } from "../../../kernel/core/endpoints/management-setting.ts";
import { allowsImage, type ManagementRules } from "../rules.ts";

type Nullable<T> = { readonly [Name in keyof T]?: T[Name] | null | undefined };

/** Fits its schema. `null` means absent, except for `registry`. */
export interface EndpointRequest extends Omit<Nullable<EndpointContent>, "gpu" | "cpu" | "workers"> {
	gpu?: Nullable<GpuContent> | null | undefined;
	cpu?: readonly { id: string; vcpuCount: number }[] | null | undefined;
	workers?: Nullable<EndpointContent["workers"]> | null | undefined;
}

export interface ChangeContext {
	rules: ManagementRules;
	dataCenters: readonly string[];
	/** Folder, volume or claim of the network volume in the request. */
	volumeSource: string | undefined;
	/** Models of all machines where workers may start; undefined if some are not known. */
	gpuModels: readonly string[] | undefined;
}

type Settings = Omit<Endpoint, "id">;
type Member = keyof EndpointContent;

/** Ms, as RunPod documents it. */
const DEFAULT_TIMEOUT = 300_000;
const SHORTEST_TIMEOUT = 5001;

/** Where workers find a network volume. */
const MOUNT = "/runpod-volume";

/** Parts of the container: endpoints whose workers are no containers have none of them. */
const CONTAINER: readonly Member[] = ["image", "args", "cmd", "entrypoint", "disk", "ports", "registry"];

/** Settings of a new endpoint, whose other settings are those of `blank`. Throws 400 and 422. */
export function createdFrom(blank: Endpoint, request: EndpointRequest, context: ChangeContext): Settings {
	const { gpu, cpu } = request;
	if (Boolean(gpu) === Boolean(cpu))
		throw badRequest([{ field: "", message: "must have exactly one of gpu and cpu." }]);
	const given = { timeout: DEFAULT_TIMEOUT, ...request };
	const before = contentOf({ ...blank, gpusPerWorker: gpu ? 1 : 0 });
	const after = merged(before, given, context);
	const all = Object.keys(after).filter((name) => name !== "networkVolumes" || after.networkVolumes.length > 0);
	return written(blank, after, new Set(all as Member[]), context);
}

/** All settings after a change. Members that are as they were change no setting. Throws 400 and 422. */
export function changedBy(endpoint: Endpoint, request: EndpointRequest, context: ChangeContext): Settings {
	const before = contentOf(endpoint);
	const isGpu = before.gpu !== null;
	if (request.gpu && request.cpu) throw badRequest([{ field: "", message: "must not have both gpu and cpu." }]);
	if (isGpu ? request.cpu : request.gpu) {
		const [field, has] = isGpu ? ["cpu", "GPUs"] : ["gpu", "no GPUs"];
		const message = `must be left out: the endpoint has ${has}, and this cannot be changed. Create another endpoint.`;
		throw badRequest([{ field: field!, message }]);
	}
	const after = merged(before, request, context);
	const names = Object.keys(after) as Member[];
	const changed = new Set(names.filter((name) => !isSame(after[name], before[name])));
	const part = CONTAINER.find((name) => changed.has(name));
	const { launcher } = endpoint;
	if (part !== undefined && !("image" in launcher)) {
		const message =
			`cannot be changed here: the launcher ${launcher.type} of this endpoint runs no image. ` +
			"Use PATCH /v1/endpoints/{id}.";
		throw badRequest([{ field: part, message }]);
	}
	return written(endpoint, after, changed, context);
}

function merged(before: EndpointContent, request: EndpointRequest, context: ChangeContext): EndpointContent {
	const { gpu, cpu, workers, scaling, args, cmd, entrypoint, timeout, registry, ...simple } = withoutNulls(request);
	const { args: textBefore, cmd: cmdBefore, entrypoint: entrypointBefore } = before;
	const command = changedCommand(
		{ args: textBefore, cmd: cmdBefore, entrypoint: entrypointBefore },
		withoutNulls({ args, cmd, entrypoint }),
	);
	if ("fault" in command) throw badRequest([{ field: "args", message: command.fault.replace(/^args,? /, "") }]);
	const after: EndpointContent = {
		...before,
		...simple,
		...command,
		registry: request.registry === null ? null : (registry ?? before.registry),
		gpu: gpu && before.gpu ? mergedGpu(before.gpu, gpu) : before.gpu,
		...(cpu && { cpu: cpu.map((each) => ({ ...each, memory: 2 * each.vcpuCount })) }),
		workers: { ...before.workers, ...withoutNulls(workers ?? {}) },
		scaling: scaling ?? before.scaling,
		timeout: timeout === 0 ? DEFAULT_TIMEOUT : (timeout ?? before.timeout),
	};
	const unfit = misplaced(request, after);
	if (unfit.length > 0) throw unprocessable(unfit);
	const faults = [...broken(after, before, context)];
	if (faults.length > 0) throw badRequest(faults);
	return after;
}

function mergedGpu(before: GpuContent, given: Nullable<GpuContent>): GpuContent {
	const { pools, excludedTypes, minCudaVersion, ...rest } = withoutNulls(given);
	const { excludedTypes: excluded, ...kept } = before;
	const exclusions = pools ? excludedTypes : excluded;
	return {
		...kept,
		...rest,
		...(pools && { pools }),
		...(exclusions && exclusions.length > 0 && { excludedTypes: exclusions }),
		minCudaVersion: (minCudaVersion ?? before.minCudaVersion) || null,
	};
}

/** Rules the schema cannot express; RunPod answers 422 too. */
function misplaced({ workers, gpu, cpu }: EndpointRequest, { scaling }: EndpointContent): Fault[] {
	const faults: Fault[] = [];
	if (workers?.idleTimeout && scaling.type === "REQUEST_COUNT")
		faults.push({
			field: "workers.idleTimeout",
			message: "must be left out: idleTimeout does not apply to queue-based endpoints scaling on requestCount.",
		});
	if (gpu?.excludedTypes && !gpu.pools)
		faults.push({ field: "gpu.excludedTypes", message: "needs gpu.pools beside it." });
	const flavours = cpu?.map(({ id, vcpuCount }) => `${vcpuCount} ${id}`);
	for (const [field, list] of Object.entries({ "gpu.excludedTypes": gpu?.excludedTypes, cpu: flavours }))
		if (list && new Set(list).size < list.length) faults.push({ field, message: "must not have an item twice." });
	return faults;
}

function* broken(
	after: EndpointContent,
	before: EndpointContent,
	{ rules, dataCenters }: ChangeContext,
): Iterable<Fault> {
	const { workers, timeout, gpu, cpu, image } = after;
	if (workers.min > workers.max)
		yield { field: "workers.min", message: `must not be over workers.max (${workers.max}).` };
	if (timeout < SHORTEST_TIMEOUT)
		yield { field: "timeout", message: `must be at least ${SHORTEST_TIMEOUT} ms, or 0 for ${DEFAULT_TIMEOUT} ms.` };
	if (gpu && !isSame(gpu, before.gpu) && gpu.minCudaVersion !== null && gpu.allowedCudaVersions.length > 0)
		yield {
			field: "gpu",
			message: 'must not have both allowedCudaVersions and minCudaVersion: clear one, with [] or "".',
		};
	if (!isSame(cpu, before.cpu))
		for (const [at, { vcpuCount }] of (cpu ?? []).entries())
			if (!Number.isInteger(Math.log2(vcpuCount)))
				yield { field: `cpu.${at}.vcpuCount`, message: "must be a power of two, such as 4." };
	if (!isSame(after.dataCenterIds, before.dataCenterIds))
		for (const [at, id] of after.dataCenterIds.entries())
			if (!dataCenters.includes(id))
				yield { field: `dataCenterIds.${at}`, message: `must be ${listText(dataCenters)}; [] is anywhere.` };
	if (after.networkVolumes.length > 1)
		yield { field: "networkVolumes", message: `must have at most one volume: workers find it at ${MOUNT}.` };
	if (image !== before.image && !allowsImage(rules, image))
		yield {
			field: "image",
			message: `must be one that management.images in the configuration allows: ${listText(rules.images ?? [])}.`,
		};
}

/** `changed`: members whose settings are written; others stay as they are. */
function written(
	{ id: _id, ...before }: Endpoint,
	after: EndpointContent,
	changed: ReadonlySet<Member>,
	context: ChangeContext,
): Settings {
	const has = (...names: Member[]): boolean => names.some((name) => changed.has(name));
	const { name, env, workers, scaling, timeout, gpu } = after;
	const stored = storedChanges(after, has);
	return {
		...before,
		...(has("name") && { name }),
		...(has("env") && { env: { ...env } }),
		...(has("workers") && { workersMin: workers.min, workersMax: workers.max }),
		...(has("workers") && workers.idleTimeout !== undefined && { idleTimeout: workers.idleTimeout }),
		...(has("scaling") && {
			scalerType: scaling.type,
			scalerValue: scaling.type === "REQUEST_COUNT" ? scaling.requestCount : scaling.queueDelay,
		}),
		...(has("timeout") && { executionTimeoutMs: timeout }),
		...(has("gpu", "cpu") && { gpusPerWorker: gpu?.count ?? 0 }),
		launcher: changedLauncher(before.launcher, after, has, context),
		...(stored && { management: { disk: after.disk, ...before.management, ...stored } }),
	};
}

/** An undefined member is removed. */
function changedLauncher(
	launcher: LauncherSettings & { volumes?: readonly string[] },
	{ image, cmd, entrypoint, gpu, registry }: EndpointContent,
	has: (...names: Member[]) => boolean,
	{ volumeSource, gpuModels }: ChangeContext,
): LauncherSettings {
	const isSlurm = launcher.type === "slurm";
	const others = (launcher.volumes ?? []).filter((volume) => !volume.replace(/:(?:ro|rw)$/, "").endsWith(`:${MOUNT}`));
	const volumes = volumeSource === undefined ? others : [...others, `${volumeSource}:${MOUNT}`];
	const settings = {
		...launcher,
		...(has("image") && { image: launcherImage(launcher, image) }),
		...(has("cmd", "entrypoint") && {
			command: cmd.length > 0 ? cmd : undefined,
			entrypoint: entrypoint.length > 0 ? entrypoint : isSlurm ? "image" : undefined,
		}),
		...(has("networkVolumes") && { volumes: volumes.length > 0 ? volumes : undefined }),
		...(has("gpu") && gpu && placedGpu(launcher, gpu, gpuModels)),
		...(has("registry") && { registry: registry ?? undefined }),
	};
	const members = Object.entries(settings).filter(([, value]) => value !== undefined);
	return { ...(Object.fromEntries(members) as object), type: launcher.type };
}

/** Throws 400 for what no machine has. An undefined setting is removed. */
function placedGpu(launcher: LauncherSettings, gpu: GpuContent, known: readonly string[] | undefined): object {
	const settings = gpuSettings(launcher, gpu, known);
	if (!("fault" in settings)) return settings;
	const [, field = "gpu", message = `cannot be placed: ${settings.fault}`] =
		/^(gpu\.\w+):? (.+)$/.exec(settings.fault) ?? [];
	throw badRequest([{ field, message }]);
}

/** Undefined if none of the members that `management` stores has changed. */
function storedChanges(
	after: EndpointContent,
	has: (...names: Member[]) => boolean,
): Partial<ManagementSetting> | undefined {
	const { disk, ports, flashboot, dataCenterIds, networkVolumes, args, gpu, cpu } = after;
	const { pools = [], excludedTypes, allowedCudaVersions = [], minCudaVersion } = gpu ?? {};
	const changes = {
		...(has("disk") && { disk }),
		...(has("ports") && { ports }),
		...(has("flashboot") && { flashboot }),
		...(has("dataCenterIds") && { dataCenterIds }),
		...(has("networkVolumes") && { networkVolumes }),
		...(has("args", "cmd", "entrypoint") && { args }),
		...(has("gpu") &&
			gpu && {
				gpu: {
					pools,
					...(excludedTypes && { excludedTypes }),
					allowedCudaVersions,
					...(minCudaVersion && { minCudaVersion }),
				},
			}),
		...(has("cpu") && cpu && { cpu: cpu.map(({ id, vcpuCount }) => ({ id, vcpuCount })) }),
	};
	return Object.keys(changes).length > 0 ? changes : undefined;
}

function withoutNulls<T extends object>(given: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
	return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined)) as {
		[Name in keyof T]?: NonNullable<T[Name]>;
	};
}

/** Names of settings as the request had them. */
const NAMES: readonly (readonly [setting: RegExp, member: string])[] = [
	[/^launcher\.(?:image|registry|gpu|entrypoint)/, ""],
	[/^launcher\.command/, "cmd"],
	[/^launcher\.volumes.*/, "networkVolumes"],
	[/^management\./, ""],
	[/^workersMin/, "workers.min"],
	[/^workersMax/, "workers.max"],
	[/^idleTimeout/, "workers.idleTimeout"],
	[/^gpusPerWorker/, "gpu.count"],
	[/^executionTimeoutMs/, "timeout"],
	[/^scalerValue/, "scaling"],
];

/** A fault of a setting as a fault of the request. */
export function requestFault({ field, message }: Fault): Fault {
	const [setting, member] = NAMES.find(([name]) => name.test(field)) ?? [];
	if (!setting) return { field, message };
	return { field: member === "" ? field.slice(field.indexOf(".") + 1) : field.replace(setting, member!), message };
}
