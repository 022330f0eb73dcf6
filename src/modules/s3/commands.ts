/** `sluice files credentials`: those of S3 clients, and what their configurations need (D59). */
import { CliError } from "../../cli/client/errors.ts";
import type { CommandGroup } from "../../cli/framework/command.ts";
import { serviceAction } from "../../cli/framework/service-action.ts";
import { shellQuoted } from "../../kernel/lib/text.ts";
import type { S3Credentials } from "./routes.ts";

interface Form {
	/** Where the lines go. */
	title: string;
	lines(given: S3Credentials): readonly string[];
}

const exported = (variables: Readonly<Record<string, string>>): string[] =>
	Object.entries(variables).map(([name, value]) => `export ${name}=${shellQuoted(value)}`);

/** Clients must use paths, not host names, for buckets. */
const FORMS: Readonly<Record<string, Form>> = {
	env: {
		title: "Environment of rp_upload of RunPod's SDK and of the worker kit",
		lines: ({ endpointUrl, accessKeyId, secretAccessKey }) =>
			exported({
				BUCKET_ENDPOINT_URL: endpointUrl,
				BUCKET_ACCESS_KEY_ID: accessKeyId,
				BUCKET_SECRET_ACCESS_KEY: secretAccessKey,
			}),
	},
	boto3: {
		title: "Python with boto3",
		lines: ({ endpointUrl, accessKeyId, secretAccessKey }) => [
			"s3 = boto3.client(",
			'    "s3",',
			`    endpoint_url=${JSON.stringify(endpointUrl)},`,
			`    aws_access_key_id=${JSON.stringify(accessKeyId)},`,
			`    aws_secret_access_key=${JSON.stringify(secretAccessKey)},`,
			'    region_name="us-east-1",',
			")",
		],
	},
	aws: {
		title: "Environment of the AWS command line",
		lines: ({ endpointUrl, accessKeyId, secretAccessKey }) => [
			...exported({
				AWS_ACCESS_KEY_ID: accessKeyId,
				AWS_SECRET_ACCESS_KEY: secretAccessKey,
				AWS_DEFAULT_REGION: "us-east-1",
			}),
			`# aws --endpoint-url ${shellQuoted(endpointUrl)} s3 ls`,
		],
	},
	rclone: {
		title: "rclone.conf of rclone",
		lines: ({ endpointUrl, accessKeyId, secretAccessKey }) => [
			"[sluice]",
			"type = s3",
			"provider = Other",
			`endpoint = ${endpointUrl}`,
			`access_key_id = ${accessKeyId}`,
			`secret_access_key = ${secretAccessKey}`,
		],
	},
	s3cmd: {
		title: ".s3cfg of s3cmd, which cannot have a path in its address",
		lines({ endpointUrl, accessKeyId, secretAccessKey }) {
			const { host, protocol } = new URL(endpointUrl);
			return [
				"[default]",
				`host_base = ${host}`,
				`host_bucket = ${host}`,
				`use_https = ${protocol === "https:" ? "True" : "False"}`,
				`access_key = ${accessKeyId}`,
				`secret_key = ${secretAccessKey}`,
			];
		},
	},
};

/** One form as it is, or all of them with the values before them. */
export function credentialsText(given: S3Credentials, format: string | undefined): string {
	if (format === undefined) {
		const { endpointUrl, accessKeyId, secretAccessKey } = given;
		const values = [`URL     ${endpointUrl}`, `KEY ID  ${accessKeyId}`, `SECRET  ${secretAccessKey}`];
		const forms = Object.values(FORMS).flatMap((form) => ["", `# ${form.title}`, ...form.lines(given)]);
		return [...values, ...forms, ""].join("\n");
	}
	const form = Object.hasOwn(FORMS, format) ? FORMS[format] : undefined;
	if (!form) throw new CliError(`--format must be one of ${Object.keys(FORMS).join(", ")}, not '${format}'.`);
	return [...form.lines(given), ""].join("\n");
}

const credentials = serviceAction<S3Credentials>({
	name: "credentials",
	args: ["ENDPOINT"],
	summary: "print the address and credentials of the endpoint's buckets for S3 clients",
	flags: {
		format: { value: "FORMAT", summary: `only what one client needs: ${Object.keys(FORMS).join(", ")}` },
	},
	examples: [
		"sluice files credentials hello",
		'eval "$(sluice files credentials hello --format env)"',
		"sluice files credentials hello --format rclone >> ~/.config/rclone/rclone.conf",
	],
	request: "GET /v1/endpoints/{ENDPOINT}/s3",
	text: (given, { flags }) => credentialsText(given, flags["format"]),
});

export const files: CommandGroup = {
	name: "files",
	summary: "credentials of the files of an endpoint",
	actions: [credentials],
};
