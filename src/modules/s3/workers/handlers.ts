/** Files of a job (D60). */
import type { Sendable } from "../../../kernel/api/definition/schema.ts";
import type { HandlersOf } from "../../../kernel/http/server/route.ts";
import type { JobObject, ObjectsOfJob } from "../objects/objects.ts";
import { hasFiles } from "./member.ts";
import type { JOB_FILE_ROUTES, JobFileRecord } from "./routes.ts";

export function jobFileHandlers(objectsOfJob: ObjectsOfJob): HandlersOf<typeof JOB_FILE_ROUTES> {
	return {
		async listJobFiles({ engine, params: { endpoint: id, job } }) {
			const endpoint = engine.endpoints.get(id);
			const found = await objectsOfJob(endpoint.id, job);
			return { enabled: hasFiles(endpoint), files: found.map((each) => recordOf(each, job)) };
		},
	};
}

function recordOf({ key, ...rest }: JobObject, job: string): Sendable<JobFileRecord> {
	const name = key.startsWith(`${job}/`) ? key.slice(job.length + 1) : key;
	return { name, ...rest };
}
