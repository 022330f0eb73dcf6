/** Mappings and jobs for tests of the adapter. */
import type { Mapping } from "../../../packages/worker/src/http/mapping/mapping.ts";
import { resolveMapping } from "../../../packages/worker/src/http/mapping/resolve-mapping.ts";
import { readJobs } from "../../../packages/worker/src/polling/job-text.ts";
import type { Files, Job } from "../../../packages/worker/src/types.ts";

/** Of a worker without a bucket. */
export const NO_FILES: Files = { put: () => Promise.reject(new Error("no bucket")) };

/** With a preset, too. Throws the faults of an invalid mapping. */
export function mappingOf(value: object): Mapping {
	const read = resolveMapping({ port: 1, ...value });
	if (!read.ok) throw new Error(read.faults.map(({ path, message }) => `${path} ${message}`).join("\n"));
	return read.mapping;
}

/** A member `cancel`. The linter forbids a literal with a member `then`, which promises have. */
export function cancelBy(ending: "close" | "wait" | "kill", more: object = {}): object {
	return { ...more, ...JSON.parse(`{"then":"${ending}"}`) };
}

/** A job as the kit receives it. `input`: a value, or the text of one. */
export function jobOf(input: unknown, more: object = {}): Job {
	const members = JSON.stringify({ id: "sync-7f", ...more }).slice(0, -1);
	return readJobs(`${members},"input":${typeof input === "string" ? input : JSON.stringify(input)}}`).jobs[0]!;
}
