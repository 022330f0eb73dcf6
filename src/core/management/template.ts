/** Templates: the container of an endpoint by a name. An endpoint takes one once, and keeps no link to it. */

/** Without the variables, which are stored encrypted. */
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

type Members = Readonly<Record<string, unknown>>;

const COMMAND = ["args", "cmd", "entrypoint"] as const;

/**
 * The body of a request as if the template's container stood in it: members of the body win, and `env` by variable.
 * `templateId` is left out.
 */
export function withTemplate(template: TemplateContent, { templateId: _, ...body }: Members): Members {
	const { image, args, disk, ports, registry, env, allowedCudaVersions } = template;
	const hasCommand = COMMAND.some((member) => body[member] !== undefined);
	const merged = {
		image,
		...(hasCommand ? {} : { args }),
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
