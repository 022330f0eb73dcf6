/** Objects of a job: those whose key begins with the job's id as a folder, in any bucket (D59). */
import type { Kernel } from "../../../kernel/module.ts";
import { credentialsOf, epochOf } from "../requests/credentials.ts";
import { encodeUri, LONGEST_LINK_S, signedLink } from "../requests/signature.ts";
import type { ObjectHeaders } from "./store.ts";

export interface JobObject {
	bucket: string;
	key: string;
	bytes: number;
	contentType: string;
	/** A presigned link, valid as long as the object is kept, for at most 7 days. */
	url: string;
}

/** The objects of a job, the newest first, at most 100. Empty for an unknown job. */
export type ObjectsOfJob = (endpoint: string, jobId: string) => Promise<JobObject[]>;

const MOST = 100;

type Context = Pick<Kernel, "calendar" | "encryption" | "endpoints" | "now" | "store" | "url">;

export function objectsOfJob(kernel: Context): ObjectsOfJob {
	return async (endpoint, jobId) => {
		const now = kernel.now();
		const found = await kernel.store.objects.inFolder({ endpoint, folder: jobId, now, limit: MOST });
		if (found.length === 0) return [];
		const link = await linker(kernel, endpoint);
		return found.map(({ bucket, key, bytes, headers, expiresAt }) => ({
			...{ bucket, key, bytes },
			contentType: (JSON.parse(headers) as ObjectHeaders)["content-type"] ?? "application/octet-stream",
			url: link({ bucket, key }, expiresAt),
		}));
	};
}

/** Makes links to objects of an endpoint, which last until they expire, for at most 7 days. */
export async function linker(kernel: Context, endpoint: string) {
	const credentials = credentialsOf(kernel.encryption, endpoint, epochOf(await kernel.endpoints.find(endpoint)));
	const base = `${await kernel.url}/s3/`;
	return ({ bucket, key }: { bucket: string; key: string }, expiresAt: number | undefined): string => {
		const left = expiresAt === undefined ? LONGEST_LINK_S : Math.ceil((expiresAt - kernel.now()) / 1000);
		const path = [bucket, ...key.split("/")].map(encodeUri).join("/");
		const expires = Math.min(LONGEST_LINK_S, Math.max(1, left));
		return signedLink(base + path, credentials, { now: kernel.calendar.now(), expires });
	};
}
