/** Opens the S3 face: the sweep at the start, the rest with the first request. */
import type { StoredFiles } from "../../kernel/engine/stored-files.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { credentialsOf, epochOf } from "./requests/credentials.ts";
import { objectsOfJob } from "./objects/objects.ts";
import type { S3_ROUTES } from "./routes.ts";
import type { S3Settings } from "./settings.ts";
import type { Objects } from "./objects/store.ts";
import { removeJob, sweep } from "./objects/sweep.ts";
import { jobFileHandlers } from "./workers/handlers.ts";
import { workerHooks } from "./workers/hooks.ts";
import type { JOB_FILE_ROUTES } from "./workers/routes.ts";

export function openS3(kernel: Kernel, settings: S3Settings): OpenModule {
	let handler: Promise<(call: Call) => Promise<void>> | undefined;

	let objects: Promise<Objects> | undefined;
	const stored = (): Promise<Objects> =>
		(objects ??= import("./objects/store.ts").then((its) =>
			its.createObjects({ kernel, files: filesOf(kernel), settings }),
		));

	async function made(): Promise<(call: Call) => Promise<void>> {
		const [{ s3Handler }, own] = await Promise.all([import("./handlers.ts"), stored()]);
		return s3Handler({ kernel, files: filesOf(kernel), objects: own });
	}

	const handle = async (call: Call): Promise<void> => await (await (handler ??= made()))(call);
	const handlers: HandlersOf<typeof S3_ROUTES> & HandlersOf<typeof JOB_FILE_ROUTES> = {
		...jobFileHandlers(objectsOfJob(kernel)),
		s3Buckets: handle,
		s3Objects: handle,
		s3Changes: handle,
		async getS3Credentials({ params }) {
			const endpoint = await kernel.endpoints.find(params.endpoint);
			const { keyId, secretKey } = credentialsOf(kernel.encryption, endpoint.id, epochOf(endpoint));
			return { endpointUrl: `${await kernel.url}/s3`, accessKeyId: keyId, secretAccessKey: secretKey };
		},
	};
	const removeBytes = (file: string): Promise<void> => filesOf(kernel).remove(file);
	return {
		handlers,
		services: [sweep(kernel, removeBytes)],
		hooks: { deletedJob: (job) => removeJob(kernel, job, removeBytes), ...workerHooks(kernel, stored) },
	};
}

/** The module `files` has the bytes, and opens at the start too. */
export function filesOf({ hooks }: Pick<Kernel, "hooks">): StoredFiles {
	if (hooks.files) return hooks.files;
	throw new Error("The module s3 needs the module files.");
}
