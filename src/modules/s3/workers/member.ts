/** The setting `files` of endpoints (D60): their workers can store files, which the service keeps and links to. */
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import { type EndpointMember, memberOf } from "../../../kernel/core/endpoints/endpoint-member.ts";

/** `true` is `{ epoch: 1 }`. */
export type FilesSetting = boolean | { epoch?: number | null };

export const FILES: EndpointMember<FilesSetting> = {
	name: "files",
	schema: {
		oneOf: [
			{ type: "boolean" },
			{
				type: "object",
				additionalProperties: false,
				properties: {
					epoch: {
						type: "integer",
						minimum: 1,
						maximum: 999_999_999,
						description:
							"Number of the credentials. A higher one than before voids all earlier credentials and links at once.",
						"x-message": "must be a whole number from 1 to 999999999.",
					},
				},
			},
		],
		description:
			"Launched workers get BUCKET_ENDPOINT_URL, BUCKET_ACCESS_KEY_ID and BUCKET_SECRET_ACCESS_KEY, with which " +
			"`rp_upload` of RunPod's SDK, `files.put` of the worker kit and every S3 client store files in the service. " +
			"Needs the option publicUrl. An endpoint whose env has one of these variables keeps its own. " +
			"`{ epoch: 2 }` voids the credentials and links before. Default: false.",
		examples: [true],
		"x-message": "must be true, false or an object such as { epoch: 2 }.",
	},
	// Members of objects may be null elsewhere, where that restores a default.
	faults: (value) =>
		typeof value === "object" && value.epoch === null
			? [{ field: "files.epoch", message: "must be a whole number from 1 to 999999999; or leave it out." }]
			: [],
	needsPublicUrl: (value) =>
		value === false
			? undefined
			: "links to files begin with it. Set it to the address at which clients and workers reach the service.",
};

/** Whether workers and answers of the endpoint have files. */
export function hasFiles(endpoint: Endpoint): boolean {
	return (memberOf(endpoint, FILES) ?? false) !== false;
}
