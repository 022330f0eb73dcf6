/** Lists buckets, objects and uploads (D59). */
import { encodeUri } from "../requests/signature.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { quoted, sendXml } from "../answers.ts";
import { S3Error } from "../errors.ts";
import { noBucket } from "./get-object.ts";
import type { S3Request } from "../requests/request.ts";
import { element, elements } from "../xml.ts";

type Context = { kernel: Pick<Kernel, "calendar" | "now" | "store"> };

const MOST = 1000;

const OWNER = elements({ ID: "sluice", DisplayName: "sluice" });
export const OWNED = element("Owner", OWNER);

export const timeOf = ({ calendar }: Pick<Kernel, "calendar">, at: number): string =>
	new Date(calendar.of(at)).toISOString();

function limitOf({ query }: S3Request, name: string): number {
	const text = query.get(name) ?? String(MOST);
	if (/^\d{1,9}$/.test(text)) return Math.min(MOST, Number(text));
	throw new S3Error("InvalidArgument", `${name} must be a whole number.`);
}

/** `encoding-type=url`: keys may have characters that XML cannot. */
function encoder({ query }: S3Request): (text: string) => string {
	const type = query.get("encoding-type");
	if (type === undefined) return (text) => text;
	if (type === "url") return (text) => encodeUri(text).replaceAll("%2F", "/");
	throw new S3Error("InvalidArgument", "encoding-type must be url.");
}

export async function listBuckets({ kernel }: Context, { call, endpoint }: S3Request): Promise<void> {
	const buckets = await kernel.store.objects.buckets({ endpoint });
	const each = buckets.map(({ name, createdAt }) =>
		element("Bucket", elements({ Name: name, CreationDate: timeOf(kernel, createdAt) })),
	);
	await sendXml(call, "ListAllMyBucketsResult", OWNED + element("Buckets", each.join("")));
}

/** Throws `NoSuchBucket`. */
export async function requireBucket({ kernel }: Context, { endpoint, bucket }: S3Request): Promise<void> {
	if (!(await kernel.store.objects.hasBucket({ endpoint, name: bucket }))) throw noBucket(bucket);
}

/** Version 2 with `list-type=2`, else version 1. */
export async function listObjects(context: Context, request: S3Request): Promise<void> {
	const { kernel } = context;
	const { endpoint, bucket, query } = request;
	await requireBucket(context, request);
	const isSecond = query.get("list-type") === "2";
	const [prefix = "", delimiter = ""] = [query.get("prefix"), query.get("delimiter")];
	const limit = limitOf(request, "max-keys");
	const encode = encoder(request);
	const token = query.get("continuation-token");
	const after = isSecond ? (fromToken(token) ?? query.get("start-after") ?? "") : (query.get("marker") ?? "");
	const q = { endpoint, bucket, prefix, delimiter, after, limit, now: kernel.now() };
	const page = limit === 0 ? { objects: [], folders: [], last: undefined } : await kernel.store.objects.list(q);
	const hasOwner = !isSecond || query.get("fetch-owner") === "true";
	const contents = page.objects.map(({ key, bytes, etag, createdAt }) =>
		element(
			"Contents",
			elements({ Key: encode(key), LastModified: timeOf(kernel, createdAt), ETag: quoted(etag), Size: bytes }) +
				(hasOwner ? OWNED : "") +
				elements({ StorageClass: "STANDARD" }),
		),
	);
	const folders = page.folders.map((each) => element("CommonPrefixes", elements({ Prefix: encode(each) })));
	const versioned = isSecond
		? {
				KeyCount: contents.length + folders.length,
				ContinuationToken: token,
				StartAfter: query.has("start-after") ? encode(query.get("start-after")!) : undefined,
				NextContinuationToken: page.last && toToken(page.last),
			}
		: { Marker: encode(after), NextMarker: page.last && encode(page.last) };
	const head = elements({
		Name: bucket,
		Prefix: encode(prefix),
		Delimiter: query.has("delimiter") ? encode(delimiter) : undefined,
		MaxKeys: limit,
		EncodingType: query.get("encoding-type"),
		IsTruncated: page.last !== undefined,
		...versioned,
	});
	await sendXml(request.call, "ListBucketResult", head + contents.join("") + folders.join(""));
}

const toToken = (last: string): string => Buffer.from(last).toString("base64url");

function fromToken(token: string | undefined): string | undefined {
	if (token === undefined || /^[\w-]{1,4096}$/.test(token)) return token && Buffer.from(token, "base64url").toString();
	throw new S3Error("InvalidArgument", "continuation-token must be the one that the page before has given.");
}

export async function listUploads(context: Context, request: S3Request): Promise<void> {
	const { kernel } = context;
	const { endpoint, bucket, query } = request;
	await requireBucket(context, request);
	const prefix = query.get("prefix") ?? "";
	const limit = limitOf(request, "max-uploads");
	const encode = encoder(request);
	const key = query.get("key-marker") ?? "";
	// Without the id of an upload, those of the marker's key are behind it.
	const id = query.get("upload-id-marker") ?? (key === "" ? "" : "~");
	const found = await kernel.store.objects.uploads({ endpoint, bucket, prefix, after: { key, id }, limit: limit + 1 });
	const uploads = found.slice(0, limit);
	const last = found.length > limit ? uploads.at(-1) : undefined;
	const each = uploads.map((upload) =>
		element(
			"Upload",
			elements({ Key: encode(upload.key), UploadId: upload.id }) +
				element("Initiator", OWNER) +
				OWNED +
				elements({ StorageClass: "STANDARD", Initiated: timeOf(kernel, upload.createdAt) }),
		),
	);
	const head = elements({
		Bucket: bucket,
		KeyMarker: encode(key),
		UploadIdMarker: query.get("upload-id-marker") ?? "",
		NextKeyMarker: last && encode(last.key),
		NextUploadIdMarker: last?.id,
		Prefix: encode(prefix),
		EncodingType: query.get("encoding-type"),
		MaxUploads: limit,
		IsTruncated: last !== undefined,
	});
	await sendXml(request.call, "ListMultipartUploadsResult", head + each.join(""));
}

/** `upload` exists. */
export async function listParts({ kernel }: Context, request: S3Request, upload: string): Promise<void> {
	const { bucket, key, query } = request;
	const limit = limitOf(request, "max-parts");
	const marker = query.get("part-number-marker") ?? "0";
	if (!/^\d{1,6}$/.test(marker)) throw new S3Error("InvalidArgument", "part-number-marker must be a whole number.");
	const found = await kernel.store.objects.parts({ upload, after: Number(marker), limit: limit + 1 });
	const parts = found.slice(0, limit);
	const each = parts.map(({ number, etag, bytes, createdAt }) =>
		element(
			"Part",
			elements({ PartNumber: number, LastModified: timeOf(kernel, createdAt), ETag: quoted(etag), Size: bytes }),
		),
	);
	const head = elements({
		Bucket: bucket,
		Key: encoder(request)(key),
		UploadId: upload,
		PartNumberMarker: marker,
		NextPartNumberMarker: parts.at(-1)?.number ?? marker,
		MaxParts: limit,
		IsTruncated: found.length > limit,
		StorageClass: "STANDARD",
	});
	await sendXml(request.call, "ListPartsResult", head + element("Initiator", OWNER) + OWNED + each.join(""));
}
