/** `sluice doctor` writes, reads, lists and deletes an object of the bucket, and names the right that is missing. */
import { type Finding, ok, problem, warning } from "../../../kernel/core/finding.ts";
import { hex, type Random } from "../../../kernel/lib/ids.ts";
import type { Clock } from "../../../kernel/system/clock.ts";
import { openBucket } from "./bucket.ts";
import { adviceOf, Refusal } from "./refusal.ts";
import type { BucketSettings } from "./settings.ts";

const PROBE = "probe";
const PATIENCE_MS = 30_000;

/** Findings contain no secrets. */
export async function bucketFindings(
	settings: BucketSettings,
	{ clock, random }: { clock: Pick<Clock, "sleep" | "wall">; random: Random },
): Promise<Finding[]> {
	const bucket = openBucket(settings, `doctor-${hex(random(8))}/`, clock);
	const over = new AbortController();
	const late = clock.sleep(PATIENCE_MS, over.signal).then(() => undefined);
	try {
		const found = await Promise.race([probed(bucket), late]);
		const fix = "Correct files.bucket.url, or make its server answer.";
		return [
			...(found ?? [problem("bucket", `${bucket.name} has not answered within ${PATIENCE_MS / 1000} s.`, fix)]),
			...plainTextFindings(settings),
		];
	} finally {
		over.abort();
		await bucket.close();
	}
}

async function probed(bucket: ReturnType<typeof openBucket>): Promise<Finding[]> {
	const content = "A probe of sluice doctor";
	const rights: readonly (readonly [right: string, work: () => Promise<unknown>])[] = [
		["s3:PutObject", () => bucket.put(PROBE, Buffer.from(content))],
		["s3:GetObject", () => readProbe(bucket, content)],
		["s3:ListBucket", () => Array.fromAsync(bucket.list())],
		["s3:PutObject", async () => await (await bucket.begin(PROBE, new AbortController().signal)).abort()],
		["s3:ListBucketMultipartUploads", () => bucket.abortOld(0)],
		["s3:DeleteObject", () => bucket.remove(PROBE)],
	];
	const findings: Finding[] = [];
	for (const [right, work] of rights) {
		try {
			await work();
		} catch (error) {
			findings.push(problem("bucket", (error as Error).message, fixOf(error as Error, right)));
			// Nothing was written, or the bucket does not answer.
			if (right === rights[0]![0] && findings.length === 1) break;
		}
	}
	return findings.length > 0
		? findings
		: [ok("bucket", `${bucket.name}: an object was written, read, listed and deleted.`)];
}

async function readProbe(bucket: ReturnType<typeof openBucket>, content: string): Promise<void> {
	const found = await bucket.get(PROBE, { start: 2, end: content.length });
	const text = found && String(Buffer.concat(await Array.fromAsync(found)));
	await found?.close();
	if (text !== content.slice(2)) throw new Error(`${bucket.name} has not the object that was written a moment before.`);
}

function fixOf({ cause }: Error, right: string): string {
	if (cause instanceof Refusal) return adviceOf(cause, right);
	return "Correct files.bucket.url, or make its server answer.";
}

function plainTextFindings({ url }: BucketSettings): Finding[] {
	const { protocol, hostname } = new URL(url);
	if (protocol === "https:" || /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return [];
	return [warning("bucket", "files.bucket.url is http: files are sent without encryption.", "Use https.")];
}
