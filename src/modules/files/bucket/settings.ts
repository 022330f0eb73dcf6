/** `files.bucket` of `sluice.yaml` (D61): a bucket with the S3 API that has the bytes of files. */
import { dirname, resolve } from "node:path";
import type { SettingsSource } from "../../../kernel/config/module-settings.ts";
import type { Schema } from "../../../kernel/lib/schema.ts";

export interface BucketSettings {
	/** Address without a slash at its end. */
	url: string;
	name: string;
	region: string;
	/** Empty, or with a slash at its end. */
	prefix: string;
	accessKeyId: string;
	secretAccessKey: string;
}

/** What the file has of it, after its schema. */
export type GivenBucket = Partial<BucketSettings> &
	Pick<BucketSettings, "url" | "name" | "accessKeyId"> & { secretAccessKeyFile?: string };

export const BUCKET_SCHEMA = {
	type: "object",
	additionalProperties: false,
	required: ["url", "name", "accessKeyId"],
	properties: {
		url: {
			type: "string",
			pattern: "^https?://[^\\s?#@]+$",
			maxLength: 2000,
			description: "Address of the S3 API, without the bucket. Requests name the bucket in the path.",
			examples: ["https://s3.example.com"],
			"x-message": "must be an http or https address such as https://s3.example.com, without user and query.",
		},
		name: {
			type: "string",
			pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$",
			description: "Name of the bucket, which must exist.",
			"x-message": "must be the name of a bucket: 2 to 63 letters, digits, '.', '_' and '-'.",
		},
		region: {
			type: "string",
			pattern: "^[A-Za-z0-9-]{1,64}$",
			default: "us-east-1",
			description: "Region that requests are signed for; `auto` for R2, `garage` for Garage.",
			"x-message": "must be the name of a region, such as us-east-1.",
		},
		prefix: {
			type: "string",
			pattern: "^(?:[A-Za-z0-9._-]{1,64}/){0,8}$",
			description: "Folder in the bucket; below it each store has a folder of its own. Default: none.",
			examples: ["sluice/"],
			"x-message": "must be names with a slash behind each, such as sluice/.",
		},
		accessKeyId: {
			type: "string",
			pattern: "^[A-Za-z0-9._-]{1,128}$",
			writeOnly: true,
			description: "Id of the access key.",
			"x-message": "must be 1 to 128 letters, digits, '.', '_' and '-'.",
		},
		secretAccessKey: {
			type: "string",
			pattern: "^\\S{1,256}$",
			writeOnly: true,
			description: "Secret of the access key, as a variable: `${NAME}`. Workers do not get that variable.",
			"x-message": "must be 1 to 256 characters without spaces.",
		},
		secretAccessKeyFile: {
			type: "string",
			minLength: 1,
			description: "File with the secret instead; a relative path starts at the folder of this file.",
			"x-message": "must be the path of a file.",
		},
	},
	description: "Bucket that has the bytes of files instead of the store.",
	"x-message": "must be an object with url, name, region, prefix, accessKeyId and secretAccessKey.",
} as const satisfies Schema;

/** Faults are added to `source.problems`. */
export function bucketSettings(
	{ secretAccessKey, secretAccessKeyFile: file, ...given }: GivenBucket,
	source: Pick<SettingsSource, "path" | "problems" | "readFile">,
): BucketSettings {
	const { path, problems, readFile } = source;
	const where = `${path}: files.bucket`;
	if (!URL.canParse(given.url)) problems.push(`${where}.url ${BUCKET_SCHEMA.properties.url["x-message"]}`);
	if ((secretAccessKey === undefined) === (file === undefined))
		problems.push(`${where} must have either secretAccessKey or secretAccessKeyFile.`);
	const read = file === undefined ? undefined : readFile(resolve(dirname(path), file))?.replace(/\r?\n$/, "");
	if (file !== undefined && !/^\S{1,256}$/.test(read ?? ""))
		problems.push(`${where}.secretAccessKeyFile: cannot read a secret of 1 to 256 characters from ${file}.`);
	const { region = BUCKET_SCHEMA.properties.region.default, prefix = "" } = given;
	return {
		...given,
		url: given.url.replace(/\/$/, ""),
		region,
		prefix,
		secretAccessKey: secretAccessKey ?? read ?? "",
	};
}
