/** Templates: the container of an endpoint by a name. An endpoint takes one once, and keeps no link to it. */
import { badRequest } from "../../../kernel/core/errors.ts";
import { isAbsent } from "../../../kernel/lib/schema.ts";
import {
	changedCommand,
	type CommandChange,
	commandIn,
	type ContainerCommand,
	type StoredCommand,
} from "../endpoints/command.ts";

/** Members that are not secret. */
export interface TemplateBody {
	image: string;
	/** The command, as the request had it. */
	args: string;
	/** GB. */
	disk: number;
	mounts: { persistent?: { size: number; path: string } };
	ports: readonly string[];
	/** Id of a registry. */
	registry: string | null;
	serverless: boolean;
	public: boolean;
	category: "CPU" | "NVIDIA" | "AMD";
	startSsh: boolean;
	startJupyter: boolean;
	allowedCudaVersions: readonly string[];
}

export interface TemplateContent extends TemplateBody {
	name: string;
	env: Readonly<Record<string, string>>;
}

/** Body of a request, with the defaults of a new one. `null`, of an optional member: the default, or no change. */
export type TemplateRequest = {
	[Name in keyof TemplateContent]?: TemplateContent[Name] | null;
} & CommandChange;

type Members = Readonly<Record<string, unknown>>;

/** Returns the body as if the template's container stood in it: members of the body win, and `env` by variable. */
export function withTemplate(template: TemplateContent, body: Members): Members {
	const { image, args, disk, ports, registry, env, allowedCudaVersions } = template;
	const hasParts = body["cmd"] !== undefined || body["entrypoint"] !== undefined;
	const merged = {
		image,
		...(body["args"] === undefined && (hasParts ? commandOf(template) : { args })),
		disk,
		ports,
		registry,
		...body,
		env: { ...env, ...(body["env"] as Members | undefined) },
	};
	const gpu = body["gpu"] as Members | undefined;
	if (gpu === undefined || gpu["allowedCudaVersions"] !== undefined || gpu["minCudaVersion"] !== undefined)
		return merged;
	return { ...merged, gpu: { ...gpu, allowedCudaVersions } };
}

const NO_COMMAND: StoredCommand = { args: "", cmd: [], entrypoint: [] };

/** What its command starts, in lists. */
export function commandOf({ args }: Pick<TemplateBody, "args">): ContainerCommand {
	const meant = commandIn(args);
	return "fault" in meant ? NO_COMMAND : meant;
}

/** `body` has its defaults. Throws 400 for a command without meaning. */
export function newTemplate(body: TemplateRequest): TemplateContent {
	return { args: "", registry: null, ...changeIn(NO_COMMAND, body) } as TemplateContent;
}

/** The members that change. Throws as {@link newTemplate}. */
export function changedTemplate({ args }: TemplateContent, body: TemplateRequest): Partial<TemplateContent> {
	const { mounts, ...change } = changeIn({ args, ...commandOf({ args }) }, body);
	return {
		...change,
		...(mounts?.persistent && { mounts }),
		...(body.registry === null && { registry: null }),
	};
}

function changeIn(before: StoredCommand, body: TemplateRequest): Partial<TemplateContent> {
	const given = Object.fromEntries(Object.entries(body).filter(([, value]) => !isAbsent(value))) as CommandChange;
	const { args, cmd, entrypoint, ...members } = given;
	const command = Object.entries({ args, cmd, entrypoint }).filter(([, value]) => value !== undefined);
	const after = changedCommand(before, Object.fromEntries(command));
	if ("fault" in after) throw badRequest([{ field: "args", message: after.fault.replace(/^args,? /, "") }]);
	return { ...members, ...(command.length > 0 && { args: after.args }) };
}
