/** Objects (D59) with clients that are no libraries of JavaScript, where they are installed. */
import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { credentials } from "../spec/s3/s3-client.ts";
import { credentialsText } from "../../src/modules/s3/commands.ts";
import { call, startService, type TestService } from "../support/service.ts";

const ENDPOINT = "ep";

/** Starts of Python take most of it on a busy machine. */
const PROGRAM_MS = 300_000;

let service: TestService;
let env: Record<string, string>;
beforeAll(async () => {
	service = await startService({ endpoints: { [ENDPOINT]: {} } });
	const { keyId, secretKey } = credentials(service, ENDPOINT);
	env = {
		PATH: process.env["PATH"] ?? "",
		HOME: service.folder.path,
		BUCKET_ENDPOINT_URL: `${service.url}/s3`,
		BUCKET_ACCESS_KEY_ID: keyId,
		BUCKET_SECRET_ACCESS_KEY: secretKey,
	};
});
afterAll(() => service.end());

/** The service is in this process: nothing may block it. */
async function run(program: string, args: readonly string[], more: Record<string, string> = {}): Promise<string> {
	const child = spawn(program, args, { env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"] });
	let text = "";
	for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (text += piece.toString()));
	const status = await new Promise((resolve) => child.on("close", resolve));
	if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${String(status)}: ${text}`);
	return text;
}

/** That of Debian's packages before another one of the name. */
const programOf = (name: string, ...args: string[]): string | undefined =>
	[`/usr/bin/${name}`, name].find((each) => spawnSync(each, args).status === 0);
const PYTHON = programOf("python3", "-c", "import boto3");
const RCLONE = programOf("rclone", "version");
const AWS = programOf("aws", "--version");
const S3CMD = programOf("s3cmd", "--version");
const RESTIC = programOf("restic", "version");
const md5 = (bytes: Buffer): string => createHash("md5").update(bytes).digest("hex");

/** What `rp_upload` of RunPod's SDK does: no bucket is created, parts from 25,600 bytes on, a link of 7 days. */
const BOTO3 = `
import hashlib, io, json, os, sys, urllib.request
import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

s3 = boto3.session.Session().client(
    "s3",
    endpoint_url=os.environ["BUCKET_ENDPOINT_URL"],
    aws_access_key_id=os.environ["BUCKET_ACCESS_KEY_ID"],
    aws_secret_access_key=os.environ["BUCKET_SECRET_ACCESS_KEY"],
    region_name="us-east-1",
    config=Config(signature_version="s3v4", retries={"max_attempts": 1, "mode": "standard"}),
)
parts = TransferConfig(multipart_threshold=25600, max_concurrency=4, multipart_chunksize=25600, use_threads=True)
found = {}
for name, size in (("small.png", 1000), ("large.bin", 12_000_000)):
    content = os.urandom(size)
    key = "job-1/" + name
    if size < 25600:
        s3.put_object(Bucket="11-26", Key=key, Body=content, ContentType="image/png")
    else:
        s3.upload_fileobj(io.BytesIO(content), "11-26", key, Config=parts)
    link = s3.generate_presigned_url("get_object", Params={"Bucket": "11-26", "Key": key}, ExpiresIn=604800)
    with urllib.request.urlopen(link) as answer:
        found[name] = answer.read() == content
    assert s3.get_object(Bucket="11-26", Key=key)["Body"].read() == content
found["keys"] = [each["Key"] for each in s3.list_objects_v2(Bucket="11-26")["Contents"]]
s3.delete_objects(Bucket="11-26", Delete={"Objects": [{"Key": key} for key in found["keys"]]})
found["left"] = s3.list_objects_v2(Bucket="11-26")["KeyCount"]
print(json.dumps(found))
`;

describe("boto3", () => {
	it.skipIf(PYTHON === undefined)(
		"D59: stores as RunPod's rp_upload does, and its links are read (needs boto3 for python3)",
		async () => {
			const found = JSON.parse(await run(PYTHON!, ["-c", BOTO3]));
			expect(found).toEqual({
				...{ "small.png": true, "large.bin": true, left: 0 },
				keys: ["job-1/large.bin", "job-1/small.png"],
			});
		},
		PROGRAM_MS,
	);
});

describe("rclone", () => {
	it.skipIf(RCLONE === undefined)(
		"D59: copies a folder, finds it the same, and purges it (needs rclone)",
		async () => {
			const folder = join(service.folder.path, "tree");
			mkdirSync(join(folder, "sub dir"), { recursive: true });
			writeFileSync(join(folder, "ü & <x>.txt"), "text");
			writeFileSync(join(folder, "sub dir", "large.bin"), randomBytes(9 * 2 ** 20));
			const options = {
				RCLONE_CONFIG: "/dev/null",
				RCLONE_S3_PROVIDER: "Other",
				RCLONE_S3_ENDPOINT: env["BUCKET_ENDPOINT_URL"]!,
				RCLONE_S3_ACCESS_KEY_ID: env["BUCKET_ACCESS_KEY_ID"]!,
				RCLONE_S3_SECRET_ACCESS_KEY: env["BUCKET_SECRET_ACCESS_KEY"]!,
				RCLONE_S3_UPLOAD_CUTOFF: "5M",
				RCLONE_RETRIES: "1",
			};
			await run(RCLONE!, ["copy", folder, ":s3:tree/at"], options);
			await run(RCLONE!, ["check", folder, ":s3:tree/at"], options);
			expect((await run(RCLONE!, ["lsf", "-R", ":s3:tree"], options)).trim().split("\n").toSorted()).toEqual(
				["at/", "at/sub dir/", "at/sub dir/large.bin", "at/ü & <x>.txt"].toSorted(),
			);
			await run(RCLONE!, ["purge", ":s3:tree"], options);
			expect(await run(RCLONE!, ["lsf", ":s3:"], options)).not.toContain("tree");
		},
		PROGRAM_MS,
	);
});

describe("the AWS command line", () => {
	it.skipIf(AWS === undefined)(
		"D59: copies, lists and removes (needs aws)",
		async () => {
			const path = join(service.folder.path, "aws.bin");
			const content = randomBytes(9 * 2 ** 20);
			writeFileSync(path, content);
			const options = {
				AWS_ACCESS_KEY_ID: env["BUCKET_ACCESS_KEY_ID"]!,
				AWS_SECRET_ACCESS_KEY: env["BUCKET_SECRET_ACCESS_KEY"]!,
				AWS_DEFAULT_REGION: "us-east-1",
			};
			const at = ["--endpoint-url", env["BUCKET_ENDPOINT_URL"]!, "s3"];
			const aws = (...args: string[]) => run(AWS!, [...at, ...args], options);
			await aws("cp", path, "s3://cli/a b/one.bin");
			expect(await aws("ls", "s3://cli/a b/")).toContain("one.bin");
			await aws("cp", "s3://cli/a b/one.bin", `${path}.copy`);
			expect(md5(readFileSync(`${path}.copy`))).toBe(md5(content));
			expect(await aws("ls")).toContain("cli");
			await aws("rb", "--force", "s3://cli");
		},
		PROGRAM_MS,
	);
});

describe("s3cmd", () => {
	it.skipIf(S3CMD === undefined)(
		"D59: stores, lists, copies and removes at the root of the service (needs s3cmd)",
		async () => {
			const place = service.folder.path;
			const content = randomBytes(6 * 2 ** 20);
			writeFileSync(join(place, "s3cmd.bin"), content);
			const { accessKeyId, secretAccessKey } = (await call(service.url, `/v1/endpoints/${ENDPOINT}/s3`)).json;
			const credentials = { endpointUrl: `${service.url}/s3`, accessKeyId, secretAccessKey };
			writeFileSync(join(place, ".s3cfg"), credentialsText(credentials, "s3cmd"));
			const s3cmd = (...args: string[]) => run(S3CMD!, ["-c", join(place, ".s3cfg"), ...args]);
			await s3cmd("mb", "s3://cmd");
			await s3cmd("put", "--multipart-chunk-size-mb=5", join(place, "s3cmd.bin"), "s3://cmd/a b/é.bin");
			await s3cmd("cp", "s3://cmd/a b/é.bin", "s3://cmd/copy");
			expect(await s3cmd("ls", "-r", "s3://cmd")).toMatch(/s3:\/\/cmd\/a b\/é\.bin\n.*s3:\/\/cmd\/copy\n/);
			expect(await s3cmd("info", "s3://cmd/copy")).toContain(String(content.length));
			await s3cmd("get", "s3://cmd/copy", join(place, "s3cmd.copy"));
			expect(md5(readFileSync(join(place, "s3cmd.copy")))).toBe(md5(content));
			await s3cmd("del", "-r", "-f", "s3://cmd");
			await s3cmd("rb", "s3://cmd");
			expect(await s3cmd("ls")).not.toContain("s3://cmd");
		},
		PROGRAM_MS,
	);
});

/** Its library sends bodies in signed chunks, and takes the first segment of an address for the bucket. */
describe("restic", () => {
	it.skipIf(RESTIC === undefined)(
		"D59: a repository is made, filled, checked, pruned and restored (needs restic)",
		async () => {
			const folder = join(service.folder.path, "restic");
			mkdirSync(folder);
			const content = randomBytes(5 * 2 ** 20);
			writeFileSync(join(folder, "large.bin"), content);
			const options = {
				AWS_ACCESS_KEY_ID: env["BUCKET_ACCESS_KEY_ID"]!,
				AWS_SECRET_ACCESS_KEY: env["BUCKET_SECRET_ACCESS_KEY"]!,
				RESTIC_REPOSITORY: `s3:${service.url}/restic`,
				RESTIC_PASSWORD: "password",
			};
			const restic = (...args: string[]) => run(RESTIC!, ["--no-cache", ...args], options);
			await restic("init");
			await restic("backup", folder);
			writeFileSync(join(folder, "second"), "text");
			await restic("backup", folder);
			await restic("forget", "--keep-last", "1", "--prune");
			expect(await restic("check", "--read-data")).toContain("no errors were found");
			const target = join(service.folder.path, "restored");
			await restic("restore", "latest", "--target", target);
			expect(md5(readFileSync(join(target, folder, "large.bin")))).toBe(md5(content));
		},
		PROGRAM_MS,
	);
});
