/** Files of a job (D60). */
import { route } from "../../../kernel/api/definition/route.ts";
import { COUNT, FLAG, list, object, type Static, TEXT } from "../../../kernel/api/definition/schema.ts";

export const JOB_FILE = object({
	name: { ...TEXT, description: "Its key without the id of the job, such as out/1.png." },
	bucket: { ...TEXT, description: "In which the worker stored it." },
	bytes: COUNT,
	contentType: { ...TEXT, description: "Media type, as the worker gave it." },
	url: { ...TEXT, description: "By which anyone can read it, for 7 days or as long as it is kept." },
});
export type JobFileRecord = Static<typeof JOB_FILE>;

const JOB_FILES = object({
	enabled: { ...FLAG, description: "Whether workers of the endpoint can store files (`files`)." },
	files: { ...list(JOB_FILE), description: "Last stored first, at most 100." },
});
export type JobFileList = Static<typeof JOB_FILES>;

const LIST_JOB_FILES = route("listJobFiles", "GET /v1/endpoints/:endpoint/jobs/:job/files", "read", {
	summary: "Files that the worker of a job has stored. Empty for an unknown job.",
	answer: { description: "The files.", schema: JOB_FILES },
});

export const JOB_FILE_ROUTES = [LIST_JOB_FILES] as const;
